// The counters of one logical processor with the registers that steer them: selects, fixed-counter control, global
// control and status. Counts what retires, in bulk or one instruction at a time, and says which counters wrapped and
// which of the PEBS counters have an instruction to record. What follows from that (records, PMI) is pmu.cc's.
//
// Arming. A PEBS counter that wraps is armed: the next event of it triggers the record. If the wrap and a further event
// belong to one instruction (REP, read-modify-write), that instruction triggers it. A counter with precise distribution
// triggers at the wrap itself, and so does an event that is not precise on processors that record such; time that wraps
// triggers at the next retirement. source: SDM vol. 3B, "PEBS Record Format" of Nehalem: "an overflow condition in the
// counter will arm PEBS"; "Precise Distribution of Instructions Retired (PDIR)"; Goldmont on non-precise events.
//
// CMASK, INV and E compare events per cycle. Here one retirement is one cycle: there is no finer clock yet. Where the
// table has a row for the encoding with them, a core model has done the comparing and the row is counted as it is.
// ANY is taken and changes nothing: the other hyper-thread sleeps.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "arch/counter_set.h"
#include "arch/cpu_model.h"
#include "arch/msrs.h"
#include "arch/retired.h"
#include "pmu/pebs_arming.h"
#include "pmu/pmu.h"
#include "pmu/recorded_access.h"

namespace zs::pmu {

class Counters {
 public:
  static constexpr unsigned kMaxGeneral = arch::GeneralCounter::msrs.count;
  static constexpr unsigned kMaxFixed = arch::FixedCounter::msrs.count;
  static constexpr unsigned kMaxAccumulators =
      kMaxGeneral + kMaxFixed + 3;  // every counter its own, those of sampling, and "any instruction"
  /// The two of instruction-based sampling (pmu/ibs.h), among counters that are named by their bit.
  static constexpr unsigned kOpCounter = arch::kFirstFixedBit + kMaxFixed, kFetchCounter = kOpCounter + 1;
  static constexpr unsigned kOpCounterWidth = 27, kFetchCounterWidth = 20;

  explicit Counters(const arch::CpuModel& model);
  Counters(const Counters&) = delete;  // the accumulators point at the counters
  Counters& operator=(const Counters&) = delete;

  // The registers, as software reads and writes them. Values were checked against their reserved bits before.
  // Counters are named by their bit in GLOBAL_CTRL: n, or 32 + i.
  std::uint64_t value(unsigned counter) const { return slot(counter).value; }
  void set_value(unsigned counter, std::uint64_t value);
  arch::PerfEvtSel select(unsigned n) const { return selects_[n]; }
  void set_select(unsigned n, arch::PerfEvtSel select);
  arch::FixedCtrCtrl fixed_control() const { return fixed_control_; }
  void set_fixed_control(arch::FixedCtrCtrl control);
  arch::GlobalCtrl control() const { return control_; }
  void set_control(arch::GlobalCtrl control);
  arch::GlobalStatus status() const { return status_; }
  void set_status(std::uint64_t bits);
  void clear_status(std::uint64_t bits);
  void reset();

  /// The counters whose overflow asks for a PMI.
  arch::CounterSet interrupting() const { return interrupting_; }

  /// Counters that PEBS is enabled for, those of them with load latency, and those with the precise-store facility.
  void set_pebs(arch::CounterSet enabled, arch::CounterSet latency, arch::CounterSet stores);
  PebsArming& arming() { return arming_; }
  const RecordedAccess& accesses() const { return accesses_; }
  bool records_time(Ring ring);
  /// Those of which PEBS records the overflowing instruction.
  arch::CounterSet recorded_at_overflow() const { return at_overflow_; }
  /// One of those of sampling counts `meaning`, or where that is null core cycles, in every ring, whatever the global
  /// control says; or it stands.
  void run_sampling(unsigned counter, bool runs, const arch::EventMeaning* meaning);

  // What retires: the meaning of these is pmu.h's.
  std::span<const arch::EventMeaning> accumulators(Ring ring);
  std::uint32_t generation(Ring ring);
  std::optional<std::size_t> accumulator_of(unsigned counter, Ring ring);
  void let_sleep(arch::CounterSet counters) { asleep_ = counters; }
  std::uint64_t headroom(std::size_t accumulator, Ring ring);
  void count(std::size_t accumulator, std::uint64_t events, Ring ring);
  /// The one counter, named by its bit, that overflows with the event after headroom(), and how many events more the
  /// others of the accumulator have room for; nothing where any instruction may matter to some counter beside its
  /// accumulator.
  struct Nearest {
    unsigned counter = 0;
    std::uint64_t others_room = 0;
  };
  std::optional<Nearest> nearest(std::size_t accumulator, Ring ring);

  struct Step {
    arch::CounterSet wrapped;    // went past their width
    arch::CounterSet triggered;  // PEBS counters that this instruction is to be recorded for
    bool nothing() const { return (wrapped.bits | triggered.bits) == 0; }
  };
  Step retire(const arch::Retired& retired);

  /// Time. A PEBS counter that wraps here is recorded at the next retirement.
  Step advance(const Elapsed& elapsed, Ring ring);
  /// The same of all accumulators' events together.
  Step pass(std::span<const std::uint64_t> events, Ring ring);
  /// Whether what retires does nothing but advance counters, as time does.
  bool only_adds(Ring ring);
  Elapsed time_headroom(Ring ring);
  /// Whether this counter of time, named by its bit, runs in that ring.
  bool ticks_in(unsigned counter, Ring ring);

 private:
  static constexpr unsigned kSamplers = 2;
  static constexpr unsigned kSlots = kMaxGeneral + kMaxFixed + kSamplers;

  struct Counter {
    std::uint64_t value = 0;
    std::uint64_t limit = 0;  // 2^width; 0: no such counter
    std::uint64_t bit = 0;    // in GLOBAL_CTRL
    const arch::EventMeaning* meaning = nullptr;
    // CMASK, INV, E of a general counter
    std::uint8_t cmask = 0;
    bool invert = false, edge = false;
    bool condition_held = false;         // at the previous retirement; for E
    arch::Tick tick = arch::Tick::None;  // counts time; `meaning` is null then
    bool conditional() const { return cmask != 0 || edge; }
    bool counts() const { return meaning != nullptr || tick != arch::Tick::None; }
    bool in(arch::CounterSet set) const { return (set.bits & bit) != 0; }
  };

  /// The running counters of one ring, by what they count.
  struct Accumulators {
    std::size_t count = 0;
    std::array<arch::EventMeaning, kMaxAccumulators> meanings{};
    std::array<std::array<Counter*, kSlots>, kMaxAccumulators> members{};  // those that add every event
    std::array<std::uint8_t, kMaxAccumulators> member_count{};
    std::uint32_t stepwise = 0;  // accumulators, by bit, of which every event needs retire()
    std::array<Counter*, kSlots> conditional{};
    std::uint8_t conditional_count = 0;
    std::array<Counter*, kSlots> ticking{};
    std::uint8_t ticking_count = 0;

    std::size_t accumulator_of(const arch::EventMeaning& meaning);
    void add(Counter& counter);
    bool counts_as(const Accumulators& other) const;  // the same events in the same accumulators
  };

  const Counter& slot(unsigned counter) const {
    return slots_[counter < arch::kFirstFixedBit ? counter : kMaxGeneral + counter - arch::kFirstFixedBit];
  }
  Counter& slot(unsigned counter) { return const_cast<Counter&>(std::as_const(*this).slot(counter)); }

  const Accumulators& running(Ring ring) {
    if (stale_ || control_ != resolved_control_) [[unlikely]] {
      resolve();
    }
    return rings_[static_cast<std::size_t>(ring)];
  }
  void resolve();
  void add(Counter& counter, std::uint64_t events, Step& step);
  void tick(Counter& counter, std::uint64_t events, Step& step);  // the same without an instruction
  void add_conditionally(Counter& counter, const arch::Retired& retired, Step& step);
  void choose_meaning(unsigned n);

  const arch::CpuModel& model_;
  std::array<Counter, kSlots> slots_;
  std::array<arch::PerfEvtSel, kMaxGeneral> selects_;
  arch::FixedCtrCtrl fixed_control_;
  arch::GlobalCtrl control_;
  arch::GlobalStatus status_;
  arch::CounterSet interrupting_;
  arch::CounterSet at_overflow_;  // PEBS records the overflowing instruction itself, or at the overflow
  arch::CounterSet asleep_;       // count nothing, though they run
  PebsArming arming_;
  RecordedAccess accesses_;

  bool stale_ = true;  // a register that decides which counters run, other than control_, has changed since resolve()
  arch::GlobalCtrl resolved_control_;
  std::array<Accumulators, 2> rings_;  // by Ring
  std::array<std::uint32_t, 2> generations_{};
};

}  // namespace zs::pmu
