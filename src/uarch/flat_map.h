// A hash table from numbers to small values in one array, with open addressing: for lines and pages, of which there are
// millions. Nothing iterates over it, so no order of it can reach any output.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"

namespace zs::uarch {

template <typename Value>
class FlatMap {
 public:
  /// The value of `key`, or null. Valid until the next insertion or removal. No key is 2^64-1.
  Value* find(std::uint64_t key) {
    if (size_ == 0) return nullptr;
    for (std::size_t at = home(key);; at = (at + 1) & mask_) {
      if (slots_[at].key == key) return &slots_[at].value;
      if (slots_[at].key == kEmpty) return nullptr;
    }
  }
  const Value* find(std::uint64_t key) const { return const_cast<FlatMap*>(this)->find(key); }

  /// The value of `key`, made first if there is none.
  Value& operator[](std::uint64_t key) {
    CHECK(key != kEmpty);
    if ((size_ + 1) * 4 > slots_.size() * 3) grow();  // at most three quarters full
    for (std::size_t at = home(key);; at = (at + 1) & mask_) {
      if (slots_[at].key == key) return slots_[at].value;
      if (slots_[at].key == kEmpty) {
        slots_[at] = {key, Value{}};
        ++size_;
        return slots_[at].value;
      }
    }
  }

  void erase(std::uint64_t key) {
    if (size_ == 0) return;
    std::size_t hole = home(key);
    while (slots_[hole].key != key) {
      if (slots_[hole].key == kEmpty) return;
      hole = (hole + 1) & mask_;
    }
    --size_;
    // What follows moves up unless that would put it before its home, so that no search ends early.
    for (std::size_t at = hole;;) {
      at = (at + 1) & mask_;
      if (slots_[at].key == kEmpty) break;
      const std::size_t distance_from_home = (at - home(slots_[at].key)) & mask_;
      if (distance_from_home >= ((at - hole) & mask_)) {
        slots_[hole] = slots_[at];
        hole = at;
      }
    }
    slots_[hole].key = kEmpty;
  }

  /// Removes every key that `goes` is true of. Takes time with the size of the map, not with how many they are.
  template <typename Predicate>
  void erase_if(Predicate&& goes) {
    std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots_.size()));
    size_ = 0;
    for (const Slot& slot : old) {
      if (slot.key != kEmpty && !goes(slot.key)) (*this)[slot.key] = slot.value;
    }
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};
  struct Slot {
    std::uint64_t key = kEmpty;
    Value value{};
  };

  std::size_t home(std::uint64_t key) const {
    return static_cast<std::size_t>(key * 0x9E37'79B9'7F4A'7C15 >> shift_);  // 2^64 / golden ratio
  }
  void grow() {
    std::vector<Slot> old = std::move(slots_);
    slots_.assign(old.empty() ? 64 : old.size() * 2, Slot{});
    mask_ = slots_.size() - 1;
    shift_ = 64 - std::countr_zero(slots_.size());
    size_ = 0;
    for (const Slot& slot : old) {
      if (slot.key != kEmpty) (*this)[slot.key] = slot.value;
    }
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
  std::size_t mask_ = 0;
  int shift_ = 63;
};

}  // namespace zs::uarch
