// A program that never was: blocks of the C library, run in an order, with outcomes and with addresses that are drawn,
// and a runner that splits what ran into paths. For tests and benchmarks. The same seeds give the same stream.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "arch/core_feed.h"
#include "base/check.h"
#include "uarch/chance.h"
#include "uarch/reference/code_kernels.h"
#include "uarch/reference/code_samples.h"
#include "uarch/replay/code_book.h"

namespace zs::uarch {

/// One instruction that ran.
struct Executed {
  arch::PathInstruction instruction;
  InstructionShape shape;
  std::vector<arch::PathAccess> accesses;  // their `instruction` is 0
  std::vector<std::uint64_t> words;
  std::uint64_t next = 0;
};

/// Accesses as a runner tells them of an instruction.
inline std::vector<arch::PathAccess> accesses_of(const InstructionShape& shape) {
  using arch::AccessKind;
  std::vector<arch::PathAccess> accesses;
  const auto form = shape.repeats ? arch::AccessForm::Repeated : arch::AccessForm::One;
  const bool locked = shape.serialising && shape.loads != 0 && shape.stores != 0;
  const bool prefetch = shape.loads != 0 && shape.writes == 0 && shape.stores == 0 &&
                        shape.branch == arch::BranchKind::None && shape.reads == 0;
  const arch::AddressTerm address{.bytes = static_cast<std::uint16_t>(shape.vector ? 16 : 8)};
  for (unsigned i = 0; i < shape.loads; ++i) {
    const AccessKind kind = locked ? AccessKind::LockedLoad : prefetch ? AccessKind::Prefetch : AccessKind::Load;
    accesses.push_back({.kind = kind, .form = form, .address = address});
  }
  for (unsigned i = 0; i < shape.stores; ++i) {
    accesses.push_back({.kind = AccessKind::Store, .form = form, .address = address});
  }
  return accesses;
}

class SyntheticWorkload {
 public:
  /// with_strings  whether REP string instructions are among its instructions
  /// mild          whether nearly all of its accesses hit L1D and its loops are long, as programs are on average;
  ///               otherwise much of everything happens
  explicit SyntheticWorkload(std::uint64_t seed, std::size_t blocks = 600, bool with_strings = true, bool mild = false)
      : seed_(seed), mild_(mild) {
    // What stands first in the library is hardly code of its functions.
    for (Block& block : libc_blocks(mild ? 3 * blocks : blocks, 40, mild ? 0x4'0000 : 0)) {
      const bool strings = std::ranges::any_of(block, [](const PlacedInstruction& i) { return i.shape.repeats; });
      // And some that are longer than a timing block may be.
      const bool is_usual = block.size() >= 3 && (block.size() <= 20 || block.size() > kBlockInstructions);
      const bool common = is_usual && !block.back().shape.serialising;
      if ((with_strings || !strings) && (common || !mild) && blocks_.size() < blocks) {
        blocks_.push_back(std::move(block));
      }
    }
  }

  /// `instructions` or a few more.
  std::vector<Executed> run(std::size_t instructions, std::uint64_t seed) const {
    Random random(seed);
    std::vector<Executed> stream;
    std::map<std::uint64_t, std::uint64_t> walks;  // by instruction: how far
    std::size_t at = 0, loop_from = 0, loop_left = 0;
    while (stream.size() < instructions) {
      const Block& block = blocks_[at];
      // Mostly loops of a few blocks, sometimes a jump somewhere near, seldom far.
      std::size_t next = at + 1 < blocks_.size() ? at + 1 : 0;
      if (loop_left != 0 && at >= loop_from + loop_blocks(loop_from)) {
        --loop_left;
        next = loop_from;
      } else if (loop_left == 0) {
        next = random.below(8) == 0 ? random.below(blocks_.size()) : std::min(at + random.below(5), blocks_.size() - 1);
        loop_from = next;
        loop_left = random.below(mild_ ? 100 : 30);
      } else if (random.below(mild_ ? 100 : 12) == 0) {
        next = std::min(at + 2, blocks_.size() - 1);
      }
      for (std::size_t i = 0; i < block.size(); ++i) {
        const bool last = i + 1 == block.size();
        const std::uint64_t after = last ? blocks_[next].front().pc : block[i + 1].pc;
        stream.push_back(executed(block[i], after, random, walks));
      }
      at = next;
    }
    return stream;
  }

 private:
  static std::size_t loop_blocks(std::size_t first) { return first * 7 % 6; }

  Executed executed(const PlacedInstruction& placed, std::uint64_t next, Random& random,
                    std::map<std::uint64_t, std::uint64_t>& walks) const {
    Executed done;
    done.shape = placed.shape;
    done.next = next;
    done.instruction.pc = placed.pc;
    done.instruction.length = placed.shape.length;
    const auto code = libc_code();
    std::memcpy(done.instruction.bytes, code.data() + (placed.pc - 0x40'0000), placed.shape.length);
    done.instruction.facts.branch = placed.shape.branch;
    if (placed.shape.branch != arch::BranchKind::None) {
      const std::uint64_t behind = placed.pc + placed.shape.length;
      done.instruction.taken = placed.shape.branch != arch::BranchKind::Conditional || next != behind;
      if (done.instruction.taken) done.instruction.target = next;
    }
    done.accesses = accesses_of(placed.shape);
    make_prefetch(placed.pc, done.accesses);
    std::uint64_t locked_at = 0;
    for (const arch::PathAccess& access : done.accesses) {
      std::uint64_t linear = address(placed.pc, random, walks);
      if (access.kind == arch::AccessKind::LockedLoad) locked_at = linear;
      if (access.kind == arch::AccessKind::Store && locked_at != 0) linear = locked_at;
      done.words.push_back(linear);
      if (access.form == arch::AccessForm::Repeated) {
        done.words.push_back(random.below(40) | (random.below(4) == 0 ? std::uint64_t{1} << 63 : 0));
      }
    }
    return done;
  }

  /// Some of the instructions that only load fetch ahead instead: the library has few that do.
  static void make_prefetch(std::uint64_t pc, std::vector<arch::PathAccess>& accesses) {
    using arch::AccessKind;
    static constexpr AccessKind kKinds[] = {AccessKind::Prefetch, AccessKind::PrefetchT1, AccessKind::PrefetchNta,
                                            AccessKind::PrefetchW};
    const std::uint64_t hash = (pc * 0x9E37'79B9) >> 11;
    const bool loads = accesses.size() == 1 && accesses[0].kind == AccessKind::Load;
    if (loads && accesses[0].form == arch::AccessForm::One && hash % 24 == 0) accesses[0].kind = kKinds[hash / 24 % 4];
  }

  /// Of a stack, of a hot table, along a walk, or anywhere: which, the instruction decides.
  std::uint64_t address(std::uint64_t pc, Random& random, std::map<std::uint64_t, std::uint64_t>& walks) const {
    const std::uint64_t kind = ((pc * 0x9E37'79B9 + seed_) >> 9) % 32;
    if (mild_) {
      // A frame, a walk of the instruction's own, and now and then one of what follows.
      if (kind < 16) return 0x7FFF'0000'0000 + pc * 72 % 1024 + random.below(2) * 8;
      if (random.below(50) != 0) return 0x10'0000'3000 + pc * 328 % 8192 / 64 * 64 + (walks[pc] += 8) % 512;
    }
    if (kind < 18) return 0x7FFF'0000'0000 + (pc * 40 + random.below(3) * 8) % 2048;
    if (kind < 25) return 0x10'0000'0000 + random.below(1024) * 8 + (kind == 20 ? random.below(8) : 0);
    if (kind < 29) return 0x10'1000'0000 + pc % 97 * 1'000'000 + (walks[pc] += kind == 28 ? 256 : 8) % (1 << 20);
    if (kind < 31) return 0x10'8000'0000 + random.below(1 << 17) * 8;
    return 0x11'0000'0000 + random.below(1 << 22) * 16;
  }

  std::uint64_t seed_;
  bool mild_;
  std::vector<Block> blocks_;
};

/// Machine code that runs from its first to its last instruction, as a stream.
class Round {
 public:
  /// The address of an access: of which round, and the how manieth of it.
  using Address = std::function<std::uint64_t(std::uint64_t round, std::size_t access)>;

  /// elements  of each REP string instruction
  explicit Round(const kernels::Bytes& code, std::uint64_t elements = 0, std::uint64_t pc = kernels::kCode)
      : code_(code), block_(kernels::block_of(code, pc)), elements_(elements) {}

  /// Branches are taken, to the first instruction.
  std::vector<Executed> executed(std::uint64_t round, const Address& address) const {
    std::vector<Executed> stream;
    std::size_t access = 0, at = 0;
    for (std::size_t i = 0; i < block_.size(); ++i) {
      Executed one;
      one.shape = block_[i].shape;
      one.instruction.pc = block_[i].pc;
      one.instruction.length = block_[i].shape.length;
      std::copy_n(code_.begin() + static_cast<std::ptrdiff_t>(at), block_[i].shape.length, one.instruction.bytes);
      at += block_[i].shape.length;
      one.instruction.facts.branch = block_[i].shape.branch;
      one.instruction.taken = block_[i].shape.branch != arch::BranchKind::None;
      one.instruction.target = block_.front().pc;
      one.next = i + 1 == block_.size() ? block_.front().pc : block_[i + 1].pc;
      one.accesses = accesses_of(block_[i].shape);
      for (const arch::PathAccess& told : one.accesses) {
        one.words.push_back(address(round, access++));
        if (told.form == arch::AccessForm::Repeated) one.words.push_back(elements_);
      }
      stream.push_back(std::move(one));
    }
    return stream;
  }

 private:
  kernels::Bytes code_;
  Block block_;
  std::uint64_t elements_;
};

/// Slots of a path whose accesses' words are known: of the `number`th access, with all that an address can be made of.
class SyntheticSlots {
 public:
  static constexpr std::uint64_t kFs = 0x7FFF'1234'5000, kGs = 0x1234'5600'0000;

  /// The path's next access.
  arch::AddressTerm term(const arch::PathAccess& access) {
    using arch::AddressTerm;
    static constexpr std::int64_t kDisplacements[] = {0, 8, -24, 0x12'3456, std::int64_t{-1} << 40, 0x7FFF'FFF0};
    AddressTerm term = access.address;
    term.displacement = kDisplacements[number_ % std::size(kDisplacements)];
    term.base = slot();
    if (access.form == arch::AccessForm::Repeated) {
      term.flags = AddressTerm::kRepeated;
      term.index = slot();
    } else if (number_ % 5 == 1) {
      term.index = slot();
      term.scale = 4;
    } else if (number_ % 5 == 2) {
      std::swap(term.base, term.index);
      term.scale = 1;
    } else if (number_ % 5 > 2) {
      term.flags = number_ % 5 == 3 ? AddressTerm::kFs : AddressTerm::kGs;
    }
    ++number_;
    return term;
  }
  /// Appends the values of an access's slots.
  static void store(const arch::AddressTerm& term, std::span<const std::uint64_t> words,
                    std::vector<std::uint64_t>& slots) {
    using arch::AddressTerm;
    const std::uint64_t sum = words[0] - static_cast<std::uint64_t>(term.displacement);
    if ((term.flags & AddressTerm::kRepeated) != 0) {
      const std::uint64_t distance = (words[1] & ~(std::uint64_t{1} << 63)) * term.bytes;
      slots.push_back(sum);
      slots.push_back(words[1] >> 63 != 0 ? words[0] - distance : words[0] + distance);
    } else if (term.scale > 1) {
      slots.push_back(sum - words[0] % 1000 * term.scale);
      slots.push_back(words[0] % 1000);
    } else {
      slots.push_back(sum - (term.flags == AddressTerm::kFs ? kFs : term.flags == AddressTerm::kGs ? kGs : 0));
    }
  }
  static arch::SlotValues values(const std::vector<std::uint64_t>& slots) {
    return {.slots = slots.data(), .fs = kFs, .gs = kGs, .listed = {}};
  }

 private:
  std::uint8_t slot() {
    CHECK(used_ < arch::AddressTerm::kNoSlot);
    return used_++;
  }
  std::size_t number_ = 0;
  std::uint8_t used_ = 0;
};

enum class PathEnds : std::uint8_t {
  AtBranches,  // behind each branch, and where a run ends
  Anywhere,    // by chance, before and behind branches
  Everywhere,  // behind each instruction
  AtIndirect,  // behind indirect branches, and where a path has 32 instructions
};

/// Tells a feed of a stream, as a runner would.
class Runner {
 public:
  struct Options {
    PathEnds path_ends = PathEnds::AtBranches;
    std::uint64_t seed = 1;  // of Anywhere
  };

  /// first_path  the number of the first path that is new
  explicit Runner(arch::CoreFeed& feed, std::uint32_t first_path = 0) : feed_(feed), first_path_(first_path) {}

  /// The runs that `stream` is, described where they are new.
  void prepare(std::span<const Executed> stream, const Options& options) {
    runs_.clear();
    slots_.clear();
    starts_.clear();
    Random random(options.seed);
    const Executed* const begin = stream.data();
    while (!stream.empty()) {
      const std::size_t count = length(stream, options.path_ends, random);
      starts_.push_back(static_cast<std::size_t>(stream.data() - begin));
      runs_.push_back(run_of(stream.first(count)));
      stream = stream.subspan(count);
    }
  }
  void run_prepared() { feed_.run(runs_, SyntheticSlots::values(slots_)); }
  void run(std::span<const Executed> stream, const Options& options) {
    prepare(stream, options);
    run_prepared();
  }
  bool run_watched(const arch::SignalSet& watched, arch::RunWatcher& watcher) {
    return feed_.run_watched(runs_, SyntheticSlots::values(slots_), watched, watcher);
  }
  std::size_t runs() const { return runs_.size(); }
  /// The number in the stream of the run's first instruction.
  std::size_t start_of(std::size_t run) const { return starts_[run]; }
  /// All paths are described again, under numbers that begin with `first_path`.
  void forget_paths(std::uint32_t first_path) {
    first_path_ = first_path;
    paths_.clear();
    feed_.forget_paths();
  }

 private:
  static std::size_t length(std::span<const Executed> stream, PathEnds path_ends, Random& random) {
    if (path_ends == PathEnds::Everywhere) return 1;
    if (path_ends == PathEnds::Anywhere) return std::min<std::size_t>(stream.size(), 1 + random.below(20));
    std::size_t count = 0;
    while (count < stream.size() && count < 32) {
      const Executed& last = stream[count++];
      const arch::BranchKind branch = last.instruction.facts.branch;
      if (path_ends == PathEnds::AtIndirect && branch != arch::BranchKind::None && !is_indirect(branch)) continue;
      if (branch != arch::BranchKind::None) break;
      // Nor does a path go on where the program does not.
      if (last.next != last.instruction.pc + last.instruction.length) break;
    }
    return count;
  }

  arch::PathRun run_of(std::span<const Executed> part) {
    arch::PathRun run{.slots = static_cast<std::uint32_t>(slots_.size()), .next = part.back().next};
    std::vector<std::uint64_t> key;
    std::vector<arch::PathAccess> accesses;
    SyntheticSlots slots;
    for (const Executed& one : part) {
      key.push_back(one.instruction.pc);
      std::memcpy(&key.emplace_back(), one.instruction.bytes, sizeof(std::uint64_t));
      key.push_back(one.instruction.taken ? one.instruction.target : 1);
      std::span<const std::uint64_t> words = one.words;
      for (arch::PathAccess access : one.accesses) {
        access.instruction = static_cast<std::uint16_t>(&one - part.data());
        access.address = slots.term(access);
        SyntheticSlots::store(access.address, words, slots_);
        words = words.subspan(access.form == arch::AccessForm::Repeated ? 2 : 1);
        accesses.push_back(access);
      }
    }
    const auto [known, is_new] =
        paths_.try_emplace(std::move(key), first_path_ + static_cast<std::uint32_t>(paths_.size()));
    run.path = known->second;
    if (is_new) {
      std::vector<arch::PathInstruction> instructions;
      for (const Executed& one : part) instructions.push_back(one.instruction);
      feed_.describe(run.path, {instructions, accesses});
    }
    return run;
  }

  arch::CoreFeed& feed_;
  std::uint32_t first_path_;
  std::map<std::vector<std::uint64_t>, std::uint32_t> paths_;
  std::vector<arch::PathRun> runs_;
  std::vector<std::uint64_t> slots_;
  std::vector<std::size_t> starts_;  // by run
};

}  // namespace zs::uarch
