#include "cli/stat/interval_page.h"

#include <fmt/format.h>

#include <functional>
#include <string_view>

namespace zs::cli {
namespace {

constexpr int kTimeWidth = 16;

std::string with_each_line(std::string_view lines, const std::function<std::string(std::string_view)>& changed) {
  std::string text;
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    text += changed(lines.substr(0, end)) + "\n";
    lines.remove_prefix(end + 1);
  }
  return text;
}

std::string behind_time(double seconds, std::string_view separator, std::string_view lines) {
  const std::string time = fmt::format("{:{}.9f}", seconds, kTimeWidth);
  return with_each_line(lines, [&](std::string_view line) { return fmt::format("{}{}{}", time, separator, line); });
}

}  // namespace

std::string interval_head(bool threads) {
  return fmt::format("#{:>{}} {}{:>18} unit events\n", "time", kTimeWidth - 1,
                     threads ? fmt::format("{:>16}-{:<8} ", "comm", "pid") : "", "counts");
}

std::string interval_page(double seconds, const StatReport& report, bool colour) {
  return behind_time(seconds, " ", stat_rows(report, colour));
}

std::string interval_columns(double seconds, const StatReport& report, const std::string& separator) {
  return behind_time(seconds, separator, stat_columns(report, separator));
}

std::string interval_json(double seconds, const StatReport& report) {
  return with_each_line(stat_json(report), [&](std::string_view line) {
    return fmt::format("{{\"interval\" : {:.9f}, {}", seconds, line.substr(1));
  });
}

}  // namespace zs::cli
