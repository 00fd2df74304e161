// Instruction-based sampling of AMD's processors: every so many fetches one fetch is tagged, every so many core cycles
// or ops one op, and when its instruction retires registers say what it did. Then an interrupt is requested, and
// nothing is counted until software clears the valid bit. No global control and no freezing reach it, and it samples in
// every ring.
//
// The tag rule of ops.
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
//
// That of fetches.
//   * The fetch with which the count reaches IbsFetchMaxCnt. The counter begins at IbsFetchCnt; its lowest four bits,
//     which no register shows, at 0, or with IbsRandEn at a pseudo-random number.
//     source: PPR, "The periodic fetch counter is set to IbsFetchCnt"; IbsRandEn. chosen: which pseudo-random numbers,
//     those of a shift register of its own.
//   * Simplification: each instruction is fetched by itself, and only those that retire. A processor fetches some 32
//     bytes at once, so of straight code it counts fewer; and it tags fetches that come to nothing.
//   * IbsFetchL3MissOnly: a fetch that did not miss L3 is dropped, and counting begins anew.
//   * chosen: with IbsFetchMaxCnt 0 nothing is counted.
#pragma once

#include <cstdint>

#include "arch/ibs.h"
#include "arch/msr_map.h"
#include "arch/retired.h"
#include "pmu/counters.h"

namespace zs::pmu {

class Ibs {
 public:
  /// counters  must outlive it, and has the counters of sampling
  explicit Ibs(Counters& counters) : counters_(counters) {}

  // Of its registers in arch/msr_map.h. Values were checked against their reserved bits before.
  std::uint64_t read(arch::Msr msr) const;
  void write(arch::Msr msr, std::uint64_t value);

  /// What counters did, without those of sampling. If one of these has reached its maximum, what retires next is to be
  /// tagged, the instruction included that made it so.
  Counters::Step without_its_own(Counters::Step step) {
    const std::uint64_t own = step.wrapped.bits & (kOps | kFetches);
    if (own == 0) [[likely]]
      return step;
    step.wrapped.bits &= ~own;
    reached(own);
    return step;
  }
  bool is_due() const { return due_ != 0; }
  /// This one is. returns whether it makes a sample, and an interrupt
  bool tag(const arch::Retired& retired);

  void reset();

 private:
  static constexpr std::uint64_t kOps = std::uint64_t{1} << Counters::kOpCounter,
                                 kFetches = std::uint64_t{1} << Counters::kFetchCounter;
  /// 7 bits, never 0.
  class Random {
   public:
    std::uint8_t next() {
      return bits_ = static_cast<std::uint8_t>((bits_ << 1 | ((bits_ >> 6 ^ bits_ >> 5) & 1)) & 0x7F);
    }

   private:
    std::uint8_t bits_ = 1;
  };

  void reached(std::uint64_t counters);
  bool counts_ops() const;
  void count_ops_from(std::uint64_t current);
  std::uint64_t preload();
  bool tag_op(const arch::Retired& retired);
  bool counts_fetches() const;
  void count_fetches_from(std::uint64_t current);
  bool tag_fetch(const arch::Retired& retired);

  Counters& counters_;
  std::uint64_t due_ = 0;   // which of the two
  arch::IbsOpCtl control_;  // its IbsOpCurCnt is the counter's while that runs
  arch::IbsOp sample_;
  arch::IbsFetchCtl fetch_control_;  // likewise its IbsFetchCnt
  arch::IbsFetch fetch_;
  Random random_, fetch_random_;
};

}  // namespace zs::pmu
