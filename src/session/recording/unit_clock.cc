#include "session/recording/unit_clock.h"

#include <time.h>

#include <utility>
#include <vector>

#include "base/check.h"
#include "session/driver/pmu_plan.h"

namespace zs::session {
namespace {

/// Its overflows are asked for one by one.
class Nobody final : public PmuClient {
 public:
  void record(const PlannedCounter&, std::uint64_t, std::uint64_t, const PebsFacts&) override {}
  void overflow(const PlannedCounter&, std::uint64_t) override {}
  void lost(const PlannedCounter&) override {}
};

std::uint64_t process_cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

BankPlan only_bank(const RecordingConfig& config, const arch::CpuModel& model) {
  Result<std::vector<BankPlan>> banks = plan_banks(config.events, model);
  CHECK(banks && banks->size() == 1);
  return std::move(banks->front());
}

}  // namespace

RecordingConfig UnitClock::alone() {
  RecordingConfig config;
  config.in_units = true;
  config = with_progress_event(std::move(config));
  config.events.front().period = 1;  // until it is said how far
  return config;
}

UnitClock::UnitClock(const arch::CpuModel& model, const RecordingConfig& config, pmu::Clock& clock)
    : config_(alone()),
      schedule_(config.units),
      stretch_(schedule_.next()),
      driver_(model, config_, only_bank(config_, model), clock, over_) {
  driver_.restart(0, stretch_.instructions);
  if (config.units.budget == 0) return;
  budget_.emplace(config.units.budget);
  cpu_ns_ = process_cpu_ns();
}

void UnitClock::account_for_cost() {
  const std::uint64_t now = process_cpu_ns();
  budget_->add(phase() == engine::Phase::FastForward, stretch_.instructions, now - std::exchange(cpu_ns_, now));
  schedule_.set_trend(budget_->trend());
}

// Not where somebody wants to spend so much and no more.
void UnitClock::ended(const CompletePart::Waits& waits, bool alone) {
  complete_.add(stretch_.instructions, waits);
  schedule_.set_pieces(alone);
  const UnitOptions& options = schedule_.options();
  if (options.complete == 0 || budget_ || !schedule_.complete_is_over()) return;
  const bool more = stretch_.complete && complete_.instructions() < options.most_complete;
  if (complete_.contended() || (more && complete_.unsteady(schedule_.units_at_first()))) schedule_.go_on_complete();
}

void UnitClock::advance() {
  if (budget_) account_for_cost();
  Nobody nobody;
  driver_.take_pmi(nobody);
  over_ = false;
  stretch_ = schedule_.next();
  driver_.restart(0, stretch_.instructions);
}

void UnitClock::branch(std::uint64_t images) {
  schedule_.branch(images);
  if (budget_) cpu_ns_ = process_cpu_ns();
  advance();
}

}  // namespace zs::session
