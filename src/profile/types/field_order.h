// In which order the members of a type touch the fewest cache lines. An estimate from samples: how often each function
// uses each member says how likely one of its visits to a value is to use it, each for itself; how values lie in their
// lines is as sampled.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "profile/types/data_types.h"

namespace zs::profile {

inline constexpr std::uint64_t kCacheLine = 64;

/// Who uses what of a type.
struct Visits {
  struct Uses {
    std::uint64_t loads = 0, stores = 0;
  };
  /// By image and address of the function, then by offset.
  using Function = std::pair<std::uint32_t, std::uint64_t>;
  std::map<Function, std::map<std::uint64_t, Uses>> functions;
  std::array<std::uint64_t, kCacheLine> phases{};  // accesses, by where in a line the value began
  /// Loads for each that was counted: the latency of one load at a time is measured, so most are not, while every store
  /// is counted.
  double load_scale = 1;

  void add(Function function, std::uint64_t start, std::uint64_t offset, Uses uses) {
    Uses& known = functions[function][offset];
    known.loads += uses.loads;
    known.stores += uses.stores;
    phases[start % kCacheLine] += uses.loads + uses.stores;
  }
};

struct FieldOrder {
  std::vector<DataTypes::Field> before, after;  // members as they are, and as they would be
  std::uint64_t size_before = 0, size_after = 0;
  double lines_before = 0, lines_after = 0;  // that a visit touches, in the mean
  bool better = false;                       // `after` touches fewer, by a twentieth at least
};

/// size  of the type, with what it is padded to
FieldOrder best_order(std::vector<DataTypes::Field> members, std::uint64_t size, const Visits& visits);

}  // namespace zs::profile
