// COM1, a 16550: what is written leaves at once, so the transmitter is always empty; what somebody sends arrives a byte
// at a time, the next when the last one was read. It interrupts for both, at IRQ4, where software lets it (OUT2). It
// has what drivers try before they believe in it: bits that do not exist, loopback, FIFOs.
// source: 16550 data sheet, "Register Addresses", "Interrupt Control Functions".
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

#include "machine/clock.h"
#include "machine/port_map.h"

namespace zs::machine {

class IrqLines;

/// Who sends to a serial port.
class SerialSender {
 public:
  virtual ~SerialSender() = default;
  /// The next byte, if there is one now.
  virtual std::optional<std::uint8_t> next() = 0;
  /// There will be none any more.
  virtual bool ended() const = 0;
};

class SerialPort : public PortDevice, public TimedDevice {
 public:
  static constexpr std::uint16_t kCom1 = 0x3F8;
  /// sent    called with each byte
  /// sender  may be null
  SerialPort(const Clock& clock, IrqLines& irqs, std::function<void(std::uint8_t)> sent, SerialSender* sender)
      : clock_(clock), irqs_(irqs), sent_(std::move(sent)), sender_(sender) {}
  std::uint8_t in(std::uint16_t port) override;
  void out(std::uint16_t port, std::uint8_t value) override;

  std::uint64_t deadline() const override;
  void clock_moved() override;

 private:
  std::uint8_t modem_status() const;
  std::uint8_t interrupt_id() const;
  void update_line();

  const Clock& clock_;
  IrqLines& irqs_;
  std::function<void(std::uint8_t)> sent_;
  SerialSender* sender_;
  std::array<std::uint8_t, 8> registers_{};
  std::uint8_t divisor_low_ = 1, divisor_high_ = 0;
  std::optional<std::uint8_t> received_;  // not yet read
  bool emptied_ = false;   // the transmitter has become empty, and the interrupt that says so was not read
  std::uint64_t due_ = 0;  // when the next byte may arrive
};

}  // namespace zs::machine
