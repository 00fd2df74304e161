#include "report/latency_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "profile/data_source_text.h"

namespace zs::report {
namespace {

constexpr std::size_t kBar = 40, kLeastBar = 8;  // characters of the longest bar
constexpr std::size_t kAround = 64;              // what else is in a line, a level's name included

constexpr std::uint64_t kMostPeriod = std::uint64_t{1} << 40;  // chosen: sums of what a file may claim fit 64 bits

/// Latencies of [2^n, 2^(n+1)); all below 4 are one.
unsigned bucket_of(std::uint64_t cycles) {
  return std::max(2U, static_cast<unsigned>(std::bit_width(std::max<std::uint64_t>(cycles, 1))) - 1);
}

std::string range_text(unsigned bucket) {
  const std::uint64_t first = bucket == 2 ? 0 : std::uint64_t{1} << bucket;
  return fmt::format("{}-{}", first, (std::uint64_t{2} << bucket) - 1);
}

struct Bucket {
  std::uint64_t samples = 0, accesses = 0;
  std::map<std::string, std::uint64_t> levels;
};

/// The level that most of them have; of equal ones the first by name.
std::string most_of(const Bucket& bucket) {
  const auto most = std::max_element(bucket.levels.begin(), bucket.levels.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most->second == bucket.accesses) return most->first;
  const double percent = 100.0 * static_cast<double>(most->second) / static_cast<double>(bucket.accesses);
  return fmt::format("{:.0f}% {}", percent, most->first);
}

}  // namespace

std::vector<LatencyCounts> latency_counts(const profile::PerfDataReader& reader) {
  std::vector<LatencyCounts> counts(reader.events().size());
  reader.for_each(profile::PerfDataReader::Order::File, [&](const profile::Record& record) {
    const auto* sample = std::get_if<profile::SampleRecord>(&record);
    if (sample == nullptr || sample->sample.latency == 0) return;
    const session::Sample& one = sample->sample;
    LatencyCounts::Count& count = counts[one.event].by_level[profile::level_text(one.data_source)][one.latency];
    ++count.samples;
    count.accesses += std::clamp<std::uint64_t>(one.period, 1, kMostPeriod);
  });
  return counts;
}

std::string latency_histogram(const LatencyCounts& counts, std::size_t width) {
  const std::size_t bar = width == 0 ? kBar : std::clamp(width > kAround ? width - kAround : 0, kLeastBar, kBar);
  std::map<unsigned, Bucket> buckets;
  std::uint64_t all = 0, tallest = 0;
  for (const auto& [level, latencies] : counts.by_level) {
    for (const auto& [cycles, count] : latencies) {
      Bucket& bucket = buckets[bucket_of(cycles)];
      bucket.samples += count.samples;
      bucket.accesses += count.accesses;
      bucket.levels[level] += count.accesses;
      all += count.accesses;
      tallest = std::max(tallest, bucket.accesses);
    }
  }
  if (all == 0) return "";

  std::string text = fmt::format("# Latency, core cycles\n# {:>12}  {:>8}  {:>8}  {:<{}}  Mostly from\n", "Cycles",
                                 "Samples", "", "", bar);
  for (unsigned number = buckets.begin()->first; number <= buckets.rbegin()->first; ++number) {
    const auto found = buckets.find(number);
    const Bucket bucket = found != buckets.end() ? found->second : Bucket{};
    const double share = static_cast<double>(bucket.accesses) / static_cast<double>(tallest);
    const auto length =
        static_cast<std::size_t>(std::ceil(share * static_cast<double>(bar)));  // something, where there is
    const double percent = 100.0 * static_cast<double>(bucket.accesses) / static_cast<double>(all);
    std::string line = fmt::format("  {:>12}  {:>8}  {:>8}  {:<{}}", range_text(number), bucket.samples,
                                   fmt::format("{:.2f}%", percent), std::string(length, '#'), bar);
    if (bucket.samples != 0) line += "  " + most_of(bucket);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text + "\n\n";
}

}  // namespace zs::report
