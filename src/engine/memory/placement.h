// Where a new mapping of the program goes: the unused parts of the zones of memory/layout.h, what of them is kept for
// the engine, and which hints are honoured. A function of the history of requests only.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/memory/free_space.h"
#include "engine/memory/layout.h"

namespace zs::engine {

enum class Zone : std::uint8_t { Low, LowOnly, High };

class Placement {
 public:
  /// The layout's engine range is reserved from the start.
  explicit Placement(const Layout& layout);

  const Layout& layout() const { return layout_; }
  /// The first address of it that is chosen for a mapping: the very first is so round that programs meet it by mistake,
  /// and so is that of its entry in the direct table.
  static constexpr std::uint64_t first_in(AddressRange low) { return low.start + (128 << 10); }
  /// A free place for `length` bytes: `Low` and `High` have others behind them. nullopt: no room.
  std::optional<std::uint64_t> place(Zone zone, std::uint64_t length, std::uint64_t alignment) const;
  /// Whether a mapping may go to `range` because the program would like it to, if nothing is mapped there.
  bool honours_hint(AddressRange range) const;
  /// Whether places are given out of it.
  bool is_in_a_zone(AddressRange range) const;

  /// Of the low zone: from now on given only where a mapping finds no room elsewhere, or is larger than most.
  void avoid(AddressRange range) { clear_.take(range); }
  void take(AddressRange range);
  void give(AddressRange range);

  /// Never given to the program from now on.
  void reserve(AddressRange range);
  bool is_reserved(AddressRange range) const;
  const std::vector<AddressRange>& reserved() const { return reserved_; }
  /// Not chosen for the program, but its own as soon as it asks for that very place. Replaces the one before.
  void reserve_until_wanted(AddressRange range) { yielding_ = range; }
  AddressRange yielding() const { return yielding_; }

 private:
  Layout layout_;
  FreeSpace low_, high_, spare_, vast_;
  FreeSpace clear_;  // of the low zone, without what is avoided
  std::vector<AddressRange> reserved_;
  AddressRange yielding_{};
};

}  // namespace zs::engine
