#include "cli/command/memory_size.h"

#include <charconv>
#include <limits>
#include <system_error>

namespace zs::cli {

std::optional<std::uint64_t> parse_memory_size(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const unsigned shift = unit == "K" || unit == "k"   ? 10
                         : unit == "M" || unit == "m" ? 20
                         : unit == "G" || unit == "g" ? 30
                                                      : 0;
  if (shift == 0 && !unit.empty()) return std::nullopt;
  if (number > std::numeric_limits<std::uint64_t>::max() >> shift) return std::nullopt;
  return number << shift;
}

}  // namespace zs::cli
