// What the branch prediction of a modelled core is made of, as numbers, and the rows of the cores. No vendor publishes its
// predictors; structure and history lengths are what researchers inferred from measurements, and sizes are mostly chosen.
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

/// How targets of indirect jumps and calls are.
enum class IndirectKind : std::uint8_t {
  PathHistory,  // the last target by address, and tagged tables hashed with the path of taken branches
  LastTargets,  // one table, hashed with the last few targets (TargetCache)
};

inline constexpr unsigned kMaxTaggedTables = 4;
inline constexpr unsigned kMaxPathBranches = 224;  // what the path register has room for

struct BranchParameters {
  ConditionalKind conditional = ConditionalKind::PathHistory;
  std::uint32_t base_entries = 0;  // 2-bit counters by address
  // Tagged tables: taken branches that each sees, growing; 0: there is no such table.
  std::array<std::uint16_t, kMaxTaggedTables> histories{};
  std::uint32_t tagged_entries = 0;   // of each
  std::uint32_t outcome_entries = 0;  // Tournament: 2-bit counters by address and outcomes, and as many choosers
  std::uint8_t outcome_history = 0;   // Tournament: outcomes seen

  IndirectKind indirect = IndirectKind::PathHistory;
  std::uint32_t indirect_last_entries = 0;  // last target by address
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
    if (!std::has_single_bit(p.tagged_entries) || p.tagged_entries > 4096) {
      return "a tagged table has a power of two of entries, 4096 at most";
    }
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

/// The same unit at the depth `fast`, where nobody is told of mispredictions: small tables in place of the tagged ones, at a third of
/// the time, and none that needs the path.
constexpr BranchParameters without_path(BranchParameters p) {
  p.conditional = ConditionalKind::Tournament;
  p.indirect = IndirectKind::LastTargets;
  p.base_entries = p.outcome_entries = 16384;
  p.outcome_history = 14;
  return p;
}

// clang-format off

/// source: return_stack: Optimization manual, "Return Stack Buffer" (16 from Nehalem on); the two-level hybrid with about 18
///         outcomes: published measurements of Nehalem's predictor.
/// chosen: all sizes; the one indirect table with a short path.
inline constexpr BranchParameters kWestmereBranch{
    .conditional = ConditionalKind::Tournament, .base_entries = 16384, .outcome_entries = 16384, .outcome_history = 18,
    .indirect_last_entries = 1024, .indirect_histories = {8}, .indirect_entries = 1024,
    .return_stack = 16, .btb_entries = 2048, .btb_ways = 4};

/// source: path of 93 taken branches, tagged tables over about 8, 32 and all of it: the Half&Half paper on Haswell to
///         Skylake; history-hashed indirect prediction: the CGO 2015 study of interpreters on Haswell; 4096 BTB entries:
///         published measurements.
/// chosen: entries of the tables; four ways; indirect histories as the conditional ones.
inline constexpr BranchParameters kHaswellBranch{
    .base_entries = 8192, .histories = {8, 32, 93}, .tagged_entries = 4096,
    .indirect_last_entries = 1024, .indirect_histories = {4, 8, 32, 93}, .indirect_entries = 1024,
    .return_stack = 16, .btb_entries = 4096, .btb_ways = 4};

/// As Haswell: the same papers found the same structure.
inline constexpr BranchParameters kSkylakeServerBranch = kHaswellBranch;

/// source: as Haswell; larger BTB and return stack: published measurements of Sunny Cove.
/// chosen: 16384 base entries, 22 return addresses, 5120 BTB entries in five ways.
inline constexpr BranchParameters kIcelakeServerBranch{
    .base_entries = 16384, .histories = {8, 32, 93}, .tagged_entries = 4096,
    .indirect_last_entries = 2048, .indirect_histories = {4, 8, 32, 93}, .indirect_entries = 1024,
    .return_stack = 22, .btb_entries = 5120, .btb_ways = 5};

/// source: path of 194 taken branches: the Pathfinder paper on Golden Cove; 12K BTB entries: Optimization manual, "Golden Cove
///         Microarchitecture".
/// chosen: four tables and the histories between; 24 return addresses; six ways.
inline constexpr BranchParameters kSapphireRapidsBranch{
    .base_entries = 16384, .histories = {8, 32, 93, 194}, .tagged_entries = 4096,
    .indirect_last_entries = 2048, .indirect_histories = {4, 8, 32, 194}, .indirect_entries = 1024,
    .return_stack = 24, .btb_entries = 12288, .btb_ways = 6};

/// source: TAGE conditional and ITTAGE-like indirect prediction, 32 return addresses, second-level BTB of 7K: AMD's
///         "Software Optimization Guide for the AMD Zen4 Microarchitecture".
/// chosen: histories and entries; the 7K in seven ways.
inline constexpr BranchParameters kZen4Branch{
    .base_entries = 16384, .histories = {8, 24, 64, 160}, .tagged_entries = 4096,
    .indirect_last_entries = 1024, .indirect_histories = {4, 8, 32, 93}, .indirect_entries = 1024,
    .return_stack = 32, .btb_entries = 7168, .btb_ways = 7};

// clang-format on

static_assert(inconsistency(kWestmereBranch) == nullptr && inconsistency(kHaswellBranch) == nullptr);
static_assert(inconsistency(kIcelakeServerBranch) == nullptr && inconsistency(kSapphireRapidsBranch) == nullptr);
static_assert(inconsistency(kZen4Branch) == nullptr);
static_assert(inconsistency(without_path(kSkylakeServerBranch)) == nullptr);

}  // namespace zs::uarch
