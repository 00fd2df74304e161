#include "machine/devices/serial_port.h"

namespace zs::machine {
namespace {

enum Register : std::uint8_t {
  kData,
  kInterruptEnable,
  kInterruptId,
  kLineControl,
  kModemControl,
  kLineStatus,
  kModemStatus
};
constexpr std::uint8_t kDivisorLatch = 0x80, kLoop = 0x10;

}  // namespace

std::uint8_t SerialPort::in(std::uint16_t port) {
  const unsigned at = port & 7;
  const bool divisor = (registers_[kLineControl] & kDivisorLatch) != 0;
  switch (at) {
    case kData: return divisor ? divisor_low_ : 0;
    case kInterruptEnable: return divisor ? divisor_high_ : registers_[at];
    case kInterruptId: return 0x01;  // none pending
    case kLineStatus: return 0x60;   // everything sent, nothing received
    case kModemStatus: return 0xB0;  // carrier, data set ready, clear to send
    default: return registers_[at];
  }
}

void SerialPort::out(std::uint16_t port, std::uint8_t value) {
  const unsigned at = port & 7;
  const bool divisor = (registers_[kLineControl] & kDivisorLatch) != 0;
  if (divisor && at == kData) {
    divisor_low_ = value;
  } else if (divisor && at == kInterruptEnable) {
    divisor_high_ = value;
  } else if (at == kData) {
    if ((registers_[kModemControl] & kLoop) == 0) sent_(value);
  } else {
    registers_[at] = value;
  }
}

}  // namespace zs::machine
