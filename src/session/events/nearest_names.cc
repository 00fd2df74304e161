#include "session/events/nearest_names.h"

#include <algorithm>
#include <utility>

#include "arch/events/event.h"

namespace zs::session {
namespace {

constexpr std::size_t kLongestName = 80;  // of the vendor's lists; a longer word is no misspelling

/// As if typed in `name`'s case: whoever writes INST_RETIRED.ANY_P reads capitals.
bool writes_capitals(std::string_view name) {
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  return std::any_of(name.begin(), name.end(), is_upper) && std::none_of(name.begin(), name.end(), is_lower);
}

std::string in_capitals(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

std::size_t distance_from(std::string_view name, std::string_view candidate) {
  constexpr std::size_t kTellingBeginning = 3;
  if (name.size() >= kTellingBeginning && arch::equal_case_blind(candidate.substr(0, name.size()), name)) return 0;
  const std::size_t whole = typing_distance(name, candidate);
  const std::size_t dot = candidate.find('.');
  if (dot == std::string_view::npos) return whole;
  return std::min(whole, typing_distance(name, candidate.substr(dot + 1)) + 1);
}

}  // namespace

// Optimal string alignment: rows of the classic table, the last three kept.
std::size_t typing_distance(std::string_view typed, std::string_view meant) {
  constexpr std::size_t kLeftOut = 1, kSwapped = 1, kWrong = 2, kTooMany = 2;
  std::vector<std::size_t> before(meant.size() + 1), last(meant.size() + 1), now(meant.size() + 1);
  for (std::size_t j = 0; j <= meant.size(); ++j) last[j] = j * kLeftOut;
  const auto same = [&](std::size_t i, std::size_t j) {
    return arch::lower(typed[i - 1]) == arch::lower(meant[j - 1]);
  };
  for (std::size_t i = 1; i <= typed.size(); ++i) {
    now[0] = i * kTooMany;
    for (std::size_t j = 1; j <= meant.size(); ++j) {
      now[j] = std::min({last[j] + kTooMany, now[j - 1] + kLeftOut, last[j - 1] + (same(i, j) ? 0 : kWrong)});
      if (i > 1 && j > 1 && same(i, j - 1) && same(i - 1, j)) now[j] = std::min(now[j], before[j - 2] + kSwapped);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[meant.size()];
}

std::vector<std::string> nearest_names(std::string_view name, std::span<const std::string> candidates,
                                       std::size_t count) {
  if (name.size() > kLongestName) return {};
  std::vector<std::pair<std::size_t, std::string_view>> ranked;
  ranked.reserve(candidates.size());
  for (const std::string& candidate : candidates) ranked.emplace_back(distance_from(name, candidate), candidate);
  std::sort(ranked.begin(), ranked.end());
  ranked.erase(std::unique(ranked.begin(), ranked.end()), ranked.end());
  if (ranked.size() > count) ranked.resize(count);
  std::vector<std::string> nearest;
  for (const auto& [distance, candidate] : ranked) {
    const bool intel = candidate.find('.') != std::string_view::npos;
    nearest.push_back(intel && writes_capitals(name) ? in_capitals(std::string(candidate)) : std::string(candidate));
  }
  return nearest;
}

}  // namespace zs::session
