// What a PEBS record says of memory, as the events of its counters decide: the address of which access, and what the
// data-source word describes.
#pragma once

#include <array>
#include <cstdint>

#include "arch/counter_set.h"
#include "arch/cpu_model.h"
#include "arch/events/tables.h"
#include "arch/msrs.h"
#include "arch/retired.h"

namespace zs::pmu {

class RecordedAccess {
 public:
  explicit RecordedAccess(const arch::CpuModel& model) : model_(model) {}

  /// PMCn counts the event of this select; `row` is it, null if the model has no such.
  void set_event(unsigned n, arch::PerfEvtSel select, const arch::Event* row);
  /// Which counters have PEBS with load latency, and which with the precise-store facility.
  void enable(arch::CounterSet latency, arch::CounterSet stores) {
    latency_ = latency;
    precise_stores_ = stores;
  }
  arch::CounterSet latency() const { return latency_; }

  /// The data address of a record for these counters: the store's if only events of stores are among them, 0 if none of
  /// their events has one.
  std::uint64_t address(arch::CounterSet counters, const arch::Retired& retired) const {
    const arch::CounterSet unprepared{facility_stores_.bits & ~precise_stores_.bits};
    const arch::CounterSet addressed{(counters & with_address_).bits & ~unprepared.bits};
    if (addressed.empty()) return 0;
    return addressed.subset_of(of_stores_) && retired.store_address != 0 ? retired.store_address : retired.data_address;
  }

  /// What the data-source word describes: for load latency the load, whatever else is among them; a store if only
  /// events of stores are; else nothing.
  arch::SourceWord source_word(arch::CounterSet counters) const;

 private:
  const arch::CpuModel& model_;
  std::array<arch::SourceWord, arch::GeneralCounter::msrs.count> source_words_{};
  arch::CounterSet with_address_, of_stores_;
  arch::CounterSet facility_stores_;           // count the event of the precise-store facility
  arch::CounterSet latency_, precise_stores_;  // are enabled for these
};

}  // namespace zs::pmu
