#include "base/units.h"

#include <cstddef>
#include <cstdio>

namespace zs {

std::string with_thousands(std::uint64_t n) {
  std::string digits = std::to_string(n);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string with_prefix(std::uint64_t n, const char* unit) {
  constexpr char kPrefixes[] = "kMGTPE";
  if (n < 1000) return std::to_string(n) + (*unit != '\0' ? " " : "") + unit;
  // Rounded to three digits in whole numbers, because 999,500 must become "1.00 M" and never "1000 k".
  std::uint64_t scaled = n;  // n = scaled x 10^exponent, scaled below 1000
  int exponent = 0;
  std::uint64_t rest = 0;  // the last digit cut off decides the rounding
  while (scaled >= 1000) {
    rest = scaled % 10;
    scaled /= 10;
    ++exponent;
  }
  if (rest >= 5 && ++scaled == 1000) {
    scaled = 100;
    ++exponent;
  }
  const int prefix = (exponent + 2) / 3;  // 3 significant digits: scaled has two places more than its value
  const int places = prefix * 3 - exponent;
  char text[32];
  const auto whole = static_cast<double>(scaled) / (places == 2 ? 100 : places == 1 ? 10 : 1);
  std::snprintf(text, sizeof text, "%.*f %c", places, whole, kPrefixes[prefix - 1]);
  return std::string(text) + unit;
}

}  // namespace zs
