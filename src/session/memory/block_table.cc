#include "session/memory/block_table.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"

namespace zs::session {
namespace {

constexpr std::uint64_t low_bits(std::uint64_t word, unsigned bits) { return word & ((std::uint64_t{1} << bits) - 1); }

}  // namespace

std::optional<BlockTable::Place> BlockTable::last_up_to(std::uint64_t address) {
  auto stretch = stretches_.upper_bound(address >> kStretchBits);
  if (stretch == stretches_.begin()) return std::nullopt;
  --stretch;
  if (stretch->first == address >> kStretchBits) {
    const auto above = std::ranges::upper_bound(stretch->second, low_bits(address, kStretchBits), {}, &Entry::offset);
    if (above != stretch->second.begin()) {
      return Place{stretch, static_cast<std::size_t>(above - stretch->second.begin()) - 1};
    }
    if (stretch == stretches_.begin()) return std::nullopt;
    --stretch;
  }
  return Place{stretch, stretch->second.size() - 1};
}

BlockTable::Block BlockTable::block_at(const Place& place) {
  const Entry& entry = place.stretch->second[place.index];
  return {.start = place.stretch->first << kStretchBits | entry.offset(),
          .size = low_bits(entry.place, kSizeBits),
          .number = entry.owner >> kSiteBits,
          .site = static_cast<std::uint32_t>(low_bits(entry.owner, kSiteBits))};
}

void BlockTable::erase(const Place& place) {
  Stretch& stretch = place.stretch->second;
  stretch.erase(stretch.begin() + static_cast<std::ptrdiff_t>(place.index));
  if (stretch.empty()) stretches_.erase(place.stretch);
}

void BlockTable::add(const Block& block) {
  CHECK(block.size >> kSizeBits == 0 && block.number >> kNumberBits == 0 && block.site >> kSiteBits == 0, block.size,
        block.number, block.site);
  // From the end down: what begins in it, and the one before it if it reaches so far.
  const std::uint64_t last = block.start + std::max<std::uint64_t>(block.size, 1) - 1;
  for (auto place = last_up_to(last); place; place = last_up_to(last)) {
    const Block other = block_at(*place);
    if (other.start < block.start && block.start - other.start >= other.size) break;
    erase(*place);
  }
  Stretch& stretch = stretches_[block.start >> kStretchBits];
  const std::uint64_t offset = low_bits(block.start, kStretchBits);
  const auto at = std::ranges::upper_bound(stretch, offset, {}, &Entry::offset);
  stretch.insert(at, Entry{.place = offset << kSizeBits | block.size, .owner = block.number << kSiteBits | block.site});
}

std::optional<BlockTable::Block> BlockTable::at(std::uint64_t start) {
  const auto place = last_up_to(start);
  if (!place) return std::nullopt;
  const Block block = block_at(*place);
  return block.start == start ? std::optional(block) : std::nullopt;
}

void BlockTable::remove(std::uint64_t start) {
  if (const auto place = last_up_to(start); place && block_at(*place).start == start) erase(*place);
}

std::optional<BlockTable::Block> BlockTable::find(std::uint64_t address) {
  const auto place = last_up_to(address);
  if (!place) return std::nullopt;
  const Block block = block_at(*place);
  return address - block.start < block.size ? std::optional(block) : std::nullopt;
}

}  // namespace zs::session
