// What the instructions of a block bring when they retire, on the way to an exit or to its middle. Nothing of that is
// kept when a block is
// made: its path is gone again when somebody asks, and what is asked for often stays.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/translate/accumulators.h"
#include "engine/translate/block.h"
#include "engine/translate/block_store.h"
#include "engine/translate/superblock.h"
#include "engine/translate/superblock_builder.h"

namespace zs::engine {

class SuperblockReplay {
 public:
  SuperblockReplay(const BlockStore& store, SuperblockBuilder& builder, const AccumulatorSet& accumulators,
                   FactCounts& fact_counts)
      : store_(store), builder_(builder), accumulators_(accumulators), fact_counts_(fact_counts) {}

  /// Occurrences of each accumulator in one such instruction. Holds until the next call.
  std::span<const std::uint32_t> counts_of(const arch::InsnFacts& facts, bool taken) {
    return fact_counts_.of(facts, taken);
  }
  /// counts[accumulator] += occurrences over the first `instructions` instructions of `block`.
  void count_prefix(const Block& block, unsigned instructions, std::span<std::uint32_t> counts);
  /// The taken branches on the path to an exit, oldest first (the last may be the exit's own).
  const std::vector<PathBranch>& branches_to(std::uint32_t exit_id);
  /// Those among the first `instructions` of a block that is left between two instructions, by a fault.
  std::vector<PathBranch> branches_into(const Block& block, unsigned instructions);

  /// At least `instructions` of the block's. Holds until the next call. CHECKs that they bring what the block's exits
  /// are said to.
  const Retirements& retirements(std::uint32_t block, unsigned instructions);
  /// Whether the last of the first `instructions` is taken where they leave through `exit`; null: where they do not.
  static bool taken_at_end(const Retirements& path, unsigned instructions, const Exit* exit);
  /// By accumulator, what the instructions on the path to an exit, or the first ones of a block, bring: before the
  /// first of them, before the second, ..., after the last. Hold until the next call of either. An exit's are kept in
  /// one piece, because an end of a window finds nothing of it in the caches.
  std::span<const std::uint16_t> sums_to(std::uint32_t exit_id);
  std::span<const std::uint16_t> sums_into(std::uint32_t block, unsigned instructions);

  /// The path to an exit, and the first `instructions` of a block's, or fewer where its code has changed. Slots are
  /// those of TranslationOptions::addresses. Hold until the next call of either or until something is translated.
  std::span<const PathInsn> path_to(std::uint32_t exit_id);
  std::span<const PathInsn> path_into(const Block& block, unsigned instructions);

  /// The block was just made of `path`, and later the path may be another.
  void keep(std::uint32_t block, const Path& path);
  /// No block is there any more.
  void clear();

 private:
  Retirements& kept(std::uint32_t block);
  Retirements retirements_of(const Path& path);
  void check_exits(const Block& block, const Retirements& path);
  void keep_sums_to(std::uint32_t exit_id);
  std::vector<PathBranch> find_branches_to(const Exit& exit);
  static void add_branch(const PathStep& step, const Exit* exit, std::vector<PathBranch>& branches);
  std::span<const PathInsn> describe(const Path& path, const Exit* exit);

  const BlockStore& store_;
  SuperblockBuilder& builder_;
  const AccumulatorSet& accumulators_;
  FactCounts& fact_counts_;
  std::unordered_map<std::uint32_t, std::vector<PathBranch>> branches_;
  std::vector<Retirements> retirements_;     // by block, as far as somebody asked
  std::vector<std::uint16_t> kept_sums_;     // of sums_to(): how many, and they, of one exit behind the other's
  std::vector<std::uint32_t> kept_sums_at_;  // by exit, as far as somebody asked; 0: not there
  std::vector<std::uint16_t> sums_;          // scratch of sums_into()
  std::vector<PathInsn> path_insns_;         // scratch of describe()
};

}  // namespace zs::engine
