// One logical processor's performance-monitoring unit, exact to the register: software sees MSRs, a Debug Store area
// and a PMI; the processor around it reports what retired. Two ways to report, with identical results:
//   count()   many events at once, as long as headroom() allows: nothing observable but counter values changes
//   retire()  one instruction with its registers: overflow, PEBS arming and records, BTS, PMI happen here
//
// A processor that has more than user code (a machine) also reports transfers that no instruction made, its mode, time,
// and SMM, #MC, INIT and RESET; one that has not (an engine) never calls those, and stays at CPL 3 in 64-bit mode.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "arch/msrs.h"
#include "arch/quirks.h"
#include "arch/retired.h"
#include "pmu/interfaces.h"

namespace zs::arch {
struct CpuModel;
}

namespace zs::pmu {

/// The two that counters tell apart by their OS and USR bits.
enum class Ring : std::uint8_t { User, Kernel };  // CPL 1 to 3; CPL 0
constexpr Ring ring_of(unsigned cpl) { return cpl == 0 ? Ring::Kernel : Ring::User; }

/// How the processor runs now: decides the layout of the Debug Store and how wide registers in records are.
struct Mode {
  bool ia32e = true;   // EFER.LMA
  bool code64 = true;  // IA-32e mode and CS.L: 64-bit code
  friend constexpr bool operator==(Mode, Mode) = default;
};

/// What RDPMC depends on besides its index.
struct RdpmcRights {
  unsigned cpl = 0;
  bool cr4_pce = false;
  bool protected_mode = true;  // CR0.PE
};

/// A Debug Store access that memory refused.
struct DsFault {
  std::uint64_t address = 0;  // linear, of the first byte of the access
  std::uint32_t bytes = 0;
  bool write = false;
};

/// Time that passed while not halted.
struct Elapsed {
  std::uint64_t core = 0;       // core cycles
  std::uint64_t reference = 0;  // ticks at the rate of the time-stamp counter
  std::uint64_t bus = 0;        // ticks of the crystal or bus clock (architectural event 3CH/01H)
  std::uint64_t slots = 0;      // issue slots; 0 without a core model
};

/// What became of issue slots, in the order of MSR_PERF_METRICS: retiring, bad speculation, front end, back end, then
/// parts of these: heavy operations, branch mispredicts, fetch latency, memory.
using IssuedSlots = std::array<std::uint64_t, 8>;
/// Of what a core did since `before`.
IssuedSlots issued_slots(const arch::CoreSignals& now, const arch::CoreSignals& before);

class Pmu {
 public:
  /// All references must outlive the Pmu. Starts as after power-up, in `Mode{}`.
  /// quirks  those of the model alone, if not given
  Pmu(const arch::CpuModel& model, LinearMemory& memory, PmiSink& pmi, Clock& clock);
  Pmu(const arch::CpuModel& model, LinearMemory& memory, PmiSink& pmi, Clock& clock, arch::QuirkSet quirks);
  ~Pmu();
  Pmu(const Pmu&) = delete;
  Pmu& operator=(const Pmu&) = delete;

  /// RDMSR, WRMSR, RDPMC as CPL 0 executes them. returns false where the processor raises #GP(0), and for an MSR that
  /// is not the PMU's; is_pmu_msr() of arch/msr_map.h tells these apart.
  bool rdmsr(std::uint32_t msr, std::uint64_t& value) const;
  bool wrmsr(std::uint32_t msr, std::uint64_t value);
  bool rdpmc(std::uint32_t ecx, std::uint64_t& value, RdpmcRights rights = {}) const;

  /// An accumulator is one distinct event that at least one running counter counts in that ring (for a counter with INV
  /// or E: every instruction, which it has to see). The list and wants_branches() change only when software writes a
  /// control register or a PMI freezes something; accumulators_generation() then differs. A handler that stops and
  /// restarts counters without anyone looking in between changes nothing.
  std::span<const arch::EventMeaning> accumulators(Ring ring = Ring::User) const;
  std::uint32_t accumulators_generation(Ring ring = Ring::User) const;
  /// The accumulator that `counter` counts, if all that it does is to add its events.
  std::optional<std::size_t> accumulator_of(unsigned counter, Ring ring = Ring::User) const;

  /// No register: whoever runs the processor wants these counters to count nothing for now. They keep their
  /// accumulators, as if no instruction had their events. Not those of time, or with CMASK, INV or E.
  void let_sleep(arch::CounterSet counters);
  /// headroom() of an accumulator all of whose counters sleep.
  static constexpr std::uint64_t kAsleep = UINT64_MAX;

  /// Core cycles that a tagged load must exceed to count for the load-latency facility (MSR_PEBS_LD_LAT; 0: not set).
  /// Which loads are tagged, and how long they take, the core model knows that feeds this.
  std::uint64_t latency_threshold() const;

  /// How many events of `accumulator` may be passed to count() before something other than a counter value would
  /// change (an overflow, a PEBS record of an armed counter). 0: the next instruction with such an event needs
  /// retire().
  /// A counter at 0 leaves room for 2^48 - 1. Always 0 for an accumulator with a counter that uses CMASK or E.
  /// Counting in one ring uses up room of the other where a counter counts in both: ask again after a ring change.
  std::uint64_t headroom(std::size_t accumulator, Ring ring = Ring::User) const;

  /// Of every accumulator, at the beginning of `room`. returns how many there are
  std::size_t headrooms(std::span<std::uint64_t> room, Ring ring = Ring::User) const;

  /// Overflows of `accumulator` that do nothing but write a PEBS record and reload the counter: no interrupt, nothing
  /// else that shows. `events` lie between two of them. `times`: so many from the next one on, which is the event after
  /// headroom(), may be given to retire() some time later, all in their order, before anybody looks; 0 where the next
  /// one may do more.
  struct Repeating {
    std::uint64_t events = 0, times = 0;
  };
  Repeating repeating(std::size_t accumulator, Ring ring = Ring::User);

  /// Adds `events` occurrences. CHECKs events <= headroom(accumulator, ring).
  void count(std::size_t accumulator, std::uint64_t events, Ring ring = Ring::User);

  /// The same without a limit, for events of the nature of time, which belong to no instruction: counters wrap and
  /// request PMIs as those of advance() do.
  void pass(std::size_t accumulator, std::uint64_t events, Ring ring = Ring::User);

  /// Whether what retires does nothing but advance counters and request PMIs: then what it needs to be told of an
  /// instruction is how often it has each accumulator's event, and that may come in one sum with what retired before.
  bool only_adds(Ring ring = Ring::User) const;
  /// Adds such a sum, by accumulator, which `events` begins with: of instructions of which the last may make counters
  /// overflow, none before it. CHECKs only_adds(). returns how many accumulators there are
  std::size_t pass(std::span<const std::uint64_t> events, Ring ring = Ring::User);

  /// One instruction retired; `after` is the state after it (ip = next instruction). Order, SDM: LBR, counters, PEBS
  /// record, BTS record, PMI. Writes DS records through LinearMemory. A taken branch is entered into LBR and BTS here,
  /// unless Retired::transfer_entered says that enter_branch() has been called for it.
  void retire(const arch::Retired& retired, const arch::RegisterFile& after);

  /// Whether taken branches must be reported (LBR or BTS on); enter_branch() reports one that retired in bulk, in
  /// order.
  /// Interrupts and exceptions are reported through enter_branch() always, before their handler runs: that is how
  /// last-exception records come about.
  /// With BTS on, enter_branch() may write to memory, request a PMI and fault.
  bool wants_branches() const;
  void enter_branch(const arch::TakenBranch& branch);

  /// Whether each of them may be stored (TR and BTS are set), not only the newest few.
  bool stores_branches() const;

  /// What of these branches is kept, in the terms of MSR_LBR_SELECT whatever the model has; 0: everything.
  arch::LbrSelect branch_filter() const;

  /// Whether PEBS on this counter, as it is programmed, records the instruction that overflows it; others record the
  /// next event after that.
  bool records_the_overflow(unsigned counter) const;

  /// Whether instructions must come one by one although headroom() says otherwise: the next one is to be recorded,
  /// whatever it is; or reporting a branch before it is counted would show, because a BTS interrupt may come and freeze
  /// counters.
  /// Changes with advance(), too.
  bool needs_each() const;

  /// The first Debug Store access that memory refused since this was last asked. What the record was for is lost:
  /// nothing was stored and the index did not move. A machine delivers the page fault after the instruction that it
  /// belongs to.
  std::optional<DsFault> take_ds_fault();

  /// Counters of cycles, in the ring that was running. Any amount: they wrap and request PMIs like others, except that
  /// nothing is recorded (cycles belong to no instruction).
  /// time_headroom() is how much may pass before one of them wraps.
  void advance(const Elapsed& elapsed, Ring ring = Ring::User);
  Elapsed time_headroom(Ring ring = Ring::User) const;

  /// Whether PEBS is enabled for a counter of time. Such a counter is loaded anew when it wraps, with what has passed
  /// since, and its record is of what retires next:
  bool records_time(Ring ring = Ring::User) const;
  /// unless it is told, while record_is_due(), that retirement waited for the instruction at `ip` when it wrapped. Then
  /// it is of that one, when it retires again; of whichever is next if it does not among so many instructions. 0: of
  /// what is next.
  void await(std::uint64_t ip, std::uint32_t instructions);
  bool record_is_due() const;

  /// What became of the slots of the advance() before. Kept while IA32_PERF_GLOBAL_CTRL[48] and FIXED_CTR3 count in
  /// that ring.
  void issue(const IssuedSlots& issued, Ring ring = Ring::User);

  // The processor around it.
  void set_mode(Mode mode);
  Mode mode() const;
  /// For the XMM group of adaptive records; null (the start): it is written as zeros. Must outlive the Pmu.
  void set_vector_registers(VectorRegisters* registers);
  arch::QuirkSet quirks() const;

  /// IA32_DEBUGCTL as it is now; BTF of it is the CPU's to obey. PMIs, #DB and SMM change it.
  arch::DebugCtl debugctl() const;
  /// A #DB is about to be delivered: LBR and BTF are cleared. Its transfer, entered next, is in BTS but in no LBR.
  void debug_exception();
  /// Between the two nothing is recorded; with FREEZE_WHILE_SMM_EN nothing counts either.
  void enter_smm();
  void leave_smm();
  /// A machine-check exception: the Debug Store mechanism stops until software enables it again.
  void machine_check();
  void init();
  /// Power-up; a warm RESET leaves the LBR stack as it is.
  void reset(bool warm = false);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace zs::pmu
