#include "session/driver/pmu_driver.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "arch/msrs.h"
#include "arch/records/ds_excerpt.h"
#include "arch/records/ds_shape.h"
#include "base/bytes.h"
#include "base/check.h"
#include "session/driver/core_choice.h"

namespace zs::session {
namespace {

using arch::CounterSet;
using arch::DebugCtl;
using arch::FixedCtrCtrl;
using arch::GlobalStatus;
using arch::PerfEvtSel;

constexpr DebugCtl kRecordBranches = DebugCtl{}.with(DebugCtl::lbr, 1).with(DebugCtl::freeze_lbrs, 1);
constexpr std::uint32_t kRdpmcFixed = 1U << 30;  // of ECX: a fixed counter
constexpr int kMostRounds = 100;                 // of one interrupt, as Linux has it; more means that the PMU is stuck

CounterSet pebs_counters_of(const BankPlan& plan) {
  CounterSet set;
  for (const PlannedCounter& c : plan) {
    if (c.pebs) set = set | arch::only(c.counter);
  }
  return set;
}

bool bank_samples(const BankPlan& plan, const RecordingConfig& config) {
  return std::any_of(plan.begin(), plan.end(),
                     [&](const PlannedCounter& c) { return config.events[c.event].samples(); });
}

/// What an adaptive record is asked for: the registers and the memory access. 0 for formats of a fixed size.
constexpr arch::PebsDataCfg groups_of(arch::PebsFormat format) {
  if (!arch::is_adaptive(format)) return {};
  return arch::PebsDataCfg{}.with(arch::PebsDataCfg::memory, 1).with(arch::PebsDataCfg::gprs, 1);
}

std::size_t record_bytes(const arch::CpuModel& model) {
  return arch::record_size({.format = model.pebs_format(), .groups = groups_of(model.pebs_format())});
}

std::uint64_t longest_general_period(const arch::CpuModel& model) {
  // Without full-width writes only 32 bits are written and bit 31 is the sign.
  const unsigned bits = model.full_width_writes() ? model.general_width : 32U;
  return (std::uint64_t{1} << (bits - 1)) - 1;
}

}  // namespace

std::uint64_t longest_pebs_period(const arch::CpuModel& model) { return longest_general_period(model); }

PmuDriver::PmuDriver(const arch::CpuModel& model, const RecordingConfig& config, BankPlan plan, pmu::Clock& clock,
                     bool& pmi_requested)
    : model_(model),
      registers_(arch::counter_registers(model)),
      config_(config),
      plan_(std::move(plan)),
      counters_(plan_.size()),
      pebs_counters_(pebs_counters_of(plan_)),
      lbr_on_((config.branch_stack || config.callchain == Callchain::LbrCallStack) && bank_samples(plan_, config)),
      ds_(record_bytes(model), config.records_per_pmi(), model.general_counters + model.fixed_counters),
      line_(pmi_requested),
      pmu_(model, ds_, line_, clock) {
  start();
}

// The order of a driver: everything stands before the global enable, and PEBS and LBR before the counters they serve.
void PmuDriver::start() {
  wrmsr(registers_.control, 0);
  if (!pebs_counters_.empty()) wrmsr(arch::DsArea::msrs[0], DsArea::kAddress);
  program_counters();
  if (model_.pebs_baseline()) wrmsr(arch::PebsDataCfg::msrs[0], groups_of(model_.pebs_format()).raw());
  program_load_latency();
  if (!pebs_counters_.empty()) wrmsr(arch::PebsEnable::msrs[0], pebs_counters_.bits | facility_enables());
  if (lbr_on_) program_lbr(config_.lbr_select);
  FixedCtrCtrl fixed;
  for (const PlannedCounter& c : plan_) {
    running_ = running_ | arch::only(c.counter);
    if (config_.events[c.event].only_in_units) only_in_units_ = only_in_units_ | arch::only(c.counter);
    if (!c.is_fixed()) continue;
    const PerfEvtSel select{config_.events[c.event].select};
    fixed = fixed.with(FixedCtrCtrl::user, c.index(), select.has(PerfEvtSel::user))
                .with(FixedCtrCtrl::kernel, c.index(), select.has(PerfEvtSel::kernel))
                .with(FixedCtrCtrl::interrupt, c.index(), !c.pebs)
                .with(FixedCtrCtrl::adaptive, c.index(), c.pebs);
  }
  if (fixed.raw() != 0) wrmsr(FixedCtrCtrl::msrs[0], fixed.raw());
  wrmsr(registers_.control, running_.bits);
}

void PmuDriver::program_counters() {
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    const PlannedCounter& c = plan_[i];
    const EventSpec& event = config_.events[c.event];
    counters_[i].period = event.first_period();
    counters_[i].wanted_period = counters_[i].period;
    counters_[i].left = static_cast<std::int64_t>(counters_[i].period);
    counters_[i].rdpmc_index = c.index() | (c.is_fixed() ? kRdpmcFixed : 0);
    counters_[i].sign_shift = 64 - width(c);
    reload(i);
    if (c.is_fixed()) continue;
    // A PEBS counter's overflow arms and interrupts nobody; the buffer's threshold does.
    const PerfEvtSel select = PerfEvtSel{event.select}
                                  .with(PerfEvtSel::interrupt, c.pebs ? 0 : 1)
                                  .with(PerfEvtSel::adaptive, c.pebs && model_.pebs_baseline() ? 1 : 0)
                                  .with(PerfEvtSel::enable, 1);
    wrmsr(registers_.select(c.index()), select.raw());
  }
}

/// One threshold holds for all counters (plan_banks).
void PmuDriver::program_load_latency() {
  for (const PlannedCounter& c : plan_) {
    const EventSpec& event = config_.events[c.event];
    if (is_load_latency(event, model_)) wrmsr(arch::LoadLatency::msrs[0], event.latency_threshold);
  }
}

/// Before PEBS baseline, load latency and precise store have enables of their own, beside those of PEBS.
std::uint64_t PmuDriver::facility_enables() const {
  std::uint64_t enables = 0;
  for (const PlannedCounter& c : plan_) {
    if (!c.pebs || model_.pebs_baseline()) continue;
    const arch::SourceWord word = source_word_of(config_.events[c.event], model_);
    if (word == arch::SourceWord::LoadLatency) enables |= arch::only(c.counter).bits << 32;
    if (word == arch::SourceWord::PreciseStore) enables |= arch::PebsEnable::precise_store.mask;
  }
  return enables;
}

/// select  in the bits of MSR_LBR_SELECT; Core 2 has no filter and records everything
void PmuDriver::program_lbr(std::uint64_t select) {
  switch (model_.lbr_kind) {
    case arch::LbrKind::None:
    case arch::LbrKind::Small: break;
    case arch::LbrKind::Stack: wrmsr(arch::LbrSelect::msrs[0], select); break;
    case arch::LbrKind::Architectural:
      wrmsr(arch::LbrCtl::msrs[0], arch::lbr_ctl_of(arch::LbrSelect{select}).with(arch::LbrCtl::enable, 1).raw());
      break;
    case arch::LbrKind::Amd:
      // Only branches of user code are asked for, so what is read at an interrupt is as it was when that came, frozen
      // or not.
      wrmsr(arch::kAmdLbrSelect, select);
      wrmsr(arch::DbgExtnCfg::msr, arch::DbgExtnCfg{}.with(arch::DbgExtnCfg::lbr_stack, 1).raw());
      return;
  }
  wrmsr(DebugCtl::msrs[0], kRecordBranches.raw());
}

void PmuDriver::take_pmi(PmuClient& client) {
  if (!line_.mine) return;
  ++statistics_.pmis;
  wrmsr(registers_.control, 0);
  int rounds = 0;
  for (GlobalStatus status{rdmsr(registers_.status)}; status.raw() != 0;
       status = GlobalStatus{rdmsr(registers_.status)}) {
    CHECK(++rounds <= kMostRounds, status.raw());
    wrmsr(registers_.status_clear, status.raw());  // acknowledged before it is served: what comes now counts again
    if (status.has(GlobalStatus::buffer)) drain_records(client);
    // Counters with PEBS are served by their records only: their status bit may be set while they are merely armed.
    service_overflows(client, {status.raw() & model_.counters().bits & ~pebs_counters_.bits});
  }
  if (lbr_on_ && model_.lbr_freeze == arch::FreezeKind::Legacy) {
    // The interrupt cleared DEBUGCTL.LBR; streamlined freezing ended with the acknowledgement.
    wrmsr(DebugCtl::msrs[0], kRecordBranches.raw());
  }
  line_.mine = false;
  wrmsr(registers_.control, running_.bits);
}

void PmuDriver::drain(PmuClient& client) {
  if (!pebs_counters_.empty()) drain_records(client);
}

void PmuDriver::look_ahead(const std::function<void(const PebsFacts&)>& look) {
  if (pebs_counters_.empty()) return;
  const std::span<const std::byte> records = ds_.records();
  if (records.size() == looked_ahead_) return;
  drain_pebs(records.subspan(looked_ahead_), model_.pebs_format(), pebs_counters_, look);
  looked_ahead_ = records.size();
}

void PmuDriver::drain_records(PmuClient& client) {
  const auto receive = [&](const PebsFacts& facts) {
    // A format that says which counters had overflowed, and not which made the record, does not tell two at once apart.
    const bool collision =
        !arch::traits(model_.pebs_format()).names_counters && !std::has_single_bit(facts.counters.bits);
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      if (!plan_[i].pebs || !facts.counters.has(plan_[i].counter)) continue;
      counters_[i].total += events_per_record(i);  // this record reloaded the counter
      const std::uint64_t behind = config_.events[plan_[i].event].frequency != 0 ? take_periods_behind(i) : 0;
      if (collision) {
        ++statistics_.lost;
        client.lost(plan_[i]);
      } else {
        client.record(plan_[i], counters_[i].period + behind, events_per_record(i) + behind, facts);
      }
    }
  };
  if (config_.raw_records) {
    const auto area = ds_.management(arch::ds_area_bytes(arch::ds_shape(model_, arch::DsLayout::Words64)));
    drained_area_.assign(area.begin(), area.end());
  }
  looked_ahead_ = counted_ = 0;
  for (Counter& counter : counters_) counter.buffered = 0;
  const DrainResult drained = drain_pebs(ds_.drain(), model_.pebs_format(), pebs_counters_, receive);
  statistics_.records += drained.records;
  statistics_.lost += drained.unclaimed;
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    if (!plan_[i].pebs) continue;
    account(i);
    Counter& counter = counters_[i];
    if (counter.wanted_period == counter.period) continue;
    // What has passed since is part of the next period.
    const std::uint64_t passed = records_time(i) ? counter.period - distance_to_wrap(i) : 0;
    counter.period = counter.wanted_period;
    reload(i, std::min(passed, counter.period - 1));
  }
}

bool PmuDriver::records_time(std::size_t planned) const { return pmu_.records_the_overflow(plan_[planned].counter); }

std::uint64_t PmuDriver::distance_to_wrap(std::size_t planned) const {
  return (0 - counters_[planned].accounted) & (~std::uint64_t{0} >> counters_[planned].sign_shift);
}

/// Where periods change, records of periods that have passed together with one that is recorded would be taken for such
/// of the new length, and their times for the event's rate: so that one sample stands for all of them.
std::uint64_t PmuDriver::take_periods_behind(std::size_t planned) {
  if (!records_time(planned)) return 0;
  account(planned);
  const Counter& counter = counters_[planned];
  const auto passed = static_cast<std::int64_t>(counter.accounted << counter.sign_shift) >> counter.sign_shift;
  if (passed < 0) return 0;
  const std::uint64_t beyond = static_cast<std::uint64_t>(passed) % counter.period;
  reload(planned, beyond);
  return static_cast<std::uint64_t>(passed) - beyond + counter.period;
}

void PmuDriver::service_overflows(PmuClient& client, CounterSet overflowed) {
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    if (!overflowed.has(plan_[i].counter)) continue;
    account(i);
    Counter& counter = counters_[i];
    if (counter.period != 0 && counter.left <= 0) {
      // What comes at once, as a miss's cycles do, may end several periods: the sample stands for them all, and what
      // passed the last one by belongs to the next. (Linux drops whole periods: its counters then say more than its
      // samples.)
      const auto passed = static_cast<std::uint64_t>(-counter.left);
      client.overflow(plan_[i], counter.period * (1 + passed / counter.period));
      const auto beyond = static_cast<std::int64_t>(passed % counter.period);
      counter.period = counter.wanted_period;
      counter.left = static_cast<std::int64_t>(counter.period) - beyond;
    }
    reload(i);
  }
}

std::uint64_t PmuDriver::total(std::size_t planned) {
  account(planned);
  if (plan_[planned].pebs) count_buffered();
  return counters_[planned].total + counters_[planned].buffered;
}

bool PmuDriver::counts_tagged_loads(std::size_t planned) const {
  return is_load_latency(config_.events[plan_[planned].event], model_);
}

void PmuDriver::count_buffered() {
  const std::span<const std::byte> records = ds_.records();
  if (records.size() == counted_) return;
  drain_pebs(records.subspan(counted_), model_.pebs_format(), pebs_counters_, [this](const PebsFacts& facts) {
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      if (plan_[i].pebs && facts.counters.has(plan_[i].counter)) counters_[i].buffered += events_per_record(i);
    }
  });
  counted_ = records.size();
}

void PmuDriver::set_period(std::size_t planned, std::uint64_t period) {
  CHECK(period != 0);
  counters_[planned].wanted_period = std::min(period, longest_period(plan_[planned]));
}

void PmuDriver::restart(std::size_t planned, std::uint64_t events) {
  CHECK(!plan_[planned].pebs, planned);
  account(planned);
  Counter& counter = counters_[planned];
  // Its overflow has just been served: it begins so already.
  const bool begins_so =
      counter.period == events && counter.wanted_period == events && counter.left == static_cast<std::int64_t>(events);
  if (begins_so) return;
  counter.period = counter.wanted_period = events;
  counter.left = static_cast<std::int64_t>(events);
  reload(planned);
}

/// Adds what was counted since the counter was last written or accounted for. Differences carry the counter's sign: a
/// counter that went from -N through 0 to 2 counted N + 2.
void PmuDriver::account(std::size_t planned) {
  Counter& counter = counters_[planned];
  const unsigned shift = counter.sign_shift;
  std::uint64_t now = 0;
  CHECK(pmu_.rdpmc(counter.rdpmc_index, now), counter.rdpmc_index);
  const auto delta = static_cast<std::int64_t>((now - counter.accounted) << shift) >> shift;
  counter.accounted = now;
  counter.total += static_cast<std::uint64_t>(delta);
  counter.left -= delta;
}

void PmuDriver::reload(std::size_t planned, std::uint64_t passed) {
  const PlannedCounter& c = plan_[planned];
  Counter& counter = counters_[planned];
  std::uint64_t events = longest_period(c);
  if (c.pebs) {
    events = counter.period;
  } else if (counter.period != 0) {
    events = std::min(longest_period(c), static_cast<std::uint64_t>(std::max<std::int64_t>(counter.left, 1)));
  }
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - width(c));
  if (c.pebs) ds_.set_reset(arch::ds_reset_slot(c.counter, model_.fixed_reset_slot()), (0 - events) & mask);
  counter.accounted = (passed - events) & mask;
  wrmsr(value_msr(c), counter.accounted);
}

unsigned PmuDriver::width(const PlannedCounter& counter) const {
  return counter.is_fixed() ? model_.fixed_width : model_.general_width;
}

std::uint64_t PmuDriver::longest_period(const PlannedCounter& counter) const {
  return counter.is_fixed() ? (std::uint64_t{1} << (model_.fixed_width - 1)) - 1 : longest_general_period(model_);
}

/// An ordinary PEBS event counts its period, then one more that is recorded; one whose overflow itself is recorded, the
/// precise distribution, has the last of its period recorded. Linux adds the period alone and loses one event per
/// record.
std::uint64_t PmuDriver::events_per_record(std::size_t planned) const {
  return counters_[planned].period + (pmu_.records_the_overflow(plan_[planned].counter) ? 0 : 1);
}

std::uint32_t PmuDriver::value_msr(const PlannedCounter& counter) const {
  return counter.is_fixed() ? arch::FixedCounter::msrs[counter.index()] : registers_.value(counter.index());
}

std::vector<std::byte> PmuDriver::excerpt(const PebsFacts& facts) {
  const std::vector<std::byte> area = std::exchange(drained_area_, {});
  ByteWriter out;
  out.write(arch::DsExcerptHead{.area_bytes = static_cast<std::uint16_t>(area.size()),
                                .record_bytes = static_cast<std::uint16_t>(facts.record.size()),
                                .area = DsArea::kAddress,
                                .record = ds_.address_of(facts.record),
                                .shape = arch::ds_shape(model_, arch::DsLayout::Words64)});
  out.write_bytes(area);
  out.write_bytes(facts.record);
  return out.release();
}

void PmuDriver::read_lbr(std::vector<SampledBranch>& branches) const {
  branches.clear();
  const std::uint32_t entries = model_.lbr_entries;
  const arch::LbrFormat format = model_.lbr_format();
  const arch::LbrRegisters registers = arch::lbr_registers(model_);
  const std::uint64_t top = registers.newest_first ? 0 : rdmsr(arch::LbrTos::msrs[0]);
  for (std::uint32_t i = 0; i < entries; ++i) {
    const auto at = registers.stride * (registers.newest_first ? i : static_cast<std::uint32_t>(top - i) % entries);
    const std::uint64_t from = rdmsr(registers.from + at);
    const std::uint64_t to = rdmsr(registers.to + at);
    if (from == 0 && to == 0) break;  // the stack is not full yet
    SampledBranch branch{.from = arch::lbr_from_address(format, from), .to = arch::lbr_to_address(format, to)};
    if (arch::has_info(format)) {
      const arch::LbrInfo info{rdmsr(registers.info + at)};
      branch.mispredicted = info.has(arch::LbrInfo::mispredicted);
      branch.cycles = static_cast<std::uint16_t>(info.get(arch::LbrInfo::cycles));
    } else {
      if (format == arch::LbrFormat::Amd) branch.speculation = arch::lbr_speculation(to);
      branch.mispredicted = (from & arch::lbr_from_flags(format) & arch::kLbrMispredicted) != 0;
    }
    branches.push_back(branch);
  }
}

std::uint64_t PmuDriver::rdmsr(std::uint32_t msr) const {
  std::uint64_t value = 0;
  CHECK(pmu_.rdmsr(msr, value), msr);
  return value;
}

void PmuDriver::wrmsr(std::uint32_t msr, std::uint64_t value) { CHECK(pmu_.wrmsr(msr, value), msr, value); }

}  // namespace zs::session
