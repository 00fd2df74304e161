#include "machine/devices/fw_cfg.h"

namespace zs::machine {
namespace {

constexpr std::uint16_t kSelector = 0x510;

enum Item : std::uint16_t {
  kSignature = 0x00,
  kInterfaceVersion = 0x01,
  kRamSize = 0x03,  // 8 bytes
  kNoGraphic = 0x04,
  kCpuCount = 0x05,  // 2 bytes
  kMaxCpus = 0x0F,
};

}  // namespace

void FwCfg::select(std::uint16_t item) {
  selector_ = item;
  at_ = 0;
  item_.clear();
  const auto number = [this](std::uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i) item_.push_back(static_cast<std::uint8_t>(value >> 8 * i));
  };
  switch (item & 0x3FFF) {
    case kSignature: item_ = {'Q', 'E', 'M', 'U'}; return;
    case kInterfaceVersion: number(1, 4); return;
    case kRamSize: number(memory_bytes_, 8); return;
    case kNoGraphic: number(1, 2); return;
    case kCpuCount:
    case kMaxCpus: number(1, 2); return;
    default: return;
  }
}

std::uint8_t FwCfg::in(std::uint16_t port) {
  if (port == kSelector) return static_cast<std::uint8_t>(selector_);
  return at_ < item_.size() ? item_[at_++] : std::uint8_t{0};
}

void FwCfg::out(std::uint16_t port, std::uint8_t value) {
  if (port == kSelector) select(value);
}

bool FwCfg::wide_out(std::uint16_t port, unsigned, std::uint32_t value) {
  if (port != kSelector) return false;
  select(static_cast<std::uint16_t>(value));
  return true;
}

}  // namespace zs::machine
