#include "events/nearest_names.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "arch/events/event.h"

namespace zs::session {
namespace {

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max() - 1;
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

constexpr std::size_t kLeftOut = 1, kSwapped = 1, kWrong = 2, kTooMany = 2;  // the price of each mistake

/// How often each letter, digit or other byte occurs; some share a place, which only loosens the bound below.
class Letters {
 public:
  explicit Letters(std::string_view text) { add(text); }
  void add(std::string_view text) {
    for (const char c : text) ++occurrences_[static_cast<unsigned char>(arch::lower(c)) & 63];
  }
  /// A bound of typing_distance() that needs no table: what was typed and is not meant is wrong or too many, what is
  /// meant and was not typed stands in the place of a wrong one or was left out.
  std::size_t least_distance_to(const Letters& meant) const {
    unsigned surplus = 0, missing = 0;
    for (std::size_t i = 0; i < occurrences_.size(); ++i) {
      const unsigned typed_here = occurrences_[i], meant_here = meant.occurrences_[i];
      surplus += typed_here - std::min(typed_here, meant_here);
      missing += meant_here - std::min(typed_here, meant_here);
    }
    return surplus * std::min(kWrong, kTooMany) + (missing > surplus ? missing - surplus : 0) * kLeftOut;
  }

 private:
  std::array<std::uint16_t, 64> occurrences_{};
};

/// What somebody may have meant, and a bound of how far it is from what was typed.
struct Candidate {
  std::size_t least;
  std::string_view name;
};

/// Whoever types the beginning of names wants to see them.
bool begins_with(std::string_view candidate, std::string_view name) {
  constexpr std::size_t kTellingBeginning = 3;
  return name.size() >= kTellingBeginning && arch::equal_case_blind(candidate.substr(0, name.size()), name);
}

/// The bound of distance_from().
std::size_t least_distance_from(std::string_view name, const Letters& letters, std::string_view candidate) {
  if (begins_with(candidate, name)) return 0;
  const std::size_t dot = candidate.find('.');
  if (dot == std::string_view::npos) return letters.least_distance_to(Letters(candidate));
  Letters meant(candidate.substr(dot + 1));
  const std::size_t of_umask = letters.least_distance_to(meant) + 1;
  meant.add(candidate.substr(0, dot + 1));
  return std::min(of_umask, letters.least_distance_to(meant));
}

std::size_t distance_from(std::string_view name, std::string_view candidate, std::size_t limit) {
  if (begins_with(candidate, name)) return 0;
  const std::size_t whole = typing_distance(name, candidate, limit);
  const std::size_t dot = candidate.find('.');
  if (dot == std::string_view::npos) return whole;
  return std::min(whole, typing_distance(name, candidate.substr(dot + 1), limit) + 1);
}

}  // namespace

// Optimal string alignment: rows of the classic table, the last three kept, and of each only what can lead to a
// distance within the limit. Let k be how far right of the diagonal a path stands, and d the k of its end. From 0 to k
// and on to d it pays at least 3k - 2d if k is beyond d, and at least d - 3k if k is below 0: nothing else moves it, at
// kLeftOut to the right and kTooMany to the left.
std::size_t typing_distance(std::string_view typed, std::string_view meant, std::size_t limit) {
  static_assert(kLeftOut == 1 && kTooMany == 2);
  const auto rows = static_cast<std::ptrdiff_t>(typed.size()), columns = static_cast<std::ptrdiff_t>(meant.size());
  limit = std::min(limit, typed.size() * kTooMany + meant.size() * kLeftOut);  // nothing is farther
  const auto most = static_cast<std::ptrdiff_t>(limit);
  const std::size_t far = limit + 1;
  const std::ptrdiff_t d = columns - rows;
  if (std::max(d, -2 * d) > most) return far;
  const std::ptrdiff_t leftmost = -((most - d) / 3), rightmost = (most + 2 * d) / 3;

  std::vector<std::size_t> table(3 * (meant.size() + 1), far);
  std::size_t *before = table.data(), *last = before + meant.size() + 1, *now = last + meant.size() + 1;
  for (std::ptrdiff_t j = 0; j <= std::min(columns, rightmost); ++j) last[j] = static_cast<std::size_t>(j) * kLeftOut;
  const std::string a = arch::in_lower_case(typed), b = arch::in_lower_case(meant);
  const auto same = [&](std::ptrdiff_t i, std::ptrdiff_t j) { return a.data()[i - 1] == b.data()[j - 1]; };
  for (std::ptrdiff_t i = 1; i <= rows; ++i) {
    const std::ptrdiff_t from = std::max<std::ptrdiff_t>(1, i + leftmost), to = std::min(columns, i + rightmost);
    now[from - 1] = from == 1 ? static_cast<std::size_t>(i) * kTooMany : far;
    for (std::ptrdiff_t j = from; j <= to; ++j) {
      now[j] = std::min({last[j] + kTooMany, now[j - 1] + kLeftOut, last[j - 1] + (same(i, j) ? 0 : kWrong)});
      if (i > 1 && j > 1 && same(i, j - 1) && same(i - 1, j)) now[j] = std::min(now[j], before[j - 2] + kSwapped);
    }
    if (to < columns) now[to + 1] = far;  // the next row reads it
    std::swap(before, last);
    std::swap(last, now);
  }
  return std::min(last[columns], far);
}

std::vector<std::string> nearest_names(std::string_view name, std::span<const std::string> candidates,
                                       std::size_t count) {
  if (name.size() > kLongestName || count == 0) return {};
  // Those that may be nearest are looked at first, so that most are never compared letter by letter.
  const Letters letters(name);
  std::vector<Candidate> waiting;
  waiting.reserve(candidates.size());
  for (const std::string& candidate : candidates)
    waiting.push_back({least_distance_from(name, letters, candidate), candidate});
  const auto comes_later = [](const Candidate& a, const Candidate& b) { return a.least > b.least; };
  std::make_heap(waiting.begin(), waiting.end(), comes_later);

  std::vector<std::pair<std::size_t, std::string_view>> best;  // ascending, at most `count`
  for (; !waiting.empty(); waiting.pop_back()) {
    std::pop_heap(waiting.begin(), waiting.end(), comes_later);
    const auto& [least, candidate] = waiting.back();
    const std::size_t limit = best.size() < count ? kNoLimit : best.back().first;
    if (least > limit) break;
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
