#include "engine/run/process_ids.h"

#include <algorithm>

namespace zs::engine {
namespace {

/// The number of a parent's n-th child.
std::int32_t candidate(std::int32_t parent, std::uint32_t n) {
  constexpr std::uint32_t kNumbers = 80'000'000;  // all of them have eight digits
  std::uint64_t mixed = (static_cast<std::uint64_t>(parent) << 32 | n) * 0x9E3779B97F4A7C15U;
  mixed = (mixed ^ (mixed >> 32)) * 0xD6E8FEB86659FD93U;
  return ProcessIds::kFirstShown + static_cast<std::int32_t>((mixed >> 32) % kNumbers);
}

}  // namespace

// Newest first: the kernel gives its numbers anew.
ProcessIds::Entry* ProcessIds::find(std::atomic<std::int32_t> Entry::*number, std::int32_t value) const {
  if (table_ == nullptr || value == 0) return nullptr;
  for (std::uint32_t i = std::min(table_->used.load(), Table::kMost); i-- > 0;) {
    Entry& entry = table_->entries[i];
    if ((entry.*number).load(std::memory_order_relaxed) == value) return &entry;
  }
  return nullptr;
}

std::int32_t ProcessIds::next_child(std::int32_t parent, std::uint32_t& child) const {
  if (table_ == nullptr || table_->used.load() >= Table::kMost) return 0;
  for (;; ++child) {
    const std::int32_t number = candidate(parent, child);
    if (find(&Entry::shown, number) == nullptr) return number;
  }
}

void ProcessIds::bind(std::int32_t shown, std::int32_t real) {
  if (table_ == nullptr || shown == 0 || find(&Entry::shown, shown) != nullptr) return;
  // If the other side does it at this moment, there are two entries that say the same.
  const std::uint32_t at = table_->used.fetch_add(1);
  if (at >= Table::kMost) return;
  table_->entries[at].real.store(real);
  table_->entries[at].shown.store(shown);
}

void ProcessIds::forget(std::int32_t real) {
  while (Entry* const entry = find(&Entry::real, real)) entry->real.store(0);
}

std::int32_t ProcessIds::shown(std::int32_t real) const {
  const Entry* const entry = find(&Entry::real, real);
  return entry == nullptr || entry->shown.load() == 0 ? real : entry->shown.load();
}

std::int32_t ProcessIds::real(std::int32_t shown) const {
  const Entry* const entry = shown < kFirstShown ? nullptr : find(&Entry::shown, shown);
  return entry == nullptr || entry->real.load() == 0 ? shown : entry->real.load();
}

}  // namespace zs::engine
