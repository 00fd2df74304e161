// Simulates the cores of a machine side by side. The runner tells one thread's turn after the other; here each core has
// what it was told in a queue, and the core with the lowest clock replays next: up to a quantum ahead of the others,
// because what cores do to lines of their own does not depend on the order, and not past an access to a line that cores
// fight over unless its clock is the lowest. Ties go to the lower number, so the order is a function of what was told.
//
// Whoever tells them decides how far they are told; it had better tell that thread next whose core has nothing left to
// replay, because what one core has told beyond what the others have is replayed without them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "arch/core_feed.h"
#include "uarch/replay/thread_replay.h"

namespace zs::uarch {

class QuantumScheduler {
 public:
  /// quantum  cycles; 0: runs are replayed at once
  QuantumScheduler(std::span<const std::unique_ptr<ReplayCore>> cores, std::uint64_t quantum)
      : cores_(cores), quantum_(quantum), queues_(cores.size()) {}

  void attached(ThreadReplay& thread) { players_.push_back(&thread); }
  void detached(ThreadReplay& thread) {
    settle(thread);
    std::erase(players_, &thread);
  }
  /// Whether runs wait.
  bool weaves() const { return quantum_ != 0 && players_.size() > 1; }

  void enqueue(ThreadReplay& thread, std::span<const arch::PathRun> runs, const arch::SlotValues& values) {
    Queue& queue = queues_[thread.core().number];
    if (queue.slots.size() + queue.runs.size() > kMostWaiting) settle(thread);
    if (queue.parts.empty() || !queue.parts.back().takes(thread, values))
      queue.parts.push_back({.thread = &thread,
                             .fs = values.fs,
                             .gs = values.gs,
                             .listed = {values.listed.begin(), values.listed.end()}});
    queue.parts.back().runs += runs.size();
    for (arch::PathRun run : runs) {
      const std::uint64_t* const slots = values.slots + run.slots;
      run.slots = static_cast<std::uint32_t>(queue.slots.size());
      queue.runs.push_back(run);
      queue.slots.insert(queue.slots.end(), slots, slots + thread.slots_of(run.path));
    }
  }

  /// Where runs wait that the thread told last, its signals are kept behind them. returns whether they do
  bool keep_signals(const ThreadReplay& thread, std::deque<arch::CoreSignals>& kept) {
    Queue& queue = queues_[thread.core().number];
    if (queue.empty() || queue.parts.back().thread != &thread) return false;
    Part& last = queue.parts.back();
    last.ends.push_back({.runs = last.replayed + last.runs, .kept = &kept});
    return true;
  }

  /// Everything of this thread is replayed, and what other cores do before.
  void settle(ThreadReplay& thread) {
    Queue& queue = queues_[thread.core().number];
    while (waits(queue, thread)) step();
  }
  void settle_all() {
    while (step()) {}
  }

  /// No core has code for the path any more.
  void forget_code(std::uint32_t path) {
    for (const auto& core : cores_) {
      if (core->code != nullptr) core->code->forget(path);
    }
  }

  /// Nor for any number; paths that are the same as known ones find their code again.
  void forget_numbers() {
    for (const auto& core : cores_) {
      if (core->code != nullptr) core->code->forget_numbers();
    }
  }
  /// There is no code any more. What was told before was settled.
  void forget_all_code() {
    for (const auto& core : cores_) {
      if (core->code != nullptr) core->code->forget_all();
    }
  }
  /// Whether anybody may still ask for the block, when nothing waits.
  bool needs(const KnownBlock& block) const {
    return std::ranges::any_of(players_, [&](const ThreadReplay* simulator) { return simulator->open() == &block; }) ||
           std::ranges::any_of(cores_, [&](const auto& core) { return core->clock.remembers(block.id); });
  }

  bool lags(unsigned core) const { return !queues_[core].empty(); }
  /// Replays until a core has nothing left to replay.
  void play_on() {
    const auto lagging = [this] {
      return std::count_if(queues_.begin(), queues_.end(), [](const Queue& queue) { return !queue.empty(); });
    };
    const auto before = lagging();
    while (lagging() == before && step()) {}
  }

 private:
  // chosen: a turn of a thread is shorter, and memory bounded.
  static constexpr std::size_t kMostWaiting = std::size_t{1} << 18;

  /// Runs of one thread, one behind the other.
  struct Part {
    ThreadReplay* thread;
    std::size_t runs = 0;  // that are left
    std::uint64_t fs = 0, gs = 0;
    std::vector<std::uint64_t> listed;  // of the only run
    std::size_t replayed = 0;           // runs
    /// Behind so many runs the thread's signals are kept.
    struct End {
      std::size_t runs;
      std::deque<arch::CoreSignals>* kept;
    };
    std::vector<End> ends{};  // in their order
    std::size_t end = 0;      // the next one

    /// Runs up to there, or all.
    std::size_t runs_together() const { return end == ends.size() ? runs : ends[end].runs - replayed; }
    void pass(std::size_t passed) {
      runs -= passed;
      replayed += passed;
      for (; end != ends.size() && ends[end].runs == replayed; ++end) {
        thread->tell();
        ends[end].kept->push_back(thread->signals());
      }
    }

    bool takes(const ThreadReplay& more, const arch::SlotValues& values) const {
      return thread == &more && fs == values.fs && gs == values.gs && listed.empty() && values.listed.empty();
    }
  };
  struct Queue {
    std::vector<Part> parts;
    std::vector<arch::PathRun> runs;  // and their slots, whose place is the runner's again:
    std::vector<std::uint64_t> slots;
    std::size_t part = 0, run = 0;       // what comes next
    std::uint64_t time = 0;              // cycle in which it does
    typename ThreadReplay::Place place;  // within the run
    bool empty() const { return part == parts.size(); }
    arch::SlotValues values(const Part& of) const {
      return {.slots = slots.data(), .fs = of.fs, .gs = of.gs, .listed = of.listed};
    }
  };

  static bool waits(const Queue& queue, const ThreadReplay& thread) {
    for (std::size_t i = queue.part; i < queue.parts.size(); ++i) {
      if (queue.parts[i].thread == &thread) return true;
    }
    return false;
  }

  /// The core that is behind replays for a while. Returns false if none has anything to do.
  bool step() {
    std::size_t lowest = queues_.size();
    std::uint64_t limit = UINT64_MAX;
    for (std::size_t i = 0; i < queues_.size(); ++i) {
      Queue& queue = queues_[i];
      if (queue.empty()) continue;
      queue.time =
          queue.place.in_block ? queue.place.time : std::max(cores_[i]->clock.start_cycle(), cores_[i]->idle_until);
      if (lowest == queues_.size()) {
        lowest = i;
      } else if (queue.time < queues_[lowest].time) {
        limit = queues_[lowest].time;
        lowest = i;
      } else {
        limit = std::min(limit, queue.time);
      }
    }
    if (lowest == queues_.size()) return false;
    play(queues_[lowest], limit);
    return true;
  }

  void play(Queue& queue, std::uint64_t limit) {
    const std::uint64_t until = limit == UINT64_MAX ? limit : limit + quantum_;
    Part& part = queue.parts[queue.part];
    ThreadReplay& thread = *part.thread;
    thread.take();
    while (part.runs != 0) {
      if (until == UINT64_MAX && queue.place.plan == nullptr && thread.between_blocks()) {
        replay_rest(queue, part);
        break;
      }
      const arch::PathRun& run = queue.runs[queue.run];
      if (!thread.replay_until(run, queue.values(part), queue.place, limit, until)) {
        thread.tell();
        return;
      }
      queue.place = {};
      ++queue.run;
      part.pass(1);
      // Only there: where runs end, the runner decides.
      if (thread.between_blocks() && thread.core().clock.start_cycle() >= until) break;
    }
    thread.tell();
    if (part.runs != 0) return;
    ++queue.part;
    if (queue.part != queue.parts.size()) return;
    queue.parts.clear();
    queue.runs.clear();
    queue.slots.clear();
    queue.part = queue.run = 0;
  }

  /// Nothing that another core has to do comes before what is left of the part.
  static void replay_rest(Queue& queue, Part& part) {
    while (part.runs != 0) {
      const auto runs = std::span(queue.runs).subspan(queue.run, part.runs_together());
      part.thread->replay_alone(runs, queue.values(part));
      queue.run += runs.size();
      part.pass(runs.size());
    }
  }

  std::span<const std::unique_ptr<ReplayCore>> cores_;
  std::uint64_t quantum_;
  std::vector<ThreadReplay*> players_;
  std::vector<Queue> queues_;
};

}  // namespace zs::uarch
