// CMOS memory and real-time clock at ports 70H/71H. The date is a fixed one at power-up and moves with the PC's own
// clock, so that two runs read the same; a time of day that the guest sets goes on from there. Registers hold BCD,
// 24-hour form.
// Interrupts of the chip are left out.
// source: MC146818 data sheet, "Address Map"; memory sizes at the places where PC BIOSes put them.
#pragma once

#include <array>
#include <cstdint>

#include "machine/clock.h"
#include "machine/port_map.h"

namespace zs::machine {

class Cmos : public PortDevice {
 public:
  Cmos(const Clock& clock, std::uint64_t memory_bytes);
  std::uint8_t in(std::uint16_t port) override;
  void out(std::uint16_t port, std::uint8_t value) override;

 private:
  std::uint64_t seconds_of_day() const;
  const Clock& clock_;
  std::uint64_t offset_ = 0;  // seconds that the guest's time of day is ahead of the clock's
  std::uint8_t index_ = 0;
  std::array<std::uint8_t, 128> bytes_{};
};

}  // namespace zs::machine
