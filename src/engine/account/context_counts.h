// How often each exit was left by in each calling context (CallContexts): a hash table that every record of the trace
// asks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace zs::engine {

class ContextCounts {
 public:
  /// In Slot::times, of exits behind which the context may be another, or that are indirect.
  static constexpr std::uint64_t kSpecial = std::uint64_t{1} << 63;
  struct New {
    std::uint64_t times, beside;
  };
  struct Slot {
    std::uint64_t key = 0, times = 0;  // key 0: free
  };
  static std::uint64_t key_of(std::uint32_t context, std::uint32_t exit) { return std::uint64_t{context} << 32 | exit; }
  /// Where its slot is nearly always, in a table with that shift, or at that number with the lowest bit changed.
  static std::size_t home_of(std::uint64_t key, unsigned shift) { return key * 0x9E37'79B9'7F4A'7C15 >> shift; }

  Slot* slots() { return slots_.data(); }
  unsigned shift() const { return shift_; }
  /// Of a call, the context of what it calls; of a return, how many led elsewhere than to the call.
  std::uint64_t& beside(std::size_t slot) { return beside_[slot]; }

  /// The slot of a pair that is not at its home; made where there is none yet, as make() says.
  template <typename Make>
  std::size_t find(std::uint64_t key, Make make) {
    std::size_t at = free_or(key);
    if (slots_[at].key == key) return at;
    const New made = make();
    if (4 * ++used_ > slots_.size()) {
      grow();
      at = free_or(key);
    }
    slots_[at] = {key, made.times};
    beside_[at] = made.beside;
    return at;
  }
  /// visit(context, exit, times, beside) for each; then there are none.
  template <typename Visit>
  void take(Visit visit) {
    for (std::size_t at = 0; at < slots_.size(); ++at) {
      const Slot& slot = slots_[at];
      if (slot.key != 0)
        visit(static_cast<std::uint32_t>(slot.key >> 32), static_cast<std::uint32_t>(slot.key), slot.times & ~kSpecial,
              beside_[at]);
    }
    *this = {};
  }

 private:
  std::size_t free_or(std::uint64_t key) const {
    const std::size_t home = home_of(key, shift_);
    for (const std::size_t at : {home, home ^ 1}) {
      if (slots_[at].key == 0 || slots_[at].key == key) return at;
    }
    std::size_t at = home;
    while (slots_[at].key != 0 && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void grow() {
    const auto slots = std::move(slots_);
    const auto beside = std::move(beside_);
    slots_.assign(2 * slots.size(), {});
    beside_.assign(2 * slots.size(), 0);
    --shift_;
    for (std::size_t at = 0; at < slots.size(); ++at) {
      if (slots[at].key == 0) continue;
      const std::size_t to = free_or(slots[at].key);
      slots_[to] = slots[at];
      beside_[to] = beside[at];
    }
  }

  static constexpr unsigned kFirstBits = 12;
  unsigned shift_ = 64 - kFirstBits;
  std::vector<Slot> slots_ = std::vector<Slot>(std::size_t{1} << kFirstBits);
  std::vector<std::uint64_t> beside_ = std::vector<std::uint64_t>(std::size_t{1} << kFirstBits);
  std::size_t used_ = 0;
};

}  // namespace zs::engine
