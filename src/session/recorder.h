// Records one process of a profiled program: gives every thread its PMUs, services their interrupts, and sends what
// their records say to the collector. Samples are made from PEBS records and overflow interrupts only, as on hardware.
//
// What may still be lost when the process is killed outright: records that no interrupt has announced yet, and messages
// since the last flush. Totals sent before stay valid, marked as not final.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arch/cpu_model.h"
#include "engine/observer.h"
#include "session/adaptive_period.h"
#include "session/clock.h"
#include "session/config.h"
#include "session/heap_blocks.h"
#include "session/pmu_driver.h"
#include "session/pmu_plan.h"
#include "session/process_sharing.h"
#include "session/program_memory.h"
#include "session/regions.h"
#include "session/stacks/stack_walk.h"
#include "session/thread_usage.h"
#include "session/unit_clock.h"
#include "session/unit_sums.h"
#include "session/wire.h"
#include "uarch/replay/modelled_machine.h"

namespace zs::session {

class Recorder final : public engine::Observer, public Progress {
 public:
  /// banks    of plan_banks(), for this model
  /// machine  that the threads are placed on; null: nothing is modelled
  /// exec     this image replaced another one in a process that was recorded already
  /// All references must outlive the Recorder.
  Recorder(const RecordingConfig& config, const arch::CpuModel& model, std::vector<BankPlan> banks,
           uarch::ModelledMachine* machine, Channel& channel, RecordingClock& clock, ProgramMemory& memory, bool exec);
  ~Recorder() override;

  engine::VirtualCpu thread_started(const engine::ThreadIdentity& who) override;
  void thread_exited(const engine::ThreadIdentity& who) override;
  void pmi(const engine::ThreadIdentity& who, const arch::RegisterFile& registers) override;
  void told_late(std::uint64_t host_ticks) override { clock_.set_back(host_ticks); }
  void in_call(const engine::ThreadIdentity& who, bool in) override;
  void forked(const engine::ThreadIdentity& child, bool thread) override;
  void in_forked_child() override;
  void renamed(const engine::ThreadIdentity& who, const std::string& comm, bool exec) override;
  void mapped(const engine::ThreadIdentity& who, const engine::Mapping& mapping) override;
  void flush(const engine::ThreadIdentity& who) override;
  void notice(const std::string& text) override;
  std::vector<engine::CodeMark> new_marks() override;
  engine::MarkTime marker(std::uint64_t pc, std::uint64_t operand) override { return marks_.marker(pc, operand); }
  void reached(const engine::ThreadIdentity& who, std::span<const engine::MarkVisit> visits,
               const arch::RegisterFile* registers) override;

  /// Only if the configuration has the progress event.
  std::uint64_t instructions() override;

 private:
  class Thread;

  Origin origin(const engine::ThreadIdentity& who);
  void find_heap_blocks_of_records();
  void send_counts(Thread& thread, bool final);
  void send_what_is_known(Thread& thread, std::uint64_t every_ns);
  Thread* find(const engine::ThreadIdentity& who);
  void end_phase();
  bool sure_enough();
  void write_sharing(const engine::ThreadIdentity& last);

  const RecordingConfig& config_;
  const arch::CpuModel& model_;
  const std::vector<BankPlan> banks_;
  uarch::ModelledMachine* const machine_;
  RecordingClock& clock_;
  ProgramMemory& memory_;
  pid_t host_pid_;  // identities may be virtual
  MessageWriter out_;
  RegionMarks marks_;
  std::optional<HeapBlocks> heap_;
  std::optional<StackWalk> stacks_;             // Callchain::Exact
  std::optional<SharingRecorder> sharing_;      // RecordingConfig::log_sharing
  std::optional<UnitClock> units_;              // RecordingConfig::in_units
  UnitSums ended_units_;                        // of threads that have ended
  const std::vector<std::uint32_t> estimated_;  // events
  std::uint64_t threads_started_ = 0;
  bool exec_;
  bool forked_ = false;   // this process is a copy of one that was recorded
  bool greeted_ = false;  // Hello is said
  engine::ThreadIdentity last_;
  std::uint64_t instructions_before_ = 0;  // of threads that have ended, and of the parent before the fork
  std::map<std::int32_t, std::unique_ptr<Thread>> threads_;  // by tid
};

}  // namespace zs::session
