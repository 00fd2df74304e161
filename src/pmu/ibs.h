// Op sampling of AMD's instruction-based sampling: every IbsOpMaxCnt core cycles or ops one op is tagged, and when it
// retires its registers say what it did. Then an interrupt is requested, and nothing is counted until software clears
// IbsOpVal. No global control and no freezing reach it, and it samples in every ring.
//
// The tag rule.
//   * IbsOpCntCtl 1: the op with which the count reaches IbsOpMaxCnt. The counter then begins anew at a pseudo-random
//     number from 1 to 127, which software finds in IbsOpCurCnt and may write back, as Linux does.
//     source: BKDG of family 15H, IbsOpCntCtl: "when a roll-over occurs, the counter is preloaded with a pseudorandom
//     7 bit value between 1 and 127". chosen: which pseudo-random numbers, a shift register of x^7 + x^6 + 1.
//   * IbsOpCntCtl 0: the instruction that retires next once so many cycles have passed. Simplification: the processor
//     tags what it dispatches next, some hundred ops further in a program that waits for memory.
//   * Simplification: each instruction is one op, also where the processor makes several of it, or one of two. A core
//     model tells of ops where blocks of code end, which is not where they are.
//   * Only ops that retire are counted and tagged: those of wrong paths, whose tags a processor drops, are not
//     modelled.
//   * IbsOpL3MissOnly: an op whose data did not come from beyond L3 is dropped, and counting begins anew.
//   * chosen: with IbsOpMaxCnt 0 nothing is counted. (Below 9 it is reserved.)
#pragma once

#include <cstdint>

#include "arch/ibs.h"
#include "arch/msr_map.h"
#include "arch/retired.h"
#include "pmu/counters.h"

namespace zs::pmu {

class Ibs {
 public:
  /// counters  must outlive it, and has the op counter
  explicit Ibs(Counters& counters) : counters_(counters) {}

  // Of Msr::IbsOpCtl to IbsBrTarget. Values were checked against their reserved bits before.
  std::uint64_t read(arch::Msr msr) const;
  void write(arch::Msr msr, std::uint64_t value);

  /// What counters did, without the op counter. If that has reached its maximum, what retires next is to be tagged, the
  /// instruction included that made it so.
  Counters::Step without_its_own(Counters::Step step) {
    constexpr std::uint64_t kOwn = std::uint64_t{1} << Counters::kOpCounter;
    if ((step.wrapped.bits & kOwn) == 0) [[likely]]
      return step;
    step.wrapped.bits &= ~kOwn;
    reached();
    return step;
  }
  bool is_due() const { return due_; }
  /// This one is. returns whether it makes a sample, and an interrupt
  bool tag(const arch::Retired& retired);

  void reset();

 private:
  bool runs() const;
  std::uint64_t begins_at() const;
  void reached();
  void count_from(std::uint64_t current);
  std::uint64_t preload();

  Counters& counters_;
  arch::IbsOpCtl control_;  // its IbsOpCurCnt is the counter's while that runs
  arch::IbsOp sample_;
  bool due_ = false;
  std::uint8_t random_ = 1;  // 7 bits, never 0
};

}  // namespace zs::pmu
