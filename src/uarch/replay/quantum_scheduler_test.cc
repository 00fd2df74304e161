// Several threads on several cores, told one turn after the other: what comes out is what cores side by side would have
// done.
#include "uarch/replay/quantum_scheduler.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "uarch/core_model.h"
#include "uarch/reference/synthetic_workload.h"
#include "uarch/replay/modelled_machine.h"

namespace zs::uarch {
namespace {

using arch::CoreSignal;

constexpr std::uint64_t kShared = 0x2000'0000;
constexpr std::uint64_t kPrivate = 0x3000'0000;

// clang-format off
/// Takes a lock word, counts in the line beside it, and works for a while.
const kernels::Bytes kWriter = {
    0x87, 0x07,              // xchg [rdi], eax
    0x8B, 0x5F, 0x40,        // mov ebx, [rdi + 64]
    0x89, 0x5F, 0x40,        // mov [rdi + 64], ebx
    0x48, 0xFF, 0xC9,        // dec rcx
    0x75, 0xF3};             // jne
/// Reads another word of the lock's line, and one of its own, and multiplies for 60 cycles.
const kernels::Bytes kReader = kernels::repeated({0x48, 0x0F, 0xAF, 0xD2},  // imul rdx, rdx
    20, {0x8B, 0x07,              // mov eax, [rdi]
         0x8B, 0x1E,              // mov ebx, [rsi]
         0x48, 0xFF, 0xC9,        // dec rcx
         0x75, 0xA7});            // jne
/// Reads another word of the lock's line, again when it has it, as one who waits for it does.
const kernels::Bytes kWaiter = {
    0x8B, 0x07,              // mov eax, [rdi]
    0x83, 0xE0, 0x00,        // and eax, 0
    0x48, 0x01, 0xC7,        // add rdi, rax
    0x48, 0xFF, 0xC9,        // dec rcx
    0x75, 0xF3};             // jne
// clang-format on

/// A thread that runs one path over and over.
class LoopThread {
 public:
  LoopThread(ModelledMachine& machine, std::uint32_t path, const kernels::Bytes& code)
      : path_(path), feed_(machine.attach_thread()) {
    const auto stream = Round(code, 0, kernels::kCode + path * 0x1000).executed(0, [](auto, auto) { return 0; });
    std::vector<arch::PathInstruction> instructions;
    std::vector<arch::PathAccess> accesses;
    for (const Executed& one : stream) {
      for (arch::PathAccess access : one.accesses) {
        access.instruction = static_cast<std::uint16_t>(instructions.size());
        access.address.base = static_cast<std::uint8_t>(accesses.size());
        accesses.push_back(access);
      }
      instructions.push_back(one.instruction);
    }
    accesses_ = static_cast<std::uint32_t>(accesses.size());
    feed_->describe(path, {instructions, accesses});
  }
  void run(std::uint64_t rounds, const Round::Address& address) {
    std::vector<arch::PathRun> runs;
    std::vector<std::uint64_t> slots;
    for (std::uint64_t i = 0; i < rounds; ++i, ++rounds_) {
      runs.push_back({.path = path_, .slots = static_cast<std::uint32_t>(slots.size())});
      for (std::size_t access = 0; access < accesses_; ++access) slots.push_back(address(rounds_, access));
    }
    feed_->run(runs, {.slots = slots.data(), .listed = {}});
  }
  arch::CoreFeed& feed() { return *feed_; }

 private:
  std::uint32_t path_;
  std::unique_ptr<arch::CoreFeed> feed_;
  std::uint32_t accesses_ = 0;
  std::uint64_t rounds_ = 0;
};

struct Result {
  std::uint64_t hitm = 0;  // of loads and RFOs, of all threads
  std::vector<std::uint64_t> cycles;
};

/// A writer and `readers` readers, each on a core of its own, in turns of some 400,000 cycles.
/// distance  of the word that is read from the lock
Result run(std::size_t readers, std::uint64_t distance, const MachineOptions& options,
           const kernels::Bytes& reader = kReader) {
  ModelledMachine machine(*find_core_model("skylake-server"), options);
  std::vector<LoopThread> threads;
  for (std::uint32_t i = 0; i <= readers; ++i) threads.emplace_back(machine, i, i == 0 ? kWriter : reader);
  const auto writes = [](std::uint64_t, std::size_t access) { return kShared + (access < 2 ? 0 : 64); };
  constexpr int kTurns = 12;
  for (int turn = 0; turn < kTurns; ++turn) {
    for (std::size_t i = 0; i < threads.size(); ++i) {
      const auto reads = [i, distance](std::uint64_t round, std::size_t access) {
        return access == 0 ? kShared + distance : kPrivate + i * 65'536 + round % 64 * 8;
      };
      if (i == 0) {
        threads[i].run(4000, writes);
      } else {
        threads[i].run(6000, reads);
      }
    }
  }
  Result result;
  for (LoopThread& thread : threads) {
    thread.feed().settle();
    const arch::CoreSignals& signals = thread.feed().signals();
    result.hitm += signals[CoreSignal::LoadL3Hitm] + signals[CoreSignal::RfoHitm];
    result.cycles.push_back(signals[CoreSignal::Cycles]);
  }
  return result;
}

MachineOptions woven(unsigned cores, std::uint64_t quantum) { return {.cores = cores, .quantum_cycles = quantum}; }

TEST(QuantumScheduler, TheQuantumDoesNotDecideTheHitmCount) {
  // validation: scheduler quantum 4 k against 20 k cycles: HITM within 2 %; a quantum of 1 is exact
  for (const unsigned readers : {1U, 3U}) {
    const auto exact = static_cast<double>(run(readers, 16, woven(readers + 1, 1)).hitm);
    const auto shorter = static_cast<double>(run(readers, 16, woven(readers + 1, 4'000)).hitm);
    const auto longer = static_cast<double>(run(readers, 16, woven(readers + 1, 20'000)).hitm);
    EXPECT_GT(exact, 10'000) << readers;
    EXPECT_NEAR(shorter, longer, 0.02 * shorter) << readers;
    EXPECT_NEAR(longer, exact, 0.02 * exact) << readers;
  }
}

TEST(QuantumScheduler, FalseSharingShowsAndPaddingEndsIt) {
  const Result shared = run(1, 16, woven(2, 10'000));
  const Result padded = run(1, 256, woven(2, 10'000));
  EXPECT_GT(shared.hitm, 10'000U);
  EXPECT_LE(padded.hitm, 2U);  // the counter beside the lock is nobody else's
  EXPECT_GT(shared.cycles[0], 2 * padded.cycles[0]);
  // validation: "readers several times faster"
  EXPECT_GT(run(1, 16, woven(2, 10'000), kWaiter).cycles[1], 3 * run(1, 256, woven(2, 10'000), kWaiter).cycles[1]);
}

TEST(QuantumScheduler, WithoutItTurnsHideSharing) {
  // What the order of turns would show: a transfer at each turn, and no more. The reason for all this.
  const Result turns = run(1, 16, {.cores = 2});
  EXPECT_LT(turns.hitm, 100U);
}

TEST(QuantumScheduler, PlaysTheSameHoweverRunsAreTold) {
  const SyntheticWorkload program(11);
  auto stream = program.run(60'000, 5);
  auto other_stream = program.run(60'000, 6);
  for (auto* whole : {&stream, &other_stream}) whole->resize(60'000);  // a block may have gone on
  std::vector<arch::CoreSignals> results;
  for (const std::size_t piece : {std::size_t{50}, std::size_t{5000}}) {
    ModelledMachine machine(*find_core_model("haswell"), woven(2, 2'000));
    const auto one = machine.attach_thread(0), other = machine.attach_thread(1);
    Runner one_runner(*one), other_runner(*other, 10'000);
    for (std::size_t turn = 0; turn < stream.size(); turn += 5000) {
      for (std::size_t at = turn; at < turn + 5000; at += piece) {
        one_runner.run(std::span(stream).subspan(at, piece), {.path_ends = PathEnds::Anywhere, .seed = at});
      }
      for (std::size_t at = turn; at < turn + 5000; at += piece) {
        other_runner.run(std::span(other_stream).subspan(at, piece),
                         {.path_ends = PathEnds::Anywhere, .seed = at + piece});
      }
    }
    one->settle();
    other->settle();
    results.push_back(one->signals());
    results.push_back(other->signals());
  }
  EXPECT_EQ(results[0], results[2]);
  EXPECT_EQ(results[1], results[3]);
  EXPECT_GT(results[0][CoreSignal::LoadL3Hitm] + results[1][CoreSignal::LoadL3Hitm], 10U);
}

TEST(QuantumScheduler, SettlingShowsAllOfAThreadAndAThreadThatEndsLosesNothing) {
  const SyntheticWorkload program(12);
  const auto stream = program.run(10'000, 5);
  ModelledMachine alone(*find_core_model("haswell"), {});
  const auto thread = alone.attach_thread();
  Runner(*thread).run(stream, {});
  ModelledMachine machine(*find_core_model("haswell"), woven(2, 2'000));
  auto one = machine.attach_thread();
  const auto other = machine.attach_thread();
  Runner(*one).run(stream, {});
  EXPECT_EQ(one->signals()[CoreSignal::Loads], 0U);  // it waits for the other's turn
  one->settle();
  EXPECT_EQ(one->signals(), thread->signals());
  Runner(*one, 10'000).run(stream, {});
  one.reset();
  Runner(*other, 20'000).run(stream, {});  // alone again: at once
  EXPECT_EQ(other->signals()[CoreSignal::Loads], thread->signals()[CoreSignal::Loads]);
}

/// A writer and a reader of one line, told in pieces of so many rounds, behind each of which signals are kept or not.
struct Kept {
  std::vector<arch::CoreSignals> ends;                       // of each thread
  std::deque<arch::CoreSignals> kept;                        // of the writer
  std::array<std::deque<arch::WatchedOutcome>, 2> outcomes;  // of each
};
Kept run_in_pieces(std::uint64_t rounds, bool keeps, const arch::SignalSet& watched = {}) {
  Kept result;
  ModelledMachine machine(*find_core_model("skylake-server"), woven(2, 10));
  std::vector<LoopThread> threads;
  threads.emplace_back(machine, 0, kWriter);
  threads.emplace_back(machine, 1, kReader);
  const auto writes = [](std::uint64_t, std::size_t access) { return kShared + (access < 2 ? 0 : 64); };
  const auto reads = [](std::uint64_t round, std::size_t access) {
    return access == 0 ? kShared + 8 : kPrivate + round % 64 * 8;
  };
  for (std::size_t i = 0; watched.any() && i < 2; ++i) threads[i].feed().keep_outcomes(watched, result.outcomes[i]);
  for (int turn = 0; turn < 6; ++turn) {
    for (std::uint64_t told = 0; told < 4000; told += rounds) {
      threads[0].run(rounds, writes);
      if (keeps) threads[0].feed().keep_signals(result.kept);
    }
    threads[1].run(6000, reads);
  }
  for (LoopThread& thread : threads) {
    thread.feed().settle();
    result.ends.push_back(thread.feed().signals());
  }
  return result;
}

TEST(QuantumScheduler, WhatIsKeptOfSignalsAndTheCutOfWhatIsToldChangeNothing) {
  const Kept whole = run_in_pieces(4000, false);
  ASSERT_GT(whole.ends[1][CoreSignal::LoadL3Hitm], 100U);
  for (const std::uint64_t rounds : {1000, 50, 1}) {
    const Kept pieces = run_in_pieces(rounds, true);
    for (std::size_t thread = 0; thread < 2; ++thread)
      EXPECT_EQ(pieces.ends[thread].counts, whole.ends[thread].counts) << rounds << ", " << thread;
  }
}

TEST(QuantumScheduler, SignalsAreKeptWhereTheyWereToBe) {
  const Kept pieces = run_in_pieces(50, true);
  ASSERT_EQ(pieces.kept.size(), 6 * 4000 / 50);
  EXPECT_EQ(pieces.kept.back().counts, pieces.ends[0].counts);
  std::uint64_t before = 0;
  for (const arch::CoreSignals& kept : pieces.kept) {
    EXPECT_EQ(kept[CoreSignal::SlotsRetired] - before, pieces.kept[0][CoreSignal::SlotsRetired]) << before;
    before = kept[CoreSignal::SlotsRetired];
  }
}

TEST(QuantumScheduler, KeepingOutcomesChangesNothing) {
  const Kept without = run_in_pieces(4000, false);
  arch::SignalSet hitm, hits;
  hitm.set(static_cast<std::size_t>(CoreSignal::LoadL3Hitm));
  hits.set(static_cast<std::size_t>(CoreSignal::LoadL1Hit));
  for (const auto& [watched, rounds] : {std::pair{hitm, 50}, std::pair{hits, 4000}}) {
    const Kept with = run_in_pieces(static_cast<std::uint64_t>(rounds), true, watched);
    for (std::size_t thread = 0; thread < 2; ++thread)
      EXPECT_EQ(with.ends[thread].counts, without.ends[thread].counts) << watched << ", " << thread;
  }
}

TEST(QuantumScheduler, OutcomesAreThoseOfTheInstructionsThatChangedWhatIsWatched) {
  arch::SignalSet hitm;
  hitm.set(static_cast<std::size_t>(CoreSignal::LoadL3Hitm));
  const Kept kept = run_in_pieces(50, true, hitm);
  for (std::size_t thread = 0; thread < 2; ++thread) {
    std::uint64_t before = 0, run = 0;
    for (const arch::WatchedOutcome& outcome : kept.outcomes[thread]) {
      EXPECT_EQ(outcome.signals[CoreSignal::LoadL3Hitm], ++before);
      EXPECT_GE(outcome.run, run);
      run = outcome.run;
      EXPECT_EQ(outcome.load.source.snoop, arch::DataSnoop::Hitm);
      EXPECT_GT(outcome.load.latency, 30U);
      EXPECT_EQ(outcome.instruction, thread == 0 ? 0U : 20U);  // xchg [rdi], eax; mov eax, [rdi]
      EXPECT_EQ(outcome.load_address, thread == 0 ? kShared : kShared + 8);
      EXPECT_EQ(outcome.store_address, thread == 0 ? kShared : 0U);
    }
    EXPECT_EQ(before, kept.ends[thread][CoreSignal::LoadL3Hitm]);
    EXPECT_LT(run, thread == 0 ? 24'000U : 36'000U);
  }
  EXPECT_GT(kept.outcomes[1].size(), 100U);
}

}  // namespace
}  // namespace zs::uarch
