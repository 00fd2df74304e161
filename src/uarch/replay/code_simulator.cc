#include "uarch/replay/code_simulator.h"

#include <algorithm>
#include <utility>

#include "arch/issue_signals.h"
#include "base/check.h"

namespace zs::uarch {
namespace {

using arch::AccessKind;
using arch::CoreSignal;

/// Of the path before the block.
std::size_t looks_before(const SimpleBlock* blocks, const SimpleBlock& block) {
  std::size_t descriptors = 0;
  for (const SimpleBlock* before = blocks; before != &block; ++before) descriptors += before->descriptors;
  return descriptors;
}

/// What signals() has only when all is told.
const arch::SignalSet kCountedLate = [] {
  arch::SignalSet late;
  for (const CoreSignal signal : arch::kHitSignals) late.set(static_cast<std::size_t>(signal));
  for (std::size_t i = 0; i < arch::kCoreSignals; ++i) {
    if (arch::is_time(static_cast<CoreSignal>(i))) late.set(i);
  }
  return late;
}();

arch::SlotValues values_of(const ReplayState& state) {
  return {.slots = state.values, .fs = state.fs, .gs = state.gs, .listed = {}};
}

}  // namespace

void CodeSimulator::over_up_to(const Plan& plan, const WatchedBlock& block, WatchedPlace& place, std::uint64_t line,
                               std::size_t instruction) {
  const Segment& segment = plan.segments[block.segment];
  const std::span<const Step> behind(place.step, plan.steps.data() + segment.steps_end);
  if (!watch_.each) place.told = instruction;
  for (; place.told <= instruction; ++place.told) report_to_watcher(block, place.told, line, behind, segment.timing);
}

/// Of the first load and the first store of an instruction.
void CodeSimulator::note_address(const Step& step, const std::uint64_t* words) {
  if (step.kind == StepKind::Fetch) return;
  const std::uint64_t linear = step.form != arch::AccessForm::Listed ? *words : *words != 0 ? words[1] : 0;
  const bool store =
      step.kind == StepKind::Store || step.access == AccessKind::Store || step.access == AccessKind::StreamingStore;
  std::uint64_t& first = store ? last_.store_address : last_.load_address;
  if (first == 0) first = linear;
}

CodeSimulator::WatchedPlace CodeSimulator::begin_watch(const Plan& plan, const WatchedBlock& block,
                                                       std::uint64_t line) {
  const Segment& segment = plan.segments[block.segment];
  const std::span<const Step> steps = plan.steps_of(block.segment);
  WatchedPlace place{.step = steps.data(), .told = segment.continues ? std::size_t{0} - block.first : 0};
  last_ = {};
  // What the block waited for to begin is its first instruction's, also where there is no step for that.
  const bool silent = steps.empty() ? segment.instructions != 1 || !segment.ends : steps.front().instruction != 0;
  if (silent && !segment.continues) over_up_to(plan, block, place, line, 0);
  return place;
}

void CodeSimulator::end_watch(const Plan& plan, const WatchedBlock& block, std::uint64_t line) {
  const Segment& segment = plan.segments[block.segment];
  end_block(segment, block.run->next);
  counts_.uops += segment.timing->uops();
  counts_.fused += segment.timing->fused();
  counts_.under_way = {};
  report_to_watcher(block, segment.instructions - 1U, line, {}, nullptr);
}

/// The clock has begun the block. Its lines below `line` are fetched, and its first `done` accesses are done but not
/// counted.
const std::uint64_t* CodeSimulator::watch_block(const Plan& plan, const WatchedBlock& block, std::uint64_t line,
                                                std::size_t done, const std::uint64_t* words) {
  WatchedPlace place = begin_watch(plan, block, line);
  return watch_steps(plan, block, place, line, done, words, [](const Step&, const std::uint64_t*) { return false; });
}

/// The block's instruction of that number is over, the steps behind it are to come; fetches of lines below `line` were
/// all counted. under_way: the block; null: it has ended.
void CodeSimulator::report_to_watcher(const WatchedBlock& block, std::size_t instruction, std::uint64_t line,
                                      std::span<const Step> behind, const BlockTiming* under_way) {
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
    if (under_way != nullptr) counts_.under_way = book_.issued(under_way->id(), instruction);
    tell();
    watch_.watcher->finished(static_cast<std::size_t>(block.run - watch_.runs), block.first + instruction);
    filter_.count(0 - loads, 0 - stores);
    filter_.fetches -= fetches;
  }
  last_ = {};
}

/// Of the run that is replayed by code, which has that plan.
CodeSimulator::WatchedBlock CodeSimulator::watched(const Plan& plan, const ReplayState& state,
                                                   const SimpleBlock* blocks, const SimpleBlock& block) {
  WatchedBlock watched{
      .run = state.run, .segment = static_cast<std::size_t>(&block - blocks), .first = 0, .counted = blocks};
  for (std::size_t i = 0; i < watched.segment; ++i) watched.first += plan.segments[i].instructions;
  return watched;
}

void CodeSimulator::run_code(ReplayCode& code, const arch::PathRun*& run, const arch::PathRun* end,
                             const arch::SlotValues& values) {
  ReplayState& state = code.state();
  state.simulator = this;
  state.values = values.slots;
  state.fs = values.fs;
  state.gs = values.gs;
  state.run = run;
  state.runs_end = end;
  state.ask = &CodeSimulator::answer;
  state.wait_for_room = [](ReplayState& own) {
    static_cast<CodeSimulator*>(own.simulator)->core_.clock.wait_for_room();
  };
  state.pass_store = [](ReplayState& own, std::uint64_t linear, std::uint64_t what) {
    const auto& simulator = *static_cast<CodeSimulator*>(own.simulator);
    const CoreClock& clock = simulator.core_.clock;
    const PlainStore store = PlainStore::of(what);
    own.waited = simulator.memory_.pass_plain_store(
        simulator.core_.number, linear, store.bytes,
        {.now = clock.cycle_behind(store.offset),
         .retires = clock.under_way() ? clock.store_retires(store.number) : clock.retired_cycle(own.older),
         .ready = clock.under_way() ? clock.store_ready(store.number) : clock.cycle_of(own.ready),
         .place = store.place});
    return own.waited;
  };
  state.loads = [](ReplayState& own, std::uint64_t linear, std::uint32_t bytes) {
    const auto& simulator = *static_cast<CodeSimulator*>(own.simulator);
    return simulator.memory_.early_load(simulator.core_.number, linear, bytes, simulator.core_.clock.start_cycle());
  };
  state.untagged = tags_ ? passed_over_ : UINT64_MAX;
  const bool tags = std::exchange(tags_, false);  // nor does it tag one that is asked about
  code.play();
  tags_ |= tags;
  if (tags) passed_over_ = state.untagged;
  counts_.uops += std::exchange(state.uops, 0);
  counts_.fused += std::exchange(state.fused, 0);
  core_.work.by_code += static_cast<std::uint64_t>(state.run - run);
  run = state.run;
}

/// What ReplayCode asks: the same as replay_simple() does there.
std::uint64_t CodeSimulator::answer(ReplayState& state, std::uint32_t what) {
  auto& simulator = *static_cast<CodeSimulator*>(state.simulator);
  const Callout callout = Callout::of(what);
  const auto [blocks, plan] = simulator.book_.simple_run(state.run->path);
  const SimpleBlock& block = blocks[callout.block];
  const Segment& segment = plan.segments[callout.block];
  ReplayCore& core = simulator.core_;
  ++core.work.callouts;
  if (!core.clock.under_way()) core.clock.begin_here(*segment.timing);
  const bool is_watched = simulator.watch_.watcher != nullptr && simulator.watch_.changes_in_code;
  BranchOutcome outcome;
  switch (callout.kind) {
    case Callout::Step:
      if (is_watched && state.waited == 0) {
        simulator.watch_rest(state, blocks, plan, callout);
        return 1;
      }
      simulator.answer_step(state, blocks, plan, callout);
      break;
    case Callout::Branch: outcome = simulator.replay_branch(block, state.run->next); break;
    case Callout::Wrong:
      outcome.mispredicted = true;
      simulator.note_mispredicted(block.kind, block.taken);
      if (block.taken) core.branches.targets().touch(block.pc);
      break;
    case Callout::Resteer:
      outcome.btb_miss = true;
      ++simulator.signals_[CoreSignal::Resteers];
      break;
    case Callout::End: core.clock.end(); return 1;
    default: CHECK(false, what);
  }
  simulator.report_to_clock(segment, outcome);
  if (is_watched && (outcome.mispredicted || outcome.btb_miss)) {
    core.clock.end();
    simulator.count_uops(state, plan, callout.block + 1U);
    simulator.report_to_watcher(watched(plan, state, blocks, block), segment.instructions - 1U, 0, {}, nullptr);
    return 1;
  }
  core.clock.undo_uneventful();
  return 0;
}

/// One step of the block. The code counts it where its path ends, so what is counted here is taken away.
void CodeSimulator::answer_step(ReplayState& state, const SimpleBlock* blocks, const Plan& plan, Callout callout) {
  const SimpleBlock& block = blocks[callout.block];
  const SimpleBlock* const before = callout.block == 0 ? nullptr : &block - 1;
  const Step& step = plan.steps_of(callout.block)[callout.done];
  if (state.waited != 0) {  // the store is done
    core_.clock.store_stall(step.instruction, static_cast<std::uint32_t>(std::exchange(state.waited, 0)));
    return;
  }
  if (step.kind == StepKind::Fetch) {
    undo_fetch(block, before, (step.at >> kLineBits) - block.first_line);
  } else {
    const std::uint64_t store = step.kind == StepKind::Store ? 1 : 0;
    filter_.count(store - 1, 0 - store);
  }
  replay_step<false>(step, &state.linear);
}

/// Those of the path's first blocks, which are over, and of all paths before. The code counts them all where the path
/// ends.
void CodeSimulator::count_uops(ReplayState& state, const Plan& plan, std::size_t segments) {
  std::uint64_t uops = 0, fused = 0;
  for (const Segment& segment : plan.segments.first(segments)) {
    uops += segment.timing->uops();
    fused += segment.timing->fused();
  }
  counts_.uops += std::exchange(state.uops, 0 - uops) + uops;
  counts_.fused += std::exchange(state.fused, 0 - fused) + fused;
}

/// What is left of the block under way, one step after the other. The code counts its accesses, lines and uops where
/// its path ends, so what is counted here is taken away.
void CodeSimulator::watch_rest(ReplayState& state, const SimpleBlock* blocks, const Plan& plan, Callout callout) {
  const SimpleBlock& block = blocks[callout.block];
  const Segment& segment = plan.segments[callout.block];
  std::size_t lines = 0, accesses = 0;  // that are done
  for (const Step& step : plan.steps_of(callout.block).first(callout.done))
    ++(step.kind == StepKind::Fetch ? lines : accesses);
  if (lines != 0) {
    filter_.fetched = block.first_line + lines - 1;
    filter_.fetches -= block.lines - lines;
  } else {
    const SimpleBlock* const before = callout.block == 0 ? nullptr : &block - 1;
    if (before != nullptr) filter_.fetched = before->first_line + before->lines - 1;
    filter_.fetches -= fetches_of(block, before);
  }
  const std::uint64_t stores = block.stores, loads = block.loads();
  filter_.count(0 - loads, 0 - stores);
  count_uops(state, plan, callout.block);
  watch_block(plan, watched(plan, state, blocks, block), block.first_line + lines, accesses,
              words_of_block(state, blocks, block));
  state.uops -= segment.timing->uops();
  state.fused -= segment.timing->fused();
}

/// The block's line of that number is about to be fetched by hand, those before it are.
void CodeSimulator::undo_fetch(const SimpleBlock& block, const SimpleBlock* before, std::size_t line) {
  if (line != 0) {
    filter_.fetched = block.first_line + line - 1;
  } else if (before != nullptr) {
    filter_.fetched = before->first_line + before->lines - 1;
  } else {
    return;  // the path's first line is counted only if it hits
  }
  --filter_.fetches;
}

/// Of the block alone.
const std::uint64_t* CodeSimulator::words_of_block(const ReplayState& state, const SimpleBlock* blocks,
                                                   const SimpleBlock& block) {
  PathAddresses addresses = book_.addresses(state.run->path);
  addresses.first += looks_before(blocks, block);
  addresses.count = block.descriptors;
  return words_of(addresses, state.values + state.run->slots, values_of(state)).data();
}

void CodeSimulator::watch_run(const arch::PathRun& run, const Plan& plan, std::span<const std::uint64_t> words) {
  const std::uint64_t* at = words.data();
  // One that was open before began before the path.
  WatchedBlock block{.run = &run,
                     .segment = 0,
                     .first = plan.segments.front().continues ? std::size_t{0} - open_->instructions : 0,
                     .counted = nullptr};
  if (plan.closes_open) close_open();
  for (const Segment& segment : plan.segments) {
    segment.enter(core_.clock);
    at = watch_block(plan, block, 0, 0, at);
    ++block.segment;
    block.first += segment.instructions;
  }
  open_ = plan.after;
  counts_.under_way = plan.under_way;
  CHECK(at == words.data() + words.size(), run.path, words.size());
}

void CodeSimulator::watch_runs(std::span<const arch::PathRun> runs, const arch::SlotValues& values) {
  if (open_ == nullptr) core_.clock.idle_until(core_.idle_until);
  watch_.runs = runs.data();
  const arch::PathRun* const end = runs.data() + runs.size();
  const arch::PathRun* merging = next_merging(runs.data(), end);
  for (const arch::PathRun* run = runs.data(); run != end; ++run) {
    if (run != merging && !watch_.signals.empty() && !asks_for_steps() && open_ == nullptr) {
      replay_code(run, merging, values);
      if (run == end) break;
      if (run != merging && book_.simple(run->path) != nullptr)
        core_.code->played(run->path, book_.simple_path(run->path));
    }
    ++core_.work.by_step;
    watch_run(*run, book_.plan(run->path, open_, run == merging), words_of(*run, values));
    if (run == merging) merging = next_merging(run + 1, end);
  }
  tell();
}

/// Of these signals of this thread, from here on.
void CodeSimulator::set_watch(const arch::SignalSet& watched, arch::RunWatcher& watcher) {
  watch_ = {.watcher = &watcher, .runs = nullptr, .signals = {}};
  watch_.each = std::ranges::any_of(
      arch::kIssueSignals, [&watched](CoreSignal signal) { return watched[static_cast<std::size_t>(signal)]; });
  const bool changes_seldom = (watched & kCountedLate).none();
  for (std::size_t i = 0; changes_seldom && i < watched.size(); ++i) {
    if (!watched[i]) continue;
    watch_.signals.push_back(static_cast<std::uint8_t>(i));
    watch_.changes_in_code |= i != static_cast<std::size_t>(CoreSignal::LatencyLoads);
    watch_.sum += signals_.counts[i];
  }
}

}  // namespace zs::uarch
