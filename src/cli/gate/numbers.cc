#include "cli/gate/numbers.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

#include "base/units.h"

namespace zs::cli {

std::string count_text(double count) {
  constexpr double kMost = 1e18;
  const std::string sign = count < 0 ? "-" : "";
  const double size = std::abs(count);
  if (size != std::floor(size) || size > kMost) return fmt::format("{:.6g}", count);
  return sign + with_thousands(static_cast<std::uint64_t>(size));
}

std::string difference_text(double difference) { return (difference > 0 ? "+" : "") + count_text(difference); }

std::string percent_text(double percent) {
  if (percent == 0) return "0 %";
  const double size = std::abs(percent);
  if (!std::isfinite(percent)) return "-";
  if (size < 0.01) return fmt::format("{:+.1g} %", percent);
  return fmt::format("{:+.{}f} %", percent, size < 10 ? 2 : size < 1000 ? 1 : 0);
}

}  // namespace zs::cli
