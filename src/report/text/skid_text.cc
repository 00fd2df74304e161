#include "report/text/skid_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <variant>

#include "profile/perf_data/address_space.h"
#include "report/text/class_text.h"
#include "report/text/fit.h"
#include "report/text/percent.h"

namespace zs::report {

using profile::PerfDataReader;

namespace {

constexpr std::size_t kLongestBar = 40, kShortestBar = 8;  // characters of the longest bar
constexpr std::size_t kBeforeBar = 40;                     // characters of a line before its bar
constexpr std::size_t kMostRows = 10;                      // chosen: of the list of functions
constexpr int kMostEmpty = 2;                              // likewise, in a row

/// Buckets of distances: 0 alone, then [2^(n-1), 2^n); negative ones mirrored.
int bucket_of_distance(std::int64_t distance) {
  const auto size = static_cast<std::uint64_t>(distance < 0 ? -distance : distance);
  const int bucket = static_cast<int>(std::bit_width(size));
  return distance < 0 ? -bucket : bucket;
}

std::string distance_text(int bucket) {
  if (bucket == 0) return "0";
  const int size = std::abs(bucket);
  const std::uint64_t first = std::uint64_t{1} << (size - 1), last = 2 * first - 1;
  const char* const sign = bucket < 0 ? "-" : "";
  if (first == last) return fmt::format("{}{}", sign, first);
  return bucket < 0 ? fmt::format("-{} to -{}", last, first) : fmt::format("{} to {}", first, last);
}

template <typename Distance>
std::string histogram(const std::map<Distance, std::uint64_t>& distances, std::string_view unit, std::size_t width) {
  std::map<int, std::uint64_t> buckets;
  std::uint64_t all = 0, tallest = 0;
  for (const auto& [distance, samples] : distances) {
    std::uint64_t& bucket = buckets[bucket_of_distance(static_cast<std::int64_t>(distance))];
    bucket += samples;
    all += samples;
    tallest = std::max(tallest, bucket);
  }
  const std::size_t rest = width > kBeforeBar ? width - kBeforeBar : 0;
  const std::size_t bar = width == 0 ? kLongestBar : std::clamp(rest, kShortestBar, kLongestBar);
  std::string text = fmt::format("# {:>18}  {:>8}  {:>8}\n", unit, "Samples", "Share");
  for (int number = buckets.begin()->first; number <= buckets.rbegin()->first; ++number) {
    const std::uint64_t samples = buckets.contains(number) ? buckets.at(number) : 0;
    // What is far from the rest is not drawn row by row.
    const int next = buckets.lower_bound(number)->first;
    if (samples == 0 && next - number > kMostEmpty) {
      text += fmt::format("  {:>18}\n", "...");
      number = next - 1;
      continue;
    }
    const double share = static_cast<double>(samples) / static_cast<double>(tallest);
    const auto length = static_cast<std::size_t>(std::ceil(share * static_cast<double>(bar)));
    std::string line = fmt::format("  {:>18}  {:>8}  {:>7.2f}%  {}", distance_text(number), samples,
                                   percent_of(samples, all), std::string(length, '#'));
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string_view cause_text(arch::SkidCause cause) {
  static constexpr std::string_view kTexts[] = {"none, the instruction itself is shown", "the interrupt came late",
                                                "the overflow armed, and a later event was recorded"};
  return kTexts[static_cast<std::size_t>(cause)];
}

std::string functions_text(const SkidCounts& counts, std::size_t width) {
  std::vector<std::pair<std::pair<std::string, std::string>, std::uint64_t>> rows(counts.functions.begin(),
                                                                                  counts.functions.end());
  std::ranges::stable_sort(rows, [](const auto& a, const auto& b) { return a.second > b.second; });
  std::size_t longest = std::string_view("Overflowed in").size();
  for (const auto& [names, samples] : rows) longest = std::max(longest, display_width(names.first));
  if (width != 0) longest = std::min(longest, width > 40 ? (width - 14) / 2 : std::size_t{14});
  std::string text = fmt::format("# {:>8}  {:<{}}  Shown in\n", "Share", "Overflowed in", longest);
  for (std::size_t i = 0; i < std::min(rows.size(), kMostRows); ++i) {
    text += fmt::format("  {:>7.2f}%  {:<{}}  {}\n", percent_of(rows[i].second, counts.samples),
                        shortened(rows[i].first.first, longest), longest,
                        width == 0 ? rows[i].first.second : shortened(rows[i].first.second, longest));
  }
  if (rows.size() > kMostRows) text += fmt::format("# and {} pairs more\n", rows.size() - kMostRows);
  return text;
}

std::string name_of(const profile::Location& location) {
  if (location.symbol != nullptr) return location.symbol->name();
  return location.dso != nullptr ? fmt::format("{}[{:x}]", location.dso->short_name, location.mapped)
                                 : fmt::format("{:#x}", location.address);
}

}  // namespace

void SkidCounts::add(const arch::SkidNote& note, std::uint64_t shown) {
  ++samples;
  ++instructions[note.instructions];
  ++bytes[static_cast<std::int64_t>(shown - note.ip)];
  ++causes[note.cause];
  hidden += note.hidden;
}

Result<std::vector<SkidCounts>> skid_counts(const PerfDataReader& reader, profile::Symbolizer& symbolizer) {
  std::vector<SkidCounts> counts(reader.events().size());
  profile::AddressSpaces spaces;
  for_each_sample(reader, spaces, [&](const profile::SampleRecord& found) {
    const session::Sample& sample = found.sample;
    const auto note = arch::read_skid_note(sample.raw);
    if (!note) return;
    SkidCounts& of_event = counts[sample.event];
    of_event.add(*note, sample.ip);
    const auto name = [&](std::uint64_t ip) {
      return name_of(symbolizer.locate(spaces, sample.pid, ip, found.cpumode));
    };
    ++of_event.functions[{name(note->ip), name(sample.ip)}];
  });
  const auto any = [](const SkidCounts& one) { return one.samples != 0; };
  if (!std::ranges::any_of(counts, any)) {
    return Error{reader.name() + ": its samples do not say which instructions made their counters overflow",
                 "record --skid pmi (or pebs, pdist, a number of instructions) makes such a recording"};
  }
  return counts;
}

std::string skid_histogram(const SkidCounts& counts, std::size_t width) {
  if (counts.samples == 0) return "";
  std::string text = histogram(counts.instructions, "Instructions later", width) + "#\n";
  text += histogram(counts.bytes, "Bytes further", width) + "#\n";
  for (const auto& [cause, samples] : counts.causes)
    text += fmt::format("# Cause: {}: {} of {}\n", cause_text(cause), samples, counts.samples);
  if (counts.hidden != 0) text += fmt::format("# Events in shadows, which no sample shows: {}\n", counts.hidden);
  return text;
}

Result<std::string> skid_text(const PerfDataReader& reader, profile::Symbolizer& symbolizer, std::size_t width) {
  const auto counts = skid_counts(reader, symbolizer);
  if (!counts) return counts.error();
  const std::string* const how = find_note(reader, "skid");
  std::string text;
  for (std::size_t i = 0; i < counts->size(); ++i) {
    const SkidCounts& of_event = (*counts)[i];
    if (of_event.samples == 0) continue;
    const PerfDataReader::Event& event = reader.events()[i];
    text += fmt::format("# Samples: {} of event '{}'\n", of_event.samples, event.name);
    text += class_text(reader, event, width);
    text += folded(fmt::format("# Skid: {}\n", how != nullptr ? *how : "not said"), width);
    text += "# Which instruction made the counter overflow: exact\n#\n";
    text += skid_histogram(of_event, width) + "#\n" + functions_text(of_event, width) + "\n\n";
  }
  return text;
}

}  // namespace zs::report
