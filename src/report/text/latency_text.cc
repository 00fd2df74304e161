#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "profile/perf_data/data_source_text.h"
#include "report/text/fit.h"
#include "report/text/memory_text.h"

namespace zs::report {
namespace {

constexpr std::size_t kBar = 40, kLeastBar = 8;  // characters of the longest bar
constexpr std::size_t kNumbers = 36;             // characters of a line before its bar
constexpr std::size_t kLevel = 26;               // what a level's name has at least, where the page has a width

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

/// Characters of the longest bar and of what stands behind it.
struct Room {
  std::size_t bar, level;
};

/// The bar gives way to the names of the levels; what is still too long loses its middle.
Room room_of(const std::map<unsigned, Bucket>& buckets, std::size_t width) {
  std::size_t longest = kLevel;
  for (const auto& [number, bucket] : buckets) longest = std::max(longest, display_width(most_of(bucket)));
  if (width == 0) return {kBar, longest};
  const std::size_t rest = width > kNumbers + 2 ? width - kNumbers - 2 : 0;
  const std::size_t bar = std::clamp(rest > longest ? rest - longest : 0, kLeastBar, kBar);
  return {bar, rest > bar ? rest - bar : 0};
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

  const auto [bar, level] = room_of(buckets, width);
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
    if (bucket.samples != 0) line += "  " + shortened(most_of(bucket), level);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text + "\n\n";
}

}  // namespace zs::report
