// Which counters run is resolved when it is first asked for after a control register was written, so a PMI handler that
// stops and restarts everything costs nothing if nobody looks in between.
#include "pmu/counters.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "arch/events/tables.h"
#include "base/check.h"

namespace zs::pmu {

using arch::CounterSet;
using arch::FixedCtrCtrl;
using arch::GlobalStatus;
using arch::PerfEvtSel;

namespace {

/// The same meaning where fences count as stores.
constexpr const arch::EventMeaning* with_fences(const arch::EventMeaning* meaning) {
  constexpr struct {
    const arch::EventMeaning *without, *with;
  } kPairs[] = {{&arch::kStores, &arch::kStoresAndFences},
                {&arch::kLoadsAndStores, &arch::kLoadsStoresAndFences},
                {&arch::kStoreInstructions, &arch::kStoreInstructionsAndFences},
                {&arch::kMemoryInstructions, &arch::kMemoryInstructionsAndFences}};
  for (const auto& pair : kPairs) {
    if (meaning == pair.without) return pair.with;
  }
  return meaning;
}

constexpr void put(CounterSet& set, std::uint64_t bit, bool in) { set.bits = in ? set.bits | bit : set.bits & ~bit; }

/// Whether PEBS records the overflowing instruction of this counter. EDGE, INV, ANY and CMASK give up the exact kind of
/// precision.
bool is_recorded_at_overflow(const arch::CpuModel& model, unsigned counter, PerfEvtSel select, const arch::Event* row) {
  if (row != nullptr && row->tick != arch::Tick::None) return true;  // loaded anew when it wraps
  const bool precise = row != nullptr && row->precise != arch::Precise::No;
  if (!precise) return model.pebs_of_any_event;
  if (row->precise == arch::Precise::Distribution && model.distribution_counters.has(counter)) return true;
  if (!model.exact_counters.has(counter)) return false;
  constexpr std::uint64_t kReducing =
      PerfEvtSel::edge.mask | PerfEvtSel::invert.mask | PerfEvtSel::any.mask | PerfEvtSel::cmask.mask;
  return counter >= arch::kFirstFixedBit || (select.raw() & kReducing) == 0;
}

/// Which of the clocks it is.
std::uint64_t Elapsed::*clock_of(arch::Tick tick) {
  switch (tick) {
    case arch::Tick::Reference: return &Elapsed::reference;
    case arch::Tick::Bus: return &Elapsed::bus;
    case arch::Tick::Slots: return &Elapsed::slots;
    case arch::Tick::Core:
    case arch::Tick::None: break;
  }
  return &Elapsed::core;
}

}  // namespace

Counters::Counters(const arch::CpuModel& model) : model_(model), accesses_(model) {
  for (unsigned n = 0; n < model.general_counters; ++n) {
    slots_[n].limit = std::uint64_t{1} << model.general_width;
    slots_[n].bit = arch::only(n).bits;
  }
  for (unsigned i = 0; i < model.fixed_counters; ++i) {
    Counter& counter = slots_[kMaxGeneral + i];
    counter.limit = std::uint64_t{1} << model.fixed_width;
    counter.bit = arch::fixed(i).bits;
    const arch::Event* row = arch::fixed_event(model, i);
    if (row != nullptr) {
      counter.meaning = row->meaning;
      counter.tick = row->tick;
    }
    put(at_overflow_, counter.bit, is_recorded_at_overflow(model, arch::kFirstFixedBit + i, {}, row));
  }
  for (const auto& [counter, width] : {std::pair{kOpCounter, kOpCounterWidth}, {kFetchCounter, kFetchCounterWidth}}) {
    slot(counter).limit = std::uint64_t{1} << width;
    slot(counter).bit = arch::only(counter).bits;
  }
  reset();
}

void Counters::reset() {
  for (Counter& counter : slots_) counter.value = 0;
  for (unsigned n = 0; n < model_.general_counters; ++n) set_select(n, PerfEvtSel{});
  set_fixed_control(FixedCtrCtrl{});
  control_ = arch::GlobalCtrl{model_.enabled_at_reset().bits};
  status_ = GlobalStatus{};
  arming_.enable({});
  accesses_.enable({}, {});
  stale_ = true;
}

void Counters::set_value(unsigned counter, std::uint64_t value) {
  Counter& c = slot(counter);
  c.value = value & (c.limit - 1);
}

void Counters::set_select(unsigned n, PerfEvtSel select) {
  if (selects_[n] == select) return;
  selects_[n] = select;
  stale_ = true;

  Counter& counter = slots_[n];
  const arch::Event* const whole = arch::find_whole_event(model_, select);
  const arch::Event* const row = whole != nullptr ? whole : arch::find_event(model_, select);
  counter.tick = row != nullptr ? row->tick : arch::Tick::None;
  counter.cmask = whole != nullptr ? std::uint8_t{0} : static_cast<std::uint8_t>(select.get(PerfEvtSel::cmask));
  counter.invert = whole == nullptr && select.has(PerfEvtSel::invert);
  counter.edge = whole == nullptr && select.has(PerfEvtSel::edge);
  counter.condition_held = false;
  choose_meaning(n);

  accesses_.set_event(n, select, row);
  put(at_overflow_, counter.bit, is_recorded_at_overflow(model_, n, select, row));
  put(interrupting_, counter.bit, select.has(PerfEvtSel::interrupt));
}

/// What PMCn counts, which for load latency depends on PEBS too.
void Counters::choose_meaning(unsigned n) {
  Counter& counter = slots_[n];
  const PerfEvtSel select = selects_[n];
  const bool load_latency = arch::is_load_latency(model_, select) && accesses_.latency().has(n);
  const arch::Event* const whole = arch::find_whole_event(model_, select);
  counter.meaning = load_latency       ? &arch::kLatencyLoads
                    : whole != nullptr ? whole->meaning
                                       : arch::meaning_of(model_, select);
  if (model_.quirks.has(arch::Quirk::FencesCountAsStores)) counter.meaning = with_fences(counter.meaning);
}

void Counters::set_fixed_control(FixedCtrCtrl control) {
  if (fixed_control_ == control) return;
  fixed_control_ = control;
  stale_ = true;
  for (unsigned i = 0; i < model_.fixed_counters; ++i) {
    put(interrupting_, arch::fixed(i).bits, control.has(FixedCtrCtrl::interrupt, i));
  }
}

void Counters::set_control(arch::GlobalCtrl control) { control_ = control; }

void Counters::set_status(std::uint64_t bits) {
  if ((bits & ~status_.raw() & GlobalStatus::counters_frozen.mask) != 0) stale_ = true;
  status_ = GlobalStatus{status_.raw() | bits};
}

void Counters::clear_status(std::uint64_t bits) {
  if ((bits & status_.raw() & GlobalStatus::counters_frozen.mask) != 0) stale_ = true;
  status_ = GlobalStatus{status_.raw() & ~bits};
}

void Counters::set_pebs(CounterSet enabled, CounterSet latency, CounterSet stores) {
  arming_.enable(enabled);
  const bool same = accesses_.latency() == latency;
  accesses_.enable(latency, stores);
  if (same) return;
  stale_ = true;
  for (unsigned n = 0; n < model_.general_counters; ++n) choose_meaning(n);
}

void Counters::run_sampling(unsigned sampler, bool runs, const arch::EventMeaning* meaning) {
  Counter& counter = slot(sampler);
  counter.meaning = runs ? meaning : nullptr;
  counter.tick = runs && meaning == nullptr ? arch::Tick::Core : arch::Tick::None;
  stale_ = true;
}

std::size_t Counters::Accumulators::accumulator_of(const arch::EventMeaning& meaning) {
  for (std::size_t i = 0; i < count; ++i) {
    if (meanings[i].count == meaning.count) return i;
  }
  meanings[count] = meaning;
  return count++;
}

void Counters::Accumulators::add(Counter& counter) {
  if (counter.tick != arch::Tick::None) {
    ticking[ticking_count++] = &counter;
    return;
  }
  if (!counter.conditional()) {
    const std::size_t accumulator = accumulator_of(*counter.meaning);
    members[accumulator][member_count[accumulator]++] = &counter;
    return;
  }
  conditional[conditional_count++] = &counter;
  // INV counts where the event is absent, and E must see where it stops: both need every instruction.
  const bool needs_all = counter.edge || counter.invert;
  stepwise |= 1U << accumulator_of(needs_all ? arch::kInstructions : *counter.meaning);
}

bool Counters::Accumulators::counts_as(const Accumulators& other) const {
  return std::equal(meanings.begin(), meanings.begin() + count, other.meanings.begin(),
                    other.meanings.begin() + other.count,
                    [](const auto& a, const auto& b) { return a.count == b.count; });
}

void Counters::resolve() {
  stale_ = false;
  resolved_control_ = control_;
  const std::array<Accumulators, 2> before = std::exchange(rings_, {});
  if (!status_.has(GlobalStatus::counters_frozen)) {
    for (Counter& counter : slots_) {
      if (!counter.counts() || (control_.raw() & counter.bit) == 0) continue;
      bool user = false, kernel = false;
      const auto index = static_cast<unsigned>(&counter - slots_.data());
      if (index < kMaxGeneral) {
        if (!selects_[index].has(PerfEvtSel::enable)) continue;
        user = selects_[index].has(PerfEvtSel::user);
        kernel = selects_[index].has(PerfEvtSel::kernel);
      } else {
        user = fixed_control_.has(FixedCtrCtrl::user, index - kMaxGeneral);
        kernel = fixed_control_.has(FixedCtrCtrl::kernel, index - kMaxGeneral);
      }
      if (user) rings_[static_cast<std::size_t>(Ring::User)].add(counter);
      if (kernel) rings_[static_cast<std::size_t>(Ring::Kernel)].add(counter);
    }
  }
  for (Counter& sampler : std::span(slots_).last(kSamplers)) {
    if (!sampler.counts()) continue;
    for (Accumulators& ring : rings_) ring.add(sampler);
  }
  for (std::size_t ring = 0; ring < rings_.size(); ++ring) {
    if (!rings_[ring].counts_as(before[ring])) ++generations_[ring];
  }
}

std::span<const arch::EventMeaning> Counters::accumulators(Ring ring) {
  const Accumulators& accumulators = running(ring);
  return std::span{accumulators.meanings}.first(accumulators.count);
}

std::uint32_t Counters::generation(Ring ring) {
  running(ring);
  return generations_[static_cast<std::size_t>(ring)];
}

std::optional<std::size_t> Counters::accumulator_of(unsigned counter, Ring ring) {
  const Accumulators& accumulators = running(ring);
  for (std::size_t accumulator = 0; accumulator < accumulators.count; ++accumulator) {
    const auto members = std::span{accumulators.members[accumulator]}.first(accumulators.member_count[accumulator]);
    if (std::ranges::find(members, &slot(counter)) != members.end()) return accumulator;
  }
  return std::nullopt;
}

std::uint64_t Counters::headroom(std::size_t accumulator, Ring ring) {
  const Accumulators& accumulators = running(ring);
  CHECK(accumulator < accumulators.count);
  if ((accumulators.stepwise >> accumulator & 1) != 0) return 0;
  std::uint64_t room = Pmu::kAsleep;
  for (unsigned i = 0; i < accumulators.member_count[accumulator]; ++i) {
    const Counter& counter = *accumulators.members[accumulator][i];
    if (counter.in(asleep_)) continue;
    if (arming_.armed(counter.bit)) return 0;
    room = std::min(room, counter.limit - counter.value - 1);
  }
  return room;
}

std::optional<Counters::Nearest> Counters::nearest(std::size_t accumulator, Ring ring) {
  const Accumulators& accumulators = running(ring);
  CHECK(accumulator < accumulators.count);
  if (accumulators.stepwise != 0 || accumulators.conditional_count != 0 || !arming_.armed().empty() ||
      arming_.any_due())
    return std::nullopt;
  const Counter* first = nullptr;
  std::uint64_t room = 0, others_room = std::numeric_limits<std::uint64_t>::max();
  for (unsigned i = 0; i < accumulators.member_count[accumulator]; ++i) {
    const Counter& counter = *accumulators.members[accumulator][i];
    if (counter.in(asleep_)) continue;
    const std::uint64_t own = counter.limit - counter.value - 1;
    if (first == nullptr || own < room) {
      if (first != nullptr) others_room = std::min(others_room, room);
      first = &counter;
      room = own;
    } else {
      others_room = std::min(others_room, own);
    }
  }
  if (first == nullptr) return std::nullopt;
  return Nearest{.counter = CounterSet{first->bit}.first(), .others_room = others_room};
}

void Counters::count(std::size_t accumulator, std::uint64_t events, Ring ring) {
  const Accumulators& accumulators = running(ring);
  CHECK(accumulator < accumulators.count && (accumulators.stepwise >> accumulator & 1) * events == 0);
  for (unsigned i = 0; i < accumulators.member_count[accumulator]; ++i) {
    Counter& counter = *accumulators.members[accumulator][i];
    if (counter.in(asleep_)) continue;
    CHECK(events < counter.limit - counter.value && (!arming_.armed(counter.bit) || events == 0));
    counter.value += events;
  }
}

void Counters::add(Counter& counter, std::uint64_t events, Step& step) {
  const std::uint64_t to_wrap = counter.limit - counter.value;
  const bool pebs = arming_.enabled(counter.bit);
  if (pebs && arming_.armed(counter.bit)) step.triggered.bits |= counter.bit;
  if (events < to_wrap) [[likely]] {
    counter.value += events;
    return;
  }
  counter.value = (events - to_wrap) & (counter.limit - 1);
  step.wrapped.bits |= counter.bit;
  if (!pebs) return;
  const bool now = events > to_wrap || (at_overflow_.bits & counter.bit) != 0;
  if (now) {
    step.triggered.bits |= counter.bit;
  } else {
    arming_.arm(counter.bit);
  }
}

void Counters::add_conditionally(Counter& counter, const arch::Retired& retired, Step& step) {
  const std::uint32_t events = counter.meaning->count(retired);
  const bool reached = events >= std::max<std::uint32_t>(counter.cmask, 1);
  const bool holds = counter.cmask != 0 && counter.invert ? !reached : reached;
  if (holds && !(counter.edge && counter.condition_held)) add(counter, 1, step);
  counter.condition_held = holds;
}

Counters::Step Counters::retire(const arch::Retired& retired) {
  const Accumulators& ring = running(ring_of(retired.cpl));
  Step step;
  for (std::size_t accumulator = 0; accumulator < ring.count; ++accumulator) {
    if (ring.member_count[accumulator] == 0) continue;
    const std::uint32_t events = ring.meanings[accumulator].count(retired);
    if (events == 0) continue;
    for (Counter* const counter : std::span{ring.members[accumulator]}.first(ring.member_count[accumulator])) {
      if (!counter->in(asleep_)) add(*counter, events, step);
    }
  }
  for (unsigned i = 0; i < ring.conditional_count; ++i) add_conditionally(*ring.conditional[i], retired, step);
  step.triggered = step.triggered | arming_.take_due(retired.ip);
  return step;
}

void Counters::tick(Counter& counter, std::uint64_t events, Step& step) {
  const std::uint64_t to_wrap = counter.limit - counter.value;
  counter.value = (counter.value + events) & (counter.limit - 1);
  if (events < to_wrap) return;
  step.wrapped.bits |= counter.bit;
  arming_.set_due({counter.bit});
}

Counters::Step Counters::advance(const Elapsed& elapsed, Ring ring) {
  const Accumulators& accumulators = running(ring);
  Step step;
  for (unsigned i = 0; i < accumulators.ticking_count; ++i)
    tick(*accumulators.ticking[i], elapsed.*clock_of(accumulators.ticking[i]->tick), step);
  return step;
}

Counters::Step Counters::pass(std::span<const std::uint64_t> events, Ring ring) {
  const Accumulators& accumulators = running(ring);
  CHECK(events.size() == accumulators.count, events.size(), accumulators.count);
  Step step;
  for (std::size_t accumulator = 0; accumulator < accumulators.count; ++accumulator) {
    for (unsigned i = 0; i < accumulators.member_count[accumulator]; ++i)
      tick(*accumulators.members[accumulator][i], events[accumulator], step);
  }
  return step;
}

bool Counters::only_adds(Ring ring) {
  return running(ring).conditional_count == 0 && arming_.enabled().empty() && !arming_.any_due() &&
         std::ranges::none_of(std::span(slots_).last(kSamplers), &Counter::counts);
}

bool Counters::records_time(Ring ring) {
  const Accumulators& accumulators = running(ring);
  return std::ranges::any_of(std::span{accumulators.ticking}.first(accumulators.ticking_count),
                             [this](const Counter* counter) { return arming_.enabled(counter->bit); });
}

bool Counters::ticks_in(unsigned counter, Ring ring) {
  const Accumulators& accumulators = running(ring);
  const auto ticking = std::span{accumulators.ticking}.first(accumulators.ticking_count);
  return std::ranges::any_of(ticking, [&](const Counter* c) { return c == &slot(counter); });
}

Elapsed Counters::time_headroom(Ring ring) {
  const Accumulators& accumulators = running(ring);
  constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
  Elapsed room{kNever, kNever, kNever, kNever};
  for (unsigned i = 0; i < accumulators.ticking_count; ++i) {
    const Counter& counter = *accumulators.ticking[i];
    std::uint64_t& least = room.*clock_of(counter.tick);
    least = std::min(least, arming_.due(counter.bit) ? 0 : counter.limit - counter.value - 1);
  }
  return room;
}

}  // namespace zs::pmu
