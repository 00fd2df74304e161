#include "session/events/nearest_names.h"

#include <algorithm>
#include <bit>
#include <cstdint>
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

/// A bit for each letter, digit or other byte that occurs; some share a bit, which only loosens the bound below.
std::uint64_t letters_of(std::string_view text) {
  std::uint64_t letters = 0;
  for (const char c : text) letters |= std::uint64_t{1} << (static_cast<unsigned char>(arch::lower(c)) & 63);
  return letters;
}

std::size_t distance_from(std::string_view name, std::string_view candidate, std::size_t limit) {
  constexpr std::size_t kTellingBeginning = 3;
  if (name.size() >= kTellingBeginning && arch::equal_case_blind(candidate.substr(0, name.size()), name)) return 0;
  const std::size_t whole = typing_distance(name, candidate, limit);
  const std::size_t dot = candidate.find('.');
  if (dot == std::string_view::npos) return whole;
  return std::min(whole, typing_distance(name, candidate.substr(dot + 1), limit) + 1);
}

}  // namespace

// Optimal string alignment: rows of the classic table, the last three kept.
std::size_t typing_distance(std::string_view typed, std::string_view meant, std::size_t limit) {
  constexpr std::size_t kLeftOut = 1, kSwapped = 1, kWrong = 2, kTooMany = 2;
  // Two bounds that spare most candidates the table: every typed letter that the name lacks is wrong or too many, and
  // every letter by which the lengths differ is left out or too many.
  const auto lacking = static_cast<std::size_t>(std::popcount(letters_of(typed) & ~letters_of(meant)));
  const std::size_t by_length =
      meant.size() > typed.size() ? (meant.size() - typed.size()) * kLeftOut : (typed.size() - meant.size()) * kTooMany;
  const std::size_t least = std::max(lacking * std::min(kWrong, kTooMany), by_length);
  if (least > limit) return least;
  std::vector<std::size_t> before(meant.size() + 1), last(meant.size() + 1), now(meant.size() + 1);
  for (std::size_t j = 0; j <= meant.size(); ++j) last[j] = j * kLeftOut;
  const auto same = [&](std::size_t i, std::size_t j) {
    return arch::lower(typed[i - 1]) == arch::lower(meant[j - 1]);
  };
  std::size_t nearest_before = 0;
  for (std::size_t i = 1; i <= typed.size(); ++i) {
    std::size_t nearest = now[0] = i * kTooMany;
    for (std::size_t j = 1; j <= meant.size(); ++j) {
      now[j] = std::min({last[j] + kTooMany, now[j - 1] + kLeftOut, last[j - 1] + (same(i, j) ? 0 : kWrong)});
      if (i > 1 && j > 1 && same(i, j - 1) && same(i - 1, j)) now[j] = std::min(now[j], before[j - 2] + kSwapped);
      nearest = std::min(nearest, now[j]);
    }
    // The next row grows from this one, or by a swap from the one before.
    if (nearest > limit && nearest_before + kSwapped > limit) return nearest;
    nearest_before = nearest;
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[meant.size()];
}

std::vector<std::string> nearest_names(std::string_view name, std::span<const std::string> candidates,
                                       std::size_t count) {
  if (name.size() > kLongestName || count == 0) return {};
  std::vector<std::pair<std::size_t, std::string_view>> best;  // ascending, at most `count`
  for (const std::string& candidate : candidates) {
    const std::size_t limit = best.size() < count ? std::numeric_limits<std::size_t>::max() - 1 : best.back().first;
    const std::pair<std::size_t, std::string_view> entry{distance_from(name, candidate, limit), candidate};
    const auto place = std::lower_bound(best.begin(), best.end(), entry);
    if (place != best.end() && *place == entry) continue;  // listed twice
    best.insert(place, entry);
    if (best.size() > count) best.pop_back();
  }
  std::vector<std::string> nearest;
  for (const auto& [distance, candidate] : best) {
    const bool intel = candidate.find('.') != std::string_view::npos;
    nearest.push_back(intel && writes_capitals(name) ? in_capitals(std::string(candidate)) : std::string(candidate));
  }
  return nearest;
}

}  // namespace zs::session
