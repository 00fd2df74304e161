// How whoever runs a program tells a modelled core what the program did. The runner knows its code as paths: stretches
// of instructions that run from the first to the last. It describes each path once, and how the addresses of its
// accesses follow from values that it stores while the path runs, the path's slots; from then on one execution is the
// path's number and where its slots are.
//
// All of a thread's retired instructions come, in program order, each in exactly one path. How they are split into
// paths is the runner's affair: what a core makes of a program does not depend on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "arch/core_signals.h"
#include "arch/records/data_source.h"
#include "arch/retired.h"

namespace zs::arch {

/// What an access is told by: its words.
enum class AccessForm : std::uint8_t {
  One,       // its linear address
  Repeated,  // of a REP string instruction: the address of the first element, then the number of elements; bit 63 of that is
             // set if they go downwards. The elements of two accesses of one instruction take turns.
  Listed,  // of a gather or scatter: the number of elements, then their addresses
};

/// How an access's words come from slots: an address is the sum of what is named.
struct AddressTerm {
  static constexpr std::uint8_t kNoSlot = 255;  // reads as 0
  enum Flags : std::uint8_t {
    kFs = 1,
    kGs = 2,
    kAddress32 = 4,
    kBitString = 8,  // `part` is a signed bit offset as wide as the operand: in words of its size
    kLowByte = 16,   // the lowest byte of `part` is added (XLAT)
    kRepeated = 32,  // `index` is the base's register after the instruction
    kListed = 64,    // the words are not in slots
  };
  std::int64_t displacement = 0;
  std::uint8_t base = kNoSlot, index = kNoSlot;
  std::uint8_t scale = 0;
  std::uint8_t flags = 0;
  std::uint8_t part = kNoSlot;
  std::uint16_t bytes = 0;  // of one element

  bool operator==(const AddressTerm&) const = default;
};
static_assert(sizeof(AddressTerm) == 16);

enum class AccessKind : std::uint8_t {
  Load,
  Store,
  LockedLoad,  // of a locked read-modify-write; a Store to the same place follows, and is the same access
  Prefetch,    // PREFETCHT0, and T1, T2, NTA, W
  PrefetchT1,
  PrefetchNta,
  PrefetchW,
  StreamingStore,
  Flush,  // CLFLUSH, CLFLUSHOPT; CLWB
};

/// One access of a path. A read-modify-write is a Load and a Store, in this order.
struct PathAccess {
  AccessKind kind = AccessKind::Load;
  AccessForm form = AccessForm::One;
  std::uint16_t instruction = 0;  // index into PathDescription::instructions
  AddressTerm address;
};

struct PathInstruction {
  std::uint64_t pc = 0;
  std::uint64_t target = 0;  // of a taken direct branch
  InsnFacts facts;
  bool taken = false;  // a branch, on this path
  std::uint8_t length = 0;
  std::uint8_t bytes[15] = {};
};

struct PathDescription {
  std::span<const PathInstruction> instructions;  // 1 or more
  std::span<const PathAccess> accesses;           // in program order
};

/// One execution of a path.
struct PathRun {
  std::uint32_t path = 0;   // as describe() was told
  std::uint32_t slots = 0;  // where they are: so many words behind SlotValues::slots
  std::uint64_t next = 0;   // where the program went on, if the path ends in an indirect branch
};

/// What the addresses of runs are made of. It may be used anew when the call that it was told with returns.
struct SlotValues {
  const std::uint64_t* slots = nullptr;
  std::uint64_t fs = 0, gs = 0;  // bases of segments
  std::span<const std::uint64_t>
      listed;  // the words of AccessForm::Listed, in order; the run that has some is told alone
};

/// Hears of what instructions of runs did, one after the other (CoreFeed::run_watched).
class RunWatcher {
 public:
  /// signals(), last_load(), last_store() and last_mispredicted() speak of the instruction of this number of the path
  /// of this run, or of those up to it. Those that were left out since the last call have changed none of the signals
  /// that are watched.
  virtual void finished(std::size_t run, std::size_t instruction) = 0;

 protected:
  ~RunWatcher() = default;
};

/// What an instruction did that changed a signal which is watched (CoreFeed::keep_outcomes).
struct WatchedOutcome {
  std::uint64_t run = 0;             // of those that were told since keep_outcomes(), counted from 0
  std::size_t instruction = 0;       // of the run's path
  CoreSignals signals;               // CoreFeed::signals() behind it
  AccessOutcome load, store, fetch;  // as last_load() and its like have them
  bool mispredicted = false;
  std::uint64_t load_address = 0, store_address = 0;  // linear, of the first of each; 0: there is none
};

/// Of the lines of a program, those whose accesses a core is told of where it is told nothing else
/// (CoreFeed::accessed): a class of low bits, since the sets of all levels nest in it. source:
/// docs/models/machine.md, "Units alone"
struct LineSample {
  static constexpr unsigned kBits = 5, kFirstBit = 6;
  static constexpr std::uint64_t kOneIn = 1U << kBits;
  static constexpr std::uint64_t kClass = 21;  // chosen: not that of the beginnings of pages
  /// Added to an address, it makes the bits of kMask 0 if the line is of the class.
  static constexpr std::uint32_t kShift = (kOneIn - kClass) << kFirstBit;
  static constexpr std::uint64_t kMask = (kOneIn - 1) << kFirstBit;
  static constexpr bool has(std::uint64_t address) { return ((address + kShift) & kMask) == 0; }
};
static_assert(LineSample::has(21 * 64) && LineSample::has(32 * 64 + 21 * 64 + 63) && !LineSample::has(0));

/// How many times as many loads can be tagged as by default.
inline constexpr std::uint32_t kMostTimesTagged = 16;

enum class CodeAge : std::uint8_t {
  Unknown,
  New,  // described since skipped() was called last
  Old,
};

/// One thread of a program on its modelled core.
class CoreFeed {
 public:
  virtual ~CoreFeed() = default;

  /// `path` is the runner's number, dense and shared by all its threads, of which only one is told; a number that is
  /// told again names the new path from then on, and no run of the old one is outstanding. What the description points
  /// to is gone when this returns.
  virtual void describe(std::uint32_t path, const PathDescription& description) = 0;
  /// No number means anything any more.
  virtual void forget_paths() {}
  /// How long a path through the 64 bytes around `pc` has been known.
  virtual CodeAge age_of_code([[maybe_unused]] std::uint64_t pc) const { return CodeAge::Old; }
  /// Bytes of memory that what was described takes, and what was made of it; roughly.
  virtual std::size_t path_bytes() const { return 0; }

  /// What ran, oldest first.
  virtual void run(std::span<const PathRun> runs, const SlotValues& values) = 0;

  /// run(), where the runner wants to know which instructions changed a signal of `watched`, as if each were a path.
  /// The watcher asks for no other run. Does not wait for what other threads are told later. returns false, and has
  /// done nothing, where nobody can say
  virtual bool run_watched([[maybe_unused]] std::span<const PathRun> runs, [[maybe_unused]] const SlotValues& values,
                           [[maybe_unused]] const SignalSet& watched, [[maybe_unused]] RunWatcher& watcher) {
    return false;
  }

  /// run() may keep what it is told, to play it among what other threads do at the same time. From here on signals()
  /// shows all that was told of this thread.
  virtual void settle() {}

  /// When all that was told of this thread so far has been played, and nothing of what is told next, signals() are
  /// appended to `kept`, which must be there until then.
  virtual void keep_signals([[maybe_unused]] std::deque<CoreSignals>& kept) {}

  /// From now on, for each instruction of this thread that changes a signal of `watched` when it is played, an outcome
  /// is appended to `kept`, which must be there as long as this is. run_watched() is not called any more.
  virtual void keep_outcomes([[maybe_unused]] const SignalSet& watched,
                             [[maybe_unused]] std::deque<WatchedOutcome>& kept) {}

  /// The cycle that this thread's core has got to with what was played.
  virtual std::uint64_t played_until() const { return 0; }
  /// Whether its core has something left to play, of this thread or another.
  virtual bool lags() const { return false; }
  /// Plays what waits on all cores until one of them has nothing left.
  virtual void play_on() {}
  /// Nothing of what comes next begins before that cycle: another thread woke or started this one then.
  virtual void wait_until([[maybe_unused]] std::uint64_t cycle) {}
  /// Which of the machine's cores the thread runs on.
  virtual unsigned core_number() const { return 0; }
  /// Cores have taken lines from each other not long ago: what this one sees depends on the order in which they get
  /// there.
  virtual bool contends() { return false; }

  /// Totals of this thread since it started; the reference stays good, and run() and settle() change what it shows.
  virtual const CoreSignals& signals() const = 0;

  /// Of the newest run, which was a single instruction: its last load, its last store. A locked read-modify-write has
  /// both.
  virtual AccessOutcome last_load() const = 0;
  virtual AccessOutcome last_store() const = 0;
  /// And how its line of code came, of two the slower one; absent where the front end waited for none.
  virtual AccessOutcome last_fetch() const { return {}; }
  /// Whether the branch that ended the newest run was mispredicted.
  virtual bool last_mispredicted() const = 0;

  /// From now on taken branches are remembered, the newest few hundred of what was played.
  virtual void remember_branches() {}
  /// Of the taken branches, the one so many before the newest: whether it was mispredicted. False if it is not
  /// remembered, or is not at `pc`.
  virtual bool was_mispredicted([[maybe_unused]] std::size_t back, [[maybe_unused]] std::uint64_t pc) const {
    return false;
  }

  /// The core cycle in which the code behind that branch was reached; 0 where that is not known.
  virtual std::uint64_t cycle_of_branch([[maybe_unused]] std::size_t back, [[maybe_unused]] std::uint64_t pc) const {
    return 0;
  }

  /// Whether waited_for() will be asked. What passes meanwhile is played more slowly.
  virtual void watch_retirement([[maybe_unused]] bool on) {}
  /// The address of the oldest instruction of this thread that had not retired in the cycle so many before the newest
  /// of its signals; 0 where that is not known, or no older one than what comes next.
  virtual std::uint64_t waited_for([[maybe_unused]] std::uint64_t cycles_ago) const { return 0; }

  /// What CoreSignal::LatencyLoads counts from now on: tagged loads that took more than so many core cycles. One load
  /// is tagged at a time; a seeded pseudo-random few of those that follow are passed over, then those until it has its
  /// data.
  virtual void set_latency_threshold(std::uint32_t cycles) = 0;
  /// From here on so many times as many loads are tagged as by default.
  /// times  a power of two, kMostTimesTagged at most, which is nearly each load
  virtual void tag_more_loads([[maybe_unused]] std::uint32_t times) {}

  /// What the program accessed of the lines of LineSample while the core is told nothing else; numbers of lines (linear
  /// addresses >> LineSample::kFirstBit), oldest first.
  virtual void accessed([[maybe_unused]] std::span<const std::uint64_t> lines) {}
  /// Now it is told everything again, behind a stretch of which it was not, but, where `sampled`, of accessed().
  virtual void skipped([[maybe_unused]] bool sampled) {}
  /// Addresses of instructions whose accesses matter to what lies beyond L2, each once; accessed() need not tell of
  /// those of others.
  virtual std::vector<std::uint64_t> beyond_l2() { return {}; }

  /// The most that one instruction without AccessForm::Repeated or Listed adds to a signal; Cycles and what is like it:
  /// the most that is worth planning for.
  virtual std::uint32_t most_per_instruction(CoreSignal signal) const = 0;

  /// [first, last) is unmapped or remapped; both are linear addresses.
  virtual void unmapped(std::uint64_t first, std::uint64_t last) = 0;
  /// What is touched for the first time of [first, last) from now on lies in 2 MiB pages, where whole ones fit; or does
  /// not any more.
  virtual void large_pages([[maybe_unused]] std::uint64_t first, [[maybe_unused]] std::uint64_t last,
                           [[maybe_unused]] bool wanted) {}
};

}  // namespace zs::arch
