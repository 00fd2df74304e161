// When samples are kept, as perf's -D and --control say it: from so many milliseconds on, in spans of them, or between
// "enable" and "disable", which the program or a script writes into a pipe while it runs. The PMU counts all the time;
// samples of other times are left out of the file.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace zs::cli {

/// As they were typed.
struct RecordedTimesWords {
  std::string delay, control;
};

class RecordedTimes {
 public:
  /// delay    "500", "-1" (not before it is enabled), "10-20,30-40" in milliseconds; "": from the beginning
  /// control  "fd:N[,ACK]" or "fifo:PATH[,PATH]"; "": nobody
  static Result<RecordedTimes> make(const std::string& delay, const std::string& control);

  bool is_everything() const { return spans_.empty() && descriptor_ < 0; }
  /// When the program began; only the first time counts.
  void begin(std::uint64_t time_ns);
  bool includes(std::uint64_t time_ns) const;

  /// Where commands come from; -1: nowhere.
  int descriptor() const { return descriptor_; }
  /// Takes the commands that have come, at `now_ns`, and acknowledges each.
  void take_commands(std::uint64_t now_ns);

 private:
  struct Span {
    std::uint64_t from, to;
  };
  static constexpr std::uint64_t kForEver = ~std::uint64_t{0};

  Result<void> parse_delay(const std::string& text);
  Result<void> open_control(const std::string& text);
  void obey(const std::string& command, std::uint64_t now_ns);

  std::vector<Span> spans_;  // in nanoseconds; before begin() from the beginning of the program
  bool begun_ = false;
  int descriptor_ = -1, acknowledge_ = -1;
  std::string half_;  // of a command that has not come whole
};

}  // namespace zs::cli
