// How much a run under a core model may keep of code: translations, their descriptions and the model's plans together.
// A program may have much code and use each part of it for a short time only, or make code for hours; what is forgotten
// and used again is made again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace zs::engine {

class CodeBound {
 public:
  /// The path that begins at `pc` was described.
  void described(std::uint64_t pc) {
    now_.resize(kBits);
    before_.resize(kBits);
    const std::size_t bit = pc * 0x9E3779B97F4A7C15u >> 32 & (kBits - 1);
    if (now_[bit]) return;
    now_[bit] = true;
    ++different_;
    again_ += before_[bit] ? 1 : 0;
  }
  /// So many paths ran.
  void ran(std::uint64_t paths) { ran_ += paths; }

  /// Whether `held` bytes are too much. If they are, and nearly all of what is made is what was made before, and runs
  /// little, more may be kept from now on.
  /// paths  that are described
  bool exceeded(std::size_t held, std::size_t paths) {
    if (held <= most_) return false;
    if (ran_ < kRunsToBeCheap * paths && 5 * again_ > 4 * different_)
      most_ = std::min(most_ + most_ / 8, kMostTimes * kUsual);
    return true;
  }
  /// All paths were.
  void forgotten() {
    ran_ = different_ = again_ = 0;
    before_ = std::exchange(now_, {});
  }

 private:
  static constexpr std::size_t kUsual = std::size_t{112} << 20, kMostTimes = 4;
  static constexpr std::uint64_t kRunsToBeCheap =
      64;  // chosen: making a path costs as much as some ten to a hundred runs
  static constexpr std::size_t kBits = std::size_t{1} << 18;

  std::size_t most_ = kUsual;
  // Since everything was forgotten last:
  std::uint64_t ran_ = 0;           // paths
  std::vector<bool> now_, before_;  // where paths begin that were described, by hash; and those of the time before
  std::size_t different_ = 0, again_ = 0;  // bits of the former; that both have
};

}  // namespace zs::engine
