// COM1, a 16550 that nobody talks to: what is written leaves at once, nothing arrives but in loopback. It has what
// drivers try before they believe in it: bits that do not exist, loopback, FIFOs. It never interrupts.
// source: 16550 data sheet, "Register Addresses".
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

#include "machine/port_map.h"

namespace zs::machine {

class SerialPort : public PortDevice {
 public:
  static constexpr std::uint16_t kCom1 = 0x3F8;
  /// sent  called with each byte
  explicit SerialPort(std::function<void(std::uint8_t)> sent) : sent_(std::move(sent)) {}
  std::uint8_t in(std::uint16_t port) override;
  void out(std::uint16_t port, std::uint8_t value) override;

 private:
  std::uint8_t modem_status() const;

  std::function<void(std::uint8_t)> sent_;
  std::array<std::uint8_t, 8> registers_{};
  std::uint8_t divisor_low_ = 1, divisor_high_ = 0;
  std::optional<std::uint8_t> looped_;  // sent in loopback, not yet read
};

}  // namespace zs::machine
