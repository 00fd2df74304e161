// Checks a snapshot against the translator that would have made it: every block is translated anew, into its own place,
// and must come out as it was stored, byte for byte, but for the jumps that link it to others. For tests, and for those
// who doubt (--check-cache): it costs what was saved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/translate/accumulators.h"
#include "engine/translate/block_emitter.h"
#include "engine/translate/block_store.h"
#include "engine/translate/code_cache.h"
#include "engine/translate/code_space.h"
#include "engine/translate/hashed_tables.h"
#include "engine/translate/record_emitter.h"
#include "engine/translate/stubs.h"
#include "engine/translate/superblock.h"
#include "engine/translate/superblock_builder.h"

namespace zs::engine {

class SnapshotCheck {
 public:
  /// store  what is checked
  SnapshotCheck(CodeCache& cache, const Stubs& stubs, const BlockStore& store, HashedTables& tables,
                SuperblockBuilder& builder, const AccumulatorSet& accumulators, std::span<const std::uint32_t> units,
                FactCounts& fact_counts, const TranslationOptions& options);

  /// Whether that block, which is not dead, is what its translation is now. Nothing may run meanwhile.
  bool is_good(std::uint32_t block);

 private:
  using Bytes = std::vector<std::byte>;
  bool comes_out(const Path& path, std::uint32_t index, bool looks_up_directly);
  bool same_description(const Block& block, const Block& made) const;
  bool same_exit(std::uint32_t id) const;
  void blank_links(const Block& block, Bytes& code, std::uint64_t start) const;

  CodeCache& cache_;
  const BlockStore& store_;
  SuperblockBuilder& builder_;
  const AccumulatorSet& accumulators_;
  const TranslationOptions& options_;
  CodeSpace space_;
  BlockStore made_;
  RecordEmitter records_;
  BlockEmitter emitter_;
};

}  // namespace zs::engine
