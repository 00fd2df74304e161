// One thread of a recorded program: its PMUs, and what recording them needs. Samples are made here, of what PEBS
// records and overflow interrupts say.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "arch/core_feed.h"
#include "arch/cpu_model.h"
#include "engine/observer.h"
#include "session/driver/adaptive_period.h"
#include "session/driver/event_counters.h"
#include "session/driver/ibs_sampler.h"
#include "session/driver/pmu_driver.h"
#include "session/driver/pmu_plan.h"
#include "session/driver/skid_replay.h"
#include "session/memory/heap_blocks.h"
#include "session/memory/program_memory.h"
#include "session/recording/mapped_build_ids.h"
#include "session/recording/process_sharing.h"
#include "session/recording/thread_trace.h"
#include "session/recording/thread_usage.h"
#include "session/recording/unit_clock.h"
#include "session/settings/clock.h"
#include "session/settings/config.h"
#include "session/stacks/stack_walk.h"
#include "session/units/complete_part.h"
#include "session/units/unit_sums.h"
#include "session/windows/regions.h"
#include "session/windows/window_splitter.h"
#include "session/wire/wire.h"
#include "uarch/replay/modelled_machine.h"

namespace zs::session {

/// What the threads of a recorded process have in common. `heap`, `stacks`, `sharing`, `units` and `machine` are there
/// where the recording asks for them.
struct RecordingParts {
  RecordingParts(const RecordingConfig& wanted, const arch::CpuModel& cpu, std::vector<BankPlan> plans,
                 uarch::ModelledMachine* modelled, Channel& channel, RecordingClock& time, ProgramMemory& program);

  Origin origin(const engine::ThreadIdentity& who) const {
    return {.pid = who.pid, .tid = who.tid, .time_ns = clock.now_ns()};
  }

  const RecordingConfig& config;
  const arch::CpuModel& model;
  const std::vector<BankPlan> banks;
  uarch::ModelledMachine* const machine;
  RecordingClock& clock;
  ProgramMemory& memory;
  pid_t host_pid;  // identities may be virtual
  MessageWriter out;
  RegionProbes probes;
  MappedBuildIds build_ids;
  std::optional<HeapBlocks> heap;
  std::optional<StackWalk> stacks;             // Callchain::Exact
  std::optional<SharingRecorder> sharing;      // RecordingConfig::log_sharing
  std::optional<UnitClock> units;              // RecordingConfig::in_units
  const std::vector<std::uint32_t> estimated;  // events
  std::uint64_t threads_started = 0;
  // Of a trace or profile that is filtered:
  TracedCode traced_code;
  std::uint64_t threads_of_process = 0;
  std::map<std::int32_t, std::string> thread_names;  // by tid
  std::map<std::int32_t, bool> switched_on;          // likewise, of a profile
};

class RecordedThread final : public PmuClient {
 public:
  RecordedThread(RecordingParts& shared, const engine::ThreadIdentity& who);

  const engine::ThreadIdentity& who() const { return who_; }

  /// Whether it is time to say again how far it has come: once in `every_ns`, and a few times more after a silence, so
  /// that a program that starts and soon waits is heard of where it waits.
  bool is_due(std::uint64_t now_ns, std::uint64_t every_ns);

  engine::VirtualCpu virtual_cpu() const;

  /// A phase of the run has begun: in a unit, what is counted from here on is its own.
  void begin_unit();
  /// And before it ends.
  void end_unit();
  /// Since the unit that is under way began, or this was last asked in it.
  CompletePart::Waits take_waits();
  /// With the unit that is under way.
  UnitSums unit_sums();

  /// ahead  as engine::Observer::pmi_ahead
  /// returns whether a window has ended then, which is whole at signals_counted()
  bool take_pmi(const arch::RegisterFile& registers, bool ahead = false);
  void signals_counted() { write(windows_->counted()); }

  /// before_heap_changes  called before a block comes or goes, while what records say of it still holds
  void reached(std::span<const engine::ProbeVisit> visits, const arch::RegisterFile* registers,
               const std::function<void()>& before_heap_changes);

  /// The thread ends: its regions and its last window are over.
  void close();

  /// The heap is about to change: what records in the buffers speak of is looked for now.
  void find_heap_blocks_of_records();

  /// Null where nothing is modelled.
  arch::CoreFeed* core() const { return core_.get(); }

  std::vector<Region> regions() const { return regions_ ? regions_->counts() : std::vector<Region>(); }

  void drain();
  /// Null where branches are not traced, nor a profile is filtered.
  ThreadTrace* trace() { return trace_ ? &*trace_ : nullptr; }

  std::vector<std::uint64_t> counts();

  /// Instructions retired, by the progress event. A system call counts while it lasts.
  std::uint64_t progress();
  void in_call(bool in) { in_call_ = in; }

  DriverStatistics statistics() const;

  void record(const PlannedCounter& counter, std::uint64_t period, std::uint64_t events,
              const PebsFacts& facts) override;

  void overflow(const PlannedCounter& counter, std::uint64_t events) override;

  void lost(const PlannedCounter& counter) override;

 private:
  /// Of a record that is being drained.
  std::shared_ptr<const HeapBlock> heap_block_of(const PebsFacts& facts);

  void forget_drained();

  void write(Window* window);

  void write_spans();

  Sample sample_of(const PlannedCounter& counter, std::uint64_t period, const arch::RegisterFile& registers) const;

  /// What the record's words mean on this processor, for this event. Without a core model they would be zeros, which
  /// mean something too.
  void report_access(Sample& sample, const EventSpec& event, const PebsFacts& facts) const;

  void finish(Sample& sample, const PlannedCounter& counter, const arch::RegisterFile& registers);

  /// What the unit has brought since it began.
  void add_unit_to(UnitSums& sums);

  /// That is under way. Of several runs, each begins to deal its units out with another group: what the program does at
  /// one place is not in the same group of all.
  Unit unit() const;

  UnitCounts counts_of_unit();

  /// How many events each one stands for that the counter of this one sees.
  std::uint64_t weight_of(const PlannedCounter& counter) const;

  /// In a unit: the instructions of the run that all up to here stand for.
  std::uint64_t stands_for();

  /// Of a period in the program's events: in those that the counter sees.
  std::uint64_t seen_period(const PlannedCounter& counter, std::uint64_t period) const;

  /// Counters that sample see one event of so many: their periods are so much shorter.
  void follow_weight();

  /// Units are few, so in them the load-latency facility tags more loads, up to as many times more as each instruction
  /// stands for: else a report of loads would be made of some dozen samples.
  void tag_more_loads(std::uint32_t times);

  void copy_stack(Sample& sample, std::uint64_t sp);

  void adapt(const PlannedCounter& counter);

  const engine::ThreadIdentity who_;
  const pid_t host_tid_;  // who_ may be virtual
  RecordingParts& shared_;
  bool pmi_requested_ = false;
  bool in_call_ = false;  // in one that has not retired
  std::vector<std::unique_ptr<PmuDriver>> drivers_;
  std::optional<ThreadTrace> trace_;              // of branches, or the filter of a profile
  std::vector<std::unique_ptr<IbsSampler>> ibs_;  // one for each event that is_ibs()
  std::vector<pmu::Pmu*> pmus_;
  std::unique_ptr<arch::CoreFeed> core_;
  std::optional<EventCounters> counters_;
  std::optional<WindowSplitter> windows_;
  std::optional<SkidReplay> skid_;  // of samples
  std::optional<ThreadRegions> regions_;
  std::optional<ThreadHeap> heap_;
  /// Of records in the buffers, by where they lie.
  std::map<const PmuDriver*, std::map<const std::byte*, std::shared_ptr<const HeapBlock>>> found_ahead_;
  std::vector<RegionSpan> spans_;                        // scratch
  std::vector<std::optional<AdaptivePeriod>> adaptive_;  // by event
  ThreadUsage started_with_;
  std::optional<UnitSums> units_;    // of the units that have ended
  UnitCounts unit_start_;            // when the one began that is under way
  CompletePart::Waits waits_taken_;  // by then, or when they were last asked for
  /// What a unit stands for.
  struct Weight {
    std::uint64_t instructions = 1;     // each one of the last unit
    std::uint64_t stood_for = 0;        // instructions, by the units that have ended
    bool samples_tagged_loads = false;  // which are estimated
    /// As CoreFeed::tag_more_loads, in the last unit.
    std::uint32_t times_tagged() const {
      return samples_tagged_loads ? static_cast<std::uint32_t>(std::gcd(instructions, arch::kMostTimesTagged)) : 1;
    }
  } weight_;
  std::uint64_t next_due_ns_ = 0;
  struct Serviced {
    PmuDriver* driver = nullptr;
    const arch::RegisterFile* registers = nullptr;  // during take_pmi
  } serviced_;
};

}  // namespace zs::session
