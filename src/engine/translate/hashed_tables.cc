#include "engine/translate/hashed_tables.h"

#include <algorithm>
#include <utility>

namespace zs::engine {

std::uint64_t HashedTables::of(Variant variant) {
  const std::uint64_t table = address_ + kTableBytes * number_of(variant);
  if (!std::exchange(filled_[number_of(variant)], true) && !untouched_.map(table, kTableBytes, miss_))
    std::fill_n(reinterpret_cast<std::uint64_t*>(table), kEntries, miss_);
  return table;
}

}  // namespace zs::engine
