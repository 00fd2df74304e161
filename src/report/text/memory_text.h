// What `mem report` shows of each event: where the data was, how long it took, and the hot list of accesses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profile/perf_data/perf_data_reader.h"
#include "profile/symbols/symbolizer.h"
#include "report/text/report_text.h"

namespace zs::report {

struct MemoryStyle {
  std::string keys_text;  // as given to -s
  std::vector<profile::SortKey> keys;
  bool overview = true;  // the sources and the histogram before the list, latency columns in it
  double percent_limit = 0;
  std::size_t width = 0;  // of the page; 0: any
  bool color = false;
};

std::string memory_text(const profile::PerfDataReader& reader, profile::Symbolizer& symbolizer,
                        const MemoryStyle& style);

/// Accesses of one event, by data source (as profile::level_text says it) and latency.
struct LatencyCounts {
  struct Count {
    std::uint64_t samples = 0, accesses = 0;  // accesses: the sum of their periods
  };
  std::map<std::string, std::map<std::uint64_t, Count>> by_level;  // level, cycles
};

/// By event of the recording. Accesses of unknown latency are left out.
std::vector<LatencyCounts> latency_counts(const profile::PerfDataReader& reader);

/// "" if no access has a latency. Shares and bars are of accesses. width: of the page; 0: any
std::string latency_histogram(const LatencyCounts& counts, std::size_t width = 0);

}  // namespace zs::report
