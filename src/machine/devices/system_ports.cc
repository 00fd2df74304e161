#include "machine/devices/system_ports.h"

#include "machine/devices/pit.h"

namespace zs::machine {
namespace {

enum Port : std::uint16_t {
  kPort61 = 0x61,
  kPost = 0x80,
  kPort92 = 0x92,
  kApmCommand = 0xB2,
  kApmStatus = 0xB3,
};

constexpr std::uint8_t kFastReset = 1, kA20 = 2;

}  // namespace

void SystemPorts::add_to(PortMap& map) {
  for (const Port port : {kPort61, kPost, kPort92}) map.add(*this, port, port);
  map.add(*this, kApmCommand, kApmStatus);
}

std::uint8_t SystemPorts::in(std::uint16_t port) {
  switch (port) {
    case kPort61:
      return static_cast<std::uint8_t>(port61_ | (pit_.refresh_toggle() ? 0x10 : 0) |
                                       (pit_.speaker_output() ? 0x20 : 0));
    case kPort92: return pins_.a20() ? kA20 : 0;
    case kApmCommand: return apm_command_;
    case kApmStatus: return apm_status_;
    default: return 0xFF;
  }
}

void SystemPorts::out(std::uint16_t port, std::uint8_t value) {
  switch (port) {
    case kPort61:
      port61_ = value & 0x0F;
      pit_.set_speaker_gate((value & 1) != 0);
      return;
    case kPort92:
      pins_.set_a20((value & kA20) != 0);
      if ((value & kFastReset) != 0) pins_.pulse_reset();
      return;
    case kApmCommand:
      apm_command_ = value;
      pins_.system_management_interrupt();
      return;
    case kApmStatus: apm_status_ = value; return;
    default: return;  // POST codes go nowhere
  }
}

}  // namespace zs::machine
