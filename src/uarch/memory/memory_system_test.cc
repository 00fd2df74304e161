// What happens to one access after another: where the data comes from, what it costs, what is counted.
#include "uarch/memory/memory_system.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <typeinfo>
#include <utility>

#include "uarch/cache/cache.h"
#include "uarch/cache/line.h"
#include "uarch/cache/pending_fills.h"
#include "uarch/core_model.h"
#include "uarch/memory/hierarchy.h"
#include "uarch/replacement/any_policy.h"
#include "uarch/replacement/policy_spec.h"
#include "uarch/store_buffer/store_buffer.h"
#include "uarch/tlb/lru_table.h"

namespace zs::uarch {
namespace {

constexpr std::uint64_t kData = 0x5000'0000;

/// One memory system and a clock that waits for every access.
class Machine {
 public:
  explicit Machine(std::string_view model, MemoryOptions options = {.prefetch = false})
      : parameters_(find_core_model(model)->memory), memory_(MemorySystem::make(parameters_, options)) {}

  Outcome load(std::uint64_t linear, unsigned core = 0, std::uint32_t bytes = 8) {
    const Outcome outcome = memory_->load(core, {linear, now_, bytes, 1});
    now_ += outcome.latency;
    return outcome;
  }
  Outcome store(std::uint64_t linear, unsigned core = 0, std::uint32_t bytes = 8) {
    const Outcome outcome = memory_->store(core, {linear, now_, bytes, 2});
    now_ += outcome.waited + outcome.latency + 100;  // and has committed
    return outcome;
  }
  void wait(std::uint64_t cycles) { now_ += cycles; }

  MemorySystem& memory() { return *memory_; }
  const MemoryParameters& parameters() const { return parameters_; }
  std::uint64_t now() const { return now_; }
  std::uint64_t count(CoreSignal event, unsigned core = 0) const { return memory_->counts(core)[event]; }

 private:
  MemoryParameters parameters_;
  std::unique_ptr<MemorySystem> memory_;
  std::uint64_t now_ = 1000;
};

TEST(MemorySystem, ALoadThatWaitedForItsAddressHoldsUpNoneThatDidNot) {
  // Told in program order, dispatched in the other: the way to memory is free for the second, long before the first.
  for (const std::uint64_t wait : {std::uint64_t{0}, std::uint64_t{5000}}) {
    const auto memory = MemorySystem::make(find_core_model("skylake-server")->memory, {.prefetch = false});
    memory->load(0, {.linear = kData, .now = 1000, .bytes = 8, .instruction = 1});
    memory->load(0, {.linear = kData + 4096, .now = 2000, .bytes = 8, .instruction = 1});
    memory->load(0, {.linear = kData + 64, .now = 3000 + wait, .bytes = 8, .instruction = 2, .earliest = 3000});
    const Outcome next =
        memory->load(0, {.linear = kData + 4096 + 64, .now = 3000, .bytes = 8, .instruction = 3, .earliest = 3000});
    EXPECT_EQ(next.source, Source::Dram);
    EXPECT_LT(next.latency, find_core_model("skylake-server")->memory.dram_cycles + 50) << wait;
  }
}

TEST(MemorySystem, AFirstLoadComesFromMemoryWithAPageWalkAndTheSecondFromL1) {
  Machine machine("skylake-server");
  const Outcome first = machine.load(kData);
  EXPECT_EQ(first.source, Source::Dram);
  EXPECT_EQ(first.tlb, TlbOutcome::Walk);
  EXPECT_GT(first.latency, machine.parameters().dram_cycles + machine.parameters().stlb_hit_cycles);
  for (int i = 0; i < 3; ++i) {
    const Outcome again = machine.load(kData + 8);
    EXPECT_EQ(again.source, Source::L1);
    EXPECT_EQ(again.tlb, TlbOutcome::Hit);
    EXPECT_EQ(again.latency, 4U);
  }
  EXPECT_EQ(machine.count(CoreSignal::Loads), 4U);
  EXPECT_EQ(machine.count(CoreSignal::LoadL1Hit), 3U);
  EXPECT_EQ(machine.count(CoreSignal::LoadDram), 1U);
  EXPECT_EQ(machine.count(CoreSignal::DtlbLoadWalk), 1U);
  EXPECT_EQ(machine.count(CoreSignal::LoadStlbMiss), 1U);
}

/// The ways that a hit can take, the shortest first; each must be open when the one before is not.
TEST(MemorySystem, AHitIsAnsweredInlineAsSoonAsNothingElseFollowsFromIt) {
  for (const CoreModel& model : core_models()) {
    const auto memory = MemorySystem::make(model.memory, {.prefetch = false});
    MemorySystem::Filter& filter = memory->filter(0);
    constexpr std::uint64_t kLine = kData >> kLineBits;
    const auto is_hot = [&](unsigned store) {
      return filter.way_hints[kLine % WayHints::kEntries].line[store] == kLine;
    };
    const auto load = [&](std::uint64_t linear, std::uint64_t now) {
      return now + memory->load(0, {.linear = linear, .now = now, .bytes = 8, .instruction = 1}).latency;
    };
    const std::uint64_t soon = load(kData, 1000);
    // Under way: nobody may pass it.
    EXPECT_FALSE(filter.hits(kData, 8, 0)) << model.name;
    EXPECT_FALSE(memory->quiet_hit(0, kData, AccessDescriptor(8, false), 1001)) << model.name;
    const std::uint64_t arrived = load(kData + 0x2000, soon);  // and no prefetcher waits for the first line any more
    // There, but nobody has touched it yet: the walk through the hierarchy may be left out,
    EXPECT_FALSE(filter.hits(kData, 8, 0)) << model.name;
    EXPECT_TRUE(memory->quiet_hit(0, kData, AccessDescriptor(8, false), arrived + 1)) << model.name;
    // and from then on the tags answer, and then the table of way hints, of which nothing is known before.
    EXPECT_FALSE(is_hot(0)) << model.name;
    EXPECT_EQ(memory->plain_load(0, kData, 8, arrived + 2), model.memory.l1d.load_to_use_cycles) << model.name;
    EXPECT_TRUE(is_hot(0)) << model.name;
    EXPECT_EQ(memory->timeless_load(0, kData + 8, 8), model.memory.l1d.load_to_use_cycles) << model.name;
    // A store is not answered for before one has taken the line for writing.
    EXPECT_FALSE(is_hot(1)) << model.name;
    memory->store(0, {.linear = kData, .now = arrived + 10, .bytes = 8, .instruction = 2});
    std::uint32_t waited = 0;
    EXPECT_TRUE(memory->plain_store(0, kData, 8, {.now = arrived + 500, .retires = arrived + 501}, waited))
        << model.name;
    EXPECT_TRUE(is_hot(1)) << model.name;
  }
}

TEST(MemorySystem, ALineOfInstructionsThatIsNotTheNewestOfItsSetIsAnsweredInline) {
  for (const CoreModel& model : core_models()) {
    const auto memory = MemorySystem::make(model.memory, {.prefetch = false});
    MemorySystem::Filter& filter = memory->filter(0);
    constexpr std::uint64_t kCode = 0x40'0000, kLine = kCode >> kLineBits;
    const auto fetch = [&](std::uint64_t linear) { memory->fetch(0, linear, 1000); };
    fetch(kCode);
    fetch(kCode + 64);
    EXPECT_FALSE(filter.is_newest(kLine)) << model.name;  // it has missed
    fetch(kCode);
    fetch(kCode + 64);
    EXPECT_TRUE(filter.is_newest(kLine)) << model.name;
    std::uint64_t known = ~std::uint64_t{0};
    EXPECT_TRUE(filter.are_plain(kLine, 2, known)) << model.name;
    EXPECT_EQ(known, filter.code_known) << model.name;
    for (int i = 0; i < 2; ++i) {
      fetch(kCode + 4096);  // the same place of another page
    }
    EXPECT_FALSE(filter.is_newest(kLine)) << model.name;
    const bool idle = second_touch_is_idle(model.memory.l1i.policy.kind);
    EXPECT_EQ(filter.touch_code(kLine), idle) << model.name;
    EXPECT_EQ(filter.hot_code[kLine % WayHints::kEntries].line[0] == kLine, idle) << model.name;
  }
}

TEST(MemorySystem, ALoadOfALineOnItsWayHitsAFillBufferAndWaitsForTheRest) {
  Machine machine("skylake-server");
  machine.load(kData + 4032);  // the translation
  const Outcome first = machine.memory().load(0, {kData, machine.now(), 8, 1});
  const Outcome second = machine.memory().load(0, {kData + 8, machine.now() + 100, 8, 1});
  EXPECT_EQ(first.source, Source::Dram);
  EXPECT_EQ(second.source, Source::FillBuffer);
  EXPECT_EQ(second.latency, first.latency - 100);
  EXPECT_EQ(machine.count(CoreSignal::LoadFillBuffer), 1U);
}

/// Fill buffers that say how often they were asked for a line.
struct CountedFills : PendingFills {
  using PendingFills::PendingFills;
  std::uint64_t complete(Line line, std::uint64_t now) const {
    ++asked;
    return PendingFills::complete(line, now);
  }
  static inline unsigned asked = 0;
};
struct CountedParts {
  using L1i = Cache<AnyPolicy>;
  using L1 = Cache<AnyPolicy>;
  using L2 = Cache<AnyPolicy>;
  using Llc = Cache<AnyPolicy>;
  using Table = LruTable;
  using Pending = CountedFills;
  using Stores = StoreBuffer;
  static constexpr bool kInlinePath = true;
};

TEST(MemorySystem, TheSlotOfALineInL1KnowsWhenItArrivesAndNoFillBufferIsAsked) {
  Hierarchy<CountedParts> memory(find_core_model("skylake-server")->memory, {.prefetch = false});
  memory.load(0, {.linear = kData, .now = 1000, .bytes = 8, .instruction = 1});
  const unsigned before = CountedFills::asked;
  for (unsigned i = 1; i <= 100; ++i) {
    EXPECT_EQ(memory.load(0, {.linear = kData + 8, .now = 1000 + i, .bytes = 8, .instruction = 2}).source,
              Source::FillBuffer);
  }
  EXPECT_EQ(CountedFills::asked, before);
}

TEST(MemorySystem, OfEachCoreModelTheFirstLevelHasItsPoliciesCodeInIt) {
  MemoryParameters what_if = find_core_model("skylake-server")->memory;
  what_if.l1d.policy = lru();
  const auto chosen_at_run_time = MemorySystem::make(what_if, {});
  const MemorySystem& any = *chosen_at_run_time;
  for (const CoreModel& model : core_models()) {
    const auto made = MemorySystem::make(model.memory, {});
    const MemorySystem& memory = *made;
    EXPECT_NE(typeid(memory), typeid(any)) << model.name;
  }
}

TEST(MemorySystem, ALoadWaitsForAFillBufferWhenAllAreTaken) {
  Machine machine("skylake-server");
  machine.load(kData + 4032);
  machine.load(kData + 8000);
  const std::uint64_t now = machine.now();
  Outcome last;
  for (unsigned i = 0; i <= machine.parameters().fill_buffers; ++i) {
    last = machine.memory().load(0, {kData + i * kLineBytes, now, 8, i});
  }
  EXPECT_GT(last.latency, 2 * machine.parameters().dram_cycles * machine.parameters().dram_row_percent / 100);
  EXPECT_GT(machine.count(CoreSignal::FillBufferFull), 0U);
}

TEST(MemorySystem, NineLinesOfOneSetMissInL1AndEightDoNot) {
  for (const unsigned lines : {8U, 9U}) {
    Machine machine("skylake-server");
    for (unsigned round = 0; round < 1000; ++round) {
      for (unsigned i = 0; i < lines; ++i) machine.load(kData + 1088 + i * 4096);
    }
    const std::uint64_t replaced = machine.count(CoreSignal::L1dReplacement);
    // Each page's line, and the lines of page tables.
    if (lines == 8) {
      EXPECT_LE(replaced, 12U);
    } else {
      EXPECT_GE(replaced, 9U * 999);
    }
  }
}

TEST(MemorySystem, AVictimLlcHoldsWhatL2ThrewOutAndGivesItBack) {
  Machine machine("skylake-server");
  const std::uint64_t bytes = 2 * machine.parameters().l2.bytes;
  const std::uint64_t lines = bytes / kLineBytes;
  for (unsigned round = 0; round < 2; ++round) {
    for (std::uint64_t at = 0; at < bytes; at += kLineBytes) machine.load(kData + at);
  }
  EXPECT_EQ(machine.count(CoreSignal::LoadDram), lines);
  EXPECT_GT(machine.count(CoreSignal::LoadL3HitNone), lines / 2);
  // A line that came back from LLC is in L2, and L2's victim took its place.
  std::uint64_t at = 0;
  while (machine.load(kData + at).source != Source::L3) at += kLineBytes;
  for (unsigned i = 1; i <= 12; ++i) machine.load(kData + at + i * 4096);  // out of L1D
  EXPECT_EQ(machine.load(kData + at).source, Source::L2);
}

TEST(MemorySystem, AnInclusiveLlcTakesALineFromL1WhenItEvictsIt) {
  Machine machine("westmere");
  machine.load(kData);
  // L1D and L2 keep what is used again and again, LLC does not see those hits.
  for (std::uint64_t at = 4096; at < 4 * machine.parameters().llc.bytes; at += kLineBytes) {
    machine.load(kData + at);
    if (machine.load(kData).source == Source::Dram) return;
  }
  FAIL() << "the line outlived its eviction from LLC";
}

TEST(MemorySystem, AZenL1HoldsNothingThatItsL2DoesNot) {
  Machine machine("zen4");
  machine.load(kData);
  for (std::uint64_t at = 4096; at < 4 * machine.parameters().l2.bytes; at += kLineBytes) {
    machine.load(kData + at);
    if (machine.load(kData).source != Source::L1) return;
  }
  FAIL() << "the line outlived its eviction from L2";
}

TEST(MemorySystem, AModifiedLineGoesDownLevelByLevelAndIsWrittenOnce) {
  Machine machine("skylake-server");
  machine.store(kData);
  EXPECT_EQ(machine.count(CoreSignal::L2RfoMiss), 1U);
  for (unsigned i = 1; i <= 8; ++i) machine.load(kData + i * 4096);  // the same set of L1D
  EXPECT_EQ(machine.count(CoreSignal::L1dModifiedEvicted), 1U);
  EXPECT_EQ(machine.load(kData).source, Source::L2);
}

TEST(MemorySystem, AnAccessAcrossALineIsOneLoadOfTwoLines) {
  Machine machine("skylake-server");
  machine.load(kData);
  machine.load(kData + 64);
  machine.load(kData);
  machine.load(kData + 64);
  const Outcome split = machine.load(kData + 60);
  EXPECT_TRUE(split.split);
  EXPECT_EQ(split.source, Source::L1);
  EXPECT_EQ(split.latency, 4 + machine.parameters().split_cycles);
  EXPECT_EQ(machine.count(CoreSignal::SplitLoads), 1U);
  EXPECT_EQ(machine.count(CoreSignal::Loads), 5U);
}

TEST(MemorySystem, AnAccessAcrossAPageTranslatesTwice) {
  Machine machine("skylake-server");
  machine.load(kData);
  const Outcome split = machine.load(kData + 4092);
  EXPECT_TRUE(split.split);
  EXPECT_EQ(split.tlb, TlbOutcome::Walk);
  EXPECT_EQ(machine.count(CoreSignal::DtlbLoadWalk), 2U);
  EXPECT_EQ(machine.count(CoreSignal::LoadStlbMiss), 2U);
}

TEST(MemorySystem, TheStlbAnswersForPagesThatTheDataTlbLost) {
  Machine machine("skylake-server");
  for (unsigned round = 0; round < 2; ++round) {
    for (unsigned page = 0; page < 256; ++page) machine.load(kData + page * 4096 + page % 64 * 64);
  }
  EXPECT_EQ(machine.count(CoreSignal::DtlbLoadWalk), 256U);
  EXPECT_EQ(machine.count(CoreSignal::DtlbLoadStlbHit), 256U);
}

TEST(MemorySystem, AWalkThatWaitsForAWalkerIsNotUnderWay) {
  for (const CoreModel& model : core_models()) {
    const auto memory = MemorySystem::make(model.memory, {.prefetch = false});
    constexpr std::uint64_t kBegin = 1000;
    std::uint64_t end = 0, translated = 0;
    for (unsigned page = 0; page < 64; ++page) {
      const Outcome outcome = memory->load(0, {kData + page * 4096, kBegin, 8, 1});
      EXPECT_EQ(outcome.tlb, TlbOutcome::Walk);
      end = std::max<std::uint64_t>(end, kBegin + outcome.latency);
      translated += outcome.latency;
    }
    const std::uint64_t walks = memory->counts(0)[CoreSignal::DtlbLoadWalkCycles];
    EXPECT_LE(walks, model.memory.page_walkers * (end - kBegin)) << model.name;
    EXPECT_GT(translated, 2 * walks) << model.name << ": most of their time they waited";
  }
}

TEST(MemorySystem, LargePagesNeedOneTranslationPerTwoMebibytes) {
  Machine machine("skylake-server");
  machine.memory().use_large_pages(0x4000'0000, 0x8000'0000);
  for (unsigned page = 0; page < 2048; ++page) machine.load(kData + page * 4096);
  EXPECT_EQ(machine.count(CoreSignal::WalkCompleted2M), 4U);
  EXPECT_EQ(machine.count(CoreSignal::WalkCompleted4K), 0U);
}

TEST(MemorySystem, UnmappedPagesAreOtherMemoryWhenTheyComeBack) {
  Machine machine("skylake-server");
  machine.load(kData);
  machine.load(kData);
  machine.memory().unmap(kData, kData + 4096);
  const Outcome outcome = machine.load(kData);
  EXPECT_EQ(outcome.tlb, TlbOutcome::Walk);
  EXPECT_EQ(outcome.source, Source::Dram);
}

TEST(MemorySystem, ALoadCoveredByAnOlderStoreIsForwarded) {
  Machine machine("skylake-server");
  machine.store(kData);
  machine.wait(1000);
  machine.memory().store(0, {kData, machine.now(), 8, 1});
  const Outcome covered = machine.memory().load(0, {kData + 4, machine.now() + 1, 4, 2});
  EXPECT_EQ(covered.forwarding, Forwarding::Forwarded);
  EXPECT_EQ(covered.source, Source::L1);
  EXPECT_EQ(covered.latency, machine.parameters().forward_cycles);
  // It has data that is late when that is there, and not a cycle later.
  machine.memory().store(0, {.linear = kData + 64, .now = machine.now(), .bytes = 8, .ready = machine.now() + 20});
  EXPECT_EQ(machine.memory().load(0, {kData + 64, machine.now() + 1, 4, 2}).latency,
            19 + machine.parameters().forward_cycles);
  EXPECT_EQ(machine.memory().load(0, {kData + 64, machine.now() + 21, 4, 2}).latency,
            machine.parameters().forward_cycles);
  const Outcome partly = machine.memory().load(0, {kData + 4, machine.now() + 1, 8, 3});
  EXPECT_EQ(partly.forwarding, Forwarding::Blocked);
  // The store commits in four cycles at the earliest, of which one has passed.
  EXPECT_EQ(partly.latency, 3 + machine.parameters().forward_cycles + machine.parameters().blocked_forward_cycles);
  machine.wait(1000);
  machine.load(kData + 4096);
  machine.memory().store(0, {kData, machine.now(), 8, 1});
  const Outcome alias = machine.memory().load(0, {kData + 4096, machine.now() + 1, 8, 4});
  EXPECT_EQ(alias.forwarding, Forwarding::Alias);
  machine.wait(1000);
  EXPECT_EQ(machine.load(kData + 4).forwarding, Forwarding::None);  // committed
  EXPECT_EQ(machine.count(CoreSignal::ForwardedLoads), 3U);
  EXPECT_EQ(machine.count(CoreSignal::ForwardBlocked), 1U);
  EXPECT_EQ(machine.count(CoreSignal::AddressAlias), 1U);
}

TEST(MemorySystem, ALoadWithTheLowBitsOfAnOlderStoreIsTriedAgainAtALoadPortWhereThatTakesTime) {
  for (const auto& [model, times] : {std::pair{"skylake-server", 1U}, std::pair{"zen4", 0U}}) {
    Machine machine(model);
    for (const std::uint64_t linear : {kData, kData + 4096}) machine.load(linear);
    machine.wait(1000);
    machine.memory().store(0, {kData, machine.now(), 8, 1});
    const Outcome alias = machine.memory().load(0, {kData + 4096, machine.now() + 1, 8, 4});
    EXPECT_EQ(alias.latency, machine.parameters().l1d.load_to_use_cycles + machine.parameters().alias_cycles);
    EXPECT_EQ(alias.begun_again(), times) << model;
    EXPECT_EQ(alias.forwarding == Forwarding::Alias, times != 0);
  }
}

TEST(MemorySystem, ALockedLoadTakesTheLineForWriting) {
  Machine machine("skylake-server");
  machine.load(kData);
  machine.wait(1000);
  const Outcome locked = machine.memory().locked(0, {kData, machine.now(), 8, 1});
  EXPECT_EQ(locked.latency, machine.parameters().lock_cycles);
  EXPECT_EQ(machine.count(CoreSignal::LockedLoads), 1U);
  machine.store(kData);
  EXPECT_EQ(machine.count(CoreSignal::L2RfoHit) + machine.count(CoreSignal::L2RfoMiss), 0U);
}

TEST(MemorySystem, ALockedInstructionOnTwoLinesLocksTheBusAndIsASplitLoadAndASplitStore) {
  for (const char* const model :
       {"westmere", "haswell", "skylake-server", "icelake-server", "sapphire-rapids", "zen4"}) {
    Machine machine(model);
    for (const std::uint64_t line : {kData, kData + 64}) {
      machine.load(line);
      machine.store(line);
    }
    machine.wait(2000);
    const Outcome locked = machine.memory().locked(0, {kData + 60, machine.now(), 8, 1});
    EXPECT_TRUE(locked.split);
    EXPECT_EQ(locked.latency, machine.parameters().lock_cycles + machine.parameters().split_cycles +
                                  machine.parameters().split_lock_cycles)
        << model;
    EXPECT_GE(machine.parameters().split_lock_cycles, 900U) << model;
    EXPECT_EQ(machine.count(CoreSignal::SplitLoads), 1U);
    EXPECT_EQ(machine.count(CoreSignal::SplitStores), 1U);
  }
}

TEST(MemorySystem, LockedLoadsCountAsL1HitsWhereTheProcessorSaysSo) {
  for (const bool skylake : {false, true}) {
    Machine machine(skylake ? "skylake-server" : "haswell");
    EXPECT_EQ(machine.memory().locked(0, {kData, machine.now(), 8, 1}).source, Source::Dram);
    EXPECT_EQ(machine.count(CoreSignal::LoadL1Hit), skylake ? 1U : 0U);
    EXPECT_EQ(machine.count(CoreSignal::LoadDram), skylake ? 0U : 1U);
  }
}

TEST(MemorySystem, ASoftwarePrefetchBringsTheLineAndATouchedPageOnly) {
  Machine machine("skylake-server");
  machine.memory().software_prefetch(0, {kData, machine.now(), 1, 1}, PrefetchHint::T0);
  EXPECT_EQ(machine.load(kData).source, Source::Dram);  // the page was not known
  machine.memory().software_prefetch(0, {kData + 128, machine.now(), 1, 1}, PrefetchHint::T0);
  machine.memory().software_prefetch(0, {kData + 256, machine.now(), 1, 1}, PrefetchHint::T1);
  EXPECT_EQ(machine.memory().load(0, {kData + 128, machine.now(), 8, 1}).source, Source::FillBuffer);
  machine.wait(1000);
  EXPECT_EQ(machine.load(kData + 128).source, Source::L1);
  EXPECT_EQ(machine.load(kData + 256).source, Source::L2);
}

TEST(MemorySystem, AStreamingStoreTakesTheLineOutOfTheCaches) {
  Machine machine("skylake-server");
  machine.load(kData);
  const std::uint64_t replaced = machine.count(CoreSignal::L1dReplacement);
  for (unsigned i = 0; i < 8; ++i) machine.memory().streaming_store(0, {kData + 8 * i, machine.now(), 8, 1});
  EXPECT_EQ(machine.count(CoreSignal::L1dReplacement), replaced);
  machine.wait(1000);
  EXPECT_EQ(machine.load(kData).source, Source::Dram);
}

TEST(MemorySystem, AFlushedLineComesFromMemory) {
  Machine machine("skylake-server");
  machine.load(kData);
  machine.memory().flush(0, kData);
  EXPECT_EQ(machine.load(kData).source, Source::Dram);
}

TEST(MemorySystem, InstructionLinesAreFetchedOnceAndHitAfterwards) {
  Machine machine("skylake-server");
  EXPECT_EQ(machine.memory().fetch(0, 0x40'1000, machine.now()).source, Source::Dram);
  machine.wait(1000);
  for (unsigned i = 0; i < 16; ++i) EXPECT_EQ(machine.memory().fetch(0, 0x40'1000 + 4 * i, machine.now()).latency, 0U);
  EXPECT_EQ(machine.count(CoreSignal::FetchMiss), 1U);
  EXPECT_EQ(machine.count(CoreSignal::FetchHit), 0U);
  machine.memory().fetch(0, 0x40'1040, machine.now());
  machine.wait(1000);
  EXPECT_EQ(machine.memory().fetch(0, 0x40'1000, machine.now()).latency, 0U);
  EXPECT_EQ(machine.count(CoreSignal::FetchHit), 1U);
}

TEST(MemorySystem, TheSecondAscendingAccessToALineBringsTheNextOne) {
  Machine machine("skylake-server", {});
  machine.load(kData + 640);
  machine.load(kData + 640 + 8);
  machine.wait(1000);
  EXPECT_EQ(machine.load(kData + 640 + 64).source, Source::L1);
}

TEST(MemorySystem, TwoEqualStridesOfOneLoadBringTheThird) {
  Machine machine("skylake-server", {});
  for (unsigned i = 0; i < 3; ++i) machine.load(kData + i * 320);
  machine.wait(1000);
  EXPECT_EQ(machine.load(kData + 3 * 320).source, Source::L1);
}

TEST(MemorySystem, AStrideIsFollowedWithItsLoadOrWhenThatHasItsData) {
  const auto fourth = [](std::string_view model) {
    Machine machine(model, {});
    for (unsigned i = 0; i < 3; ++i) machine.load(kData + i * 320);
    return machine.load(kData + 3 * 320);
  };
  EXPECT_EQ(fourth("skylake-server").source, Source::Dram);
  EXPECT_NE(fourth("zen4").source, Source::Dram);
  EXPECT_LT(fourth("zen4").latency, 100U);
}

TEST(MemorySystem, ALineModifiedElsewhereIsAHitm) {
  Machine machine("skylake-server", {.cores = 2, .prefetch = false});
  machine.load(kData + 128, 1);  // the translation
  machine.store(kData, 0);
  const Outcome outcome = machine.load(kData, 1);
  EXPECT_EQ(outcome.source, Source::L3Hitm);
  EXPECT_EQ(outcome.latency, machine.parameters().hitm_cycles);
  EXPECT_EQ(machine.count(CoreSignal::LoadL3Hitm, 1), 1U);
  machine.wait(1000);
  EXPECT_EQ(machine.load(kData, 0).source, Source::L1);  // both may read it now
  EXPECT_EQ(machine.load(kData, 1).source, Source::L1);
  EXPECT_TRUE(machine.memory().is_contended(kData, machine.now()));
  EXPECT_FALSE(machine.memory().is_contended(kData + 128, machine.now()));
}

TEST(MemorySystem, ALineCleanElsewhereIsASnoopHitAndThenShared) {
  Machine machine("skylake-server", {.cores = 3, .prefetch = false});
  for (unsigned core = 0; core < 3; ++core) machine.load(kData + 128, core);
  machine.load(kData, 0);
  EXPECT_EQ(machine.load(kData, 1).source, Source::L3SnoopHit);
  machine.wait(1000);
  EXPECT_EQ(machine.load(kData, 0).source, Source::L1);
  EXPECT_FALSE(machine.memory().is_contended(kData, machine.now()));  // nobody wrote
}

TEST(MemorySystem, AStoreToASharedLineTakesItFromTheOthers) {
  Machine machine("haswell", {.cores = 2, .prefetch = false});
  machine.load(kData, 0);
  machine.load(kData, 1);
  machine.wait(1000);
  machine.store(kData, 1);
  EXPECT_EQ(machine.count(CoreSignal::RfoSnoopHit, 1), 1U);
  machine.wait(1000);
  EXPECT_EQ(machine.load(kData, 0).source, Source::L3Hitm);
}

TEST(MemorySystem, TheOwnerKeepsALineUntilTheTransferReachesIt) {
  Machine machine("skylake-server", {.cores = 2, .prefetch = false});
  machine.load(kData + 128, 1);
  machine.store(kData, 0);
  const std::uint64_t asked = machine.now();
  machine.memory().store(1, {kData, asked, 8, 1});
  const std::uint32_t half = machine.parameters().hitm_cycles / 2;
  EXPECT_EQ(machine.memory().load(0, {kData + 8, asked + half - 1, 8, 2}).source, Source::L1);
  const Outcome late = machine.memory().load(0, {kData + 8, asked + half, 8, 2});
  EXPECT_EQ(late.source, Source::L3Hitm);
  // The next transfer starts when the first one is over.
  EXPECT_EQ(late.latency, machine.parameters().hitm_cycles - half + machine.parameters().hitm_cycles);
}

TEST(MemorySystem, APrivateLineIsNeverContended) {
  Machine machine("skylake-server", {.cores = 2, .prefetch = false});
  for (unsigned i = 0; i < 100; ++i) {
    machine.store(kData + (i % 2) * 4096, i % 2);
    machine.load(kData + (i % 2) * 4096, i % 2);
  }
  EXPECT_EQ(machine.count(CoreSignal::LoadL3Hitm, 0) + machine.count(CoreSignal::LoadL3Hitm, 1), 0U);
  EXPECT_FALSE(machine.memory().is_contended(kData, machine.now()));
}

TEST(MemorySystem, TheSeedMovesPagesAndNothingElse) {
  const auto l2_misses = [](std::uint64_t seed) {
    Machine machine("westmere", {.seed = seed, .prefetch = false});
    for (unsigned round = 0; round < 4; ++round) {
      for (std::uint64_t at = 0; at < 200 * 1024; at += kLineBytes) machine.load(kData + at);
    }
    return machine.count(CoreSignal::L2DemandReadMiss);
  };
  EXPECT_EQ(l2_misses(1), l2_misses(1));
  EXPECT_NE(l2_misses(1), l2_misses(2));
}

}  // namespace
}  // namespace zs::uarch
