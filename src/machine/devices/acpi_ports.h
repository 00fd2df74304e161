// ACPI's fixed ports, as much as turns a PC off and tells time: events that never come, the control register with
// SLP_EN, and the timer of 3.579545 MHz, 24 bits wide.
// source: ACPI specification 1.0b, section 4.7.3, "Fixed ACPI Hardware Registers"; 4.7.2.1, power management timer.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "machine/clock.h"
#include "machine/port_map.h"

namespace zs::machine {

class AcpiPorts : public PortDevice {
 public:
  static constexpr std::uint16_t kEvents = 0x600, kControl = 0x604, kTimer = 0x608, kLast = 0x60B;
  static constexpr unsigned kIrq = 9;  // nothing raises it

  /// off  called when software enters a sleeping state: the one that the tables name is "off"
  AcpiPorts(const Clock& clock, std::function<void()> off) : clock_(clock), off_(std::move(off)) {}

  std::uint8_t in(std::uint16_t port) override {
    if (port >= kTimer) return static_cast<std::uint8_t>(timer() >> 8 * (port - kTimer));
    if (port == kControl) return kSciEnabled;
    return port == kEnable || port == kEnable + 1 ? enable_[port - kEnable] : std::uint8_t{0};
  }
  void out(std::uint16_t port, std::uint8_t value) override {
    if (port == kEnable || port == kEnable + 1) enable_[port - kEnable] = value;
    if (port == kControl + 1 && (value & kSleep) != 0) off_();
  }
  bool wide_in(std::uint16_t port, unsigned bytes, std::uint32_t& value) override {
    if (port != kTimer || bytes != 4) return false;
    value = timer();
    return true;
  }

 private:
  static constexpr std::uint16_t kEnable = kEvents + 2;
  static constexpr std::uint8_t kSciEnabled = 1, kSleep = 0x20;  // bit 13 of the register
  static constexpr std::uint64_t kHz = 3'579'545;

  std::uint32_t timer() const {
    const std::uint64_t now = clock_.now();
    return static_cast<std::uint32_t>(now / kTscHz * kHz + now % kTscHz * kHz / kTscHz) & 0xFFFFFF;
  }

  const Clock& clock_;
  std::function<void()> off_;
  std::uint8_t enable_[2] = {};
};

}  // namespace zs::machine
