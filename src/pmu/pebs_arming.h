// Which counters PEBS is enabled for, which of those are armed, and which have a record due that waits for no event of
// theirs: counters of time that wrapped, and overflows that software made.
#pragma once

#include <cstdint>
#include <utility>

#include "arch/counter_set.h"

namespace zs::pmu {

class PebsArming {
 public:
  /// A counter that leaves the set is disarmed.
  void enable(arch::CounterSet counters) {
    enabled_ = counters;
    armed_ = armed_ & counters;
    due_ = due_ & counters;
    if (due_.empty()) forget_name();
  }
  arch::CounterSet enabled() const { return enabled_; }
  bool enabled(std::uint64_t bit) const { return (enabled_.bits & bit) != 0; }

  arch::CounterSet armed() const { return armed_; }
  bool armed(std::uint64_t bit) const { return (armed_.bits & bit) != 0; }
  void arm(std::uint64_t bit) { armed_.bits |= bit; }
  void disarm(arch::CounterSet counters) { armed_.bits &= ~counters.bits; }

  /// Records are due at the next retirement, whatever it is.
  bool any_due() const { return !due_.empty(); }
  bool due(std::uint64_t bit) const { return (due_.bits & bit) != 0; }
  void set_due(arch::CounterSet counters) { due_.bits |= enabled_.bits & counters.bits; }
  void forget_due(arch::CounterSet counters) {
    due_.bits &= ~counters.bits;
    if (due_.empty()) forget_name();
  }
  /// Whether nobody has said of which instruction they are.
  bool is_unnamed() const { return any_due() && !named_; }
  /// They are of this one, if it retires among so many; 0: of any. Nothing where none is due.
  void await(std::uint64_t ip, std::uint32_t instructions) {
    if (!is_unnamed()) return;
    named_ = true;
    awaited_ = ip;
    patience_ = instructions;
  }
  /// An instruction retires. returns  whose records it triggers
  arch::CounterSet take_due(std::uint64_t ip) {
    if (due_.empty()) [[likely]]
      return {};
    if (awaited_ != 0 && ip != awaited_ && patience_-- != 0) return {};
    forget_name();
    return std::exchange(due_, {});
  }

 private:
  void forget_name() {
    named_ = false;
    awaited_ = 0;
  }

  arch::CounterSet enabled_, armed_, due_;
  bool named_ = false;          // await() was called for those that are due
  std::uint64_t awaited_ = 0;   // the instruction; 0: any
  std::uint32_t patience_ = 0;  // for so many
};

}  // namespace zs::pmu
