// Plays what a thread did on a core of the machine: follows the plans of the code book, asks the memory system and the branch
// unit in program order, and tells the clock what they said.
//
// `Clock`: CoreClock, or BoundClock where nobody asks for time.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "arch/core_feed.h"
#include "uarch/branch/branch_unit.h"
#include "uarch/chance.h"
#include "uarch/machine/code_book.h"
#include "uarch/machine/path_code.h"
#include "uarch/machine/time_signals.h"
#include "uarch/memory_system.h"
#include "uarch/timing/bound_clock.h"
#include "uarch/timing/core_clock.h"

namespace zs::uarch {

template <typename Clock>
class ThreadPlayer;
template <typename Clock>
class Weaver;

/// Where a run has stopped: before an access that must wait for other cores, or where a block ended.
struct Place {
  const Plan* plan = nullptr;                    // null: it has not begun
  std::size_t segment = 0, step = 0, words = 0;  // what comes next
  bool in_block = false;                         // the segment's block is under way: an access waits
  std::uint64_t time = 0;                        // cycle of that access
};

/// What a core has beside its part of the memory system.
template <typename Clock>
struct PlayedCore {
  PlayedCore(const CoreModel& model, unsigned which, std::size_t room)
      : number(which), branches(model.branch), clock(clock_of(model)), code_bytes(room) {}
  /// filter  of the core; core: of the clock
  PathCode& code_for(MemorySystem::Filter& filter, const TimingParameters& core) {
    if (code != nullptr) return *code;
    if constexpr (std::is_same_v<Clock, BoundClock>) {
      code = std::make_unique<PathCode>(filter, branches, code_bytes);
    } else {
      code = std::make_unique<PathCode>(filter, branches, clock, core, code_bytes);
    }
    return *code;
  }
  static Clock clock_of(const CoreModel& model) {
    if constexpr (std::is_same_v<Clock, BoundClock>) {
      return BoundClock(model.timing, model.memory.store_buffer);
    } else {
      return Clock(model.timing);
    }
  }
  unsigned number;
  BranchUnit branches;
  Clock clock;
  std::size_t code_bytes;                // what `code` may have
  std::unique_ptr<PathCode> code;        // null until it is wanted
  ThreadPlayer<Clock>* owner = nullptr;  // whose run came last
  std::uint64_t idle_until = 0;          // no block begins before that cycle
};

template <typename Clock>
class ThreadPlayer final : public arch::CoreFeed {
 public:
  static constexpr bool kTimed = std::is_same_v<Clock, CoreClock>;

  /// seed  of which loads the load-latency facility tags
  ThreadPlayer(const CoreModel& model, CodeBook& book, MemorySystem& memory, PlayedCore<Clock>& core,
               Weaver<Clock>& weaver, std::uint64_t seed);
  ~ThreadPlayer() override;
  ThreadPlayer(const ThreadPlayer&) = delete;
  ThreadPlayer& operator=(const ThreadPlayer&) = delete;

  void describe(std::uint32_t path, const arch::PathDescription& description) override;
  void forget_paths() override;
  std::size_t path_bytes() const override { return book_.bytes(); }

  void run(std::span<const arch::PathRun> runs, const arch::SlotValues& values) override;

  bool run_watched(std::span<const arch::PathRun> runs, const arch::SlotValues& values, const arch::SignalSet& watched,
                   arch::RunWatcher& watcher) override;

  void settle() override;
  std::uint64_t played_until() const override { return std::max(core_.clock.start_cycle(), core_.idle_until); }
  bool lags() const override;
  void play_on() override;
  void wait_until(std::uint64_t cycle) override;
  bool contends() override { return memory_.any_contended(core_.clock.start_cycle()); }

  const arch::CoreSignals& signals() const override { return signals_; }
  arch::AccessOutcome last_load() const override { return told(last_.loaded, last_.load); }
  arch::AccessOutcome last_store() const override { return told(last_.stored, last_.store); }
  bool last_mispredicted() const override { return last_.mispredicted; }
  void remember_branches() override { taken_.resize(kRemembered); }
  bool was_mispredicted(std::size_t back, std::uint64_t pc) const override {
    if (back >= taken_.size()) return false;
    const TakenBranch& branch = taken_[(taken_count_ - 1 - back) % kRemembered];
    return branch.pc == pc && branch.mispredicted;
  }
  void set_latency_threshold(std::uint32_t cycles) override {
    tags_ = true;
    threshold_ = cycles;
  }
  std::uint32_t most_per_instruction(arch::CoreSignal signal) const override {
    return zs::uarch::most_per_instruction(signal, model_.timing.issue_width);
  }
  void unmapped(std::uint64_t first, std::uint64_t last) override;

  // For the weaver.
  PlayedCore<Clock>& core() const { return core_; }
  void take() {
    if (core_.owner != this) take_over();
  }
  /// Slots that a run of the path has.
  std::size_t slots_of(std::uint32_t path) const { return book_.addresses(path).slots; }
  /// Plays a run from `place` on, until it is over, or up to an access to a contended line behind cycle `limit`, or to the end of
  /// a block in cycle `until` or later.
  /// returns whether it is over
  bool play_until(const arch::PathRun& run, const arch::SlotValues& values, Place& place, std::uint64_t limit,
                  std::uint64_t until);
  /// Plays runs whose accesses wait for nobody, behind take().
  void play_alone(std::span<const arch::PathRun> runs, const arch::SlotValues& values);
  const KnownBlock* open() const { return open_; }
  /// Whether what was played last ended a block.
  bool between_blocks() const { return open_ == nullptr; }
  /// signals() show everything that was played.
  void tell();

 private:
  struct Last {
    Outcome load, store;
    bool loaded = false, stored = false, locked = false, mispredicted = false;
  };
  /// While run_watched() is under way.
  struct Watch {
    arch::RunWatcher* watcher = nullptr;  // null: nobody watches
    const arch::PathRun* runs = nullptr;
    std::vector<std::uint8_t> signals;  // those that are watched; empty: whatever is done is told
    std::uint64_t sum = 0;              // of these, when the watcher was last told
    bool changes_in_code = false;       // some may change in paths that code plays, which tags no load
  };
  /// A block of a run under watch.
  struct WatchedBlock {
    const arch::PathRun* run = nullptr;
    std::size_t segment = 0;               // of the run's plan
    std::size_t first = 0;                 // number of the block's first instruction in the path
    const SimpleBlock* counted = nullptr;  // the path's, if their hits are counted only when all are over; else null
  };

  arch::AccessOutcome told(bool present, const Outcome& outcome) const;
  void take_over();
  void leave();
  /// Good until words are asked for again.
  std::span<const std::uint64_t> words_of(const arch::PathRun& run, const arch::SlotValues& values) {
    return words_of(book_.addresses(run.path), values.slots + run.slots, values);
  }
  std::span<const std::uint64_t> words_of(const PathAddresses& addresses, const std::uint64_t* slots,
                                          const arch::SlotValues& values) {
    const std::size_t most = addresses.most_words(values.listed.size());
    if (words_.size() < most) words_.resize(most);
    return {words_.data(), write_words(addresses, slots, values, words_.data())};
  }
  /// kLast  whether somebody may ask for what became of this run's last load, store and branch
  template <bool kLast>
  const std::uint64_t* play(const Plan& plan, std::uint64_t next, const std::uint64_t* words);
  /// Core: a PlayedCore whose clock can pass() blocks
  template <typename Core>
  void play_simple(const SimpleBlock* block, const arch::PathRun& run, const std::uint64_t* words,
                   MemorySystem::Filter& filter, Core& core);
  /// By PathCode, as far as it goes. Moves `run` on.
  void play_code(const arch::PathRun*& run, const arch::PathRun* end, const arch::SlotValues& values);
  static std::uint64_t answer(PlayState& state, std::uint32_t what);
  static std::uint64_t answer_timed(PlayState& state, std::uint32_t what);
  void answer_step(PlayState& state, const SimpleBlock* blocks, const Plan& plan, Question question);
  void count_uops(PlayState& state, const Plan& plan, std::size_t segments);
  void watch_rest(PlayState& state, const SimpleBlock* blocks, const Plan& plan, Question question);
  void tell_clock(const Segment& segment, const BranchOutcome& outcome);
  static std::uint64_t answer_prefetch(PlayState& state, std::uint64_t linear, std::uint64_t look, std::uint32_t what);
  static std::uint64_t answer_line(PlayState& state, std::uint64_t line, std::uint64_t offset, std::uint32_t what);
  bool answer_lines(PlayState& state, const SimpleBlock* blocks, Question question);
  template <bool kStore>
  static std::uint64_t answer_look(PlayState& state, std::uint64_t linear, std::uint64_t look, std::uint32_t what);
  bool answer_access(PlayState& state, const SimpleBlock* blocks, const SimpleBlock& block, std::size_t done);
  void play_by_hand(PlayState& state, const SimpleBlock* blocks, const SimpleBlock& block, std::uint64_t line,
                    std::size_t done);
  void take_back_fetch(const SimpleBlock& block, const SimpleBlock* before, std::size_t line);
  const std::uint64_t* words_of(const PlayState& state, const SimpleBlock* blocks, const SimpleBlock& block);
  void answer_branch(PlayState& state, Question::Kind kind, const SimpleBlock* blocks, const SimpleBlock& block);
  template <typename Core>
  void play_timed(const SimpleBlock* block, const arch::PathRun& run, const std::uint64_t* words,
                  MemorySystem::Filter& filter, Core& core);
  /// What the clock waits for behind a simple block's branch.
  template <typename Core>
  static void pass_outcome(const BranchOutcome& outcome, Core& core);
  template <typename Core>
  BranchOutcome play_branch(const SimpleBlock& block, std::uint64_t next, Core& core);
  void watch_run(const arch::PathRun& run, std::span<const std::uint64_t> words);
  const std::uint64_t* watch_block(const Plan& plan, const WatchedBlock& block, std::uint64_t line, std::size_t done,
                                   const std::uint64_t* words);
  void tell_watcher(const WatchedBlock& block, std::size_t instruction, std::uint64_t line,
                    std::span<const Step> behind);
  static WatchedBlock watched(const Plan& plan, const PlayState& state, const SimpleBlock* blocks,
                              const SimpleBlock& block);
  const std::uint64_t* play_part(const Plan& plan, std::size_t which, std::uint64_t line, std::size_t done,
                                 std::uint64_t next, const std::uint64_t* words);
  bool is_hit(std::uint64_t linear, Look look);
  template <typename Core>
  bool play_miss(const Step& step, std::uint64_t linear, std::uint64_t started, Core& core);
  template <typename Core>
  const std::uint64_t* play_rest(const Segment& segment, const Step* step, const Step* end, std::size_t done,
                                 std::uint64_t next, const std::uint64_t* words, Core& core);
  template <typename Core>
  void end_simple(const Segment& segment, std::uint64_t next, Core& core);
  template <bool kLast>
  const std::uint64_t* play_step(const Step& step, const std::uint64_t* words);
  void play_fetch(const Step& step);
  void end_block(const Segment& segment, std::uint64_t next);
  void note_mispredicted(arch::BranchKind kind, bool taken);
  void close_open();
  void fetched_late(const Step& step, const Outcome& outcome);
  const std::uint64_t* other(const Step& step, const std::uint64_t* words);
  void prefetch(arch::AccessKind kind, const Access& access);
  void loaded(const Step& step, std::uint64_t now, const Outcome& outcome);
  void stored(const Step& step, const Outcome& outcome);
  /// Whether the load-latency facility does not pass over the load that comes next. Code plays those that it does without asking, as long as
  /// there are enough (PlayState::untagged).
  bool may_be_tagged() {
    if (!tags_ || passed_over_ == 0) return tags_;
    --passed_over_;
    return false;
  }
  void tag(std::uint64_t now, std::uint32_t latency);
  const std::uint64_t* gather(const Step& step, const std::uint64_t* words);
  const std::uint64_t* repeat(const Step* step, const std::uint64_t* words);
  std::uint64_t dispatch_of(const Step& step) {
    return step.load != kNoLane ? core_.clock.load_dispatch(step.load) : core_.clock.dispatch_cycle(step.instruction);
  }
  /// Cycle in which the data of a store is known.
  std::uint64_t ready_of(const Step& step) const {
    return step.store != kNoLane ? core_.clock.store_ready(step.store) : 0;
  }
  Access access_of(const Step& step, std::uint64_t linear, std::uint64_t now) const {
    return {linear,
            now,
            step.bytes,
            static_cast<std::uint32_t>(step.at),
            core_.clock.start_cycle(),
            core_.clock.retired_cycle(),
            ready_of(step),
            step.place};
  }
  SlotCause level_of(const Outcome& outcome) const;

  const CoreModel& model_;
  const std::uint32_t l1_cycles_ = model_.memory.l1d.load_to_use_cycles;
  CodeBook& book_;
  MemorySystem& memory_;
  PlayedCore<Clock>& core_;
  MemorySystem::Filter& filter_ = memory_.filter(core_.number);
  Weaver<Clock>& weaver_;
  const KnownBlock* open_ = nullptr;  // the block that goes on with the next run
  arch::CoreSignals signals_;
  SlotAccount account_;
  TimeCounts counts_;
  Last last_;
  Watch watch_;
  std::vector<std::uint64_t> words_;  // of one run: scratch of words_of()
  struct TakenBranch {
    std::uint64_t pc = 0;
    bool mispredicted = false;
  };
  // chosen: many times the deepest LBR stack, whose filter may let few through.
  static constexpr std::size_t kRemembered = 1024;
  std::vector<TakenBranch> taken_;  // a ring; empty unless asked for
  std::size_t taken_count_ = 0;
  // The load-latency facility.
  bool tags_ = false;
  std::uint32_t threshold_ = 0;
  std::uint64_t tagged_until_ = 0;  // the tagged load has its data
  std::uint64_t passed_over_ = 0;   // loads that will not be tagged, whenever they are dispatched
  Random random_;
  std::uint32_t repeat_cycles_ = 0;  // of a string instruction, until its block ends
  SlotCause repeat_cause_ = SlotCause::Ports;
};

}  // namespace zs::uarch
