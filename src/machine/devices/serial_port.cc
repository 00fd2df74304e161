#include "machine/devices/serial_port.h"

#include <utility>

#include "machine/devices/irq_lines.h"

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
enum InterruptEnable : std::uint8_t { kWhenReceived = 1, kWhenEmpty = 2 };
enum InterruptId : std::uint8_t { kIsEmpty = 2, kIsReceived = 4, kNonePending = 1 };
constexpr unsigned kIrq = 4;
/// A byte at 115,200 baud; how soon somebody who has none now is asked again.
constexpr std::uint64_t kByteTicks = kTscHz / 11'520, kAskAgainTicks = kTscHz / 100;
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

std::uint8_t SerialPort::interrupt_id() const {
  const std::uint8_t enabled = registers_[kInterruptEnable];
  if ((enabled & kWhenReceived) != 0 && received_) return kIsReceived;
  if ((enabled & kWhenEmpty) != 0 && emptied_) return kIsEmpty;
  return kNonePending;
}

void SerialPort::update_line() {
  irqs_.set_line(kIrq, interrupt_id() != kNonePending && (registers_[kModemControl] & (kOut2 | kLoop)) == kOut2);
}

std::uint64_t SerialPort::deadline() const {
  const bool comes = sender_ != nullptr && !sender_->ended() && !received_ && (registers_[kModemControl] & kLoop) == 0;
  return comes ? due_ : kNever;
}

void SerialPort::clock_moved() {
  if (deadline() > clock_.now()) return;
  received_ = sender_->next();
  due_ = clock_.now() + (received_ ? kByteTicks : kAskAgainTicks);
  update_line();
}

std::uint8_t SerialPort::in(std::uint16_t port) {
  const unsigned at = port & 7;
  const bool divisor = (registers_[kLineControl] & kDivisorLatch) != 0;
  switch (at) {
    case kData: {
      if (divisor) return divisor_low_;
      const std::uint8_t byte = std::exchange(received_, std::nullopt).value_or(0);
      update_line();
      return byte;
    }
    case kInterruptEnable: return divisor ? divisor_high_ : registers_[at];
    case kInterruptId: {
      const std::uint8_t id = interrupt_id();
      if (id == kIsEmpty) emptied_ = false;
      update_line();
      return static_cast<std::uint8_t>((registers_[at] & kFifos) != 0 ? id | 0xC0 : id);
    }
    case kLineStatus: return received_ ? kReady | kReceived : kReady;
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
    // The transmitter is empty: whoever lets that interrupt anew is told.
    const bool asks = at == kInterruptEnable && (value & ~registers_[at] & kWhenEmpty) != 0;
    registers_[at] = value & kWritable[at];
    emptied_ = emptied_ || asks;
    update_line();
  } else {
    emptied_ = false;
    update_line();  // so that the line rises again when it has left
    (registers_[kModemControl] & kLoop) != 0 ? void(received_ = value) : sent_(value);
    emptied_ = true;
    update_line();
  }
}

}  // namespace zs::machine
