// Chance that is the same everywhere: of the load-latency facility, of tests and of benchmarks.
#pragma once

#include <cstdint>

#include "base/splitmix.h"

namespace zs::uarch {

/// Small, and good enough to be called random by every predictor.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() { return splitmix64(state_); }
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }

 private:
  std::uint64_t state_;
};

}  // namespace zs::uarch
