#pragma once

#include <cstdint>

namespace zs::report {

/// 0 of nothing.
inline double percent_of(double part, double whole) { return whole == 0 ? 0 : 100.0 * part / whole; }

inline double percent_of(std::uint64_t part, std::uint64_t whole) {
  return percent_of(static_cast<double>(part), static_cast<double>(whole));
}

}  // namespace zs::report
