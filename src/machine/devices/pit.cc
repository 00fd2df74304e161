#include "machine/devices/pit.h"

#include "machine/devices/irq_lines.h"

namespace zs::machine {
namespace {

/// Clock value at which the 8254 has counted `ticks` since `start`. Exact: kTscHz * 2^32 fits, ticks never get near
/// that.
std::uint64_t clock_after(std::uint64_t start, std::uint64_t ticks) {
  const std::uint64_t seconds = ticks / kPitHz, rest = ticks % kPitHz;
  return start + seconds * kTscHz + (rest * kTscHz + kPitHz - 1) / kPitHz;
}

}  // namespace

std::uint64_t Pit::ticks(const Counter& counter) const {
  const std::uint64_t passed = clock_.now() - counter.start;
  return passed / kTscHz * kPitHz + passed % kTscHz * kPitHz / kTscHz;
}

std::uint16_t Pit::count(const Counter& counter) const {
  if (!counter.running) return counter.reload;
  const std::uint64_t passed = ticks(counter);
  if (counter.mode == 3) return static_cast<std::uint16_t>(counter.period() - passed * 2 % counter.period());
  if (counter.mode == 2) return static_cast<std::uint16_t>(counter.period() - passed % counter.period());
  return static_cast<std::uint16_t>(counter.period() - passed);  // goes on below zero, as the chip does
}

bool Pit::output(const Counter& counter) const {
  if (!counter.running) return counter.mode != 0;
  const std::uint64_t passed = ticks(counter);
  switch (counter.mode) {
    case 2: return passed % counter.period() != counter.period() - 1;
    case 3: return passed % counter.period() < (counter.period() + 1) / 2;
    default: return passed >= counter.period();
  }
}

void Pit::load(Counter& counter, std::uint16_t reload) {
  counter.reload = reload;
  counter.start = clock_.now();
  counter.running = counter.gate;
  counter.fired = 0;
}

void Pit::control(std::uint8_t value) {
  const unsigned select = value >> 6;
  if (select == 3) {  // read-back: bits 1..3 name counters, a clear bit 5 latches counts, a clear bit 4 latches status
    for (unsigned i = 0; i < 3; ++i) {
      Counter& counter = counters_[i];
      if ((value >> (i + 1) & 1) == 0) continue;
      if ((value & 0x20) == 0 && !counter.latched) {
        counter.latched = true;
        counter.latch = count(counter);
      }
      if ((value & 0x10) == 0) {
        counter.status_latched = true;
        counter.status = static_cast<std::uint8_t>((output(counter) ? 0x80 : 0) | (counter.running ? 0 : 0x40) |
                                                   static_cast<unsigned>(counter.access) << 4 | counter.mode << 1);
      }
    }
    return;
  }
  Counter& counter = counters_[select];
  const auto access = static_cast<Access>(value >> 4 & 3);
  if (access == Access::Latch) {
    if (!counter.latched) {
      counter.latched = true;
      counter.latch = count(counter);
    }
    return;
  }
  const bool gate = counter.gate;
  counter = Counter{};
  counter.gate = gate;
  counter.access = access;
  const auto mode = static_cast<std::uint8_t>(value >> 1 & 7);
  counter.mode = mode > 5 ? static_cast<std::uint8_t>(mode & 3) : mode;
}

std::uint8_t Pit::in(std::uint16_t port) {
  if ((port & 3) == 3) return 0xFF;
  Counter& counter = counters_[port & 3];
  if (counter.status_latched) {
    counter.status_latched = false;
    return counter.status;
  }
  const std::uint16_t value = counter.latched ? counter.latch : count(counter);
  const bool high =
      counter.access == Access::High || (counter.access == Access::LowThenHigh && counter.high_read_comes);
  if (counter.access == Access::LowThenHigh) counter.high_read_comes = !counter.high_read_comes;
  if (counter.access != Access::LowThenHigh || high) counter.latched = false;
  return static_cast<std::uint8_t>(high ? value >> 8 : value);
}

void Pit::out(std::uint16_t port, std::uint8_t value) {
  if ((port & 3) == 3) {
    control(value);
    return;
  }
  Counter& counter = counters_[port & 3];
  switch (counter.access) {
    case Access::Low: load(counter, value); return;
    case Access::High: load(counter, static_cast<std::uint16_t>(value << 8)); return;
    default:
      if (counter.high_comes) {
        load(counter, static_cast<std::uint16_t>(value << 8 | counter.low));
      } else {
        counter.low = value;
      }
      counter.high_comes = !counter.high_comes;
  }
}

std::uint64_t Pit::deadline() const {
  const Counter& counter = counters_[0];
  if (!counter.running || !irqs_.enabled(0)) return kNever;
  if (!counter.repeats()) return counter.fired != 0 ? kNever : clock_after(counter.start, counter.period());
  const std::uint64_t cycles = ticks(counter) / counter.period();
  return clock_after(counter.start, ((cycles > counter.fired ? counter.fired : cycles) + 1) * counter.period());
}

void Pit::clock_moved() {
  Counter& counter = counters_[0];
  if (!counter.running) return;
  const std::uint64_t cycles = ticks(counter) / counter.period();
  if (cycles <= counter.fired) return;
  if (counter.repeats() || counter.fired == 0) irqs_.pulse(0);  // edges that nobody could see between are one
  counter.fired = cycles;
}

bool Pit::speaker_output() const { return output(counters_[2]); }

bool Pit::refresh_toggle() const {
  const Counter& counter = counters_[1];
  return counter.running && ticks(counter) / counter.period() % 2 != 0;
}

void Pit::set_speaker_gate(bool open) {
  Counter& counter = counters_[2];
  if (open && !counter.gate) {
    counter.gate = true;
    load(counter, counter.reload);
  }
  counter.gate = open;
  if (!open) counter.running = false;
}

}  // namespace zs::machine
