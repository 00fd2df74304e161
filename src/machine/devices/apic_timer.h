// The local APIC's timer: it counts down once or again and again, or waits for a value of the time-stamp counter. What
// its LVT entry says of vector and mask is the APIC's.
//
// TSC-deadline mode excludes the other two: while it is chosen the counts stand still, while it is not the deadline is
// 0. source: SDM vol. 3A, "TSC-Deadline Mode".
#pragma once

#include <cstdint>

#include "machine/clock.h"

namespace zs::machine {

class ApicTimer {
 public:
  enum class Mode : std::uint8_t { OneShot, Periodic, Deadline };

  explicit ApicTimer(const Clock& clock) : clock_(clock) {}
  /// INIT: nothing runs, nothing is armed.
  void reset();

  Mode mode() const { return mode_; }
  /// A change to or from TSC-deadline mode stops the timer.
  void set_mode(Mode mode);

  std::uint32_t initial_count() const { return initial_count_; }
  void start(std::uint32_t count);
  std::uint32_t count() const;
  std::uint32_t divide() const { return divide_; }
  void set_divide(std::uint32_t value);

  /// IA32_TSC_DEADLINE; 0: not armed.
  std::uint64_t tsc_deadline() const { return tsc_deadline_; }
  void set_tsc_deadline(std::uint64_t value) { tsc_deadline_ = value; }
  /// The time-stamp counter is the clock plus this.
  void set_tsc_offset(std::uint64_t offset) { tsc_offset_ = offset; }

  /// When the next interrupt is due, masked or not; kNever.
  std::uint64_t due() const;
  /// A deadline that has passed is over. returns whether one has
  bool expire_deadline();
  /// Periods have passed since it was asked last. returns whether that makes an interrupt
  bool expire_count();

 private:
  std::uint64_t tick() const;  // clock ticks per count

  const Clock& clock_;
  Mode mode_ = Mode::OneShot;
  std::uint32_t initial_count_ = 0, divide_ = 0;
  std::uint64_t start_ = 0;
  std::uint64_t fired_ = 0;  // periods that were signalled since then
  std::uint64_t tsc_deadline_ = 0, tsc_offset_ = 0;
};

}  // namespace zs::machine
