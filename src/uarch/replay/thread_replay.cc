#include "uarch/replay/thread_replay.h"

#include <algorithm>

#include "base/check.h"
#include "uarch/coherence/sharing_log.h"
#include "uarch/replay/quantum_scheduler.h"

namespace zs::uarch {
namespace {

using arch::AccessForm;
using arch::DataLevel;
using arch::DataSnoop;

struct Where {
  DataLevel level;
  DataSnoop snoop;
};

/// In the order of Source.
constexpr Where kWhere[] = {
    {DataLevel::L1, DataSnoop::None}, {DataLevel::FillBuffer, DataSnoop::None}, {DataLevel::L2, DataSnoop::None},
    {DataLevel::L3, DataSnoop::None}, {DataLevel::L3, DataSnoop::Miss},         {DataLevel::L3, DataSnoop::Hit},
    {DataLevel::L3, DataSnoop::Hitm}, {DataLevel::Dram, DataSnoop::None},
};
constexpr arch::DataTlb kTlb[] = {arch::DataTlb::L1, arch::DataTlb::Stlb, arch::DataTlb::Walk};
constexpr arch::DataBlock kBlock[] = {arch::DataBlock::None, arch::DataBlock::None, arch::DataBlock::Data,
                                      arch::DataBlock::Address};

}  // namespace

ThreadReplay::ThreadReplay(const CoreModel& model, CodeBook& book, MemorySystem& memory, ReplayCore& core,
                           QuantumScheduler& quantum_scheduler, std::uint64_t number, std::uint64_t seed)
    : CodeSimulator(model, book, memory, core, seed + number),
      scheduler_(quantum_scheduler),
      number_(static_cast<std::uint16_t>(number)) {
  scheduler_.attached(*this);
}

ThreadReplay::~ThreadReplay() {
  scheduler_.detached(*this);
  if (core_.owner == this) leave();
}

arch::AccessOutcome told(bool present, const Outcome& outcome, bool locked) {
  if (!present) return {};
  const auto [level, snoop] = kWhere[static_cast<std::size_t>(outcome.source)];
  return {.present = true,
          .latency = outcome.latency,
          .source = {.level = level,
                     .snoop = snoop,
                     .tlb = kTlb[static_cast<std::size_t>(outcome.tlb)],
                     .block = kBlock[static_cast<std::size_t>(outcome.forwarding)],
                     .locked = locked}};
}

void OutcomeKeeper::finished(std::size_t run, std::size_t instruction) {
  kept_->push_back({.run = runs_ + run,
                    .instruction = instruction,
                    .signals = thread_.signals(),
                    .load = thread_.last_load(),
                    .store = thread_.last_store(),
                    .fetch = thread_.last_fetch(),
                    .mispredicted = thread_.last_mispredicted(),
                    .load_address = load_address_,
                    .store_address = store_address_});
}

void ThreadReplay::take_over() {
  if (core_.owner != nullptr) core_.owner->leave();
  core_.owner = this;
  core_.clock.switch_to(account_);
  memory_.count_into(core_.number, &signals_);
  if (SharingLog* const sharing = memory_.sharing()) sharing->set_thread(core_.number, number_);
}

/// The block that is open ends here: another thread has the core next.
void ThreadReplay::leave() {
  if (open_ != nullptr) close_open();
  tell();
  memory_.count_into(core_.number, nullptr);
  core_.owner = nullptr;
}

void ThreadReplay::run(std::span<const arch::PathRun> runs, const arch::SlotValues& values) {
  if (runs.empty()) return;
  if (scheduler_.weaves()) {
    scheduler_.enqueue(*this, runs, values);
  } else {
    scheduler_.settle(*this);  // what waited when there were others
    take();
    replay_alone(runs, values);
  }
}

bool ThreadReplay::run_watched(std::span<const arch::PathRun> runs, const arch::SlotValues& values,
                               const arch::SignalSet& watched, arch::RunWatcher& watcher) {
  CHECK(!keeper_.keeps(), runs.size());
  scheduler_.settle(*this);
  take();
  set_watch(watched, watcher);
  watch_runs(runs, values);
  watch_.watcher = nullptr;
  return true;
}

void ThreadReplay::keep_outcomes(const arch::SignalSet& watched, std::deque<arch::WatchedOutcome>& kept) {
  keeper_.keep(kept);
  set_watch(watched, keeper_);
}

void ThreadReplay::settle() { scheduler_.settle(*this); }

void ThreadReplay::keep_signals(std::deque<arch::CoreSignals>& kept) {
  if (!scheduler_.keep_signals(*this, kept)) kept.push_back(signals_);
}

bool ThreadReplay::lags() const { return scheduler_.lags(core_.number); }

void ThreadReplay::play_on() { scheduler_.play_on(); }

void ThreadReplay::watch_retirement(bool on) {
  watches_retirement_ = on;
  if (on && !retirement_) retirement_.emplace(model_.timing, memory_limits(model_.memory));
}

std::uint64_t ThreadReplay::waited_for(std::uint64_t cycles_ago) const {
  if (!watches_retirement_) return 0;
  // What delayed the block under way has been told already, and it has not passed yet.
  std::uint64_t now = core_.clock.units();
  if (open_ != nullptr) {
    for (const CoreClock::Event& event : core_.clock.events()) now += event.is_load ? 0 : event.time;
  }
  const std::uint64_t then = now - std::min(now, cycles_ago * kUnitsPerCycle);
  if (then < core_.clock.units()) return retirement_->waiting_at(then);
  std::uint64_t delayed_until = core_.clock.units();
  for (const CoreClock::Event& event : core_.clock.events()) {
    if (open_ == nullptr || event.is_load) continue;
    delayed_until += event.time;
    if (then < delayed_until && event.at < open_->instructions) return book_.placed(open_->id)[event.at].pc;
  }
  return 0;
}

void ThreadReplay::wait_until(std::uint64_t cycle) {
  scheduler_.settle(*this);
  core_.idle_until = std::max(core_.idle_until, cycle);
}

// What was accessed a moment ago is the newest of its set still, or close to it.
void ThreadReplay::accessed(std::span<const std::uint64_t> lines) {
  constexpr std::size_t kRecent = 64;
  std::array<std::uint64_t, kRecent> recent{};
  static_assert(kLineBits == arch::LineSample::kFirstBit);
  for (const std::uint64_t line : lines) {
    const std::uint64_t block = line / arch::LineSample::kOneIn;
    if (std::exchange(recent[block % kRecent], line) != line) memory_.accessed(core_.number, line << kLineBits);
  }
}

void ThreadReplay::unmapped(std::uint64_t first, std::uint64_t last) {
  scheduler_.settle_all();  // what touched those pages
  memory_.unmap(first, last);
}

void ThreadReplay::large_pages(std::uint64_t first, std::uint64_t last, bool wanted) {
  scheduler_.settle_all();
  if (wanted) {
    memory_.use_large_pages(first, last);
  } else {
    memory_.use_small_pages(first, last);
  }
}

void ThreadReplay::describe(std::uint32_t path, const arch::PathDescription& description) {
  // The old path may be under way only where somebody still waits to replay it.
  if (book_.knows(path)) scheduler_.settle_all();
  book_.describe(path, description);
  scheduler_.forget_code(path);
}

void ThreadReplay::forget_paths() {
  scheduler_.settle_all();
  scheduler_.forget_numbers();
  book_.forget_numbers();
  if (!book_.is_full()) return;
  scheduler_.forget_all_code();
  book_.forget([this](const KnownBlock& block) { return scheduler_.needs(block); });
}

template <bool kLast>
[[gnu::always_inline]] inline const std::uint64_t* ThreadReplay::play(const Plan& plan, std::uint64_t next,
                                                                      const std::uint64_t* words) {
  if (plan.closes_open) close_open();
  const Step* step = plan.steps.data();
  for (const Segment& segment : plan.segments) {
    segment.enter(core_.clock);
    const Step* const end = plan.steps.data() + segment.steps_end;
    while (step != end) {
      words = replay_step<kLast>(*step, words);
      step += steps_of(*step);
    }
    if (segment.ends) end_block(segment, next);
  }
  open_ = plan.after;
  counts_.uops += plan.uops;
  counts_.fused += plan.fused;
  counts_.under_way = plan.under_way;
  return words;
}

void ThreadReplay::replay_alone(std::span<const arch::PathRun> runs, const arch::SlotValues& values) {
  if (keeper_.keeps()) {
    watch_runs(runs, values);
    keeper_.pass(runs.size());
    return;
  }
  if (open_ == nullptr) core_.clock.idle_until(core_.idle_until);
  const arch::PathRun* const end = runs.data() + runs.size();
  const arch::PathRun* merging = next_merging(runs.data(), end);
  const auto next = [&]<bool kLast>(const arch::PathRun& run) {
    ++core_.work.by_step;
    const Plan& plan = book_.plan(run.path, open_, &run == merging);
    if (&run == merging) merging = next_merging(merging + 1, end);
    const std::span<const std::uint64_t> words = words_of(run, values);
    const std::uint64_t* const played = play<kLast>(plan, run.next, words.data());
    CHECK(played == words.data() + words.size(), run.path, words.size());
  };
  ReplayCore& core = core_;
  const bool by_blocks = !asks_for_steps();
  const arch::PathRun* const last = &runs.back();
  for (const arch::PathRun* run = runs.data(); run != last; ++run) {
    if (open_ == nullptr && by_blocks && run != merging) {
      replay_code(run, std::min(merging, last), values);
      if (run == last) break;
      if (const SimpleBlock* const simple = run != merging ? book_.simple(run->path) : nullptr) {
        const std::uint64_t* const words = words_of(*run, values).data();
        replay_simple(simple, *run, words);
        ++core.work.by_block;
        if (core.code != nullptr) core.code->played(run->path, book_.simple_path(run->path));
        continue;
      }
    }
    next.template operator()<false>(*run);
  }
  last_ = {};
  next.template operator()<true>(runs.back());
  tell();
}

bool ThreadReplay::replay_until(const arch::PathRun& run, const arch::SlotValues& values, Place& place,
                                std::uint64_t limit, std::uint64_t until) {
  const bool watched = keeper_.keeps();
  CoreClock& clock = core_.clock;
  if (place.plan == nullptr) {
    ++core_.work.by_step;
    place.plan = &book_.plan(run.path, open_, next_merging(&run, &run + 1) == &run);
    // One that was open before began before the path.
    if (place.plan->segments.front().continues) place.first = std::size_t{0} - open_->instructions;
    if (place.plan->closes_open) close_open();
    last_ = {};
  }
  const Plan& plan = *place.plan;
  const std::span<const std::uint64_t> words = words_of(run, values);
  const std::uint64_t* at = words.data() + place.words;
  if (watched) watch_.runs = &run;
  const auto waits = [&](const Step& step, const std::uint64_t* of) {
    if (step.kind == StepKind::Fetch) return false;
    const std::uint64_t linear = step.form == AccessForm::Listed ? (*of != 0 ? of[1] : 0) : *of;
    const std::uint64_t now = dispatch_of(step);
    if (now <= limit || !memory_.is_contended(linear, now)) return false;
    place.time = now;
    return true;
  };
  for (; place.segment < plan.segments.size(); ++place.segment) {
    const Segment& segment = plan.segments[place.segment];
    const WatchedBlock block{.run = &run, .segment = place.segment, .first = place.first, .counted = nullptr};
    if (!place.in_block) {
      if (!segment.continues && place.segment != 0 && clock.start_cycle() >= until) {
        place.words = static_cast<std::size_t>(at - words.data());
        return false;
      }
      if (!segment.continues) clock.idle_until(core_.idle_until);
      segment.enter(clock);
      place.in_block = true;
      if (watched) place.watched = begin_watch(plan, block, 0);
    }
    at = watched ? watch_steps(plan, block, place.watched, 0, 0, at, waits)
                 : replay_steps(plan, place.step, segment.steps_end, at, waits);
    if (watched ? place.watched.step != nullptr : place.step != segment.steps_end) {
      place.words = static_cast<std::size_t>(at - words.data());
      return false;
    }
    place.in_block = false;
    place.first += segment.instructions;
    if (segment.ends && !watched) {
      end_block(segment, run.next);
      counts_.uops += segment.timing->uops();
      counts_.fused += segment.timing->fused();
      counts_.under_way = {};
    }
  }
  open_ = plan.after;
  counts_.under_way = plan.under_way;
  CHECK(at == words.data() + words.size(), run.path, words.size());
  if (watched) keeper_.pass(1);
  return true;
}

}  // namespace zs::uarch
