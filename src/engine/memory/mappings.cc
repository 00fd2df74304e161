#include "engine/memory/mappings.h"

#include <sys/mman.h>

#include <utility>

#include "base/check.h"

namespace zs::engine {

// --- What is there ---------------------------------------------------------------------------------------------------

const GuestMapping* Mappings::at_or_after(std::uint64_t address) const {
  const auto found = first_at_or_after(all_, address);
  return found != all_.end() ? &found->second : nullptr;
}

const GuestMapping* Mappings::find(std::uint64_t address) const {
  const GuestMapping* const found = at_or_after(address);
  return found != nullptr && found->start <= address ? found : nullptr;
}

std::uint32_t Mappings::prot_at(std::uint64_t address) const {
  const GuestMapping* const mapping = find(address);
  return mapping != nullptr ? mapping->prot : PROT_NONE;
}

bool Mappings::is_executable(std::uint64_t address) const { return (prot_at(address) & PROT_EXEC) != 0; }

std::uint64_t Mappings::next_boundary(std::uint64_t address) const {
  const GuestMapping* const found = at_or_after(address);
  if (found == nullptr) return kTaskSize;
  return found->start > address ? found->start : found->end;
}

bool Mappings::none_in(AddressRange range) const {
  const GuestMapping* const first = at_or_after(range.start);
  return first == nullptr || first->start >= range.end;
}

std::vector<AddressRange> Mappings::gaps(AddressRange range) const {
  std::vector<AddressRange> result;
  std::uint64_t at = range.start;
  for_each_in(range, [&](const GuestMapping& each) {
    if (each.start > at) result.push_back({at, each.start});
    at = each.end;
  });
  if (at < range.end) result.push_back({at, range.end});
  return result;
}

std::vector<AddressRange> Mappings::owned(AddressRange range) const {
  std::vector<AddressRange> result;
  for_each_in(range, [&](const GuestMapping& each) {
    if (each.shown_only()) return;
    const AddressRange part{std::max(range.start, each.start), std::min(range.end, each.end)};
    if (!result.empty() && result.back().end == part.start) {
      result.back().end = part.end;
    } else {
      result.push_back(part);
    }
  });
  return result;
}

std::uint64_t Mappings::owned_bytes(AddressRange range) const {
  std::uint64_t bytes = 0;
  for (const AddressRange part : owned(range)) bytes += part.size();
  return bytes;
}

std::vector<GuestMapping> Mappings::pieces(AddressRange range) const {
  std::vector<GuestMapping> result;
  for_each_in(range, [&](const GuestMapping& each) {
    GuestMapping piece = each;
    if (piece.start < range.start) {
      if (piece.file) piece.offset += range.start - piece.start;
      piece.start = range.start;
    }
    piece.end = std::min(piece.end, range.end);
    result.push_back(std::move(piece));
  });
  return result;
}

// --- Changes ---------------------------------------------------------------------------------------------------------

void Mappings::add(GuestMapping mapping) {
  const AddressRange range = mapping.range();
  CHECK(!range.empty() && none_in(range), range.start, range.end);
  if (mapping.flags & MAP_GROWSDOWN) ++growing_down_;
  all_.emplace(range.start, std::move(mapping));
  merge_around(range);
}

void Mappings::erase(AddressRange range) {
  if (range.empty()) return;
  split(range.start);
  split(range.end);
  for (auto each = all_.lower_bound(range.start); each != all_.end() && each->first < range.end;) each = drop(each);
}

void Mappings::update(AddressRange range, const std::function<void(GuestMapping&)>& change) {
  split(range.start);
  split(range.end);
  for (auto each = all_.lower_bound(range.start); each != all_.end() && each->first < range.end; ++each)
    change(each->second);
  merge_around(range);
}

Mappings::All::iterator Mappings::drop(All::iterator mapping) {
  if (mapping->second.flags & MAP_GROWSDOWN) --growing_down_;
  return all_.erase(mapping);
}

void Mappings::split(std::uint64_t address) {
  const auto found = first_at_or_after(all_, address);
  if (found == all_.end() || found->second.start >= address) return;
  GuestMapping right = found->second;
  right.start = address;
  if (right.file) right.offset += address - found->second.start;
  found->second.end = address;
  if (right.flags & MAP_GROWSDOWN) ++growing_down_;
  all_.emplace_hint(std::next(found), address, std::move(right));
}

void Mappings::merge_around(AddressRange range) {
  auto left = all_.lower_bound(range.start);
  if (left != all_.begin()) --left;
  while (left != all_.end() && left->first < range.end) {
    const auto right = std::next(left);
    if (right == all_.end()) break;
    if (mergeable(left->second, right->second)) {
      left->second.end = right->second.end;
      drop(right);
    } else {
      left = right;
    }
  }
}

}  // namespace zs::engine
