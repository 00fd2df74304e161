#include "report/text/class_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "profile/perf_data/recording.h"
#include "report/text/fit.h"
#include "report/text/percent.h"

namespace zs::report {
namespace {

const std::string* find(const std::vector<profile::Note>& notes, std::string_view key) {
  const auto at = std::ranges::find(notes, key, &profile::Note::key);
  return at != notes.end() ? &at->value : nullptr;
}

/// Where the samples of an estimate were taken. A recording that was cut short does not say how much of the run that
/// was.
std::string detail_text(const profile::PerfDataReader& reader) {
  const std::string* const units = find_note(reader, "units");
  const std::string* const share = find(reader.summary().notes, "in detail");
  return fmt::format("# In detail: {}{}{}\n", share != nullptr ? *share : "",
                     share != nullptr && units != nullptr ? ": " : "", units != nullptr ? *units : "");
}

}  // namespace

const std::string* find_note(const profile::PerfDataReader& reader, std::string_view key) {
  return find(reader.description().notes, key);
}

std::string class_text(const profile::PerfDataReader& reader, const profile::PerfDataReader::Event& event,
                       std::size_t width) {
  const std::string* const noted =
      find_note(reader, "class of " + (event.traced_as.empty() ? event.name : event.traced_as));
  if (noted == nullptr) return "";
  const std::string* const model = find_note(reader, "CPU model");
  const std::string* const share = find(reader.summary().notes, "in detail");
  const bool all = *noted == "estimated" && share != nullptr && *share == profile::kAllInDetail;
  const std::string kind = all ? "modelled" : *noted;
  const bool by_model = kind != "exact" && model != nullptr;
  return folded(fmt::format("# Class: {}{}{}\n", kind, by_model ? " by " : "", by_model ? *model : "") +
                    (kind == "estimated" ? detail_text(reader) : ""),
                width);
}

std::string chains_text(const profile::Histogram& histogram, std::size_t width) {
  using session::ChainEnd;
  std::uint64_t all = 0, cut = 0;
  std::string why;
  const auto count = [&](ChainEnd end, std::string_view reason) {
    const auto found = histogram.chain_ends.find(end);
    if (found == histogram.chain_ends.end()) return;
    all += found->second;
    if (reason.empty()) return;
    cut += found->second;
    why += fmt::format("{} {} {}", why.empty() ? ":" : ";", found->second, reason);
    const auto rank = [](const auto& one) { return std::pair(one.second, ~one.first->number); };
    const auto most = std::ranges::max_element(histogram.no_rule, {}, rank);
    if (end != ChainEnd::NoRule || most == histogram.no_rule.end()) return;
    const profile::Frame& frame = *most->first;
    why += fmt::format(", {} of them in {} ({})", most->second, frame.name,
                       frame.dso != nullptr ? frame.dso->short_name : "[unknown]");
  };
  count(ChainEnd::Outermost, "");
  count(ChainEnd::NoRule, "without a rule for the code");
  count(ChainEnd::BrokenStack, "where the stack holds no caller");
  count(ChainEnd::Limit, "at the limit of their length");
  if (cut == 0) return "";
  return folded(fmt::format("# Chains: {} of {} ({:.1f} %) end short{}\n", cut, all, percent_of(cut, all), why), width);
}

}  // namespace zs::report
