// Chooses superblocks: decodes from a guest pc on and goes through jumps, calls, returns to calls of its own, and round
// loops, straight on at forward branches, up to where it may not or need not go on. The way of a block that exists is
// gone again from its pc: kept would be memory for each instruction of each block, and is hardly ever asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/translate/accumulators.h"
#include "engine/translate/address_slots.h"
#include "engine/translate/block.h"
#include "engine/translate/block_store.h"
#include "engine/translate/superblock.h"
#include "isa/accesses.h"

namespace zs::engine {

class SuperblockBuilder {
 public:
  SuperblockBuilder(CodeSource& source, const AccumulatorSet& accumulators, const TranslationOptions& options,
                    const BlockStore& store, FactCounts& fact_counts)
      : source_(source), accumulators_(accumulators), options_(options), store_(store), fact_counts_(fact_counts) {}

  /// The path that a new block takes, of at most `limit` instructions, cut where a core model wants it. Holds until the
  /// next call of this or replay().
  const Path& collect(std::uint64_t pc, Variant variant, unsigned limit);
  /// The first `instructions` of the path that `block` took, or fewer where the program's code has changed since.
  const Path& replay(const Block& block, unsigned instructions);

 private:
  /// The path as far as it is.
  struct Walk {
    std::uint64_t pc = 0;
    Variant variant = Variant::Full;
    unsigned limit = 0;
    bool again = false;   // the way that an existing block took
    bool unseen = false;  // its code may change without notice
    unsigned side_exits = 0, risky = 0;
    std::size_t up_to_whole = 0;  // instructions before the last place, far enough, where a whole block begins

    /// What goes on in blocks of its kind, and is as good as any of them.
    bool stays() const { return variant == Variant::Full || variant == Variant::Logged || variant == Variant::Quiet; }
  };

  const Path& follow(std::uint64_t pc, Variant variant, unsigned limit, bool again);
  bool ends_before(std::uint64_t at);
  bool end_full(std::uint64_t at);
  bool add_step(std::uint64_t at);
  std::optional<ExitKind> refusal(PathStep& step);
  std::optional<ExitKind> refusal_of_addresses(PathStep& step);
  bool go_on(std::uint64_t& at);
  bool go_on_with_condition(PathStep& step, std::uint64_t& at);
  bool end(ExitKind kind, std::uint64_t at);
  bool is_there(std::uint64_t pc) const;
  bool worth_following(std::uint64_t target) const;
  bool needs_step(const Insn& insn) const;
  bool is_risky(const Insn& insn);
  bool counts_near(const Insn& insn, bool plain);

  CodeSource& source_;
  const AccumulatorSet& accumulators_;
  const TranslationOptions& options_;
  const BlockStore& store_;
  FactCounts& fact_counts_;
  Path path_;
  Walk walk_;
  AddressSlots planner_;
  Effects effects_;
};

}  // namespace zs::engine
