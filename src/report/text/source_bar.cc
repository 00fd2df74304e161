#include "report/text/source_bar.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace zs::report {

std::string source_bar(const profile::Heat& heat) {
  constexpr std::size_t kLength = 20;
  std::uint64_t all = 0;
  for (const std::uint64_t weight : heat.sources) all += weight;
  if (all == 0) return "";
  std::string bar, words;
  std::uint64_t so_far = 0;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < heat.sources.size(); ++i) {
    so_far += heat.sources[i];
    const double share = static_cast<double>(so_far) / static_cast<double>(all);
    bar.resize(static_cast<std::size_t>(std::lround(share * kLength)), profile::kSourceKindFacts[i].letter);
    if (heat.sources[i] != 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return heat.sources[a] > heat.sources[b]; });
  for (const std::size_t i : order) {
    const double percent = 100.0 * static_cast<double>(heat.sources[i]) / static_cast<double>(all);
    words += fmt::format("{}{} {:.0f}%", words.empty() ? "" : ", ", profile::kSourceKindFacts[i].name, percent);
  }
  std::string mean;
  if (heat.latency != 0) {
    mean = fmt::format("; mean {:.1f} cycles", heat.latency / static_cast<double>(heat.weight));
  }
  return fmt::format("|{}|  {}{}", bar, words, mean);
}

}  // namespace zs::report
