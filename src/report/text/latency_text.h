// How long accesses took, as a histogram in text: buckets that double, each with where most of its data was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profile/perf_data/perf_data_reader.h"

namespace zs::report {

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
