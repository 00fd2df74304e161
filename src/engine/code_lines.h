// Where in the program's code translations begin, and where one can be gone on with in its middle: by 64 bytes of code, because what a path
// asks for lies close together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/block.h"

namespace zs::engine {

class CodeLines {
 public:
  static constexpr std::uint64_t kBytes = 64;  // of code
  struct Line {
    std::uint64_t heads = 0;   // by address: a block of Variant::Full begins there
    std::uint64_t inside = 0;  // and there is an instruction of such a block (Block::can_enter)
    static constexpr std::size_t kBlocks = 4;
    std::uint32_t blocks[kBlocks] = {kNone, kNone, kNone, kNone};  // those with the instructions
  };
  static std::uint64_t bit(std::uint64_t pc) { return std::uint64_t{1} << pc % kBytes; }

  CodeLines() { clear(); }

  /// Null if nothing begins there. Holds until the next at().
  const Line* find(std::uint64_t pc) const {
    const std::size_t at = place(pc / kBytes);
    return keys_[at] == kFree ? nullptr : &lines_[at];
  }
  /// To note something, or take it back. Holds until the next call.
  Line& at(std::uint64_t pc) {
    std::size_t at = place(pc / kBytes);
    if (keys_[at] == kFree) {
      if (2 * (used_ + 1) > keys_.size()) {
        grow();
        at = place(pc / kBytes);
      }
      keys_[at] = pc / kBytes;
      ++used_;
    }
    return lines_[at];
  }
  /// find() of something in the same line follows soon.
  void prefetch(std::uint64_t pc) const {
    const std::size_t at = first_place(pc / kBytes);
    __builtin_prefetch(&keys_[at]);
    __builtin_prefetch(&lines_[at]);
  }

  void clear() {
    keys_.assign(kSmallest, kFree);
    lines_.assign(kSmallest, Line{});
    used_ = 0;
  }

 private:
  static constexpr std::size_t kSmallest = std::size_t{1} << 12;
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};

  std::size_t first_place(std::uint64_t key) const { return (key * 0x9E3779B97F4A7C15u) >> 32 & (keys_.size() - 1); }
  std::size_t place(std::uint64_t key) const {
    std::size_t at = first_place(key);
    while (keys_[at] != key && keys_[at] != kFree) at = (at + 1) & (keys_.size() - 1);
    return at;
  }
  void grow() {
    std::vector<std::uint64_t> keys(keys_.size() * 2, kFree);
    std::vector<Line> lines(keys.size());
    keys.swap(keys_);
    lines.swap(lines_);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (keys[i] == kFree) continue;
      const std::size_t at = place(keys[i]);
      keys_[at] = keys[i];
      lines_[at] = lines[i];
    }
  }

  std::vector<std::uint64_t> keys_;
  std::vector<Line> lines_;
  std::size_t used_ = 0;
};

}  // namespace zs::engine
