// What the branch prediction of a modelled core is made of, as numbers; those of each stand in cpus/. No vendor
// publishes its predictors; structure and history lengths are what researchers inferred from measurements, and sizes
// are mostly chosen.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace zs::uarch {

/// How conditional branches are predicted.
enum class ConditionalKind : std::uint8_t {
  PathHistory,  // a base table and tagged tables hashed with the path of taken branches
  Tournament,   // a table by address, one by address and outcomes, and one that chooses
};

inline constexpr unsigned kMaxTaggedTables = 4;
inline constexpr int kTaggedWays = 4;              // of the tables of conditional branches
inline constexpr unsigned kMaxPathBranches = 224;  // what the path register has room for

struct BranchParameters {
  ConditionalKind conditional = ConditionalKind::PathHistory;
  std::uint32_t base_entries = 0;  // 2-bit counters by address
  // Tagged tables: taken branches that each sees, growing; 0: there is no such table.
  std::array<std::uint16_t, kMaxTaggedTables> histories{};
  std::uint32_t tagged_sets = 0;      // of each, of kTaggedWays entries
  std::uint8_t allocates_of_16 = 16;  // of so many mispredictions, how many may make an entry
  std::uint32_t outcome_entries = 0;  // Tournament: 2-bit counters by address and outcomes, and as many choosers
  std::uint8_t outcome_history = 0;   // Tournament: outcomes seen

  // Targets of indirect jumps and calls: the last by address, and tagged tables hashed with the path of taken branches.
  std::uint32_t indirect_last_entries = 0;
  std::array<std::uint16_t, kMaxTaggedTables> indirect_histories{};
  std::uint32_t indirect_entries = 0;  // of each tagged table

  std::uint8_t return_stack = 0;
  std::uint32_t btb_entries = 0;
  std::uint8_t btb_ways = 0;
};

namespace detail {

constexpr bool is_ladder(const std::array<std::uint16_t, kMaxTaggedTables>& histories) {
  unsigned before = 0;
  bool ended = false;
  for (const std::uint16_t history : histories) {
    if (history == 0) {
      ended = true;
      continue;
    }
    if (ended || history <= before || history > kMaxPathBranches) return false;
    before = history;
  }
  return before != 0;
}

}  // namespace detail

/// What keeps the numbers from being a branch unit; null if nothing does.
constexpr const char* inconsistency(const BranchParameters& p) {
  if (!std::has_single_bit(p.base_entries)) return "the base table has a power of two of entries";
  if (p.conditional == ConditionalKind::PathHistory) {
    if (!detail::is_ladder(p.histories)) return "each tagged table sees more of the path than the one before";
    if (!std::has_single_bit(p.tagged_sets) || p.tagged_sets > 4096) {
      return "a tagged table has a power of two of sets, 4096 at most";
    }
    if (p.allocates_of_16 == 0 || p.allocates_of_16 > 16) return "1 to 16 mispredictions of 16 make an entry";
  } else {
    if (!std::has_single_bit(p.outcome_entries)) return "the outcome table has a power of two of entries";
    if (p.base_entries != p.outcome_entries) return "the tables of a tournament have as many entries";
    if (p.outcome_history == 0 || p.outcome_history > 32) return "1 to 32 outcomes are remembered";
  }
  if (!std::has_single_bit(p.indirect_last_entries)) return "the table of last targets has a power of two of entries";
  if (!detail::is_ladder(p.indirect_histories)) return "each indirect table sees more of the path than the one before";
  if (!std::has_single_bit(p.indirect_entries) || p.indirect_entries > 4096) {
    return "an indirect table has a power of two of entries, 4096 at most";
  }
  if (p.return_stack == 0 || p.return_stack > 32) return "the return stack has 1 to 32 entries";
  if (p.btb_ways == 0 || p.btb_ways > 8 || p.btb_entries % p.btb_ways != 0 ||
      !std::has_single_bit(p.btb_entries / p.btb_ways)) {
    return "the BTB has 1 to 8 ways and a power of two of sets";
  }
  return nullptr;
}

}  // namespace zs::uarch
