// How often each of many pairs of numbers came, the first of which is not 0: a hash table in one array, because every
// indirect branch asks it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace zs::engine {

class PairCounts {
 public:
  void add(std::uint32_t first, std::uint32_t second) {
    const std::uint64_t pair = std::uint64_t{first} << 32 | second;
    Slot& usual = slots_[home(pair, shift_)];
    if (usual.pair == pair) [[likely]]
      ++usual.times;
    else
      add_elsewhere(pair);
  }
  /// visit(first, second, times) for each; then there are none. The order follows from what was added.
  template <typename Visit>
  void take(Visit visit) {
    for (const Slot& slot : slots_) {
      if (slot.times != 0)
        visit(static_cast<std::uint32_t>(slot.pair >> 32), static_cast<std::uint32_t>(slot.pair), slot.times);
    }
    slots_.assign(slots_.size(), {});
    used_ = 0;
  }

 private:
  struct Slot {
    std::uint64_t pair = 0, times = 0;  // pair 0: free
  };
  static std::size_t home(std::uint64_t pair, unsigned shift) { return pair * 0x9E37'79B9'7F4A'7C15 >> shift; }
  Slot& find(std::uint64_t pair) {
    std::size_t at = home(pair, shift_);
    while (slots_[at].pair != 0 && slots_[at].pair != pair) at = (at + 1) & (slots_.size() - 1);
    return slots_[at];
  }
  void add_elsewhere(std::uint64_t pair) {
    Slot& slot = find(pair);
    if (slot.pair == 0) ++used_;
    slot.pair = pair;
    ++slot.times;
    if (2 * used_ > slots_.size()) grow();
  }
  void grow() {
    const std::vector<Slot> before(std::move(slots_));
    slots_.assign(2 * before.size(), {});
    --shift_;
    for (const Slot& slot : before) {
      if (slot.pair != 0) find(slot.pair) = slot;
    }
  }

  static constexpr unsigned kFirstBits = 10;
  unsigned shift_ = 64 - kFirstBits;
  std::vector<Slot> slots_ = std::vector<Slot>(std::size_t{1} << kFirstBits);
  std::size_t used_ = 0;
};

}  // namespace zs::engine
