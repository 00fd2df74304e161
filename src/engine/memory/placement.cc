#include "engine/memory/placement.h"

#include <algorithm>
#include <iterator>

namespace zs::engine {

Placement::Placement(const Layout& layout)
    : layout_(layout),
      low_(layout.low),
      high_(layout.high),
      spare_(layout.spare),
      vast_(layout.vast),
      clear_(layout.low) {
  reserve(layout.engine);
  take({layout.low.start, first_in(layout.low)});
}

std::optional<std::uint64_t> Placement::place(Zone zone, std::uint64_t length, std::uint64_t alignment) const {
  if (zone != Zone::High) {
    // What is larger lies best in the first part, whose entries in the direct table are near the code.
    constexpr std::uint64_t kMostBetween = 8 << 20;
    if (const auto found = length <= kMostBetween ? clear_.find(length, alignment) : std::nullopt; found) return found;
    if (const auto found = low_.find(length, alignment)) return found;
    if (zone == Zone::LowOnly) return std::nullopt;
  }
  if (const auto found = high_.find(length, alignment)) return found;
  if (const auto found = spare_.find(length, alignment)) return found;
  return vast_.find(length, alignment);
}

bool Placement::honours_hint(AddressRange range) const {
  if (range.empty() || is_reserved(range)) return false;
  if (range.overlaps(layout_.heap) || range.overlaps(layout_.stack)) return false;
  return std::any_of(std::begin(kHintRanges), std::end(kHintRanges),
                     [range](AddressRange each) { return each.contains(range); });
}

bool Placement::is_in_a_zone(AddressRange range) const {
  return range.overlaps(layout_.low) || range.overlaps(layout_.high) || range.overlaps(layout_.spare) ||
         range.overlaps(layout_.vast);
}

void Placement::take(AddressRange range) {
  for (FreeSpace* zone : {&low_, &high_, &spare_, &vast_, &clear_}) zone->take(range);
}

void Placement::give(AddressRange range) {
  for (FreeSpace* zone : {&low_, &high_, &spare_, &vast_, &clear_}) {
    zone->give(range);
    for (const AddressRange reserved : reserved_) zone->take(reserved);
  }
}

void Placement::reserve(AddressRange range) {
  if (range.empty()) return;
  reserved_.push_back(range);
  take(range);
}

bool Placement::is_reserved(AddressRange range) const {
  return std::any_of(reserved_.begin(), reserved_.end(), [range](AddressRange each) { return each.overlaps(range); });
}

}  // namespace zs::engine
