// The whole machine: that how a program is split into paths does not matter, that it counts what structures searched
// from end to end count, and that kernels take the time that is known of them.
#include "uarch/replay/modelled_machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "uarch/core_model.h"
#include "uarch/reference/plain_machine.h"
#include "uarch/reference/synthetic_workload.h"
#include "uarch/reference/test_host.h"
#include "uarch/reference/test_names.h"

namespace zs::uarch {
namespace {

using arch::CoreSignal;
using arch::CoreSignals;

/// The first signal that differs, and both counts; empty if none does.
std::string difference(const CoreSignals& one, const CoreSignals& two) {
  for (std::size_t i = 0; i < arch::kCoreSignals; ++i) {
    if (one.counts[i] != two.counts[i]) {
      return "signal " + std::to_string(i) + ": " + std::to_string(one.counts[i]) + " and " +
             std::to_string(two.counts[i]);
    }
  }
  return {};
}

class EveryMachine : public testing::TestWithParam<CoreModel> {};

TEST_P(EveryMachine, CountsWhatPlainStructuresCount) {
  const SyntheticWorkload program(1, 600, false);
  const auto stream = program.run(60'000, 7);
  ModelledMachine machine(GetParam(), {});
  const auto thread = machine.attach_thread();
  PlainMachine plain(GetParam(), {});
  Runner runner(*thread);
  Random random(3);
  std::size_t at = 0;
  while (at < stream.size()) {
    const std::size_t count = std::min<std::size_t>(stream.size() - at, 1 + random.below(200));
    runner.run(std::span(stream).subspan(at, count), {.path_ends = PathEnds::AtBranches});
    for (std::size_t i = 0; i < count; ++i) plain.run(stream[at + i]);
    at += count;
    ASSERT_EQ(difference(thread->signals(), plain.signals()), "") << "instruction " << at;
  }
  EXPECT_GT(thread->signals()[CoreSignal::LoadDram], 100U);
  EXPECT_GT(thread->signals()[CoreSignal::MispredictedTaken], 100U);
}

TEST_P(EveryMachine, DoesNotDependOnHowTheStreamIsSplit) {
  const SyntheticWorkload program(2);
  const auto stream = program.run(40'000, 8);
  ModelledMachine whole_machine(GetParam(), {}), split_machine(GetParam(), {}), single_machine(GetParam(), {});
  const auto whole = whole_machine.attach_thread();
  const auto split = split_machine.attach_thread();
  const auto single = single_machine.attach_thread();
  Runner whole_runner(*whole), split_runner(*split), single_runner(*single);
  Random random(5);
  std::size_t at = 0;
  while (at < stream.size()) {
    const std::size_t count = std::min<std::size_t>(stream.size() - at, 1 + random.below(500));
    const auto part = std::span(stream).subspan(at, count);
    whole_runner.run(part, {.path_ends = PathEnds::AtBranches});
    split_runner.run(part, {.path_ends = PathEnds::Anywhere, .seed = at});
    // One by one, with all that one instruction tells.
    std::size_t wrong = 0;
    for (const auto& instruction : part) {
      const CoreSignals before = single->signals();
      single_runner.run(std::span(&instruction, 1), {.path_ends = PathEnds::Everywhere});
      const CoreSignals& after = single->signals();
      const bool missed = after[CoreSignal::LoadDram] != before[CoreSignal::LoadDram];
      if (missed && single->last_load().source.level != arch::DataLevel::Dram) ++wrong;
      std::uint64_t mispredicted = 0;
      for (const CoreSignal signal :
           {CoreSignal::MispredictedTaken, CoreSignal::MispredictedNotTaken, CoreSignal::MispredictedIndirectJump,
            CoreSignal::MispredictedIndirectCall, CoreSignal::MispredictedReturn}) {
        mispredicted += after[signal] - before[signal];
      }
      if (single->last_mispredicted() != (mispredicted != 0)) ++wrong;
    }
    at += count;
    ASSERT_EQ(difference(whole->signals(), split->signals()), "") << "instruction " << at;
    ASSERT_EQ(difference(whole->signals(), single->signals()), "") << "instruction " << at;
    ASSERT_EQ(wrong, 0U) << "instruction " << at;
  }
}

TEST_P(EveryMachine, DoesNotDependOnWhenPathsAreForgotten) {
  const SyntheticWorkload program(6, 300);
  const auto stream = program.run(40'000, 10);
  for (const std::size_t kept : {std::size_t{0}, std::size_t{200} << 10}) {
    ModelledMachine knowing_machine(GetParam(), {}), forgetful_machine(GetParam(), {.kept_bytes = kept});
    const auto knowing = knowing_machine.attach_thread();
    const auto forgetful = forgetful_machine.attach_thread();
    Runner knowing_runner(*knowing), forgetful_runner(*forgetful);
    Random random(6);
    std::size_t at = 0, most = 0;
    while (at < stream.size()) {
      const std::size_t count = std::min<std::size_t>(stream.size() - at, 1 + random.below(500));
      const auto part = std::span(stream).subspan(at, count);
      // Often in the middle of a block, which the next path goes on with.
      const auto path_ends = random.below(2) == 0 ? PathEnds::Anywhere : PathEnds::AtBranches;
      knowing_runner.run(part, {.path_ends = path_ends, .seed = at});
      forgetful_runner.run(part, {.path_ends = path_ends, .seed = at});
      at += count;
      ASSERT_EQ(difference(knowing->signals(), forgetful->signals()), "") << "instruction " << at;
      most = std::max(most, forgetful->path_bytes());
      if (random.below(8) == 0) {
        forgetful_runner.forget_paths(static_cast<std::uint32_t>(random.below(50)));
      }
    }
    EXPECT_LT(most, knowing->path_bytes());
  }
}

/// Where L2 and LLC are small and include L1I, data throws out code that the block under way has not fetched yet.
TEST_P(EveryMachine, FetchesInTurnWhereDataThrowsOutCode) {
  CoreModel model = GetParam();
  model.memory.l2.bytes /= 16;
  model.memory.llc.bytes /= 64;
  const SyntheticWorkload program(4, 600, false, true);
  const auto stream = program.run(200'000, 9);
  ModelledMachine whole_machine(model, {}), single_machine(model, {});
  const auto whole = whole_machine.attach_thread();
  const auto single = single_machine.attach_thread();
  Runner whole_runner(*whole), single_runner(*single);
  for (std::size_t at = 0; at < stream.size(); at += 500) {
    const auto part = std::span(stream).subspan(at, std::min<std::size_t>(500, stream.size() - at));
    whole_runner.run(part, {.path_ends = PathEnds::AtBranches});
    for (const auto& instruction : part)
      single_runner.run(std::span(&instruction, 1), {.path_ends = PathEnds::Everywhere});
    ASSERT_EQ(difference(whole->signals(), single->signals()), "") << "instruction " << at;
  }
}

/// Compares what a watched run tells with the same instructions run one by one.
class Comparer final : public arch::RunWatcher {
 public:
  Comparer(const arch::CoreFeed& thread, const arch::SignalSet& watched, const Runner& runner)
      : thread_(thread), watched_(watched), runner_(runner) {}

  /// Of each instruction of the stream: the signals behind it, its last load's source, whether its branch was
  /// mispredicted.
  struct Known {
    CoreSignals signals;
    arch::AccessOutcome load, store;
    bool mispredicted = false;
  };
  void begin(std::span<const Known> known, const CoreSignals& before) {
    known_ = known;
    behind_ = before;
    next_ = 0;
  }

  void finished(std::size_t run, std::size_t instruction) override {
    const std::size_t at = runner_.start_of(run) + instruction;
    leave_out(at);
    const Known& known = known_[at];
    wrong_ += difference(thread_.signals(), known.signals).empty() ? 0 : 1;
    wrong_ += thread_.last_mispredicted() == known.mispredicted ? 0 : 1;
    wrong_ += thread_.last_load() == known.load && thread_.last_store() == known.store ? 0 : 1;
    behind_ = known.signals;
    next_ = at + 1;
    ++told_;
  }
  /// Those before `to` were not told of: they must have changed nothing that is watched.
  void leave_out(std::size_t to) {
    if (next_ == to) return;
    const CoreSignals& now = known_[to - 1].signals;
    for (std::size_t i = 0; i < arch::kCoreSignals; ++i)
      wrong_ += watched_[i] && now.counts[i] != behind_.counts[i] ? 1 : 0;
  }
  std::size_t wrong() const { return wrong_; }
  std::size_t told() const { return told_; }

 private:
  const arch::CoreFeed& thread_;
  const arch::SignalSet& watched_;
  const Runner& runner_;
  std::span<const Known> known_;
  CoreSignals behind_;
  std::size_t next_ = 0, wrong_ = 0, told_ = 0;
};

TEST_P(EveryMachine, TellsWhoWatchesWhatEachInstructionDid) {
  const SyntheticWorkload program(6, 300, false, true);
  const auto stream = program.run(60'000, 11);
  arch::SignalSet all, misses, tagged;
  all.set();
  for (const CoreSignal signal : {CoreSignal::LoadL2Hit, CoreSignal::LoadDram, CoreSignal::LoadStlbMiss,
                                  CoreSignal::MispredictedNotTaken, CoreSignal::MispredictedReturn})
    misses.set(static_cast<std::size_t>(signal));
  tagged.set(static_cast<std::size_t>(CoreSignal::LatencyLoads));
  for (const auto& [watched, path_ends] :
       {std::pair{all, PathEnds::AtBranches}, std::pair{all, PathEnds::AtIndirect},
        std::pair{misses, PathEnds::AtBranches}, std::pair{tagged, PathEnds::AtBranches}}) {
    ModelledMachine machine(GetParam(), {}), single_machine(GetParam(), {});
    const auto thread = machine.attach_thread();
    const auto single = single_machine.attach_thread();
    for (arch::CoreFeed* feed : {thread.get(), single.get()}) feed->set_latency_threshold(3);
    Runner runner(*thread), single_runner(*single);
    Comparer comparer(*thread, watched, runner);
    for (std::size_t at = 0; at < stream.size(); at += 1500) {
      const auto part = std::span(stream).subspan(at, std::min<std::size_t>(1500, stream.size() - at));
      const CoreSignals before = single->signals();
      std::vector<Comparer::Known> known;
      for (const auto& instruction : part) {
        single_runner.run(std::span(&instruction, 1), {.path_ends = PathEnds::Everywhere});
        known.push_back({single->signals(), single->last_load(), single->last_store(), single->last_mispredicted()});
      }
      comparer.begin(known, before);
      runner.prepare(part, {.path_ends = path_ends});
      ASSERT_TRUE(runner.run_watched(watched, comparer));
      comparer.leave_out(part.size());
      ASSERT_EQ(comparer.wrong(), 0U) << "instruction " << at;
      ASSERT_EQ(difference(thread->signals(), single->signals()), "") << "instruction " << at;
    }
    EXPECT_GT(comparer.told(), watched == tagged ? 50U : 200U);
    // What each instruction does to all signals, code does not tell.
    if (watched == all) {
      EXPECT_EQ(machine.work().by_code, 0U);
    } else if (missing_for_code().empty()) {
      EXPECT_GT(machine.work().by_code, 1000U);
    }
  }
}

/// One core, so nothing waits; what run_watched() would say is known to be right.
TEST_P(EveryMachine, KeepsTheOutcomesThatAWatcherWouldHear) {
  struct Listener final : arch::RunWatcher {
    Listener(const arch::CoreFeed& feed) : thread(feed) {}
    void finished(std::size_t run, std::size_t instruction) override {
      heard.push_back({.run = before + run,
                       .instruction = instruction,
                       .signals = thread.signals(),
                       .load = thread.last_load(),
                       .store = thread.last_store(),
                       .fetch = thread.last_fetch(),
                       .mispredicted = thread.last_mispredicted()});
    }
    const arch::CoreFeed& thread;
    std::uint64_t before = 0;
    std::vector<arch::WatchedOutcome> heard;
  };
  const SyntheticWorkload program(6, 300, false, true);
  const auto stream = program.run(30'000, 11);
  arch::SignalSet misses, hits;
  for (const CoreSignal signal : {CoreSignal::LoadL2Hit, CoreSignal::LoadDram, CoreSignal::MispredictedNotTaken})
    misses.set(static_cast<std::size_t>(signal));
  hits.set(static_cast<std::size_t>(CoreSignal::LoadL1Hit));
  for (const arch::SignalSet& watched : {misses, hits}) {
    ModelledMachine machine(GetParam(), {}), watched_machine(GetParam(), {});
    const auto thread = machine.attach_thread(), heard_thread = watched_machine.attach_thread();
    Runner runner(*thread), heard_runner(*heard_thread);
    Listener listener(*heard_thread);
    std::deque<arch::WatchedOutcome> kept;
    thread->keep_outcomes(watched, kept);
    for (std::size_t at = 0; at < stream.size(); at += 1500) {
      const auto part = std::span(stream).subspan(at, std::min<std::size_t>(1500, stream.size() - at));
      runner.run(part, {.path_ends = PathEnds::AtIndirect});
      heard_runner.prepare(part, {.path_ends = PathEnds::AtIndirect});
      ASSERT_TRUE(heard_runner.run_watched(watched, listener));
      listener.before += heard_runner.runs();
    }
    ASSERT_EQ(difference(thread->signals(), heard_thread->signals()), "");
    ASSERT_EQ(kept.size(), listener.heard.size());
    EXPECT_GT(kept.size(), 100U);
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const arch::WatchedOutcome &one = kept[i], &other = listener.heard[i];
      ASSERT_EQ(one.run, other.run) << i;
      ASSERT_EQ(one.instruction, other.instruction) << i;
      ASSERT_EQ(difference(one.signals, other.signals), "") << i;
      ASSERT_TRUE(one.load == other.load && one.store == other.store && one.fetch == other.fetch) << i;
      ASSERT_EQ(one.mispredicted, other.mispredicted) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, EveryMachine, testing::ValuesIn(core_models()),
                         [](const auto& row) { return test_name(row.param); });

}  // namespace
}  // namespace zs::uarch
