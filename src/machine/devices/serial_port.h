// COM1, a 16550 that nobody talks to: what is written leaves at once (line status is always 60H), nothing ever arrives.
// source: 16550 data sheet, "Register Addresses".
#pragma once

#include <array>
#include <cstdint>
#include <functional>

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
  std::function<void(std::uint8_t)> sent_;
  std::array<std::uint8_t, 8> registers_{};
  std::uint8_t divisor_low_ = 1, divisor_high_ = 0;
};

}  // namespace zs::machine
