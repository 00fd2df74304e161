#include "uarch/machine/thread_player.h"

#include <utility>

#include "base/check.h"
#include "uarch/machine/weaver.h"

namespace zs::uarch {
namespace {

using arch::AccessForm;
using arch::AccessKind;
using arch::BranchKind;
using arch::CoreSignal;
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

/// What counts a retired load once, in the order of Source.
constexpr CoreSignal kLoadFrom[] = {
    CoreSignal::LoadL1Hit,     CoreSignal::LoadFillBuffer, CoreSignal::LoadL2Hit,  CoreSignal::LoadL3HitNone,
    CoreSignal::LoadL3HitMiss, CoreSignal::LoadL3SnoopHit, CoreSignal::LoadL3Hitm, CoreSignal::LoadDram,
};

/// By how a REP string instruction accesses memory: cycles that an element takes at least, and bytes that one can move in a cycle.
/// chosen: 32 bytes a cycle for MOVS and STOS, which microcode does in large pieces; 2 cycles an element of LODS and SCAS, 3 of
/// CMPS, which it does one by one. source for the order of magnitude: Optimization manual, "REP string enhancement".
constexpr std::uint32_t kPieceBytes = 32;
constexpr std::uint32_t kLoadElementCycles = 2, kCompareElementCycles = 3;
/// Lines that a string instruction has under way at most. chosen: as many as the smallest L1D has fill buffers.
constexpr std::size_t kLinesAhead = 10;

/// One access of a REP string instruction, element after element. Elements that lie wholly in the line that was touched last
/// hit L1D whatever came between, so they are counted and not looked up.
class Elements {
 public:
  Elements(std::uint64_t first, std::uint64_t count, std::uint32_t bytes)
      : at_(first), left_(count & ~kDown), bytes_(bytes), down_((count & kDown) != 0) {}

  bool done() const { return left_ == 0; }
  std::uint64_t linear() const { return at_; }
  /// Leaves the element at linear() and those behind it that need no look. Returns how many of the latter.
  std::uint64_t leave() {
    const std::uint64_t room = down_ ? (at_ & (kLineBytes - 1)) / bytes_
                                     : (((at_ + bytes_ - 1) | (kLineBytes - 1)) + 1 - (at_ + bytes_)) / bytes_;
    const std::uint64_t skipped = std::min(room, left_ - 1);
    const std::uint64_t distance = (skipped + 1) * bytes_;
    at_ = down_ ? at_ - distance : at_ + distance;
    left_ -= skipped + 1;
    number_ += skipped + 1;
    return skipped;
  }
  std::uint64_t number() const { return number_; }  // of the element at linear()

 private:
  static constexpr std::uint64_t kDown = std::uint64_t{1} << 63;
  std::uint64_t at_, left_;
  std::uint64_t number_ = 0;
  std::uint32_t bytes_;
  bool down_;
};

/// Of the path before the block.
std::size_t looks_before(const SimpleBlock* blocks, const SimpleBlock& block) {
  std::size_t looks = 0;
  for (const SimpleBlock* before = blocks; before != &block; ++before) looks += before->looks;
  return looks;
}

arch::SlotValues values_of(const PlayState& state) {
  return {.slots = state.values, .fs = state.fs, .gs = state.gs, .listed = {}};
}

/// What signals() has only when all is told.
const arch::SignalSet kCountedLate = [] {
  arch::SignalSet late;
  for (const CoreSignal signal : arch::kHitSignals) late.set(static_cast<std::size_t>(signal));
  for (auto i = static_cast<std::size_t>(CoreSignal::Cycles); i < arch::kCoreSignals; ++i) late.set(i);
  return late;
}();

}  // namespace

/// Steps that `step` stands for.
constexpr std::size_t steps_of(const Step& step) { return step.form == AccessForm::Repeated && step.with_next ? 2 : 1; }

template <typename Clock>
ThreadPlayer<Clock>::ThreadPlayer(const CoreModel& model, CodeBook& book, MemorySystem& memory, PlayedCore<Clock>& core,
                                  Weaver<Clock>& weaver, std::uint64_t seed)
    : model_(model), book_(book), memory_(memory), core_(core), weaver_(weaver), random_(seed) {
  weaver_.attached(*this);
}

template <typename Clock>
ThreadPlayer<Clock>::~ThreadPlayer() {
  weaver_.detached(*this);
  if (core_.owner == this) leave();
}

template <typename Clock>
arch::AccessOutcome ThreadPlayer<Clock>::told(bool present, const Outcome& outcome) const {
  if (!present) return {};
  const auto [level, snoop] = kWhere[static_cast<std::size_t>(outcome.source)];
  return {.present = true,
          .latency = outcome.latency,
          .source = {.level = level,
                     .snoop = snoop,
                     .tlb = kTlb[static_cast<std::size_t>(outcome.tlb)],
                     .block = kBlock[static_cast<std::size_t>(outcome.forwarding)],
                     .locked = last_.locked}};
}

template <typename Clock>
void ThreadPlayer<Clock>::take_over() {
  if (core_.owner != nullptr) core_.owner->leave();
  core_.owner = this;
  core_.clock.switch_to(account_);
  memory_.count_into(core_.number, &signals_);
}

/// The block that is open ends here: another thread has the core next.
template <typename Clock>
void ThreadPlayer<Clock>::leave() {
  if (open_ != nullptr) close_open();
  tell();
  memory_.count_into(core_.number, nullptr);
  core_.owner = nullptr;
}

template <typename Clock>
void ThreadPlayer<Clock>::tell() {
  memory_.counts(core_.number);
  if constexpr (kTimed) set_time_signals(signals_, account_, counts_, model_.timing.issue_width);
}

template <typename Clock>
void ThreadPlayer<Clock>::close_open() {
  const BlockTiming& timing = book_.closed(*open_);
  counts_.uops += timing.uops();
  counts_.fused += timing.fused();
  core_.clock.end();
  open_ = nullptr;
}

template <typename Clock>
void ThreadPlayer<Clock>::run(std::span<const arch::PathRun> runs, const arch::SlotValues& values) {
  if (runs.empty()) return;
  if (weaver_.weaves()) {
    weaver_.enqueue(*this, runs, values);
  } else {
    weaver_.settle(*this);  // what waited when there were others
    take();
    play_alone(runs, values);
  }
}

template <typename Clock>
bool ThreadPlayer<Clock>::run_watched(std::span<const arch::PathRun> runs, const arch::SlotValues& values,
                                      const arch::SignalSet& watched, arch::RunWatcher& watcher) {
  if (weaver_.weaves()) return false;
  weaver_.settle(*this);
  take();
  if (open_ == nullptr) core_.clock.idle_until(core_.idle_until);
  watch_ = {.watcher = &watcher, .runs = runs.data(), .signals = {}};
  const bool changes_seldom = (watched & kCountedLate).none();
  for (std::size_t i = 0; changes_seldom && i < watched.size(); ++i) {
    if (!watched[i]) continue;
    watch_.signals.push_back(static_cast<std::uint8_t>(i));
    watch_.changes_in_code |= i != static_cast<std::size_t>(CoreSignal::LatencyLoads);
    watch_.sum += signals_.counts[i];
  }
  const arch::PathRun* const end = runs.data() + runs.size();
  for (const arch::PathRun* run = runs.data(); run != end; ++run) {
    if (!watch_.signals.empty() && taken_.empty() && open_ == nullptr) {
      play_code(run, end, values);
      if (run == end) break;
      if (book_.simple(run->path) != nullptr) core_.code->played(run->path, book_.simple_path(run->path));
    }
    watch_run(*run, words_of(*run, values));
  }
  watch_.watcher = nullptr;
  tell();
  return true;
}

template <typename Clock>
void ThreadPlayer<Clock>::watch_run(const arch::PathRun& run, std::span<const std::uint64_t> words) {
  const Plan& plan = book_.plan(run.path, open_);
  const std::uint64_t* at = words.data();
  // One that was open before began before the path.
  WatchedBlock block{.run = &run,
                     .segment = 0,
                     .first = plan.segments.front().continues ? std::size_t{0} - open_->instructions : 0,
                     .counted = nullptr};
  if (plan.closes_open) close_open();
  for (const Segment& segment : plan.segments) {
    if (segment.continues) {
      core_.clock.continue_with(*segment.timing);
    } else {
      core_.clock.begin(*segment.timing);
    }
    at = watch_block(plan, block, 0, 0, at);
    ++block.segment;
    block.first += segment.instructions;
  }
  open_ = plan.after;
  CHECK(at == words.data() + words.size(), run.path, words.size());
}

/// The clock has begun the block. line, done: as play_part() has them
template <typename Clock>
const std::uint64_t* ThreadPlayer<Clock>::watch_block(const Plan& plan, const WatchedBlock& block, std::uint64_t line,
                                                      std::size_t done, const std::uint64_t* words) {
  const Segment& segment = plan.segments[block.segment];
  const std::size_t last = segment.instructions - 1U;
  const std::span<const Step> steps = plan.steps_of(block.segment);
  const Step* step = steps.data();
  const Step* const end = step + steps.size();
  last_ = {};
  while (step != end) {
    const std::size_t instruction = step->instruction;
    if (step->kind == StepKind::Fetch) {
      if (step->at >> kLineBits >= line) play_step<true>(*step, words);
    } else if (done != 0) {
      if (step->kind != StepKind::Other) {
        const bool store = step->kind == StepKind::Store;
        filter_.count(store ? 0 : 1, store ? 1 : 0);
      }
      --done;
      ++words;
    } else {
      words = play_step<true>(*step, words);
    }
    step += steps_of(*step);
    const bool over = step == end || step->instruction != instruction;
    if (over && !(segment.ends && instruction == last)) tell_watcher(block, instruction, line, {step, end});
  }
  if (!segment.ends) return words;
  end_block(segment, block.run->next);
  counts_.uops += segment.timing->uops();
  counts_.fused += segment.timing->fused();
  tell_watcher(block, last, line, {});
  return words;
}

/// The block's instruction of that number is over, the steps behind it are to come; fetches of lines below `line` were all counted.
template <typename Clock>
void ThreadPlayer<Clock>::tell_watcher(const WatchedBlock& block, std::size_t instruction, std::uint64_t line,
                                       std::span<const Step> behind) {
  std::uint64_t sum = 0;
  for (const std::uint8_t signal : watch_.signals) sum += signals_.counts[signal];
  if (watch_.signals.empty() || sum != watch_.sum) {
    watch_.sum = sum;
    std::uint64_t loads = 0, stores = 0, fetches = 0;
    for (std::size_t i = 0; block.counted != nullptr && i <= block.segment; ++i) {
      const SimpleBlock& one = block.counted[i];
      loads += one.loads();
      stores += one.stores;
      fetches += fetches_of(one, i == 0 ? nullptr : &one - 1);
    }
    for (const Step& step : behind) fetches -= step.kind == StepKind::Fetch && step.at >> kLineBits < line ? 1 : 0;
    filter_.count(loads, stores);
    filter_.fetches += fetches;
    tell();
    watch_.watcher->finished(static_cast<std::size_t>(block.run - watch_.runs), block.first + instruction);
    filter_.count(0 - loads, 0 - stores);
    filter_.fetches -= fetches;
  }
  last_ = {};
}

/// Of the run that is played by code, which has that plan.
template <typename Clock>
typename ThreadPlayer<Clock>::WatchedBlock ThreadPlayer<Clock>::watched(const Plan& plan, const PlayState& state,
                                                                        const SimpleBlock* blocks,
                                                                        const SimpleBlock& block) {
  WatchedBlock watched{
      .run = state.run, .segment = static_cast<std::size_t>(&block - blocks), .first = 0, .counted = blocks};
  for (std::size_t i = 0; i < watched.segment; ++i) watched.first += plan.segments[i].instructions;
  return watched;
}

template <typename Clock>
void ThreadPlayer<Clock>::settle() {
  weaver_.settle(*this);
}

template <typename Clock>
bool ThreadPlayer<Clock>::lags() const {
  return weaver_.lags(core_.number);
}

template <typename Clock>
void ThreadPlayer<Clock>::play_on() {
  weaver_.play_on();
}

template <typename Clock>
void ThreadPlayer<Clock>::wait_until(std::uint64_t cycle) {
  weaver_.settle(*this);
  core_.idle_until = std::max(core_.idle_until, cycle);
}

template <typename Clock>
void ThreadPlayer<Clock>::unmapped(std::uint64_t first, std::uint64_t last) {
  weaver_.settle_all();  // what touched those pages
  memory_.unmap(first, last);
}

template <typename Clock>
void ThreadPlayer<Clock>::describe(std::uint32_t path, const arch::PathDescription& description) {
  // The old path may be under way only where somebody still waits to play it.
  if (book_.knows(path)) weaver_.settle_all();
  book_.describe(path, description);
  weaver_.forget_code(path);
}

template <typename Clock>
void ThreadPlayer<Clock>::forget_paths() {
  weaver_.settle_all();
  weaver_.forget_numbers();
  book_.forget_numbers();
  if (!book_.is_full()) return;
  weaver_.forget_all_code();
  book_.forget([this](const KnownBlock& block) { return weaver_.needs(block); });
}

template <typename Clock>
void ThreadPlayer<Clock>::play_alone(std::span<const arch::PathRun> runs, const arch::SlotValues& values) {
  if (open_ == nullptr) core_.clock.idle_until(core_.idle_until);
  const auto next = [&]<bool kLast>(const arch::PathRun& run) {
    const Plan& plan = book_.plan(run.path, open_);
    const std::span<const std::uint64_t> words = words_of(run, values);
    const std::uint64_t* const played = play<kLast>(plan, run.next, words.data());
    CHECK(played == words.data() + words.size(), run.path, words.size());
  };
  PlayedCore<Clock>& core = core_;
  const bool remembers_none = taken_.empty();
  const arch::PathRun* const last = &runs.back();
  for (const arch::PathRun* run = runs.data(); run != last; ++run) {
    if (open_ == nullptr && remembers_none) {
      play_code(run, last, values);
      if (run == last) break;
      if (const SimpleBlock* const simple = book_.simple(run->path)) {
        const std::uint64_t* const words = words_of(*run, values).data();
        if constexpr (kTimed) {
          play_timed(simple, *run, words, filter_, core);
        } else {
          play_simple(simple, *run, words, filter_, core);
        }
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

template <typename Clock>
template <bool kLast>
[[gnu::always_inline]] inline const std::uint64_t* ThreadPlayer<Clock>::play_step(const Step& step,
                                                                                  const std::uint64_t* words) {
  Clock& clock = core_.clock;
  const unsigned core = core_.number;
  switch (step.kind) {
    case StepKind::Fetch: play_fetch(step); return words;
    case StepKind::Load: {
      const std::uint64_t linear = *words;
      // Nearly always nothing depends on when that is, and only the clock knows it.
      if (const std::uint32_t cycles = memory_.timeless_load(core, linear, step.bytes); cycles != 0) {
        if constexpr (kLast) {
          last_.loaded = true;
          last_.load = {.latency = cycles};
        }
        if (may_be_tagged()) tag(clock.load_dispatch(step.load), cycles);
        return words + 1;
      }
      const std::uint64_t now = clock.load_dispatch(step.load);
      if (const Outcome forwarded = memory_.forwarded_load(core, linear, step.bytes, now, step.place);
          forwarded.latency != 0) {
        loaded(step, now, forwarded);
        return words + 1;
      }
      std::uint32_t cycles = memory_.plain_load(core, linear, step.bytes, now);
      if (cycles == 0) cycles = memory_.quiet_load(core, linear, step.bytes, now, clock.start_cycle());
      if (cycles != 0) {
        if constexpr (kLast) {
          last_.loaded = true;
          last_.load = {.latency = cycles};
        }
        if (may_be_tagged()) tag(now, cycles);
      } else {
        loaded(step, now, memory_.other_load(core, access_of(step, linear, now)));
      }
      return words + 1;
    }
    case StepKind::Store: {
      const std::uint64_t linear = *words;
      const StoreFacts facts{.now = clock.dispatch_cycle(step.instruction),
                             .retires = clock.retired_cycle(),
                             .ready = ready_of(step),
                             .place = step.place};
      std::uint32_t waited = 0;
      if (memory_.plain_store(core, linear, step.bytes, facts, waited) ||
          memory_.quiet_store(core, linear, step.bytes, facts, clock.start_cycle(), waited)) {
        if constexpr (kLast) {
          last_.stored = true;
          last_.store = {.latency = l1_cycles_};
        }
        if (waited != 0) clock.store_stall(step.instruction, waited);
      } else {
        stored(step, memory_.other_store(core, access_of(step, linear, facts.now)));
      }
      return words + 1;
    }
    case StepKind::Other: break;
  }
  return other(step, words);
}

template <typename Clock>
template <bool kLast>
[[gnu::always_inline]] inline const std::uint64_t* ThreadPlayer<Clock>::play(const Plan& plan, std::uint64_t next,
                                                                             const std::uint64_t* words) {
  if (plan.closes_open) close_open();
  const Step* step = plan.steps.data();
  for (const Segment& segment : plan.segments) {
    if (segment.continues) {
      core_.clock.continue_with(*segment.timing);
    } else {
      core_.clock.begin(*segment.timing);
    }
    const Step* const end = plan.steps.data() + segment.steps_end;
    while (step != end) {
      words = play_step<kLast>(*step, words);
      step += steps_of(*step);
    }
    if (segment.ends) end_block(segment, next);
  }
  open_ = plan.after;
  counts_.uops += plan.uops;
  counts_.fused += plan.fused;
  return words;
}

template <typename Clock>
template <typename Core>
[[gnu::always_inline]] inline void ThreadPlayer<Clock>::pass_outcome(const BranchOutcome& outcome, Core& core) {
  if (outcome.mispredicted) [[unlikely]] {
    core.clock.passed_mispredict();
  } else if (outcome.btb_miss) [[unlikely]] {
    core.clock.passed_resteer();
  }
}

/// The branch that ends a simple block. next: as PathRun has it
template <typename Clock>
template <typename Core>
[[gnu::always_inline]] inline BranchOutcome ThreadPlayer<Clock>::play_branch(const SimpleBlock& block,
                                                                             std::uint64_t next, Core& core) {
  BranchOutcome outcome;
  if (block.kind == BranchKind::None) return outcome;
  if (block.kind == BranchKind::Conditional) {
    outcome = core.branches.predict_conditional(block.pc, block.hash, block.footprint, block.taken);
    if (outcome.mispredicted) [[unlikely]]
      note_mispredicted(block.kind, block.taken);
  } else {
    const bool indirect = is_indirect(block.kind);
    const std::uint64_t behind = block.pc + block.length;
    const BranchFacts branch{.pc = block.pc,
                             .next = behind,
                             .target = indirect           ? next
                                       : block.calls_next ? behind
                                                          : 0,
                             .kind = block.kind,
                             .taken = block.taken};
    outcome = core.branches.predict_and_update(branch, block.hash,
                                               indirect ? path_footprint(block.pc, next) : block.footprint);
    if (outcome.mispredicted) [[unlikely]]
      note_mispredicted(block.kind, true);
  }
  if (outcome.btb_miss) [[unlikely]]
    ++signals_[CoreSignal::Resteers];
  return outcome;
}

/// A run of nothing but simple blocks. What is more than hits goes the way of all others.
template <typename Clock>
template <typename Core>
[[gnu::always_inline]] inline void ThreadPlayer<Clock>::play_simple(const SimpleBlock* block, const arch::PathRun& run,
                                                                    const std::uint64_t* words,
                                                                    MemorySystem::Filter& filter, Core& core) {
  for (std::size_t which = 0;; ++which, ++block) {
    core.clock.wait_for_room();
    const std::uint64_t end = block->first_line + block->lines;
    const std::uint64_t fetched_before = filter.fetched;
    const bool in_turn = filter.in_turn(block->lines);
    if (block->prefetches != 0) [[unlikely]] {
      words = play_part(book_.plan(run.path, nullptr), which, block->first_line, 0, run.next, words);
      if (block->last) return;
      continue;
    }
    if (filter.are_plain(block->first_line, block->lines, block->lines_known)) {
      filter.pass(block->first_line, block->lines);
    } else {
      std::uint64_t line = block->first_line;
      while (!in_turn && line != end && (filter.fetched == line || filter.fetch_hits(line))) ++line;
      if (line != end) [[unlikely]] {
        words = play_part(book_.plan(run.path, nullptr), which, line, 0, run.next, words);
        if (block->last) return;
        continue;
      }
    }
    const std::size_t looks = block->looks;
    std::size_t done = 0;
    for (; done != looks; ++done) {
      const Look look = block->look[done];
      if (filter.hits(words[done], look.bytes(), look.store())) continue;
      if (!memory_.quiet_hit(core.number, words[done], block->look[done], core.clock.start_cycle())) break;
    }
    if (done != looks) [[unlikely]] {
      if (in_turn) filter.take_back(block->first_line, block->lines, fetched_before);
      const std::uint64_t line = in_turn ? block->first_line : end;
      words = play_part(book_.plan(run.path, nullptr), which, line, done, run.next, words);
      if (block->last) return;
      continue;
    }
    filter.count(looks - block->stores, block->stores);
    words += looks;
    const BranchOutcome outcome = play_branch(*block, run.next, core);
    core.clock.pass(block->units, block->slots);
    pass_outcome(outcome, core);
    if (block->last) return;
  }
}

template <typename Clock>
void ThreadPlayer<Clock>::play_code(const arch::PathRun*& run, const arch::PathRun* end,
                                    const arch::SlotValues& values) {
  PathCode& code = core_.code_for(filter_, model_.timing);
  code.make_room(book_.paths());
  if (!code.has(run->path)) return;
  PlayState& state = code.state();
  state.player = this;
  state.values = values.slots;
  state.fs = values.fs;
  state.gs = values.gs;
  state.run = run;
  state.runs_end = end;
  if constexpr (kTimed) {
    state.ask = &ThreadPlayer::answer_timed;
    state.wait_for_room = [](PlayState& own) { static_cast<ThreadPlayer*>(own.player)->core_.clock.wait_for_room(); };
    state.pass_store = [](PlayState& own, std::uint64_t linear, std::uint64_t what) {
      const auto& player = *static_cast<ThreadPlayer*>(own.player);
      const CoreClock& clock = player.core_.clock;
      const PlainStore store = PlainStore::of(what);
      own.waited = player.memory_.pass_plain_store(
          player.core_.number, linear, store.bytes,
          {.now = clock.cycle_behind(store.offset),
           .retires = clock.retired_cycle(),
           .ready = clock.under_way() ? clock.store_ready(store.number) : clock.cycle_of(own.ready),
           .place = store.place});
      return own.waited;
    };
    state.loads = [](PlayState& own, std::uint64_t linear, std::uint32_t bytes) {
      const auto& player = *static_cast<ThreadPlayer*>(own.player);
      return player.memory_.early_load(player.core_.number, linear, bytes, player.core_.clock.start_cycle());
    };
    state.untagged = tags_ ? passed_over_ : UINT64_MAX;
    const bool tags = std::exchange(tags_, false);  // nor does it tag one that is asked about
    code.play();
    tags_ |= tags;
    if (tags) passed_over_ = state.untagged;
    counts_.uops += std::exchange(state.uops, 0);
    counts_.fused += std::exchange(state.fused, 0);
  } else {
    state.ask = &ThreadPlayer::answer;
    state.looks = {&ThreadPlayer::answer_look<false>, &ThreadPlayer::answer_look<true>};
    state.prefetches = &ThreadPlayer::answer_prefetch;
    state.lines = &ThreadPlayer::answer_line;
    state.wait_for_room = [](PlayState& own) {
      PlayedCore<Clock>& core = static_cast<ThreadPlayer*>(own.player)->core_;
      core.code->on_clock(core.clock, [&core] { core.clock.wait_for_room(); });
    };
    state.mispredicted = {&signals_[CoreSignal::MispredictedNotTaken], &signals_[CoreSignal::MispredictedTaken]};
    state.mispredict_units = core_.clock.mispredict_units();
    state.watched = watch_.watcher != nullptr ? 1 : 0;
    code.take(core_.clock);
    code.play();
    code.give(core_.clock);
  }
  run = state.run;
}

/// What PathCode asks: the same as play_timed() does there.
template <typename Clock>
std::uint64_t ThreadPlayer<Clock>::answer_timed(PlayState& state, std::uint32_t what) {
  if constexpr (!kTimed) {
    return 0;
  } else {
    auto& player = *static_cast<ThreadPlayer*>(state.player);
    const Question question = Question::of(what);
    const auto [blocks, plan] = player.book_.simple_run(state.run->path);
    const SimpleBlock& block = blocks[question.block];
    const Segment& segment = plan.segments[question.block];
    PlayedCore<Clock>& core = player.core_;
    if (!core.clock.under_way()) core.clock.begin_here(*segment.timing);
    const bool is_watched = player.watch_.watcher != nullptr && player.watch_.changes_in_code;
    BranchOutcome outcome;
    switch (question.kind) {
      case Question::Step:
        if (is_watched && state.waited == 0) {
          player.watch_rest(state, blocks, plan, question);
          return 1;
        }
        player.answer_step(state, blocks, plan, question);
        break;
      case Question::Branch: outcome = player.play_branch(block, state.run->next, core); break;
      case Question::Wrong:
        outcome.mispredicted = true;
        player.note_mispredicted(block.kind, block.taken);
        if (block.taken) core.branches.targets().touch(block.pc);
        break;
      case Question::Resteer:
        outcome.btb_miss = true;
        ++player.signals_[CoreSignal::Resteers];
        break;
      case Question::End: core.clock.end(); return 1;
      default: CHECK(false, what);
    }
    player.tell_clock(segment, outcome);
    if (is_watched && (outcome.mispredicted || outcome.btb_miss)) {
      core.clock.end();
      player.count_uops(state, plan, question.block + 1U);
      player.tell_watcher(watched(plan, state, blocks, block), segment.instructions - 1U, 0, {});
      return 1;
    }
    core.clock.take_back_uneventful();
    return 0;
  }
}

/// One step of the block. The code counts it where its path ends, so what is counted here is taken away.
template <typename Clock>
void ThreadPlayer<Clock>::answer_step(PlayState& state, const SimpleBlock* blocks, const Plan& plan,
                                      Question question) {
  const SimpleBlock& block = blocks[question.block];
  const SimpleBlock* const before = question.block == 0 ? nullptr : &block - 1;
  const Step& step = plan.steps_of(question.block)[question.done];
  if (state.waited != 0) {  // the store is done
    core_.clock.store_stall(step.instruction, static_cast<std::uint32_t>(std::exchange(state.waited, 0)));
    return;
  }
  if (step.kind == StepKind::Fetch) {
    take_back_fetch(block, before, (step.at >> kLineBits) - block.first_line);
  } else {
    const std::uint64_t store = step.kind == StepKind::Store ? 1 : 0;
    filter_.count(store - 1, 0 - store);
  }
  play_step<false>(step, &state.linear);
}

/// Those of the path's first blocks, which are over, and of all paths before. The code counts them all where the path ends.
template <typename Clock>
void ThreadPlayer<Clock>::count_uops(PlayState& state, const Plan& plan, std::size_t segments) {
  std::uint64_t uops = 0, fused = 0;
  for (const Segment& segment : plan.segments.first(segments)) {
    uops += segment.timing->uops();
    fused += segment.timing->fused();
  }
  counts_.uops += std::exchange(state.uops, 0 - uops) + uops;
  counts_.fused += std::exchange(state.fused, 0 - fused) + fused;
}

/// What is left of the block under way, one step after the other. The code counts its accesses, lines and uops where its path ends, so what is
/// counted here is taken away.
template <typename Clock>
void ThreadPlayer<Clock>::watch_rest(PlayState& state, const SimpleBlock* blocks, const Plan& plan, Question question) {
  const SimpleBlock& block = blocks[question.block];
  const Segment& segment = plan.segments[question.block];
  std::size_t lines = 0, accesses = 0;  // that are done
  for (const Step& step : plan.steps_of(question.block).first(question.done))
    ++(step.kind == StepKind::Fetch ? lines : accesses);
  if (lines != 0) {
    filter_.fetched = block.first_line + lines - 1;
    filter_.fetches -= block.lines - lines;
  } else {
    const SimpleBlock* const before = question.block == 0 ? nullptr : &block - 1;
    if (before != nullptr) filter_.fetched = before->first_line + before->lines - 1;
    filter_.fetches -= fetches_of(block, before);
  }
  const std::uint64_t stores = block.stores, loads = block.loads();
  filter_.count(0 - loads, 0 - stores);
  count_uops(state, plan, question.block);
  watch_block(plan, watched(plan, state, blocks, block), block.first_line + lines, accesses,
              words_of(state, blocks, block));
  state.uops -= segment.timing->uops();
  state.fused -= segment.timing->fused();
}

/// What became of the branch at the end of the block under way.
template <typename Clock>
[[gnu::always_inline]] inline void ThreadPlayer<Clock>::tell_clock(const Segment& segment,
                                                                   const BranchOutcome& outcome) {
  if (outcome.mispredicted) [[unlikely]] {
    core_.clock.mispredict(segment.branch);
  } else if (outcome.btb_miss) [[unlikely]] {
    core_.clock.resteer(segment.branch);
  }
}

/// What PathCode asks of an access: the same as play_miss() does there.
template <typename Clock>
template <bool kStore>
std::uint64_t ThreadPlayer<Clock>::answer_look(PlayState& state, std::uint64_t linear, std::uint64_t look,
                                               std::uint32_t what) {
  if constexpr (kTimed) {
    return 0;
  } else {
    auto& player = *static_cast<ThreadPlayer*>(state.player);
    PlayedCore<Clock>& core = player.core_;
    const std::uint32_t bytes = Question::of(what).bytes;
    if (player.watch_.watcher != nullptr) [[unlikely]] {
      if (player.filter_.hits(linear, bytes, kStore ? 1 : 0)) return 0;
      state.linear = linear;
      return answer(state, what);
    }
    const auto [instruction, offset] = PlainLook::of(look);
    const std::uint64_t at = state.now + offset;
    const Access access{.linear = linear,
                        .now = at / kUnitsPerCycle,
                        .bytes = bytes,
                        .instruction = instruction,
                        .earliest = state.now / kUnitsPerCycle};
    const std::uint32_t cycles = kStore ? player.memory_.quiet_or_other_store(core.number, access)
                                        : player.memory_.quiet_or_other_load(core.number, access);
    if (cycles == 0) return 0;
    // It is counted, and will be again where its path ends.
    --(kStore ? player.filter_.written : player.filter_.loads);
    if (cycles <= player.l1_cycles_) return 0;
    core.code->on_clock(core.clock, [&clock = core.clock, at, cycles] {
      if constexpr (kStore) {
        clock.pass_store(at, cycles);
      } else {
        clock.pass_load(at, cycles);
      }
    });
    return 0;
  }
}

/// What it asks of a software prefetch: the same as other() does there.
template <typename Clock>
std::uint64_t ThreadPlayer<Clock>::answer_prefetch(PlayState& state, std::uint64_t linear, std::uint64_t look,
                                                   std::uint32_t what) {
  if constexpr (!kTimed) {
    auto& player = *static_cast<ThreadPlayer*>(state.player);
    if (player.watch_.watcher != nullptr) [[unlikely]] {
      state.linear = linear;
      return answer(state, what);
    }
    const auto [instruction, offset] = PlainLook::of(look);
    const Access access{.linear = linear,
                        .now = (state.now + offset) / kUnitsPerCycle,
                        .bytes = 1,
                        .instruction = instruction,
                        .earliest = state.now / kUnitsPerCycle};
    player.prefetch(static_cast<AccessKind>(Question::of(what).bytes), access);
  }
  return 0;
}

/// What it asks of a line of instructions: the same as play_fetch() does there.
template <typename Clock>
std::uint64_t ThreadPlayer<Clock>::answer_line(PlayState& state, std::uint64_t line, std::uint64_t offset,
                                               std::uint32_t what) {
  if constexpr (kTimed) {
    return 0;
  } else {
    auto& player = *static_cast<ThreadPlayer*>(state.player);
    PlayedCore<Clock>& core = player.core_;
    MemorySystem::Filter& filter = player.filter_;
    const Question question = Question::of(what);
    const bool first = question.block == 0 && question.done == 0;  // which the code counts only when it has hit
    if (filter.touch_code(line)) {
      filter.fetches += first ? 1 : 0;
      return 0;
    }
    if (player.watch_.watcher != nullptr) [[unlikely]]
      return answer(state, what);
    filter.fetches -= first ? 0 : 1;
    const Outcome outcome =
        player.memory_.other_fetch(core.number, line << kLineBits, (state.now + offset) / kUnitsPerCycle);
    if (outcome.latency == 0) return 0;
    core.code->on_clock(core.clock, [&] { core.clock.pass_fetch(outcome.latency); });
    return 0;
  }
}

/// What PathCode asks: the same as play_simple() does there.
template <typename Clock>
std::uint64_t ThreadPlayer<Clock>::answer(PlayState& state, std::uint32_t what) {
  if constexpr (kTimed) {
    return 0;
  } else {
    auto& player = *static_cast<ThreadPlayer*>(state.player);
    PlayedCore<Clock>& core = player.core_;
    const Question question = Question::of(what);
    PathCode& code = *core.code;
    const SimpleBlock* const blocks = player.book_.simple(state.run->path);
    const SimpleBlock& block = blocks[question.block];
    code.give(core.clock);
    bool over = false;
    switch (question.kind) {
      case Question::Lines: over = player.answer_lines(state, blocks, question); break;
      case Question::Access: over = player.answer_access(state, blocks, block, question.done); break;
      case Question::Branch:
      case Question::Wrong:
      case Question::Resteer: player.answer_branch(state, question.kind, blocks, block); break;
      case Question::Step:
      case Question::End: CHECK(false, what);
    }
    code.take(core.clock);
    return over ? 1 : 0;
  }
}

/// The code adds a block's hits and fetches where its path ends, whoever played the block; here they are taken away first.
template <typename Clock>
bool ThreadPlayer<Clock>::answer_lines(PlayState& state, const SimpleBlock* blocks, Question question) {
  const SimpleBlock& block = blocks[question.block];
  const std::size_t done = question.done;
  const SimpleBlock* const before = &block == blocks ? nullptr : &block - 1;
  if (before != nullptr) {
    filter_.fetched = before->first_line + before->lines - 1;
  } else if (done != 0 && filter_.fetched != block.first_line) {
    --filter_.fetches;  // the first line, which the code counts at once
  }
  filter_.fetches -= fetches_of(block, before);
  const std::uint64_t end = block.first_line + block.lines;
  if (filter_.are_plain(block.first_line, block.lines, block.lines_known)) {
    // The line that was fetched before is still asked for if the block's accesses come first after all.
    const std::uint64_t fetched = filter_.fetched;
    filter_.pass(block.first_line, block.lines);
    filter_.fetched = fetched;
    return false;
  }
  std::uint64_t line = block.first_line;
  const bool in_turn = filter_.in_turn(block.lines);
  while (!in_turn && line != end && (filter_.fetched == line || filter_.fetch_hits(line))) ++line;
  if (line == end) return false;
  play_by_hand(state, blocks, block, line, in_turn ? 0 : block.looks_before_line(done));
  return true;
}

/// The block's line of that number is about to be fetched by hand, those before it are.
template <typename Clock>
void ThreadPlayer<Clock>::take_back_fetch(const SimpleBlock& block, const SimpleBlock* before, std::size_t line) {
  if (line != 0) {
    filter_.fetched = block.first_line + line - 1;
  } else if (before != nullptr) {
    filter_.fetched = before->first_line + before->lines - 1;
  } else {
    return;  // the path's first line is counted only if it hits
  }
  --filter_.fetches;
}

/// Of a block that is played by hand where anything happens in it.
template <typename Clock>
[[gnu::noinline]] bool ThreadPlayer<Clock>::answer_access(PlayState& state, const SimpleBlock* blocks,
                                                          const SimpleBlock& block, std::size_t done) {
  if (!block.look[done].is_prefetch() &&
      memory_.quiet_hit(core_.number, state.linear, block.look[done], core_.clock.start_cycle()))
    return false;
  const SimpleBlock* const before = &block == blocks ? nullptr : &block - 1;
  std::uint64_t line = block.first_line;
  if (filter_.in_turn(block.lines)) {  // nothing was fetched yet
    if (before != nullptr) {
      filter_.fetched = before->first_line + before->lines - 1;
    } else if (filter_.fetched != block.first_line) {
      --filter_.fetches;
    }
    filter_.fetches -= fetches_of(block, before);
  } else {
    line += block.lines_before_look(done);
    filter_.fetched = line - 1;
    filter_.fetches -= block.first_line + block.lines - line;
  }
  play_by_hand(state, blocks, block, line, done);
  return true;
}

/// Of the block alone.
template <typename Clock>
const std::uint64_t* ThreadPlayer<Clock>::words_of(const PlayState& state, const SimpleBlock* blocks,
                                                   const SimpleBlock& block) {
  PathAddresses addresses = book_.addresses(state.run->path);
  addresses.first += looks_before(blocks, block);
  addresses.count = block.looks;
  return words_of(addresses, state.values + state.run->slots, values_of(state)).data();
}

/// line, done: as play_part() has them
template <typename Clock>
void ThreadPlayer<Clock>::play_by_hand(PlayState& state, const SimpleBlock* blocks, const SimpleBlock& block,
                                       std::uint64_t line, std::size_t done) {
  filter_.count(0 - block.loads(), 0 - std::uint64_t{block.stores});
  const Plan& plan = book_.plan(state.run->path, nullptr);
  const auto which = static_cast<std::size_t>(&block - blocks);
  const std::uint64_t* const words = words_of(state, blocks, block);
  if (watch_.watcher != nullptr) [[unlikely]] {
    core_.clock.begin(*plan.segments[which].timing);
    watch_block(plan, watched(plan, state, blocks, block), line, done, words);
  } else {
    play_part(plan, which, line, done, state.run->next, words);
  }
}

template <typename Clock>
void ThreadPlayer<Clock>::answer_branch(PlayState& state, Question::Kind kind, const SimpleBlock* blocks,
                                        const SimpleBlock& block) {
  if constexpr (!kTimed) {
    BranchOutcome outcome;
    if (kind == Question::Branch) {
      outcome = play_branch(block, state.run->next, core_);
    } else if (kind == Question::Wrong) {
      outcome.mispredicted = true;
      note_mispredicted(block.kind, block.taken);
      if (block.taken) core_.branches.taken_wrong(block.pc, block.footprint);
    } else {
      outcome.btb_miss = true;
      ++signals_[CoreSignal::Resteers];
    }
    pass_outcome(outcome, core_);
    if (watch_.watcher == nullptr) return;
    const Plan& plan = book_.plan(state.run->path, nullptr);
    const WatchedBlock under_watch = watched(plan, state, blocks, block);
    tell_watcher(under_watch, plan.segments[under_watch.segment].instructions - 1U, 0, {});
  }
}

/// The same where every step has its time: only fetches and branches are shorter.
template <typename Clock>
template <typename Core>
[[gnu::always_inline]] inline void ThreadPlayer<Clock>::play_timed(const SimpleBlock* block, const arch::PathRun& run,
                                                                   const std::uint64_t* words,
                                                                   MemorySystem::Filter& filter, Core& core) {
  const Plan& plan = book_.plan(run.path, nullptr);
  const Step* step = plan.steps.data();
  for (const Segment& segment : plan.segments) {
    core.clock.begin(*segment.timing);
    const bool plain = filter.are_plain(block->first_line, block->lines, block->lines_known);
    const Step* const end = plan.steps.data() + segment.steps_end;
    for (; step != end; ++step) {
      // An access before it may have taken the line out of L1I, where L2 or LLC include that.
      if (step->kind == StepKind::Fetch && plain && filter.code_known == block->lines_known) {
        filter.pass(step->at >> kLineBits, 1);
      } else {
        words = play_step<false>(*step, words);
      }
    }
    tell_clock(segment, play_branch(*block++, run.next, core));
    core.clock.end();
  }
  counts_.uops += plan.uops;
  counts_.fused += plan.fused;
}

/// Apart, or the compiler leaves the inline path of simple blocks out of line.
template <typename Clock>
[[gnu::noinline]] bool ThreadPlayer<Clock>::is_hit(std::uint64_t linear, Look look) {
  return filter_.hits(linear, look.bytes(), look.store());
}

template <typename Clock>
void ThreadPlayer<Clock>::play_fetch(const Step& step) {
  const Outcome outcome = memory_.fetch(core_.number, step.at, core_.clock.dispatch_cycle(step.instruction));
  if (outcome.latency != 0) fetched_late(step, outcome);
}

/// An access of the block under way which the filter does not answer for. Nobody asks for what became of it. started: when the block
/// began. Returns whether it was a quiet hit, which is to be counted.
template <typename Clock>
template <typename Core>
[[gnu::always_inline]] inline bool ThreadPlayer<Clock>::play_miss(const Step& step, std::uint64_t linear,
                                                                  std::uint64_t started, Core& core) {
  const std::uint64_t at = core.clock.dispatch(step.instruction);
  const Access access{linear, at / kUnitsPerCycle, step.bytes, static_cast<std::uint32_t>(step.at), started, 0};
  if (step.kind == StepKind::Store) {
    const std::uint32_t cycles = memory_.quiet_or_other_store(core.number, access);
    if (cycles > l1_cycles_) core.clock.store_missed_from(at, cycles);
    return cycles == 0;
  }
  const std::uint32_t cycles = memory_.quiet_or_other_load(core.number, access);
  if (cycles > l1_cycles_) core.clock.load_done_from(at, cycles);
  return cycles == 0;
}

/// The accesses of a simple block of a plan from the `done`th on, which no inline path answers for; those before it were hits that
/// are not counted yet, and all its lines were fetched. Nobody asks for what became of them.
template <typename Clock>
template <typename Core>
[[gnu::always_inline]] inline const std::uint64_t* ThreadPlayer<Clock>::play_rest(const Segment& segment,
                                                                                  const Step* step, const Step* end,
                                                                                  std::size_t done, std::uint64_t next,
                                                                                  const std::uint64_t* words,
                                                                                  Core& core) {
  MemorySystem::Filter& filter = memory_.filter(core.number);
  const std::uint64_t started = core.clock.start_cycle();
  std::uint64_t hits = done, written = 0;
  for (const Step* before = step; done != 0; ++before) {
    step = before + 1;
    if (before->kind == StepKind::Fetch) continue;
    written += before->kind == StepKind::Store ? 1 : 0;
    ++words;
    --done;
  }
  bool tried = true;
  for (; step != end; ++step) {
    if (step->kind == StepKind::Fetch) continue;
    const std::uint64_t linear = *words++;
    const bool store = step->kind == StepKind::Store;
    const bool hit = (!tried && is_hit(linear, Look(step->bytes, store))) || play_miss(*step, linear, started, core);
    tried = false;
    if (!hit) continue;
    ++hits;
    written += store ? 1 : 0;
  }
  filter.count(hits - written, written);
  end_simple(segment, next, core);
  return words;
}

/// end_block() of a simple block, while nobody asks for its branches.
template <typename Clock>
template <typename Core>
[[gnu::always_inline]] inline void ThreadPlayer<Clock>::end_simple(const Segment& segment, std::uint64_t next,
                                                                   Core& core) {
  if (segment.kind == BranchKind::None) return core.clock.end();
  const std::uint64_t target = segment.target_is_next ? next : segment.target;
  const std::uint16_t footprint = path_footprint(segment.pc, target);
  const BranchOutcome outcome =
      segment.kind == BranchKind::Conditional
          ? core.branches.predict_conditional(segment.pc, segment.address, footprint, segment.taken)
          : core.branches.predict_and_update({.pc = segment.pc,
                                              .next = segment.next(),
                                              .target = target,
                                              .kind = segment.kind,
                                              .taken = segment.taken},
                                             segment.address, footprint);
  if (outcome.mispredicted) [[unlikely]] {
    note_mispredicted(segment.kind, segment.taken);
    core.clock.mispredict(segment.branch);
  } else if (outcome.btb_miss) [[unlikely]] {
    ++signals_[CoreSignal::Resteers];
    core.clock.resteer(segment.branch);
  }
  core.clock.end();
}

/// One whole simple block of a plan, of which something may have happened: its lines below `line` were fetched, and its first
/// `done` accesses were hits that are not counted yet; where all lines were fetched, the one behind them is none.
template <typename Clock>
[[gnu::noinline]] const std::uint64_t* ThreadPlayer<Clock>::play_part(const Plan& plan, std::size_t which,
                                                                      std::uint64_t line, std::size_t done,
                                                                      std::uint64_t next, const std::uint64_t* words) {
  const Segment& segment = plan.segments[which];
  core_.clock.begin(*segment.timing);
  const std::span<const Step> steps = plan.steps_of(which);
  const Step* step = steps.data();
  const Step* const end = step + steps.size();
  if constexpr (!kTimed) {
    const bool all_fetched = line > (segment.next() - 1) >> kLineBits;
    if (all_fetched && !segment.prefetches) return play_rest(segment, step, end, done, next, words, core_);
  }
  std::uint64_t loads = 0, stores = 0;
  for (; step != end; ++step) {
    if (step->kind == StepKind::Fetch) {
      if (step->at >> kLineBits >= line) play_step<false>(*step, words);
    } else if (done != 0) {
      if (step->kind != StepKind::Other) ++(step->kind == StepKind::Store ? stores : loads);
      ++words;
      --done;
    } else {
      words = play_step<false>(*step, words);
    }
  }
  filter_.count(loads, stores);
  end_block(segment, next);
  return words;
}

template <typename Clock>
bool ThreadPlayer<Clock>::play_until(const arch::PathRun& run, const arch::SlotValues& values, Place& place,
                                     std::uint64_t limit, std::uint64_t until) {
  Clock& clock = core_.clock;
  if (place.plan == nullptr) {
    place.plan = &book_.plan(run.path, open_);
    if (place.plan->closes_open) close_open();
    last_ = {};
  }
  const Plan& plan = *place.plan;
  const std::span<const std::uint64_t> words = words_of(run, values);
  const std::uint64_t* at = words.data() + place.words;
  for (; place.segment < plan.segments.size(); ++place.segment) {
    const Segment& segment = plan.segments[place.segment];
    if (!place.in_block && segment.continues) {
      clock.continue_with(*segment.timing);
    } else if (!place.in_block) {
      if (place.segment != 0 && clock.start_cycle() >= until) {
        place.words = static_cast<std::size_t>(at - words.data());
        return false;
      }
      clock.idle_until(core_.idle_until);
      clock.begin(*segment.timing);
    }
    place.in_block = true;
    while (place.step != segment.steps_end) {
      const Step& step = plan.steps[place.step];
      if (step.kind != StepKind::Fetch) {
        const std::uint64_t linear = step.form == AccessForm::Listed ? (*at != 0 ? at[1] : 0) : *at;
        const std::uint64_t now = dispatch_of(step);
        if (now > limit && memory_.is_contended(linear, now)) {
          place.words = static_cast<std::size_t>(at - words.data());
          place.time = now;
          return false;
        }
      }
      at = play_step<true>(step, at);
      place.step += steps_of(step);
    }
    place.in_block = false;
    if (segment.ends) end_block(segment, run.next);
  }
  open_ = plan.after;
  counts_.uops += plan.uops;
  counts_.fused += plan.fused;
  CHECK(at == words.data() + words.size(), run.path, words.size());
  return true;
}

template <typename Clock>
[[gnu::noinline]] void ThreadPlayer<Clock>::note_mispredicted(BranchKind kind, bool taken) {
  last_.mispredicted = true;
  ++signals_[kind == BranchKind::Conditional
                 ? (taken ? CoreSignal::MispredictedTaken : CoreSignal::MispredictedNotTaken)
             : kind == BranchKind::IndirectJump ? CoreSignal::MispredictedIndirectJump
             : kind == BranchKind::IndirectCall ? CoreSignal::MispredictedIndirectCall
                                                : CoreSignal::MispredictedReturn];
  counts_.recovery_cycles += model_.timing.mispredict_cycles;
}

template <typename Clock>
void ThreadPlayer<Clock>::end_block(const Segment& segment, std::uint64_t next) {
  if (segment.kind != BranchKind::None) {
    const BranchFacts branch{.pc = segment.pc,
                             .next = segment.next(),
                             .target = segment.target_is_next ? next : segment.target,
                             .kind = segment.kind,
                             .taken = segment.taken};
    const BranchOutcome outcome =
        core_.branches.predict_and_update(branch, segment.address, path_footprint(branch.pc, branch.target));
    if (!taken_.empty() && segment.taken) taken_[taken_count_++ % kRemembered] = {segment.pc, outcome.mispredicted};
    if (outcome.mispredicted) {
      note_mispredicted(segment.kind, segment.taken);
      core_.clock.mispredict(segment.branch);
    } else if (outcome.btb_miss) {
      ++signals_[CoreSignal::Resteers];
      core_.clock.resteer(segment.branch);
    }
  }
  if (segment.serialises) core_.clock.serialise(0);
  if (repeat_cycles_ != 0) core_.clock.occupy(std::exchange(repeat_cycles_, 0), repeat_cause_);
  core_.clock.end();
}

template <typename Clock>
void ThreadPlayer<Clock>::fetched_late(const Step& step, const Outcome& outcome) {
  const bool had_line = outcome.source == Source::L1;
  core_.clock.fetch_stall(step.instruction, outcome.latency,
                          had_line ? SlotCause::InstructionTlb : SlotCause::InstructionCache);
}

template <typename Clock>
SlotCause ThreadPlayer<Clock>::level_of(const Outcome& outcome) const {
  switch (outcome.source) {
    case Source::L1: return SlotCause::L1;
    case Source::L2: return SlotCause::L2;
    case Source::L3:
    case Source::L3SnoopMiss:
    case Source::L3SnoopHit:
    case Source::L3Hitm: return SlotCause::L3;
    case Source::Dram: return SlotCause::Dram;
    case Source::FillBuffer: break;
  }
  // Whence the line comes nobody knows any more; the rest of its way tells at least from where.
  if (outcome.latency <= model_.memory.l2.load_to_use_cycles) return SlotCause::L2;
  return outcome.latency <= model_.memory.llc.load_to_use_cycles ? SlotCause::L3 : SlotCause::Dram;
}

template <typename Clock>
void ThreadPlayer<Clock>::loaded(const Step& step, std::uint64_t now, const Outcome& outcome) {
  last_.load = outcome;
  last_.loaded = true;
  if (may_be_tagged()) tag(now, outcome.latency);
  if (outcome.latency <= l1_cycles_) return;
  const SlotCause level = level_of(outcome);
  if (step.load != kNoLane) core_.clock.load_done(step.load, outcome.latency, level);
  if (level != SlotCause::L1) {
    const auto missed = static_cast<unsigned>(level) - static_cast<unsigned>(SlotCause::L1);
    counts_.pending.add(missed, now, now + outcome.latency);
  }
}

template <typename Clock>
void ThreadPlayer<Clock>::stored(const Step& step, const Outcome& outcome) {
  last_.store = outcome;
  last_.stored = true;
  if (outcome.waited != 0) core_.clock.store_stall(step.instruction, outcome.waited);
  // With a store buffer, the memory system has it and says what waited for it.
  if constexpr (!kTimed) {
    if (outcome.latency > l1_cycles_) core_.clock.store_missed(step.instruction, outcome.latency);
  }
}

/// A load that the load-latency facility does not pass over. It follows one at a time, so the next that is dispatched when that one has its data
/// is tagged. now: when it is dispatched
template <typename Clock>
void ThreadPlayer<Clock>::tag(std::uint64_t now, std::uint32_t latency) {
  // chosen; always as many, and a loop could hide one of its loads for ever.
  constexpr std::uint64_t kFewestPassedOver = 8, kAtRandom = 16;
  if (now < tagged_until_) return;
  tagged_until_ = now + latency;
  passed_over_ = kFewestPassedOver + random_.below(kAtRandom);
  if (latency > threshold_) ++signals_[CoreSignal::LatencyLoads];
}

template <typename Clock>
const std::uint64_t* ThreadPlayer<Clock>::other(const Step& step, const std::uint64_t* words) {
  if (step.form == AccessForm::Listed) return gather(step, words);
  if (step.form == AccessForm::Repeated) return repeat(&step, words);
  const std::uint64_t linear = *words;
  const unsigned core = core_.number;
  const std::uint64_t now = dispatch_of(step);
  const Access access = access_of(step, linear, now);
  switch (step.access) {
    case AccessKind::Load: loaded(step, now, memory_.load(core, access)); break;
    case AccessKind::LockedLoad:
      loaded(step, now, memory_.locked(core, access));
      last_.store = last_.load;
      last_.stored = last_.locked = true;
      return words + (step.with_next ? 2 : 1);
    case AccessKind::Store: stored(step, memory_.store(core, access)); break;
    case AccessKind::Prefetch:
    case AccessKind::PrefetchT1:
    case AccessKind::PrefetchNta:
    case AccessKind::PrefetchW: prefetch(step.access, access); break;
    case AccessKind::StreamingStore: stored(step, memory_.streaming_store(core, access)); break;
    case AccessKind::Flush: memory_.flush(core, linear); break;
  }
  return words + 1;
}

/// By an instruction for that; kind says which.
template <typename Clock>
void ThreadPlayer<Clock>::prefetch(AccessKind kind, const Access& access) {
  const PrefetchHint hint = kind == AccessKind::PrefetchT1    ? PrefetchHint::T1
                            : kind == AccessKind::PrefetchNta ? PrefetchHint::Nta
                            : kind == AccessKind::PrefetchW   ? PrefetchHint::W
                                                              : PrefetchHint::T0;
  memory_.software_prefetch(core_.number, access, hint);
}

/// Elements of a gather or a scatter. One load retires, whatever it gathers, and its slowest element is where it was; the
/// stores of a scatter likewise.
template <typename Clock>
const std::uint64_t* ThreadPlayer<Clock>::gather(const Step& step, const std::uint64_t* words) {
  using enum CoreSignal;
  static constexpr CoreSignal kRetired[] = {Loads,         LoadL1Hit,      LoadFillBuffer, LoadL2Hit,    LoadL3HitNone,
                                            LoadL3HitMiss, LoadL3SnoopHit, LoadL3Hitm,     LoadDram,     SplitLoads,
                                            LoadStlbMiss,  Stores,         SplitStores,    StoreStlbMiss};
  const unsigned core = core_.number;
  memory_.counts(core);
  const arch::CoreSignals before = signals_;
  const std::uint64_t now = dispatch_of(step);
  const std::uint64_t count = *words++;
  const bool is_load = step.access == AccessKind::Load;
  Outcome slowest{.latency = model_.memory.l1d.load_to_use_cycles};
  bool split = false, walked = false;
  for (std::uint64_t i = 0; i < count; ++i) {
    const Access access = access_of(step, *words++, now);
    const Outcome outcome = is_load ? memory_.load(core, access) : memory_.store(core, access);
    if (outcome.latency > slowest.latency) slowest = outcome;
    slowest.waited = std::max(slowest.waited, outcome.waited);
    split = split || outcome.split;
    walked = walked || outcome.tlb == TlbOutcome::Walk;
  }
  memory_.counts(core);
  for (const CoreSignal signal : kRetired) signals_[signal] = before[signal];
  ++signals_[is_load ? Loads : Stores];
  if (is_load) ++signals_[kLoadFrom[static_cast<std::size_t>(slowest.source)]];
  if (split) ++signals_[is_load ? SplitLoads : SplitStores];
  if (walked) ++signals_[is_load ? LoadStlbMiss : StoreStlbMiss];
  if (is_load) {
    loaded(step, now, slowest);
  } else {
    stored(step, slowest);
  }
  return words;
}

/// A REP string instruction: its lines one after the other. Memory may lag behind by kLinesAhead of them; all of its time
/// passes before the next instruction.
template <typename Clock>
const std::uint64_t* ThreadPlayer<Clock>::repeat(const Step* step, const std::uint64_t* words) {
  const unsigned core = core_.number;
  const std::size_t count = step->with_next ? 2 : 1;
  const bool stores = step[count - 1].access != AccessKind::Load;
  std::array<Elements, 2> elements{Elements(words[0], words[1], step[0].bytes), Elements(0, 0, 1)};
  if (count == 2) elements[1] = Elements(words[2], words[3], step[1].bytes);

  const std::uint64_t began = dispatch_of(*step);
  std::uint64_t now = began, complete = began;
  std::array<std::uint64_t, kLinesAhead> under_way{};
  std::size_t touched = 0;
  SlotCause slowest = SlotCause::Ports;
  while (!elements[0].done() || !elements[1].done()) {
    const bool second = elements[0].done() || (!elements[1].done() && elements[1].number() < elements[0].number());
    const Step& one = step[second ? 1 : 0];
    Elements& own = elements[second ? 1 : 0];
    std::uint64_t& slot = under_way[touched++ % kLinesAhead];
    now = std::max(now, slot);
    Access access = access_of(one, own.linear(), now);
    access.earliest = now;  // the block is this instruction's from here on
    const bool is_load = one.access == AccessKind::Load;
    const Outcome outcome = is_load ? memory_.load(core, access) : memory_.store(core, access);
    const std::uint64_t more = own.leave();
    if (is_load) {
      last_.load = outcome;
      last_.loaded = true;
      if (may_be_tagged()) tag(now, outcome.latency);
      signals_[CoreSignal::Loads] += more;
      signals_[CoreSignal::LoadL1Hit] += more;
      slot = now + outcome.latency;
      complete = std::max(complete, slot);
      const SlotCause level = level_of(outcome);
      if (level > SlotCause::L1 && outcome.latency > model_.memory.l1d.load_to_use_cycles) {
        slowest = slowest == SlotCause::Ports ? level : std::max(slowest, level);
        counts_.pending.add(static_cast<unsigned>(level) - static_cast<unsigned>(SlotCause::L1), now, slot);
      }
    } else {
      last_.store = outcome;
      last_.stored = true;
      signals_[CoreSignal::Stores] += more;
      now += outcome.waited;
      slot = now + outcome.latency;
    }
    if (second || count == 1) {
      const std::uint32_t bytes = one.bytes;
      now += stores ? std::max<std::uint64_t>(1, (more + 1) * bytes / kPieceBytes)
                    : (more + 1) * (count == 2 ? kCompareElementCycles : kLoadElementCycles);
    }
  }
  repeat_cycles_ = static_cast<std::uint32_t>(std::max(now, complete) - began);
  repeat_cause_ = complete > now ? slowest : SlotCause::Ports;
  return words + 2 * count;
}

template class ThreadPlayer<CoreClock>;
template class ThreadPlayer<BoundClock>;

}  // namespace zs::uarch
