// The 8254 timer: counter 0 raises IRQ0, counter 2 is what port 61H gates and shows, where counter 1 toggles a bit.
// Counts follow from the clock; modes 2 and 3 repeat, the others count down once. BCD counting reads as binary.
// source: Intel 8254 data sheet, "Programming the 8254" and "Mode Definitions".
#pragma once

#include <array>
#include <cstdint>

#include "machine/clock.h"
#include "machine/port_map.h"

namespace zs::machine {

class IrqLines;

inline constexpr std::uint64_t kPitHz = 1'193'182;

class Pit : public PortDevice, public TimedDevice {
 public:
  Pit(const Clock& clock, IrqLines& irqs) : clock_(clock), irqs_(irqs) {}
  std::uint8_t in(std::uint16_t port) override;
  void out(std::uint16_t port, std::uint8_t value) override;

  std::uint64_t deadline() const override;
  void clock_moved() override;

  /// The output pin of counter 2, bit 5 of port 61H.
  bool speaker_output() const;
  void set_speaker_gate(bool open);
  /// Bit 4 of port 61H: changes with each period of counter 1, every 15 microseconds as the BIOS programs it.
  bool refresh_toggle() const;

 private:
  enum class Access : std::uint8_t { Latch, Low, High, LowThenHigh };
  struct Counter {
    std::uint8_t mode = 3;
    Access access = Access::LowThenHigh;
    std::uint16_t reload = 0;  // 0 counts as 65536
    std::uint64_t start = 0;   // clock value at which the count was loaded
    bool running = false, gate = true;
    std::uint8_t low = 0;
    bool high_comes = false, high_read_comes = false;
    bool latched = false, status_latched = false;
    std::uint16_t latch = 0;
    std::uint8_t status = 0;
    std::uint64_t fired = 0;  // how many output edges were signalled since start

    std::uint64_t period() const { return reload == 0 ? 65536 : reload; }
    bool repeats() const { return mode == 2 || mode == 3; }
  };
  std::uint64_t ticks(const Counter& counter) const;  // of the 8254 since its count was loaded
  std::uint16_t count(const Counter& counter) const;
  bool output(const Counter& counter) const;
  void load(Counter& counter, std::uint16_t reload);
  void control(std::uint8_t value);

  const Clock& clock_;
  IrqLines& irqs_;
  std::array<Counter, 3> counters_;
};

}  // namespace zs::machine
