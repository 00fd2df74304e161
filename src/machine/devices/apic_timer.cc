#include "machine/devices/apic_timer.h"

namespace zs::machine {

void ApicTimer::reset() {
  mode_ = Mode::OneShot;
  initial_count_ = divide_ = 0;
  start_ = fired_ = tsc_deadline_ = 0;
}

void ApicTimer::set_mode(Mode mode) {
  if ((mode == Mode::Deadline) != (mode_ == Mode::Deadline)) {
    tsc_deadline_ = 0;
    start(0);
  }
  mode_ = mode;
}

void ApicTimer::start(std::uint32_t count) {
  initial_count_ = count;
  start_ = clock_.now();
  fired_ = 0;
}

void ApicTimer::set_divide(std::uint32_t value) {
  divide_ = value;
  start(initial_count_);
}

std::uint64_t ApicTimer::tick() const {
  const unsigned code = (divide_ & 3) | (divide_ >> 1 & 4);
  return kTscTicksPerBusTick << (code == 7 ? 0 : code + 1);
}

std::uint32_t ApicTimer::count() const {
  if (initial_count_ == 0 || mode_ == Mode::Deadline) return 0;
  const std::uint64_t passed = (clock_.now() - start_) / tick();
  if (mode_ == Mode::Periodic) return initial_count_ - static_cast<std::uint32_t>(passed % initial_count_);
  return passed >= initial_count_ ? 0 : initial_count_ - static_cast<std::uint32_t>(passed);
}

std::uint64_t ApicTimer::due() const {
  if (tsc_deadline_ != 0) {
    const std::uint64_t tsc = clock_.now() + tsc_offset_, left = tsc_deadline_ > tsc ? tsc_deadline_ - tsc : 0;
    return left < kNever - clock_.now() ? clock_.now() + left : kNever;
  }
  if (initial_count_ == 0) return kNever;
  const std::uint64_t period = std::uint64_t{initial_count_} * tick();
  if (mode_ != Mode::Periodic) return fired_ != 0 ? kNever : start_ + period;
  return start_ + (fired_ + 1) * period;
}

bool ApicTimer::expire_deadline() {
  if (tsc_deadline_ == 0 || clock_.now() + tsc_offset_ < tsc_deadline_) return false;
  tsc_deadline_ = 0;
  return true;
}

bool ApicTimer::expire_count() {
  if (initial_count_ == 0) return false;
  const std::uint64_t passed = (clock_.now() - start_) / tick() / initial_count_;
  if (passed <= fired_) return false;
  const bool first = fired_ == 0;
  fired_ = passed;
  return first || mode_ == Mode::Periodic;
}

}  // namespace zs::machine
