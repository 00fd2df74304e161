// What retires goes from the CPU to the PMU and to the clock through here. The two ways of the PMU decide how much the
// CPU has to say: while no counter can overflow soon, instructions are only tallied; close to an overflow, with PEBS
// armed, or while someone traces, they come one by one. Both give identical results.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "machine/clock.h"
#include "machine/vcpu/interfaces.h"
#include "pmu/pmu.h"

namespace zs::arch {
struct CpuModel;
}

namespace zs::uarch {
struct CoreModel;
}

namespace zs::machine {

class AttachedCore;
class LastLevelCache;

/// What a trace sees. Addresses are linear.
struct TraceSink {
  std::function<void(const arch::Retired&, std::span<const MemoryAccess>)> instruction;
  std::function<void(const arch::TakenBranch&, TransferCause)> transfer;
};

/// A PMU that the guest cannot reach, fed with what the guest's is. #DB, SMM, INIT and #MC leave its registers alone.
struct OutsidePmu {
  pmu::Pmu* pmu = nullptr;
  std::function<void()> acted = [] {};  // called behind whatever may have made it ask for its interrupt
};

class RetirementFeed : public RetirementObserver {
 public:
  RetirementFeed(const arch::CpuModel& model, pmu::Pmu& pmu, Clock& clock, LastLevelCache& cache);
  ~RetirementFeed();
  /// Before anything else is called.
  void set_cpu(Vcpu& cpu) { cpu_ = &cpu; }
  void add_timer(TimedDevice& device) { timers_.push_back(&device); }
  void set_trace(TraceSink trace) { trace_ = std::move(trace); }
  /// INIT came: the APIC wants to know too.
  void on_init(std::function<void()> action) { on_init_ = std::move(action); }

  /// From here on what retires goes through a core of that model, whose cycles are the time that passes.
  void attach(const uarch::CoreModel& model);

  /// From here on that PMU is fed, too; until the next call, with none for instance.
  void look_from_outside(std::vector<OutsidePmu> pmus);

  /// While it is on, every instruction comes one by one, and what it did is kept.
  struct Seen {
    bool loads = false, stores = false, transfers = false;  // transfers: interrupts and exceptions
  };
  void look_closely(bool on);
  const Seen& seen() const { return seen_; }

  Watch watch(unsigned cpl) override;
  void counted(std::uint64_t instructions) override;
  void tallied(std::span<const Tally> tallies) override;
  void retired(const arch::Retired& retired, const arch::RegisterFile& after,
               std::span<const MemoryAccess> accesses) override;
  void accessed(std::uint64_t physical) override;
  void line_flushed(std::uint64_t physical) override;
  void caches_flushed() override;
  void transferred(const arch::TakenBranch& branch, TransferCause cause) override;
  void debug_exception() override;
  void smm(bool entered) override;
  void init() override;
  void machine_check() override;

  /// What the clock will move by when counted() comes: it is called now and then, and a record has its time at once.
  std::uint64_t unreported_ticks() const;
  /// The processor waits for so many ticks of the clock, not halted: cycles pass, nothing retires.
  void stall(std::uint64_t ticks);
  /// The earliest moment at which a timer acts, or kNever.
  std::uint64_t next_deadline() const;
  /// Tells the timers that the clock moved, if one of them waits for it.
  void run_timers();

 private:
  bool tracing() const { return static_cast<bool>(trace_.instruction); }
  bool wants_each() const;
  void ask_core();
  void pass(std::uint64_t ticks, std::uint64_t slots);
  bool any_pmu(const auto& is) const;
  std::uint64_t room(pmu::Ring ring) const;
  void follow_mode();
  void after_pmu_acted();

  const bool has_ibs_;
  pmu::Pmu& pmu_;
  Clock& clock_;
  LastLevelCache& cache_;
  std::unique_ptr<AttachedCore> core_;
  arch::CoreSignals passed_;  // of core_, as of the last counted()
  Vcpu* cpu_ = nullptr;
  std::vector<TimedDevice*> timers_;
  TraceSink trace_;
  std::function<void()> on_init_;

  pmu::Ring ring_ = pmu::Ring::Kernel;
  bool each_ = false, branches_ = false, forced_each_ = false;
  std::uint64_t each_left_ = 0;  // instructions one by one until watch() is to be asked again
  struct Fed {
    pmu::Pmu* pmu;
    std::function<void()> acted;
    std::uint32_t generation[2] = {};
  };
  std::vector<Fed> fed_;          // the guest's PMU first
  arch::TakenBranch entering_{};  // of the instruction whose retired() comes next
  bool has_entering_ = false;
  bool closely_ = false;
  bool caching_ = false;       // a counter counts what the caches tell
  bool samples_ops_ = false;   // the PMU may sample the instruction that retires, with physical addresses
  arch::CoreSignals signals_;  // of the instruction that retires
  Seen seen_;
};

}  // namespace zs::machine
