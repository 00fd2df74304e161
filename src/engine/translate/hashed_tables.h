// The two tables of the window in which indirect branches look up what the direct table does not hold: one for
// Variant::Full, one for Variant::Near or Logged (there is never a need for both). Half a mebibyte each, which most
// programs need none of: a table is cleared when somebody asks for it first.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "engine/translate/block.h"
#include "engine/translate/code_cache.h"

namespace zs::engine {

class HashedTables {
 public:
  /// miss: the stub to which an entry leads that nobody has set
  HashedTables(const Window& window, std::uint64_t miss) : window_(window), miss_(miss) {}

  /// The address of the table that blocks of `variant` look in.
  std::uint64_t of(Variant variant) {
    const bool near = variant != Variant::Full;
    const std::uint64_t address = near ? window_.near_table_address() : window_.table_address();
    if (!std::exchange(filled_[near ? 1 : 0], true)) window_.clear_table(address, miss_);
    return address;
  }
  bool is_used(Variant variant) const { return filled_[variant != Variant::Full ? 1 : 0]; }
  /// No entry is good any more.
  void clear() { filled_ = {}; }

 private:
  const Window& window_;
  std::uint64_t miss_;
  std::array<bool, 2> filled_{};
};

}  // namespace zs::engine
