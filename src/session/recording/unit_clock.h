// Ends the phases of a run that is modelled in units: a counter of instructions, shared by all threads of the process,
// that asks for an interrupt where the next phase begins.
#pragma once

#include <cstdint>
#include <optional>

#include "arch/cpu_model.h"
#include "engine/observer.h"
#include "pmu/interfaces.h"
#include "session/driver/pmu_driver.h"
#include "session/settings/config.h"
#include "session/units/complete_part.h"
#include "session/units/unit_budget.h"
#include "session/units/unit_schedule.h"
#include "session/units/unit_sums.h"

namespace zs::session {

class UnitClock {
 public:
  /// config  with in_units
  UnitClock(const arch::CpuModel& model, const RecordingConfig& config, pmu::Clock& clock);

  pmu::Pmu& pmu() { return driver_.pmu(); }
  /// What the run does now; and whether that is over, and advance() is due. Both are looked at whenever.
  const engine::Phase& phase() const { return stretch_.phase; }
  const bool& over() const { return over_; }
  /// In phase Unit.
  Unit unit() const {
    return {.number = schedule_.units(),
            .weight = stretch_.complete ? 1 : schedule_.weight(),
            .complete = stretch_.complete};
  }

  /// On to the next phase.
  void advance();
  /// As UnitSchedule has them.
  bool asks_how_sure() const { return schedule_.asks_how_sure(); }
  void set_sure(bool sure) { schedule_.set_sure(sure); }
  /// As UnitSchedule has it.
  void looked_at_code(arch::CodeAge age) { schedule_.looked_at_code(age); }
  /// A unit or a piece of what is complete is over, in which threads waited so.
  /// alone  there is one thread
  void ended(const CompletePart::Waits& waits, bool alone);
  /// What is complete goes on: nothing ends but a piece of it.
  bool goes_on_complete() const { return stretch_.complete && !schedule_.complete_is_over(); }
  /// In another process, or image. images: as UnitSchedule has them
  void branch(std::uint64_t images);

 private:
  static RecordingConfig alone();
  void account_for_cost();

  const RecordingConfig config_;  // of the driver: one event, of no recording
  bool over_ = false;
  UnitSchedule schedule_;
  UnitSchedule::Stretch stretch_;
  CompletePart complete_;
  PmuDriver driver_;
  std::optional<UnitBudget> budget_;
  std::uint64_t cpu_ns_ = 0;  // of the process, when the phase began; with a budget
};

}  // namespace zs::session
