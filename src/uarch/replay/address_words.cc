#include "uarch/replay/address_words.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace zs::uarch {
namespace {

using arch::AddressTerm;

/// Bit 63 of the number of elements: downwards.
constexpr std::uint64_t kDownwards = std::uint64_t{1} << 63;

std::uint64_t value(const std::uint64_t* slots, std::uint8_t slot) {
  return slot == AddressTerm::kNoSlot ? 0 : slots[slot];
}

/// Elements of a REP string instruction, from how far its register moved.
std::uint64_t elements(const AddressTerm& term, const std::uint64_t* slots) {
  std::uint64_t moved =
      value(slots, term.index) - value(slots, term.base) - static_cast<std::uint64_t>(term.displacement);
  if ((term.flags & AddressTerm::kAddress32) != 0)
    moved = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(moved)});
  const auto distance = static_cast<std::int64_t>(moved);
  return distance < 0 ? (0 - moved) / term.bytes | kDownwards : moved / term.bytes;
}

}  // namespace

PathAddresses path_addresses(std::span<const AddressTerm> terms) {
  CHECK(terms.size() <= UINT16_MAX, terms.size());
  PathAddresses addresses{.first = terms.data(), .count = static_cast<std::uint16_t>(terms.size())};
  for (const AddressTerm& term : terms) {
    addresses.plain &= term.flags == 0;
    addresses.single &= term.base != AddressTerm::kNoSlot && term.index == AddressTerm::kNoSlot;
    for (const std::uint8_t slot : {term.base, term.index, term.part}) {
      if (slot != AddressTerm::kNoSlot)
        addresses.slots = std::max(addresses.slots, static_cast<std::uint8_t>(slot + 1));
    }
  }
  return addresses;
}

std::uint64_t address_of(const AddressTerm& term, const std::uint64_t* slots, const arch::SlotValues& values) {
  std::uint64_t sum = static_cast<std::uint64_t>(term.displacement) + value(slots, term.base);
  if ((term.flags & AddressTerm::kRepeated) == 0) sum += value(slots, term.index) * term.scale;
  if ((term.flags & AddressTerm::kLowByte) != 0) sum += value(slots, term.part) & 0xFF;
  if ((term.flags & AddressTerm::kBitString) != 0) {
    const unsigned bits = 8u * term.bytes;
    const std::int64_t offset = static_cast<std::int64_t>(value(slots, term.part) << (64 - bits)) >> (64 - bits);
    sum += static_cast<std::uint64_t>(offset >> std::countr_zero(bits)) * term.bytes;
  }
  if ((term.flags & AddressTerm::kAddress32) != 0) sum &= UINT32_MAX;
  if ((term.flags & AddressTerm::kFs) != 0) sum += values.fs;
  if ((term.flags & AddressTerm::kGs) != 0) sum += values.gs;
  return sum;
}

std::uint64_t* write_any_words(std::span<const AddressTerm> terms, const std::uint64_t* slots,
                               const arch::SlotValues& values, std::uint64_t* out) {
  std::span<const std::uint64_t> listed = values.listed;
  for (const AddressTerm& term : terms) {
    if ((term.flags & AddressTerm::kListed) != 0) {
      out = std::copy_n(listed.begin(), listed[0] + 1, out);
      listed = listed.subspan(listed[0] + 1);
      continue;
    }
    *out++ = address_of(term, slots, values);
    if ((term.flags & AddressTerm::kRepeated) != 0) *out++ = elements(term, slots);
  }
  return out;
}

}  // namespace zs::uarch
