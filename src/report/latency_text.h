// How long accesses took, as a histogram in text: buckets that double, each with where most of its data was.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profile/perf_data_reader.h"

namespace zs::report {

/// Accesses of one event, by data source (as profile::level_text says it) and latency.
struct LatencyCounts {
  std::map<std::string, std::map<std::uint64_t, std::uint64_t>> samples;  // level, cycles, how many
};

/// By event of the recording. Accesses of unknown latency are left out.
std::vector<LatencyCounts> latency_counts(const profile::PerfDataReader& reader);

/// "" if no access has a latency.
std::string latency_histogram(const LatencyCounts& counts);

}  // namespace zs::report
