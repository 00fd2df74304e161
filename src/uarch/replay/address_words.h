// The words of a path's accesses, from the slots that a run of it left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "arch/core_feed.h"

namespace zs::uarch {

/// How the words of a path's accesses come from its slots. Sixteen bytes: each run that is replayed by hand looks here.
struct PathAddresses {
  /// Of so many more there is memory behind the last, all in slot 0: they are read, and of no effect.
  static constexpr std::size_t kTogether = 4;

  const arch::AddressTerm* first = nullptr;
  std::uint16_t count = 0;  // one for each access
  std::uint8_t slots = 0;   // that they name, from 0 up
  bool plain = true;        // every access is one address, in no segment
  bool single = true;       // and a slot plus a constant

  std::span<const arch::AddressTerm> terms() const { return {first, count}; }
  /// Of one that is told with so many listed words.
  std::size_t most_words(std::size_t listed) const { return 2u * count + listed + kTogether; }
};
static_assert(sizeof(PathAddresses) == 16);

/// What is known of all these.
PathAddresses path_addresses(std::span<const arch::AddressTerm> terms);

/// The address that an access of AccessForm::One has.
/// slots  of the run
std::uint64_t address_of(const arch::AddressTerm& term, const std::uint64_t* slots, const arch::SlotValues& values);

/// write_words() of any path.
std::uint64_t* write_any_words(std::span<const arch::AddressTerm> terms, const std::uint64_t* slots,
                               const arch::SlotValues& values, std::uint64_t* out);

/// Writes the words of one run to `out`, which has room for most_words().
/// slots  of the run
/// returns the end
inline std::uint64_t* write_words(const PathAddresses& addresses, const std::uint64_t* slots,
                                  const arch::SlotValues& values, std::uint64_t* out) {
  using arch::AddressTerm;
  if (!addresses.plain) return write_any_words(addresses.terms(), slots, values, out);
  const AddressTerm* const terms = addresses.first;
  const std::size_t count = addresses.count;
  // Mostly one register and a constant; a path with others says so, and the rest of a group is overwritten by what
  // follows.
  if (addresses.single) {
    for (std::size_t i = 0; i < count; i += PathAddresses::kTogether) {
      for (std::size_t k = i; k < i + PathAddresses::kTogether; ++k)
        out[k] = static_cast<std::uint64_t>(terms[k].displacement) + slots[terms[k].base];
    }
    return out + count;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const AddressTerm& term = terms[i];
    auto sum = static_cast<std::uint64_t>(term.displacement);
    if (term.base != AddressTerm::kNoSlot) sum += slots[term.base];
    if (term.index != AddressTerm::kNoSlot) sum += slots[term.index] * term.scale;
    out[i] = sum;
  }
  return out + count;
}

}  // namespace zs::uarch
