// The memory system against the same rules on plain structures: every outcome of every access, and all counts at the
// end.
//
// The streams are synthetic: kernels that programs consist of (walks, chases, stacks, random stores, shared lines),
// mixed by chance. ZEROSKID_FULL=1 in the environment makes them 10^8 accesses per CPU model instead of 10^6 / 4.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "uarch/core_model.h"
#include "uarch/memory/memory_system.h"
#include "uarch/reference/memory_kernels.h"
#include "uarch/reference/plain_parts.h"

namespace zs::uarch {
namespace {

/// A program of one core: stretches of some thousand accesses of one kind.
class Program {
 public:
  Program(std::uint64_t seed, bool shares) : chance_(seed), shares_(shares) {}

  struct Step {
    enum Kind { Load, Store, LockedLoad, Fetch, Prefetch, Streaming, Flush } kind;
    Access access;
  };

  /// A core can run ahead of what has arrived by so many accesses.
  void arrived(const Outcome& outcome) {
    constexpr std::size_t kAhead = 48;
    arrivals_.push_back(now_ + outcome.waited + outcome.latency);
    if (arrivals_.size() <= kAhead) return;
    now_ = std::max(now_, arrivals_.front());
    arrivals_.pop_front();
  }

  Step next() {
    if (left_ == 0) start_stretch();
    --left_;
    now_ += 1 + chance_.below(4);
    Step step{Step::Load, {.now = now_, .bytes = 1U << chance_.below(4), .instruction = kernel_ * 16}};
    step.access.place = static_cast<std::uint16_t>(chance_.below(3));
    if (chance_.below(4) == 0) step.access.ready = now_ + chance_.below(300);  // where it is a store
    switch (kernel_) {
      case 0:  // an ascending walk
      case 1:
        at_ += stride_;
        step.access.linear = base_ + at_ % span_;
        break;
      case 2:  // random over the span, loads and stores
        step.access.linear = base_ + chance_.below(span_);
        step.kind = chance_.below(3) == 0 ? Step::Store : Step::Load;
        break;
      case 3:  // a stack: short distances, stores that loads meet
        at_ += chance_.below(64) - 32;
        step.access.linear = kStack + at_ % 2048;
        step.kind = chance_.below(2) == 0 ? Step::Store : Step::Load;
        break;
      case 4:  // lines that conflict in L1
        step.access.linear = base_ + chance_.below(14) * 4096 + chance_.below(128);
        step.kind = chance_.below(4) == 0 ? Step::Store : Step::Load;
        break;
      case 5:  // descending, and vectors that cross lines
        at_ -= stride_;
        step.access.linear = base_ + at_ % span_;
        step.access.bytes = 32;
        break;
      case 6:  // code
        at_ += chance_.below(8) == 0 ? chance_.below(1 << 16) : 16;
        step.kind = Step::Fetch;
        step.access.linear = kCode + at_ % (1 << 20);
        break;
      case 7:  // what programs do rarely
        step.access.linear = base_ + chance_.below(1 << 16);
        step.kind = static_cast<typename Step::Kind>(chance_.below(7));
        break;
      default:  // words that all cores use
        step.access.linear = kShared + chance_.below(16) * 64 + chance_.below(8) * 8;
        step.access.bytes = 8;
        step.kind = std::array{Step::Load, Step::Load, Step::Store, Step::LockedLoad}[chance_.below(4)];
        break;
    }
    return step;
  }

 private:
  static constexpr std::uint64_t kStack = 0x7FFF'0000'0000;
  static constexpr std::uint64_t kCode = 0x40'0000;
  static constexpr std::uint64_t kShared = 0x2000'0000;

  void start_stretch() {
    kernel_ = static_cast<std::uint32_t>(chance_.below(shares_ ? 9 : 8));
    left_ = 100 + chance_.below(4000);
    stride_ = std::array{4, 8, 16, 64, 128, 256, 512, 4096, 4160}[chance_.below(9)];
    span_ = std::uint64_t{1} << (10 + chance_.below(16));
    base_ = 0x1000'0000 + chance_.below(8) * (64 << 20);
    at_ = chance_.below(span_);
    now_ += chance_.below(4) == 0 ? 2000 : 0;  // everything under way arrives
  }

  Random chance_;
  bool shares_;
  std::uint64_t left_ = 0;
  std::uint32_t kernel_ = 0;
  std::uint64_t base_ = 0, at_ = 0, span_ = 1;
  std::uint64_t stride_ = 64;
  std::uint64_t now_ = 0;
  std::deque<std::uint64_t> arrivals_;
};

Outcome perform(MemorySystem& memory, unsigned core, const Program::Step& step) {
  const Access& access = step.access;
  switch (step.kind) {
    case Program::Step::Load: return memory.load(core, access);
    case Program::Step::Store: return memory.store(core, access);
    case Program::Step::LockedLoad: return memory.locked(core, access);
    case Program::Step::Fetch: return memory.fetch(core, access.linear, access.now);
    case Program::Step::Streaming: return memory.streaming_store(core, access);
    case Program::Step::Prefetch:
      memory.software_prefetch(core, access, static_cast<PrefetchHint>(access.linear % 4));
      return {};
    case Program::Step::Flush: memory.flush(core, access.linear); return {};
  }
  return {};
}

void expect_identities(const CoreSignals& counts) {
  using enum arch::CoreSignal;
  const std::uint64_t l3 = counts[LoadL3HitNone] + counts[LoadL3HitMiss] + counts[LoadL3SnoopHit] + counts[LoadL3Hitm];
  EXPECT_EQ(counts[Loads], counts[LoadL1Hit] + counts[LoadFillBuffer] + counts[LoadL2Hit] + l3 + counts[LoadDram]);
  EXPECT_EQ(counts[WalkCompleted4K] + counts[WalkCompleted2M],
            counts[DtlbLoadWalk] + counts[DtlbStoreWalk] + counts[ItlbWalk]);
  EXPECT_LE(counts[LlcMiss], counts[LlcReference]);
}

bool full() {
  const char* value = std::getenv("ZEROSKID_FULL");
  return value != nullptr && std::string(value) == "1";
}

/// How many accesses of one kind there were, and how many of them the inline path answered; `hot`: without a look at
/// tags.
struct Answered {
  std::uint64_t all = 0, inline_path = 0, hot = 0;
};

/// What answers for the accesses that are compared. The inline path counts apart until counts() is asked.
class Answers {
 public:
  void before(const MemorySystem::Filter& filter, const Program::Step& step) {
    const std::uint64_t line = step.access.linear >> kLineBits;
    const bool one_line = step.access.linear % kLineBytes + step.access.bytes <= kLineBytes;
    hot_ =
        step.kind == Program::Step::Fetch
            ? filter.hot_code[line % WayHints::kEntries].line[0] == line
            : one_line && filter.way_hints[line % WayHints::kEntries].line[step.kind == Program::Step::Store] == line;
    uncounted_ = filter.loads + filter.written + filter.fetches;
  }
  void behind(const MemorySystem::Filter& filter, const Program::Step& step) {
    if (step.kind > Program::Step::Fetch || step.kind == Program::Step::LockedLoad) return;
    Answered& kind = kinds_[step.kind];
    ++kind.all;
    kind.inline_path += filter.loads + filter.written + filter.fetches - uncounted_;
    kind.hot += hot_ ? 1 : 0;
  }
  const Answered& of(Program::Step::Kind kind) const { return kinds_[kind]; }

 private:
  std::array<Answered, Program::Step::Fetch + 1> kinds_;
  std::uint64_t uncounted_ = 0;
  bool hot_ = false;
};

Answers compare(const MemoryParameters& parameters, const MemoryOptions& options, std::uint64_t accesses,
                bool large_pages) {
  Answers answers;
  const auto fast = MemorySystem::make(parameters, options);
  const auto plain = std::make_unique<Hierarchy<PlainParts>>(parameters, options);
  for (MemorySystem* memory : {fast.get(), static_cast<MemorySystem*>(plain.get())}) {
    if (large_pages) memory->use_large_pages(0x1000'0000, 0x1000'0000 + (256 << 20));
  }
  std::vector<Program> programs;
  for (unsigned core = 0; core < options.cores; ++core) programs.emplace_back(100 + core, options.cores > 1);
  for (std::uint64_t i = 0; i < accesses; ++i) {
    const auto core = static_cast<unsigned>(i / 64 % options.cores);
    const Program::Step step = programs[core].next();
    answers.before(fast->filter(core), step);
    const Outcome outcome = perform(*fast, core, step);
    answers.behind(fast->filter(core), step);
    const Outcome expected = perform(*plain, core, step);
    programs[core].arrived(outcome);
    EXPECT_EQ(outcome, expected) << "access " << i << " of core " << core << ", kind " << step.kind << ", address "
                                 << step.access.linear << ", latency " << outcome.latency << " and " << expected.latency
                                 << ", source " << int(outcome.source) << " and " << int(expected.source);
    if (outcome != expected) return answers;
    if (i % 50'021 == 50'020) {
      for (MemorySystem* memory : {fast.get(), static_cast<MemorySystem*>(plain.get())}) {
        memory->unmap(0x1000'0000, 0x1000'0000 + (1 << 20));
      }
    }
  }
  for (unsigned core = 0; core < options.cores; ++core) {
    EXPECT_EQ(fast->counts(core), plain->counts(core));
    expect_identities(fast->counts(core));
  }
  return answers;
}

class MemorySystemReference : public testing::TestWithParam<const CoreModel*> {};

TEST_P(MemorySystemReference, OneCore) {
  const Answers answers = compare(GetParam()->memory, {}, full() ? 100'000'000 : 250'000, false);
  // Without the inline path all would be equal too.
  const Answered &loads = answers.of(Program::Step::Load), &stores = answers.of(Program::Step::Store);
  EXPECT_GT(loads.inline_path, loads.all / 4);
  EXPECT_GT(loads.hot, loads.all / 4);
  EXPECT_GT(stores.inline_path, stores.all / 3);
  EXPECT_GT(stores.hot, stores.all / 3);
  // Most are of the line that was fetched last, which is no fetch.
  EXPECT_GT(answers.of(Program::Step::Fetch).inline_path, 500U);
  EXPECT_GT(answers.of(Program::Step::Fetch).hot, answers.of(Program::Step::Fetch).all / 2);
}

TEST_P(MemorySystemReference, OneCoreWithLargePages) {
  compare(GetParam()->memory, {.seed = 7}, full() ? 10'000'000 : 100'000, true);
}

TEST_P(MemorySystemReference, FourCoresThatShare) {
  compare(GetParam()->memory, {.cores = 4, .seed = 3}, full() ? 10'000'000 : 200'000, false);
}

/// Nobody can tell that the directory was only made when a second core came.
TEST_P(MemorySystemReference, ADirectoryThatIsMadeLateHoldsTheSame) {
  const auto late = MemorySystem::make(GetParam()->memory, {.cores = 3});
  const auto always = MemorySystem::make(GetParam()->memory, {.cores = 3, .directory_from_start = true});
  std::vector<Program> programs;
  for (unsigned core = 0; core < 3; ++core) programs.emplace_back(200 + core, true);
  constexpr std::uint64_t kAlone = 60'000, kAll = 120'000;
  for (std::uint64_t i = 0; i < kAll; ++i) {
    const auto core = static_cast<unsigned>(i < kAlone ? 1 : i / 64 % 3);
    const Program::Step step = programs[core].next();
    const Outcome outcome = perform(*late, core, step);
    ASSERT_EQ(outcome, perform(*always, core, step)) << "access " << i << " of core " << core;
    programs[core].arrived(outcome);
  }
  CoreSignals both;
  for (unsigned core = 0; core < 3; ++core) {
    EXPECT_EQ(late->counts(core), always->counts(core));
    both[CoreSignal::LoadL3Hitm] += late->counts(core)[CoreSignal::LoadL3Hitm];
    both[CoreSignal::LoadL3SnoopHit] += late->counts(core)[CoreSignal::LoadL3SnoopHit];
  }
  EXPECT_GT(both[CoreSignal::LoadL3Hitm], 0U);  // so what they held mattered
  EXPECT_GT(both[CoreSignal::LoadL3SnoopHit], 0U);
}

std::vector<const CoreModel*> rows() {
  std::vector<const CoreModel*> all;
  for (const CoreModel& model : core_models()) all.push_back(&model);
  return all;
}

TEST_P(MemorySystemReference, WhatIsDispatchedFromCycle0OnMayComeInAnyOrder) {
  const MemoryParameters& parameters = GetParam()->memory;
  const auto fast = MemorySystem::make(parameters, {});
  const auto plain = std::make_unique<Hierarchy<PlainParts>>(parameters, MemoryOptions{});
  constexpr std::uint64_t kData = 0x1000'0000;
  const auto load = [&](std::uint64_t linear, std::uint64_t now) {
    const Access access{.linear = linear, .now = now, .bytes = 8, .instruction = 1, .earliest = 0};
    const Outcome outcome = fast->load(0, access);
    EXPECT_EQ(outcome, plain->load(0, access));
    return outcome;
  };
  load(kData, 3000);
  load(kData + 0x10'0000, 9000);  // its address took long
  EXPECT_EQ(load(kData + 8, 3001).source, Source::FillBuffer);
  EXPECT_EQ(fast->counts(0), plain->counts(0));
}

INSTANTIATE_TEST_SUITE_P(Cores, MemorySystemReference, testing::ValuesIn(rows()), [](const auto& row) {
  std::string name(row.param->name);
  for (char& letter : name) {
    if (letter == '-' || letter == '@') letter = '_';
  }
  return name;
});

}  // namespace
}  // namespace zs::uarch
