// `zeroskid linux --record`: samples the whole guest by PMUs that it does not have, from the command's first
// instruction to its last. The guest runs as it would without: its names are read from its memory (guest_tasks.h), and
// its kernel's come from the guest's first program, which sends the same files in the beginning either way.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/linux/guest_tasks.h"
#include "cli/record/record_options.h"
#include "cli/record/record_sink.h"
#include "pmu/interfaces.h"
#include "session/driver/adaptive_period.h"
#include "session/driver/pmu_driver.h"
#include "session/memory/program_memory.h"

namespace zs::machine {
class Pc;
}

namespace zs::cli {

/// Files of the guest's /proc and /sys, by their paths.
using GuestFacts = std::map<std::string, std::string>;

class OutsideRecording final : public session::PmuClient {
 public:
  /// options  of RecordKind::Outside; must outlive it
  static Result<std::unique_ptr<OutsideRecording>> create(const RecordOptions& options, machine::Pc& pc);

  /// The command begins. facts  the guest's lists of modules and, as far as the variables of each CPU, of symbols
  void begin(const GuestFacts& facts);
  /// The command has ended.
  void end();
  /// Writes what is still to be said, and tells what there is. facts  the whole lists, if the guest came so far
  /// returns whether the whole recording is in the file
  bool close(const GuestFacts& facts);

  /// A good moment to write out what is buffered.
  void breathe() { sink_.breathe(); }
  std::uint64_t samples() const { return sink_.samples(); }

  void record(const session::PlannedCounter& counter, std::uint64_t period, std::uint64_t events,
              const session::PebsFacts& facts) override;
  void overflow(const session::PlannedCounter& counter, std::uint64_t events) override;
  void lost(const session::PlannedCounter& counter) override;

 private:
  /// The guest's time, as samples have it.
  class Time final : public pmu::Clock {
   public:
    explicit Time(machine::Pc& pc) : pc_(pc) {}
    std::uint64_t tsc() override;
    std::uint64_t ns();
    bool has_core_cycles() const override { return true; }
    std::uint64_t core_cycles() override { return tsc(); }

   private:
    machine::Pc& pc_;
  };
  /// The program that the guest runs now.
  class Memory final : public session::ProgramMemory {
   public:
    explicit Memory(machine::Pc& pc) : pc_(pc) {}
    std::size_t read(std::uint64_t address, std::span<std::byte> into) override;

   private:
    machine::Pc& pc_;
  };
  /// What the recording says of a process so far.
  struct Process {
    std::uint64_t space = 0;
    std::map<std::uint64_t, GuestTasks::Area> areas;  // by start
  };

  OutsideRecording(const RecordOptions& options, machine::Pc& pc, profile::PerfDataWriter writer);
  session::Sample sample_of(const session::PlannedCounter& counter, std::uint64_t period,
                            const arch::RegisterFile& registers);
  void finish(session::Sample& sample, const session::PlannedCounter& counter);
  void tell_thread();
  void tell_code(std::uint64_t address);
  void tell_kernel(const GuestFacts& facts);
  void keep_names(const GuestFacts& facts) const;

  const RecordOptions& options_;
  machine::Pc& pc_;
  Time time_;
  Memory memory_;
  RecordSink sink_;
  bool pmi_ = false;
  std::vector<std::unique_ptr<session::PmuDriver>> drivers_;
  session::PmuDriver* serviced_ = nullptr;
  std::vector<std::optional<session::AdaptivePeriod>> adaptive_;  // by event
  std::optional<GuestTasks> tasks_;
  GuestTasks::Task task_;  // of the sample that is made
  std::uint64_t began_ns_ = 0, began_after_ = 0;
  std::map<std::int32_t, Process> processes_;     // by pid
  std::map<std::int32_t, std::string> names_;     // by tid
  std::map<std::uint64_t, std::string> kernels_;  // what has been said of the kernel: what lies where
};

}  // namespace zs::cli
