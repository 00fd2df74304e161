#include "engine/memory/free_space.h"

#include <algorithm>

namespace zs::engine {

FreeSpace::FreeSpace(AddressRange zone) : zone_(zone) {
  if (!zone.empty()) add(zone);
}

void FreeSpace::add(AddressRange gap) {
  gaps_.emplace(gap.start, gap.end);
  by_size_.emplace(gap.size(), gap.start);
}

void FreeSpace::remove(std::map<std::uint64_t, std::uint64_t>::iterator gap) {
  by_size_.erase({gap->second - gap->first, gap->first});
  gaps_.erase(gap);
}

void FreeSpace::take(AddressRange range) {
  range = {std::max(range.start, zone_.start), std::min(range.end, zone_.end)};
  if (range.empty()) return;
  auto gap = gaps_.upper_bound(range.start);
  if (gap != gaps_.begin() && std::prev(gap)->second > range.start) --gap;
  while (gap != gaps_.end() && gap->first < range.end) {
    const AddressRange whole{gap->first, gap->second};
    const auto next = std::next(gap);
    remove(gap);
    if (whole.start < range.start) add({whole.start, range.start});
    if (range.end < whole.end) add({range.end, whole.end});
    gap = next;
  }
}

void FreeSpace::give(AddressRange range) {
  range = {std::max(range.start, zone_.start), std::min(range.end, zone_.end)};
  if (range.empty()) return;
  // Every gap that overlaps or touches the range becomes one with it.
  auto gap = gaps_.upper_bound(range.start);
  if (gap != gaps_.begin() && std::prev(gap)->second >= range.start) --gap;
  while (gap != gaps_.end() && gap->first <= range.end) {
    range = {std::min(range.start, gap->first), std::max(range.end, gap->second)};
    const auto next = std::next(gap);
    remove(gap);
    gap = next;
  }
  add(range);
}

bool FreeSpace::is_free(AddressRange range) const {
  auto gap = gaps_.upper_bound(range.start);
  return gap != gaps_.begin() && (--gap)->second >= range.end;
}

std::optional<std::uint64_t> FreeSpace::find(std::uint64_t length, std::uint64_t alignment) const {
  if (length == 0 || length > zone_.size()) return std::nullopt;
  const auto aligned = [alignment](std::uint64_t address) { return (address + alignment - 1) & ~(alignment - 1); };
  // Gaps smaller than this may or may not hold an aligned block; only the first few are tried.
  const std::uint64_t surely_enough = length + alignment - kPageSize;
  constexpr int kTries = 64;
  auto candidate = by_size_.lower_bound({length, 0});
  for (int tried = 0; candidate != by_size_.end(); ++candidate) {
    if (candidate->first < surely_enough && ++tried > kTries) {
      candidate = by_size_.lower_bound({surely_enough, 0});
      if (candidate == by_size_.end()) break;
    }
    const std::uint64_t start = aligned(candidate->second);
    if (start + length <= candidate->second + candidate->first) return start;
  }
  return std::nullopt;
}

}  // namespace zs::engine
