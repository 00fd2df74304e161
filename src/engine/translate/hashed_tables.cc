#include "engine/translate/hashed_tables.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "engine/memory/store_key.h"

namespace zs::engine {

std::uint64_t HashedTables::of(Variant variant) {
  const std::uint64_t table = address_ + kTableBytes * number_of(variant);
  if (std::exchange(filled_[number_of(variant)], true)) return table;
  if (untouched_.map(table, kTableBytes, miss_))
    StoreKey::instance().protect({table, table + kTableBytes}, PROT_READ | PROT_WRITE);
  else
    std::fill_n(reinterpret_cast<std::uint64_t*>(table), kEntries, miss_);
  return table;
}

}  // namespace zs::engine
