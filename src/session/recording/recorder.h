// Records one process of a profiled program: gives every thread its PMUs, services their interrupts, and sends what
// their records say to the collector. Samples are made from PEBS records and overflow interrupts only, as on hardware.
//
// What may still be lost when the process is killed outright: records that no interrupt has announced yet, and messages
// since the last flush. Totals sent before stay valid, marked as not final.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "arch/cpu_model.h"
#include "engine/observer.h"
#include "session/driver/pmu_plan.h"
#include "session/memory/program_memory.h"
#include "session/recording/recorded_thread.h"
#include "session/settings/clock.h"
#include "session/settings/config.h"
#include "session/units/unit_sums.h"
#include "session/wire/wire.h"
#include "uarch/replay/modelled_machine.h"

namespace zs::session {

class Recorder final : public engine::Observer, public Progress {
 public:
  /// banks    of plan_banks(), for this model
  /// machine  that the threads are placed on; null: nothing is modelled
  /// images   that the recording began on the way to this one, which replaced another: a fork begins one, too; 0: this
  ///          is the first
  /// All references must outlive the Recorder.
  Recorder(const RecordingConfig& config, const arch::CpuModel& model, std::vector<BankPlan> banks,
           uarch::ModelledMachine* machine, Channel& channel, RecordingClock& clock, ProgramMemory& memory,
           std::uint64_t images);
  ~Recorder() override;

  void copies_by(const engine::CopyOfProgram& copy) override { parts_.memory.copies_by(copy); }
  engine::VirtualCpu thread_started(const engine::ThreadIdentity& who) override;
  void thread_exited(const engine::ThreadIdentity& who) override;
  void pmi(const engine::ThreadIdentity& who, const arch::RegisterFile& registers) override;
  bool pmi_ahead(const engine::ThreadIdentity& who, const arch::RegisterFile& registers) override;
  void signals_counted(const engine::ThreadIdentity& who) override;
  void reported_late(std::uint64_t host_ticks) override { parts_.clock.set_back(host_ticks); }
  void in_call(const engine::ThreadIdentity& who, bool in) override;
  void forked(const engine::ThreadIdentity& child, bool thread) override;
  void in_forked_child() override;
  void renamed(const engine::ThreadIdentity& who, const std::string& comm, bool exec) override;
  void mapped(const engine::ThreadIdentity& who, const engine::Mapping& mapping) override;
  void flush(const engine::ThreadIdentity& who) override;
  void notice(const std::string& text) override;
  void refused(const std::string& text) override;
  std::vector<std::string> words_for_next_image() override;
  std::vector<engine::CodeProbe> new_probes() override;
  engine::ProbeTime marker(std::uint64_t pc, std::uint64_t operand) override {
    return parts_.probes.marker(pc, operand);
  }
  void ran(const engine::ThreadIdentity& who, std::span<const arch::PathCount> counts) override;
  void ran_in_context(const engine::ThreadIdentity& who, std::span<const arch::PathCount> counts,
                      std::span<const std::uint64_t> callers) override;
  void reached(const engine::ThreadIdentity& who, std::span<const engine::ProbeVisit> visits,
               const arch::RegisterFile* registers) override;

  /// Only if the configuration has the progress event.
  std::uint64_t instructions() override;

 private:
  void find_heap_blocks_of_records();
  void send_counts(RecordedThread& thread, bool final);
  void send_what_is_known(RecordedThread& thread, std::uint64_t every_ns);
  RecordedThread* find(const engine::ThreadIdentity& who);
  void end_phase(const RecordedThread& thread, std::uint64_t ip);
  bool sure_enough();
  void write(Ran ran, std::span<const arch::PathCount> counts);
  void write_sharing(const engine::ThreadIdentity& last);

  RecordingParts parts_;
  UnitSums ended_units_;  // of threads that have ended
  std::uint64_t images_;
  bool exec_;             // this image replaced another one in a process that was recorded already
  bool forked_ = false;   // this process is a copy of one that was recorded
  bool greeted_ = false;  // Hello is said
  engine::ThreadIdentity last_;
  std::uint64_t instructions_before_ = 0;  // of threads that have ended, and of the parent before the fork
  std::map<std::int32_t, std::unique_ptr<RecordedThread>> threads_;  // by tid
};

}  // namespace zs::session
