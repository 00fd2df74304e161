#include "report/latency_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "profile/data_source_text.h"

namespace zs::report {
namespace {

constexpr std::size_t kBar = 40;  // characters of the longest bar

/// Latencies of [2^n, 2^(n+1)); all below 4 are one.
unsigned bucket_of(std::uint64_t cycles) {
  return std::max(2U, static_cast<unsigned>(std::bit_width(std::max<std::uint64_t>(cycles, 1))) - 1);
}

std::string range_text(unsigned bucket) {
  const std::uint64_t first = bucket == 2 ? 0 : std::uint64_t{1} << bucket;
  return fmt::format("{}-{}", first, (std::uint64_t{2} << bucket) - 1);
}

struct Bucket {
  std::uint64_t samples = 0;
  std::map<std::string, std::uint64_t> levels;
};

/// The level that most of them have; of equal ones the first by name.
std::string most_of(const Bucket& bucket) {
  const auto most = std::max_element(bucket.levels.begin(), bucket.levels.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most->second == bucket.samples) return most->first;
  const double percent = 100.0 * static_cast<double>(most->second) / static_cast<double>(bucket.samples);
  return fmt::format("{:.0f}% {}", percent, most->first);
}

}  // namespace

std::vector<LatencyCounts> latency_counts(const profile::PerfDataReader& reader) {
  std::vector<LatencyCounts> counts(reader.events().size());
  reader.for_each(profile::PerfDataReader::Order::File, [&](const profile::Record& record) {
    const auto* sample = std::get_if<profile::SampleRecord>(&record);
    if (sample == nullptr || sample->sample.latency == 0) return;
    const session::Sample& one = sample->sample;
    ++counts[one.event].samples[profile::level_text(one.data_source)][one.latency];
  });
  return counts;
}

std::string latency_histogram(const LatencyCounts& counts) {
  std::map<unsigned, Bucket> buckets;
  std::uint64_t all = 0, tallest = 0;
  for (const auto& [level, latencies] : counts.samples) {
    for (const auto& [cycles, samples] : latencies) {
      Bucket& bucket = buckets[bucket_of(cycles)];
      bucket.samples += samples;
      bucket.levels[level] += samples;
      all += samples;
      tallest = std::max(tallest, bucket.samples);
    }
  }
  if (all == 0) return "";

  std::string text = fmt::format("# Latency, core cycles\n# {:>12}  {:>8}  {:>8}  {:<{}}  Mostly from\n", "Cycles",
                                 "Samples", "", "", kBar);
  for (unsigned number = buckets.begin()->first; number <= buckets.rbegin()->first; ++number) {
    const auto found = buckets.find(number);
    const std::uint64_t samples = found != buckets.end() ? found->second.samples : 0;
    const std::size_t length = (samples * kBar + tallest - 1) / tallest;  // something, where there is something
    const double percent = 100.0 * static_cast<double>(samples) / static_cast<double>(all);
    std::string line = fmt::format("  {:>12}  {:>8}  {:>8}  {:<{}}", range_text(number), samples,
                                   fmt::format("{:.2f}%", percent), std::string(length, '#'), kBar);
    if (samples != 0) line += "  " + most_of(found->second);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text + "\n\n";
}

}  // namespace zs::report
