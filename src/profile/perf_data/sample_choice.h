// Which samples of a recording are read: those of some times, as perf's --time has them, and of some CPUs.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "session/sample.h"

namespace zs::profile {

struct SampleChoice {
  struct Span {
    std::uint64_t first, last;  // nanoseconds; both belong to it
  };
  std::vector<Span> times;  // none: all
  std::vector<int> cpus;    // none: all

  bool is_everything() const { return times.empty() && cpus.empty(); }
  bool takes(const session::Sample& sample) const;
};

/// text   "START,STOP" in seconds, either of which may be left out; "10%-30%", "20%/3" (the third fifth), or a list of
///        them with commas between; "": everything
/// first  of the recording's samples, nanoseconds
Result<std::vector<SampleChoice::Span>> parse_times(std::string_view text, std::uint64_t first, std::uint64_t last);

}  // namespace zs::profile
