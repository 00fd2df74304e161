// Replays what a thread did on a core of the machine: follows the plans of the code book, by code, by block or by step,
// in the order in which the runner or the quantum_scheduler says.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "arch/core_feed.h"
#include "uarch/replay/code_book.h"
#include "uarch/replay/code_simulator.h"
#include "uarch/replay/replay_core.h"
#include "uarch/replay/time_signals.h"

namespace zs::uarch {

class QuantumScheduler;

/// What a PMU is told of this outcome.
arch::AccessOutcome told(bool present, const Outcome& outcome, bool locked);

/// For keep_outcomes() of a thread.
class OutcomeKeeper final : public arch::RunWatcher {
 public:
  /// load_address, store_address  where the thread has them of the instruction that has finished
  OutcomeKeeper(const arch::CoreFeed& thread, const std::uint64_t& load_address, const std::uint64_t& store_address)
      : thread_(thread), load_address_(load_address), store_address_(store_address) {}
  bool keeps() const { return kept_ != nullptr; }
  void keep(std::deque<arch::WatchedOutcome>& kept) { kept_ = &kept; }
  /// So many runs more are over.
  void pass(std::size_t runs) { runs_ += runs; }
  void finished(std::size_t run, std::size_t instruction) override;

 private:
  const arch::CoreFeed& thread_;
  const std::uint64_t &load_address_, &store_address_;
  std::deque<arch::WatchedOutcome>* kept_ = nullptr;
  std::uint64_t runs_ = 0;  // that are over, since outcomes are kept
};

class ThreadReplay final : public arch::CoreFeed, public CodeSimulator {
 public:
  /// number  of threads attached before
  /// seed    with it: of which loads the load-latency facility tags
  ThreadReplay(const CoreModel& model, CodeBook& book, MemorySystem& memory, ReplayCore& core,
               QuantumScheduler& quantum_scheduler, std::uint64_t number, std::uint64_t seed);
  ~ThreadReplay() override;
  ThreadReplay(const ThreadReplay&) = delete;
  ThreadReplay& operator=(const ThreadReplay&) = delete;

  void describe(std::uint32_t path, const arch::PathDescription& description) override;
  void forget_paths() override;
  arch::CodeAge age_of_code(std::uint64_t pc) const override { return book_.age_of_code(pc); }
  std::size_t path_bytes() const override { return book_.bytes(); }

  void run(std::span<const arch::PathRun> runs, const arch::SlotValues& values) override;

  bool run_watched(std::span<const arch::PathRun> runs, const arch::SlotValues& values, const arch::SignalSet& watched,
                   arch::RunWatcher& watcher) override;

  void keep_outcomes(const arch::SignalSet& watched, std::deque<arch::WatchedOutcome>& kept) override;

  void settle() override;
  void keep_signals(std::deque<arch::CoreSignals>& kept) override;
  std::uint64_t played_until() const override { return std::max(core_.clock.start_cycle(), core_.idle_until); }
  bool lags() const override;
  void play_on() override;
  void wait_until(std::uint64_t cycle) override;
  unsigned core_number() const override { return core_.number; }
  bool contends() override { return memory_.any_contended(core_.clock.start_cycle()); }

  const arch::CoreSignals& signals() const override { return signals_; }
  arch::AccessOutcome last_load() const override { return told(last_.loaded, last_.load, last_.locked); }
  arch::AccessOutcome last_store() const override { return told(last_.stored, last_.store, last_.locked); }
  arch::AccessOutcome last_fetch() const override { return told(last_.fetch.latency != 0, last_.fetch, false); }
  bool last_mispredicted() const override { return last_.mispredicted; }
  void remember_branches() override { taken_.resize(kRemembered); }
  bool was_mispredicted(std::size_t back, std::uint64_t pc) const override { return taken(back, pc).mispredicted; }
  std::uint64_t cycle_of_branch(std::size_t back, std::uint64_t pc) const override { return taken(back, pc).cycle; }
  void watch_retirement(bool on) override;
  std::uint64_t waited_for(std::uint64_t cycles_ago) const override;
  void set_latency_threshold(std::uint32_t cycles) override {
    tags_ = true;
    threshold_ = cycles;
  }
  void tag_more_loads(std::uint32_t times) override {
    if (times > times_tagged_) passed_over_ = passed_over_ * times_tagged_ / times;
    times_tagged_ = times;
  }
  std::uint32_t most_per_instruction(arch::CoreSignal signal) const override {
    return zs::uarch::most_per_instruction(signal, model_.timing.issue_width);
  }
  void accessed(std::span<const std::uint64_t> lines) override;
  void skipped(bool sampled) override {
    book_.skipped();
    memory_.skipped(sampled);
  }
  std::vector<std::uint64_t> beyond_l2() override { return memory_.beyond_l2(); }
  void unmapped(std::uint64_t first, std::uint64_t last) override;
  void large_pages(std::uint64_t first, std::uint64_t last, bool wanted) override;

  /// Where a run has stopped: before an access that must wait for other cores, or where a block ended.
  struct Place {
    const Plan* plan = nullptr;                    // null: it has not begun
    std::size_t segment = 0, step = 0, words = 0;  // what comes next
    bool in_block = false;                         // the segment's block is under way: an access waits
    std::uint64_t time = 0;                        // cycle of that access
    std::size_t first = 0;                         // number of the block's first instruction in the path
    WatchedPlace watched{};                        // in the block, where outcomes are kept
  };

  // For the quantum_scheduler.
  void take() {
    if (core_.owner != this) take_over();
  }
  /// Slots that a run of the path has.
  std::size_t slots_of(std::uint32_t path) const { return book_.addresses(path).slots; }
  /// Replays a run from `place` on, until it is over, or up to an access to a contended line behind cycle `limit`, or
  /// to the end of a block in cycle `until` or later.
  /// returns whether it is over
  bool replay_until(const arch::PathRun& run, const arch::SlotValues& values, Place& place, std::uint64_t limit,
                    std::uint64_t until);
  /// Replays runs whose accesses wait for nobody, behind take().
  void replay_alone(std::span<const arch::PathRun> runs, const arch::SlotValues& values);

 private:
  void take_over();
  void leave();
  /// kLast  whether somebody may ask for what became of this run's last load, store and branch
  template <bool kLast>
  const std::uint64_t* play(const Plan& plan, std::uint64_t next, const std::uint64_t* words);
  QuantumScheduler& scheduler_;
  const std::uint16_t number_;
  OutcomeKeeper keeper_{*this, last_.load_address, last_.store_address};
};

}  // namespace zs::uarch
