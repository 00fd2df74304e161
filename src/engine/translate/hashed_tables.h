// The two tables in which indirect branches look up what the direct table does not hold: one for Variant::Full, one for
// Variant::Near, Logged or Quiet (there is never a need for two of them). Half a mebibyte each, which most programs
// need none of: a table is cleared when somebody asks for it first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/translate/block.h"
#include "engine/translate/untouched_entries.h"

namespace zs::engine {

class HashedTables {
 public:
  /// Of one table; the entry of `pc` is the one that its lowest 16 bits say.
  static constexpr std::size_t kEntries = std::size_t{1} << 16, kTableBytes = kEntries * sizeof(std::uint64_t);
  static constexpr std::size_t kBytes = 2 * kTableBytes;

  /// address: where kBytes are mapped for them
  /// miss: the stub to which an entry leads that nobody has set
  HashedTables(const UntouchedEntries& untouched, std::uint64_t address, std::uint64_t miss)
      : untouched_(untouched), address_(address), miss_(miss) {}

  /// The address of the table that blocks of `variant` look in.
  std::uint64_t of(Variant variant);
  /// In it, where the search for `pc` begins.
  std::uint64_t& head(Variant variant, std::uint64_t pc) {
    return reinterpret_cast<std::uint64_t*>(of(variant))[pc % kEntries];
  }
  bool is_used(Variant variant) const { return filled_[number_of(variant)]; }
  /// No entry is good any more.
  void clear() { filled_ = {}; }

 private:
  static constexpr std::size_t number_of(Variant variant) { return variant == Variant::Full ? 0 : 1; }

  const UntouchedEntries& untouched_;
  std::uint64_t address_, miss_;
  std::array<bool, 2> filled_{};
};

}  // namespace zs::engine
