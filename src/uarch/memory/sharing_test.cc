// Several cores on one line: what the order of their accesses must not change, and what sharing must cost.
//
// The scheduler is the one that the consumer of a trace needs: the core with the lowest clock runs for a quantum, and
// any core gives way before an access to a contended line.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <vector>

#include "uarch/core_model.h"
#include "uarch/memory/memory_system.h"

namespace zs::uarch {
namespace {

constexpr std::uint64_t kShared = 0x2000'0000;
constexpr std::uint64_t kPrivate = 0x3000'0000;

struct Operation {
  enum Kind { Load, Store, Exchange } kind = Load;
  std::uint64_t linear = 0;
  std::uint32_t work = 1;  // cycles before the next one
};

/// The i-th operation of a core.
using Thread = std::function<Operation(std::uint64_t i)>;

struct Result {
  std::vector<CoreSignals> counts;
  std::vector<std::uint64_t> operations;  // done by each core
  std::uint64_t hitm = 0;                 // of loads and RFOs, of all cores
  double mean_hitm_latency = 0;           // of loads
};

/// All threads run until their clocks reach `end`.
Result run(const std::vector<Thread>& threads, std::uint64_t quantum, std::uint64_t end,
           std::string_view model = "skylake-server") {
  const auto memory =
      MemorySystem::make(find_core_model(model)->memory, {.cores = static_cast<unsigned>(threads.size())});
  std::vector<std::uint64_t> clocks(threads.size(), 0);
  Result result;
  result.operations.resize(threads.size());
  std::uint64_t loads = 0;
  std::uint64_t latencies = 0;
  while (true) {
    const auto core = static_cast<unsigned>(std::ranges::min_element(clocks) - clocks.begin());
    std::uint64_t& clock = clocks[core];
    if (clock >= end) break;
    const std::uint64_t until = std::min(end, clock + quantum);
    std::uint64_t lowest_other = UINT64_MAX;
    for (unsigned other = 0; other < threads.size(); ++other) {
      if (other != core) lowest_other = std::min(lowest_other, clocks[other]);
    }
    while (clock < until) {
      const Operation operation = threads[core](result.operations[core]);
      if (clock > lowest_other && memory->is_contended(operation.linear, clock)) break;
      ++result.operations[core];
      const Access access{operation.linear, clock, 8, 1};
      if (operation.kind == Operation::Load) {
        const Outcome outcome = memory->load(core, access);
        clock += outcome.latency;
        if (outcome.source == Source::L3Hitm) {
          ++loads;
          latencies += outcome.latency;
        }
      } else if (operation.kind == Operation::Exchange) {
        clock += memory->locked(core, access).latency;
      } else {
        clock += memory->store(core, access).waited;
      }
      clock += operation.work;
    }
  }
  for (unsigned core = 0; core < threads.size(); ++core) {
    result.counts.push_back(memory->counts(core));
    result.hitm += result.counts.back()[CoreSignal::LoadL3Hitm] + result.counts.back()[CoreSignal::RfoHitm];
  }
  result.mean_hitm_latency = loads == 0 ? 0 : static_cast<double>(latencies) / static_cast<double>(loads);
  return result;
}

/// Takes a lock word, counts in the line beside it.
Operation writes(std::uint64_t i) {
  switch (i % 4) {
    case 0: return {Operation::Exchange, kShared, 20};
    case 1: return {Operation::Load, kShared + 64, 2};
    case 2: return {Operation::Store, kShared + 64, 2};
    default: return {Operation::Load, kPrivate + i % 512 * 8, 10};
  }
}

/// Reads another word of the lock's line.
Operation reads(std::uint64_t i) {
  return i % 2 == 0 ? Operation{Operation::Load, kShared + 16, 5} : Operation{Operation::Load, kPrivate + 8192, 5};
}

/// The same, when the word has a line of its own.
Operation reads_padded(std::uint64_t i) {
  return i % 2 == 0 ? Operation{Operation::Load, kShared + 256, 5} : Operation{Operation::Load, kPrivate + 8192, 5};
}

TEST(Sharing, TheQuantumDoesNotDecideTheHitmCount) {
  for (const std::size_t readers : {1, 3}) {
    std::vector<Thread> threads{writes};
    threads.insert(threads.end(), readers, reads);
    constexpr std::uint64_t kEnd = 5'000'000;
    const Result exact = run(threads, 1, kEnd);
    const Result shorter = run(threads, 4'000, kEnd);
    const Result longer = run(threads, 20'000, kEnd);
    EXPECT_GT(exact.hitm, 10'000U);
    EXPECT_NEAR(static_cast<double>(shorter.hitm), static_cast<double>(longer.hitm),
                0.02 * static_cast<double>(shorter.hitm));
    EXPECT_NEAR(static_cast<double>(longer.hitm), static_cast<double>(exact.hitm),
                0.02 * static_cast<double>(exact.hitm));
  }
}

TEST(Sharing, PaddingEndsFalseSharing) {
  constexpr std::uint64_t kEnd = 5'000'000;
  const Result shared = run({writes, reads}, 20'000, kEnd);
  const Result padded = run({writes, reads_padded}, 20'000, kEnd);
  EXPECT_GT(shared.hitm, 10'000U);
  EXPECT_EQ(padded.hitm, 0U);
  EXPECT_GE(padded.operations[1], 3 * shared.operations[1]);
}

TEST(Sharing, ReadersOnlyNeverContend) {
  const Result result = run({reads, reads, reads}, 20'000, 1'000'000);
  EXPECT_EQ(result.hitm, 0U);
}

TEST(Sharing, AHitmUnderContentionTakesLongerTheMoreCoresWrite) {
  const auto adds = [](std::uint64_t) { return Operation{Operation::Exchange, kShared, 50}; };
  double last = find_core_model("skylake-server")->memory.hitm_cycles;  // uncontended
  for (const std::size_t writers : {2, 4, 8}) {
    std::vector<Thread> threads(writers, adds);
    threads.emplace_back(reads);
    const Result result = run(threads, 20'000, 2'000'000);
    EXPECT_GT(result.mean_hitm_latency, last) << writers;
    last = result.mean_hitm_latency;
  }
}

// One core alone: about 7 ns at 2.6 GHz, which is the lock's own cost. Two: the line is handed over, at 70 cycles at
// least.
TEST(Sharing, AnAtomicAddCostsALockAloneAndATransferInCompany) {
  const auto adds = [](std::uint64_t) { return Operation{Operation::Exchange, kShared, 0}; };
  constexpr std::uint64_t kEnd = 1'000'000;
  const Result alone = run({adds}, 20'000, kEnd);
  const double cycles_alone = static_cast<double>(kEnd) / static_cast<double>(alone.operations[0]);
  EXPECT_NEAR(cycles_alone, 18.2, 0.35 * 18.2);
  const Result both = run({adds, adds}, 20'000, kEnd);
  const std::uint64_t handed_over = both.counts[0][CoreSignal::RfoHitm] + both.counts[1][CoreSignal::RfoHitm];
  EXPECT_GT(handed_over, 1000U);
  EXPECT_GE(static_cast<double>(kEnd) / static_cast<double>(handed_over), 70.0);
}

TEST(Sharing, ARunIsAFunctionOfItsInput) {
  const std::vector<Thread> threads{writes, reads, reads, writes};
  const Result one = run(threads, 20'000, 500'000);
  const Result two = run(threads, 20'000, 500'000);
  EXPECT_EQ(one.counts, two.counts);
  EXPECT_EQ(one.operations, two.operations);
}

// Clocks of cores may be far apart where nobody orders them: units of a sampled run, a thread that slept.
TEST(Sharing, ACoreThatIsBehindDoesNotWaitForWhatAnotherDidLater) {
  const CoreModel& model = *find_core_model("skylake-server");
  const auto memory = MemorySystem::make(model.memory, {.cores = 3});
  constexpr std::uint64_t kAhead = 5'000'000;
  for (std::uint64_t i = 0; i < 20; ++i) {
    for (const unsigned core : {1U, 2U}) memory->locked(core, {kShared, kAhead + 2000 * i + 500 * core, 8, 1});
    const std::uint64_t waited = memory->locked(0, {kShared, 1000 + 2000 * i, 8, 1}).latency;
    EXPECT_LT(waited, 12 * model.memory.hitm_cycles) << i;
  }
}

}  // namespace
}  // namespace zs::uarch
