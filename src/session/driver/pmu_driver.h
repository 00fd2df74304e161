// One PMU as a kernel driver runs it: allocates its Debug Store area, programs it through MSRs, takes its interrupt,
// drains its records, reloads its counters and keeps 64-bit totals of them.
//
// Periods: a counter that samples starts at -N, and its DS reset slot holds -N, uncompensated, as Linux does it. So an
// ordinary PEBS event records occurrence N+1, 2(N+1), ... (one overflows and arms, the next one is recorded), the
// precise distribution and an overflow interrupt N, 2N, ...
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "arch/cpu_model.h"
#include "pmu/interfaces.h"
#include "pmu/pmu.h"
#include "session/driver/ds_area.h"
#include "session/driver/pebs_drain.h"
#include "session/driver/pmu_plan.h"
#include "session/sample.h"
#include "session/settings/config.h"

namespace zs::session {

/// What a driver finds while it services its PMU.
class PmuClient {
 public:
  virtual ~PmuClient() = default;
  /// A PEBS record of `counter`.
  /// events  since the one before it: the period, and where arming takes one, that one too
  virtual void record(const PlannedCounter& counter, std::uint64_t period, std::uint64_t events,
                      const PebsFacts& facts) = 0;
  /// A counter without PEBS completed its period, or several at once; the state is the interrupted one.
  /// events  that the sample stands for: a multiple of the period
  virtual void overflow(const PlannedCounter& counter, std::uint64_t events) = 0;
  /// A sample of `counter` that cannot be kept: its record is of two events at once (formats 1 and 2).
  virtual void lost(const PlannedCounter& counter) = 0;
};

struct DriverStatistics {
  std::uint64_t pmis = 0;
  std::uint64_t records = 0;
  std::uint64_t lost = 0;
};

class PmuDriver {
 public:
  /// pmi_requested  becomes true when the PMU asks for its interrupt; shared by the banks of a thread
  PmuDriver(const arch::CpuModel& model, const RecordingConfig& config, BankPlan plan, pmu::Clock& clock,
            bool& pmi_requested);

  pmu::Pmu& pmu() { return pmu_; }
  const BankPlan& plan() const { return plan_; }

  /// Takes the interrupt, if this PMU has asked for it.
  void take_pmi(PmuClient& client);
  /// Empties the PEBS buffer without an interrupt: the thread ends, or its counts are read.
  void drain(PmuClient& client);

  /// Hands over the records that lie in the buffer and were not handed over so before, oldest first. They stay for the
  /// drain.
  void look_ahead(const std::function<void(const PebsFacts&)>& look);
  /// How many bytes of the buffer that were; a drain makes it 0.
  std::size_t looked_ahead() const { return looked_ahead_; }

  /// Events counted since the start, exact to the last retired instruction, also while records lie in the buffer.
  std::uint64_t total(std::size_t planned);
  /// Whether that are loads which the load-latency facility tags.
  bool counts_tagged_loads(std::size_t planned) const;

  /// Counters of events that count in units alone (EventSpec::only_in_units) count nothing, and again.
  void sleep() { pmu_.let_sleep(only_in_units_); }
  void wake() { pmu_.let_sleep({}); }

  /// `planned` is to sample every `period` events; called from PmuClient::record or overflow, it holds from there on.
  void set_period(std::size_t planned, std::uint64_t period);

  /// A record that PmuClient::record is being called for, as arch/records/ds_excerpt.h has it; the first of a buffer
  /// with the management area that the drain found.
  std::vector<std::byte> excerpt(const PebsFacts& facts);

  /// `planned`, which has no PEBS, counts up to its next overflow anew: `events` of them, and again every `events`. 0:
  /// it overflows no more. Not from within PmuClient::overflow.
  void restart(std::size_t planned, std::uint64_t events);

  /// The instruction that last made this counter overflow, by its bit in IA32_PERF_GLOBAL_CTRL; nothing where none was
  /// told of.
  std::optional<std::uint64_t> overflowed_at(unsigned counter) const { return line_.overflowed_at[counter]; }

  /// The LBR stack, newest first.
  void read_lbr(std::vector<SampledBranch>& branches) const;

  const DriverStatistics& statistics() const { return statistics_; }

 private:
  class PmiLine final : public pmu::PmiSink {
   public:
    explicit PmiLine(bool& any) : any_(any) {}
    void request_pmi() override { mine = any_ = true; }
    void overflowed(arch::CounterSet counters, const arch::Retired& by) override {
      for (; !counters.empty(); counters.bits &= counters.bits - 1) overflowed_at[counters.first()] = by.ip;
    }
    bool mine = false;
    std::array<std::optional<std::uint64_t>, 64> overflowed_at;  // by counter

   private:
    bool& any_;
  };

  struct Counter {
    std::uint64_t period = 0;         // in force; 0: only counted
    std::uint64_t wanted_period = 0;  // from the next reload on
    std::int64_t left = 0;            // events up to the next sample, without PEBS
    std::uint64_t accounted = 0;      // the register's value that `total` is up to
    std::uint64_t total = 0;
    std::uint64_t buffered = 0;  // events of the records that are not drained yet, each of which reloaded the counter
    std::uint32_t rdpmc_index =
        0;  // RDPMC is a tenth of a RDMSR here too, and regions read every counter at every probe
    unsigned sign_shift = 0;
  };

  void start();
  void program_counters();
  void program_load_latency();
  std::uint64_t facility_enables() const;
  void program_lbr(std::uint64_t select);
  void drain_records(PmuClient& client);
  void service_overflows(PmuClient& client, arch::CounterSet overflowed);
  void account(std::size_t planned);
  void count_buffered();
  /// passed  events of the period that have come already
  void reload(std::size_t planned, std::uint64_t passed = 0);
  /// Whether its overflow itself is recorded, as that of time is.
  bool records_time(std::size_t planned) const;
  std::uint64_t distance_to_wrap(std::size_t planned) const;
  std::uint64_t take_periods_behind(std::size_t planned);
  std::uint32_t value_msr(const PlannedCounter& counter) const;
  unsigned width(const PlannedCounter& counter) const;
  std::uint64_t longest_period(const PlannedCounter& counter) const;
  std::uint64_t events_per_record(std::size_t planned) const;

  std::uint64_t rdmsr(std::uint32_t msr) const;
  void wrmsr(std::uint32_t msr, std::uint64_t value);

  const arch::CpuModel& model_;
  const arch::CounterRegisters registers_;
  const RecordingConfig& config_;
  BankPlan plan_;
  std::vector<Counter> counters_;  // as plan_
  arch::CounterSet pebs_counters_, running_, only_in_units_;
  bool lbr_on_;
  DsArea ds_;
  std::size_t looked_ahead_ = 0;         // bytes of the buffer
  std::size_t counted_ = 0;              // likewise, in Counter::buffered
  std::vector<std::byte> drained_area_;  // RecordingConfig::raw_records: for the next excerpt
  PmiLine line_;
  pmu::Pmu pmu_;
  DriverStatistics statistics_;
};

/// The longest period a counter can sample through PEBS: writes must keep their sign.
std::uint64_t longest_pebs_period(const arch::CpuModel& model);

}  // namespace zs::session
