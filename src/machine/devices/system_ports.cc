#include "machine/devices/system_ports.h"

#include "machine/devices/pit.h"

namespace zs::machine {
namespace {

enum Port : std::uint16_t {
  kKeyboardData = 0x60,
  kPort61 = 0x61,
  kKeyboardStatus = 0x64,
  kPost = 0x80,
  kPort92 = 0x92,
  kApmCommand = 0xB2,
  kApmStatus = 0xB3,
  kCrtIndex = 0x3D4,
  kCrtData = 0x3D5,
  kInputStatus = 0x3DA,
};

constexpr std::uint8_t kPulseReset = 0xFE;   // to 64H
constexpr std::uint8_t kWriteOutput = 0xD1;  // to 64H, then the output port to 60H: bit 1 is A20
constexpr std::uint8_t kFastReset = 1, kA20 = 2;

}  // namespace

void SystemPorts::add_to(PortMap& map) {
  for (const Port port : {kKeyboardData, kPort61, kKeyboardStatus, kPost, kPort92, kInputStatus}) {
    map.add(*this, port, port);
  }
  map.add(*this, kApmCommand, kApmStatus);
  map.add(*this, kCrtIndex, kCrtData);
}

std::uint8_t SystemPorts::in(std::uint16_t port) {
  switch (port) {
    case kPort61:
      refresh_ = !refresh_;
      return static_cast<std::uint8_t>(port61_ | (refresh_ ? 0x10 : 0) | (pit_.speaker_output() ? 0x20 : 0));
    case kKeyboardStatus: return 0x14;  // nothing to read, room to write
    case kKeyboardData: return 0;
    case kPort92: return port92_;
    case kApmCommand: return apm_command_;
    case kApmStatus: return apm_status_;
    case kCrtIndex: return crt_index_;
    case kCrtData: return crt_[crt_index_];
    case kInputStatus: retrace_ = !retrace_; return retrace_ ? 9 : 0;
    default: return 0xFF;
  }
}

void SystemPorts::out(std::uint16_t port, std::uint8_t value) {
  switch (port) {
    case kPort61:
      port61_ = value & 0x0F;
      pit_.set_speaker_gate((value & 1) != 0);
      return;
    case kKeyboardStatus:
      keyboard_command_ = value;
      if (value == kPulseReset) pins_.pulse_reset();
      return;
    case kKeyboardData:
      if (keyboard_command_ == kWriteOutput) pins_.set_a20((value & kA20) != 0);
      keyboard_command_ = 0;
      return;
    case kPort92:
      port92_ = value & kA20;
      pins_.set_a20((value & kA20) != 0);
      if ((value & kFastReset) != 0) pins_.pulse_reset();
      return;
    case kApmCommand:
      apm_command_ = value;
      pins_.system_management_interrupt();
      return;
    case kApmStatus: apm_status_ = value; return;
    case kCrtIndex: crt_index_ = value; return;
    case kCrtData: crt_[crt_index_] = value; return;
    default: return;  // POST codes go nowhere
  }
}

}  // namespace zs::machine
