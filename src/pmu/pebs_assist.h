// What the processor does when a PEBS counter wants its record: lays the record out, stores it, loads the counter anew
// and disarms it.
//   * A record that finds no room is skipped entirely: no reload, no status bit cleared, OvfBuf left alone. source: the
//     Sandy Bridge part on bounds checks. That the counter is disarmed by it is our choice; the manual is silent.
//   * Which counters a record serves (reload, status bit) differs by format: CpuModel::pebs_serves.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arch/cpu_model.h"
#include "arch/msrs.h"
#include "arch/records/pebs.h"
#include "arch/retired.h"
#include "pmu/counters.h"
#include "pmu/debug_store.h"
#include "pmu/interfaces.h"
#include "pmu/lbr_stack.h"
#include "pmu/pebs_record.h"
#include "pmu/pmu.h"

namespace zs::pmu {

class PebsAssist {
 public:
  /// All must outlive it.
  PebsAssist(const arch::CpuModel& model, Counters& counters, DebugStore& store, const LbrStack& lbr, Clock& clock)
      : model_(model), counters_(counters), store_(store), lbr_(lbr), clock_(clock) {}

  /// MSR_PEBS_DATA_CFG.
  arch::PebsDataCfg groups() const { return groups_; }
  void set_groups(arch::PebsDataCfg groups) { groups_ = groups; }
  void set_vector_registers(VectorRegisters* registers) { vector_registers_ = registers; }

  /// One assist, for counters that `retired` has triggered.
  /// code64             as PebsRecord::lay_out() has it
  /// reached_threshold  set where the Debug Store asks for its interrupt
  /// returns            the counters it has served
  arch::CounterSet record(arch::CounterSet triggered, const arch::Retired& retired, const arch::RegisterFile& after,
                          bool code64, bool& reached_threshold);
  /// As Pmu::repeating(), of the records alone.
  Pmu::Repeating repeating(std::size_t accumulator, Ring ring) const;
  /// Counters of time have wrapped without an instruction, and their records are due. Each is loaded anew with what has
  /// passed since; where that is another whole period, it stays above 0 by it until the record is made, then until the
  /// next, so that whoever looks in between sees how much no record stands for yet.
  void reload_wrapped(arch::CounterSet wrapped);
  /// Software writes a counter: what had passed it by is no longer owed a record.
  void set_counter(unsigned counter, std::uint64_t value);
  void forget_due();

 private:
  arch::PebsDataCfg groups_of(arch::CounterSet triggered) const;
  void reload(arch::CounterSet counters);
  std::uint64_t period_of(unsigned counter) const;
  void take_period(unsigned counter);
  std::uint64_t limit_of(unsigned counter) const {
    return std::uint64_t{1} << (counter < arch::kFirstFixedBit ? model_.general_width : model_.fixed_width);
  }

  const arch::CpuModel& model_;
  Counters& counters_;
  DebugStore& store_;
  const LbrStack& lbr_;
  Clock& clock_;
  PebsRecord record_;
  arch::PebsDataCfg groups_;
  VectorRegisters* vector_registers_ = nullptr;
  arch::CounterSet reloaded_;  // counters of time whose records are due, and that were loaded anew when they wrapped
  arch::CounterSet behind_;    // counters of time that are above 0, because more has passed than was reloaded
};

}  // namespace zs::pmu
