#include "cli/run/progress_line.h"

#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/units.h"
#include "cli/command/say.h"
#include "cli/command/terminal.h"
#include "cli/values/estimate.h"
#include "report/text/fit.h"

namespace zs::cli {
namespace {

constexpr double kPatienceSeconds = 1;  // a short run shows no progress
constexpr double kLogEverySeconds = 30;

std::string instruction_count(std::uint64_t count) {
  constexpr std::array<const char*, 4> kUnits = {"k", "M", "G", "T"};
  double value = static_cast<double>(count) / 1000;
  std::size_t unit = 0;
  for (; value >= 1000 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  char text[48];
  std::snprintf(text, sizeof text, "%.2f %s instructions", value, kUnits[unit]);
  return text;
}

}  // namespace

ProgressStyle progress_style(bool quiet, bool verbose, bool through_us) {
  if (quiet) return ProgressStyle::Silent;
  const char* const terminal = std::getenv("TERM");
  const bool can_rewrite = isatty(STDERR_FILENO) != 0 && terminal != nullptr && std::string_view(terminal) != "dumb";
  if (can_rewrite && (through_us || isatty(STDOUT_FILENO) == 0)) return ProgressStyle::Terminal;
  return verbose ? ProgressStyle::Log : ProgressStyle::Silent;
}

std::string progress_text(const Progress& progress) {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.0f s", progress.seconds);
  std::string text = seconds;
  const char* separator = ": ";
  if (progress.instructions != 0) {
    char mips[32];
    std::snprintf(mips, sizeof mips, ", %.0f MIPS",
                  static_cast<double>(progress.instructions) / 1e6 / progress.seconds);
    text += separator + instruction_count(progress.instructions) + mips;
    separator = ", ";
    if (progress.in_detail != 0) {
      const double share = static_cast<double>(progress.in_detail) / static_cast<double>(progress.instructions);
      text += separator + two_digits(std::min(100 * share, 100.0)) + " % in detail";
    }
  }
  if (progress.samples != 0) {
    text += separator + with_thousands(progress.samples) + " samples, " + byte_size(progress.bytes);
  }
  return text;
}

bool reads_lines(int terminal) {
  termios mode{};
  return tcgetattr(terminal, &mode) != 0 || (mode.c_lflag & ICANON) != 0;
}

void ProgressLine::show(double seconds, const std::string& text) {
  const bool due = style_ == ProgressStyle::Terminal && seconds >= kPatienceSeconds;
  if (due && !reads_lines(STDERR_FILENO)) {
    shown_ = false;  // the screen is another's now
  } else if (due) {
    // A line that wraps could not be taken off again.
    const std::size_t width = terminal_width(STDERR_FILENO);
    const std::string line = "[ " + text + " ]";
    write_all(STDERR_FILENO, "\r\033[K" + (width == 0 ? line : report::cut_off(line, width - 1)));
    shown_ = true;
  }
  if (style_ == ProgressStyle::Log && seconds >= next_log_seconds_) {
    write_all(STDERR_FILENO, "[ zeroskid: " + text + " ]\n");
    next_log_seconds_ = seconds + kLogEverySeconds;
  }
}

void ProgressLine::clear() {
  if (shown_ && reads_lines(STDERR_FILENO)) write_all(STDERR_FILENO, "\r\033[K");
  shown_ = false;
}

}  // namespace zs::cli
