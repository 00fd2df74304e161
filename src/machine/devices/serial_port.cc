#include "machine/devices/serial_port.h"

#include <utility>

namespace zs::machine {
namespace {

enum Register : std::uint8_t {
  kData,
  kInterruptEnable,
  kInterruptId,  // written: FIFO control
  kLineControl,
  kModemControl,
  kLineStatus,
  kModemStatus
};
constexpr std::uint8_t kDivisorLatch = 0x80, kFifos = 0x01;
constexpr std::uint8_t kReady = 0x60, kReceived = 0x01;  // line status: everything sent; a byte is there
enum ModemControl : std::uint8_t { kDtr = 1, kRts = 2, kOut1 = 4, kOut2 = 8, kLoop = 16 };
enum ModemStatus : std::uint8_t { kClearToSend = 0x10, kDataSetReady = 0x20, kRing = 0x40, kCarrier = 0x80 };

/// Which bits of a register exist; status is not written.
constexpr std::uint8_t kWritable[8] = {0xFF, 0x0F, 0xC9, 0xFF, 0x1F, 0, 0, 0xFF};

}  // namespace

std::uint8_t SerialPort::modem_status() const {
  const std::uint8_t control = registers_[kModemControl];
  if ((control & kLoop) == 0) return kCarrier | kDataSetReady | kClearToSend;
  unsigned status = 0;
  if ((control & kRts) != 0) status |= kClearToSend;
  if ((control & kDtr) != 0) status |= kDataSetReady;
  if ((control & kOut1) != 0) status |= kRing;
  if ((control & kOut2) != 0) status |= kCarrier;
  return static_cast<std::uint8_t>(status);
}

std::uint8_t SerialPort::in(std::uint16_t port) {
  const unsigned at = port & 7;
  const bool divisor = (registers_[kLineControl] & kDivisorLatch) != 0;
  switch (at) {
    case kData: return divisor ? divisor_low_ : std::exchange(looped_, std::nullopt).value_or(0);
    case kInterruptEnable: return divisor ? divisor_high_ : registers_[at];
    case kInterruptId: return (registers_[at] & kFifos) != 0 ? 0xC1 : 0x01;  // none pending
    case kLineStatus: return looped_ ? kReady | kReceived : kReady;
    case kModemStatus: return modem_status();
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
  } else if (at != kData) {
    registers_[at] = value & kWritable[at];
  } else if ((registers_[kModemControl] & kLoop) != 0) {
    looped_ = value;
  } else {
    sent_(value);
  }
}

}  // namespace zs::machine
