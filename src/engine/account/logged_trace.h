// Overflows inside the trace of a modelled core. Which instruction misses, and so overflows a counter, the model says
// only when it is told what ran; to stop the thread before each that might would be a visit of the dispatcher for every
// few of them. In blocks of Variant::Logged the thread goes on, and the trace holds its registers behind each
// instruction. Here records are counted in bulk as far as no counter can overflow, and paths in which one may are told
// to the model under watch; the instruction that overflows is retired with the registers that it left. Where only what
// happens seldom can overflow a counter (a miss, a mispredicted branch), the whole trace is told under watch: the model
// then plays what changes nothing of that as it always does.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/account/core_feeder.h"
#include "engine/account/probes.h"
#include "engine/account/steps.h"
#include "engine/account/tally.h"

namespace zs::engine {

/// A block of Variant::Logged, to go through again: how each instruction changes the registers.
struct LoggedBlock {
  struct LoggedInsn {
    std::uint64_t pc;
    std::int64_t delta;  // InsnSlots
    arch::InsnFacts facts;
    std::int8_t target, source;  // likewise
    std::uint8_t flags;          // likewise
    std::uint8_t stores;
    bool taken;  // on the block's way
  };
  std::vector<LoggedInsn> insns;
  std::vector<InsnSlots::Store> stores;  // of one instruction behind those of the other
  std::uint32_t first_path = 0;  // of those that its instructions are alone (LoggedTrace::step_through); 0: none yet
};

/// One execution of such a block, or of its beginning.
struct LoggedPath {
  const LoggedBlock& block;
  std::uint32_t index = kNone;  // of the block
  unsigned instructions = 0;
  bool leaves = false, leaves_taken = false;  // by its last instruction, a branch that the block follows the other way
  const std::uint64_t* slots = nullptr;
  std::uint64_t next = 0;  // where the program went on

  bool taken(std::size_t at) const { return at + 1 == instructions && leaves ? leaves_taken : block.insns[at].taken; }
  std::uint64_t next_of(std::size_t at) const { return at + 1 == instructions ? next : block.insns[at + 1].pc; }
};

class LoggedTrace {
 public:
  LoggedTrace(Run& run, Tally& tally, CoreFeeder& core, Probes& probes, SingleSteps& steps)
      : run_(run), tally_(tally), core_(core), probes_(probes), steps_(steps) {}

  /// Not where cores fight over lines: turns are short then.
  bool possible() const {
    return run_.counting.logs && run_.phase == Phase::Unit && !probes_.in_traces() &&
           (run_.threads.size() == 1 || !run_.thread->cpu.core->contends());
  }
  /// Whether the trace is of such blocks.
  bool running() const { return running_; }
  void leave() { running_ = false; }
  /// Other code ran in between: the next such trace is short again.
  void begin_short() { bytes_ = kFewest; }
  /// Blocks that go beyond the overflow.
  /// returns where to enter the cache, or 0 where an instruction has to run alone
  std::uint64_t enter(std::uint32_t link_from);
  /// The records of such a trace, oldest first.
  void count(std::span<std::uint32_t> ids);
  /// The first instructions of a block that was left in its middle.
  void count_into(std::uint32_t index, unsigned instructions, std::uint64_t next);

 private:
  class LogReader;
  class LogWatcher;
  const LoggedBlock& block(std::uint32_t index);
  void step_through(const LoggedPath& path);
  LoggedPath path(std::span<const std::uint32_t> ids, std::size_t at);
  bool watch(std::span<const std::uint32_t> ids, std::size_t from, std::size_t to, const arch::SignalSet& watched);
  std::size_t seldom_up_to(std::span<const std::uint32_t> ids, std::size_t at);

  // Bytes of the next such trace: twice those of the one before, if nothing else ran in between. chosen: at first there
  // is one miss in programs that miss much; at most, with its slots, it stays in the second-level cache until it is
  // read.
  static constexpr std::uint64_t kFewest = 512, kMost = 64 << 10;
  static constexpr std::uint64_t kTurn = 4 << 10;  // with other threads

  Run& run_;
  Tally& tally_;
  CoreFeeder& core_;
  Probes& probes_;
  SingleSteps& steps_;
  bool running_ = false;
  std::uint64_t bytes_ = kFewest;
  std::unordered_map<std::uint32_t, LoggedBlock> blocks_;  // by block
  std::uint64_t blocks_of_flush_ = 0;                      // Translator::flushes() when they were begun
  std::size_t block_bytes_ = 0;                            // of blocks_, roughly
};

}  // namespace zs::engine
