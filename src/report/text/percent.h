// Shares. Colour only ever repeats what the text says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace zs::report {

/// 0 of nothing.
inline double percent_of(double part, double whole) { return whole == 0 ? 0 : 100.0 * part / whole; }

inline double percent_of(std::uint64_t part, std::uint64_t whole) {
  return percent_of(static_cast<double>(part), static_cast<double>(whole));
}

/// Hot percentages stand out, from the limits that perf uses: 5 and 0.5.
inline std::string percent_colored(std::string_view text, double percent, bool color) {
  if (!color || percent < 0.5) return std::string(text);
  return std::string(percent >= 5.0 ? "\x1b[1;31m" : "\x1b[32m").append(text).append("\x1b[m");
}

}  // namespace zs::report
