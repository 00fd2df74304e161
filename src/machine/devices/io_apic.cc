#include "machine/devices/io_apic.h"

#include "machine/devices/local_apic.h"

namespace zs::machine {
namespace {

constexpr std::uint32_t kSelect = 0x00, kWindow = 0x10;
constexpr std::uint32_t kId = 0, kVersion = 1, kArbitration = 2, kFirstEntry = 0x10;
constexpr std::uint64_t kWritable = 0xFF00'0000'0001'AFFF;

}  // namespace

std::uint32_t IoApic::read(std::uint32_t offset) const {
  if (offset == kSelect) return index_;
  if (offset != kWindow) return 0;
  if (index_ >= kFirstEntry && index_ < kFirstEntry + 2 * kPins) {
    return static_cast<std::uint32_t>(entries_[(index_ - kFirstEntry) / 2] >> (index_ % 2 != 0 ? 32 : 0));
  }
  switch (index_) {
    case kId:
    case kArbitration: return id_;
    case kVersion: return 0x11 | (kPins - 1) << 16;
    default: return 0;
  }
}

void IoApic::write(std::uint32_t offset, std::uint32_t value) {
  if (offset == kSelect) {
    index_ = value & 0xFF;
  } else if (offset == kWindow && index_ == kId) {
    id_ = value & 0x0F000000;
  } else if (offset == kWindow && index_ >= kFirstEntry && index_ < kFirstEntry + 2 * kPins) {
    std::uint64_t& entry = entries_[(index_ - kFirstEntry) / 2];
    entry = index_ % 2 != 0 ? (entry & 0xFFFFFFFF) | std::uint64_t{value} << 32 : (entry & ~0xFFFFFFFFull) | value;
    entry &= kWritable;
  }
}

void IoApic::pulse(unsigned pin) {
  if (!enabled(pin)) return;
  const std::uint64_t entry = entries_[pin];
  apic_.deliver(static_cast<std::uint8_t>(entry), static_cast<unsigned>(entry >> 8 & 7));
}

}  // namespace zs::machine
