#include "profile/perf_data/sample_choice.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "base/items.h"
#include "base/number.h"

namespace zs::profile {
namespace {

using Span = SampleChoice::Span;
constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

/// "12.5" seconds, without the rounding of a number in between.
std::optional<std::uint64_t> nanoseconds(std::string_view text) {
  const std::size_t point = std::min(text.find('.'), text.size());
  std::string digits(text.substr(std::min(point + 1, text.size())));
  if (digits.size() > 9) return std::nullopt;
  digits.resize(9, '0');
  const auto seconds = whole_number<std::uint64_t>(text.substr(0, point)), rest = whole_number<std::uint64_t>(digits);
  if (!seconds || !rest || *seconds > UINT64_MAX / kNsPerSecond - 1) return std::nullopt;
  return *seconds * kNsPerSecond + *rest;
}

/// "10%" as 0.1.
std::optional<double> share(std::string_view text) {
  if (!text.ends_with('%')) return std::nullopt;
  text.remove_suffix(1);
  const auto percent = whole_number<double>(text);
  if (!percent || !(*percent >= 0) || *percent > 100) return std::nullopt;
  return *percent / 100;
}

/// As perf rounds them: what ends a span belongs to the next one, but at the end.
Span span_of(double from, double to, std::uint64_t first, std::uint64_t last) {
  const auto total = static_cast<double>(last - first);
  Span span{first + static_cast<std::uint64_t>(std::llround(from * total)),
            first + static_cast<std::uint64_t>(std::llround(to * total))};
  if (span.last > span.first && span.last != last) --span.last;
  return span;
}

std::optional<Span> percent_span(std::string_view item, std::uint64_t first, std::uint64_t last) {
  if (const std::size_t slash = item.find('/'); slash != std::string_view::npos) {
    const auto size = share(item.substr(0, slash));
    const auto which = whole_number<std::uint32_t>(item.substr(slash + 1));
    if (!size || !which || *which == 0 || *size * *which > 1.0000001) return std::nullopt;
    return span_of(*size * (*which - 1), std::min(*size * *which, 1.0), first, last);
  }
  const std::size_t dash = item.find('-');
  const auto from = dash == item.npos ? std::optional(0.0) : share(item.substr(0, dash));
  const auto to = share(dash == item.npos ? item : item.substr(dash + 1));
  if (!from || !to || *from > *to) return std::nullopt;
  return span_of(*from, *to, first, last);
}

}  // namespace

bool SampleChoice::takes(const session::Sample& sample) const {
  const auto in = [&](const Span& span) { return span.first <= sample.time_ns && sample.time_ns <= span.last; };
  const auto is = [&](int cpu) { return static_cast<std::uint32_t>(cpu) == sample.cpu; };
  return (times.empty() || std::ranges::any_of(times, in)) && (cpus.empty() || std::ranges::any_of(cpus, is));
}

Result<std::vector<Span>> parse_times(std::string_view text, std::uint64_t first, std::uint64_t last) {
  std::vector<Span> spans;
  if (text.empty()) return spans;
  const Error wrong{"--time " + std::string(text) + ": no span of time",
                    "START,STOP in seconds, either of which may be left out; 10%-30%; 20%/3, the third fifth"};
  if (text.find('%') == std::string_view::npos) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view from = text.substr(0, comma), to = text.substr(std::min(comma + 1, text.size()));
    const auto start = from.empty() ? std::optional<std::uint64_t>(0) : nanoseconds(from);
    const auto stop = to.empty() ? std::optional(UINT64_MAX) : nanoseconds(to);
    if (!start || !stop || *start > *stop) return wrong;
    return std::vector{Span{*start, *stop}};
  }
  for (const std::string_view item : items_of(text)) {
    const auto span = percent_span(item, first, last);
    if (!span) return wrong;
    spans.push_back(*span);
  }
  return spans;
}

}  // namespace zs::profile
