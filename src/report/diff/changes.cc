#include "report/diff/changes.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>

namespace zs::report {
namespace {

constexpr std::array<std::string_view, 7> kSuffixes = {"part", "isra",     "constprop", "cold",
                                                       "llvm", "lto_priv", "localalias"};

/// Causes first: a function of the same code has another count because others call it otherwise.
void sort_by_difference(std::vector<Change>& changes) {
  const auto rank = [](const Change& one) {
    const bool was_changed = !one.same_code && one.name != kOtherFunctions && one.difference() != 0;
    return std::pair(was_changed, std::abs(one.difference()));
  };
  std::ranges::stable_sort(changes, std::greater<>(), rank);
}

std::string_view without_modifiers(std::string_view event) {
  const std::size_t colon = event.rfind(':');
  return colon == std::string_view::npos || event.ends_with('/') ? event : event.substr(0, colon);
}

using LineSum = std::pair<SourcePlace, Sum>;

/// Lines of one source file that run in a function, matched.
class LineMatcher {
 public:
  explicit LineMatcher(std::vector<Change>& found) : found_(found) {}

  /// Ascending both. begins_a, begins_b: where the function does, by which lines are matched that counted otherwise
  void match(std::vector<LineSum> a, std::vector<LineSum> b, int begins_a, int begins_b) {
    std::size_t same = 0;
    while (same < a.size() && same < b.size() && are_alike(a[same], b[same])) pair(&a[same], &b[same]), ++same;
    a.erase(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(same));
    b.erase(b.begin(), b.begin() + static_cast<std::ptrdiff_t>(same));
    for (; !a.empty() && !b.empty() && are_alike(a.back(), b.back()); a.pop_back(), b.pop_back())
      pair(&a.back(), &b.back());
    if (a.size() == b.size() && (a.empty() || is_exact(a.front()))) {
      for (std::size_t i = 0; i < a.size(); ++i) pair(&a[i], &b[i]);
      return;
    }
    for (const LineSum& line : a) {
      const int wanted = line.first.second - begins_a + begins_b;
      const auto other = std::ranges::find(b, wanted, [](const LineSum& one) { return one.first.second; });
      pair(&line, other != b.end() ? &*other : nullptr);
      if (other != b.end()) b.erase(other);
    }
    for (const LineSum& line : b) pair(nullptr, &line);
  }

 private:
  static bool is_exact(const LineSum& line) { return line.second.squared_error == 0; }
  static bool are_alike(const LineSum& a, const LineSum& b) {
    return is_exact(a) && is_exact(b) && a.second.value == b.second.value;
  }

  void pair(const LineSum* a, const LineSum* b) {
    const auto named = [](const LineSum& line) { return line.first.first + ":" + std::to_string(line.first.second); };
    Change change{.name = named(b != nullptr ? *b : *a), .before = a != nullptr && b != nullptr ? named(*a) : ""};
    if (change.before == change.name) change.before.clear();
    if (a != nullptr) change.a = a->second;
    if (b != nullptr) change.b = b->second;
    found_.push_back(std::move(change));
  }

  std::vector<Change>& found_;
};

std::vector<Change> line_changes(const FunctionCounts* a, const FunctionCounts* b) {
  std::vector<Change> found;
  if (a != nullptr && b != nullptr && (a->lines.empty() || b->lines.empty())) return found;  // not known of one
  LineMatcher matcher(found);
  std::map<std::string, std::array<std::vector<LineSum>, 2>> by_file;  // "": the function's own
  const bool both_begin = a != nullptr && b != nullptr && a->begins.second != 0 && b->begins.second != 0;
  for (const std::size_t side : {0U, 1U}) {
    const FunctionCounts* const function = side == 0 ? a : b;
    if (function == nullptr) continue;
    for (const auto& [place, sum] : function->lines)
      by_file[both_begin && place.first == function->begins.first ? "" : place.first][side].emplace_back(place, sum);
  }
  for (auto& [file, lines] : by_file) {
    const bool own = file.empty();
    matcher.match(std::move(lines[0]), std::move(lines[1]), own ? a->begins.second : 0, own ? b->begins.second : 0);
  }
  sort_by_difference(found);
  return found;
}

/// Pairs what has a key on both sides and is alone with it there.
class FunctionMatcher {
 public:
  FunctionMatcher(const std::vector<FunctionCounts>& a, const std::vector<FunctionCounts>& b) {
    for (const FunctionCounts& one : a) a_.push_back(&one);
    for (const FunctionCounts& one : b) b_.push_back(&one);
  }

  template <typename Key>
  void pair_by(const Key& key) {
    using Found = decltype(key(*a_.front()));
    std::map<Found, std::pair<std::vector<const FunctionCounts*>, std::vector<const FunctionCounts*>>> by_key;
    for (const FunctionCounts* const one : a_) by_key[key(*one)].first.push_back(one);
    for (const FunctionCounts* const one : b_) by_key[key(*one)].second.push_back(one);
    for (const auto& [value, sides] : by_key) {
      if (value == Found{} || sides.first.size() != 1 || sides.second.size() != 1) continue;
      take(sides.first.front(), sides.second.front());
      pairs_.emplace_back(sides.first.front(), sides.second.front());
      std::erase(a_, sides.first.front());
      std::erase(b_, sides.second.front());
    }
  }

  /// By the line that they begin at, counted from the function above that is matched: others may have shifted both.
  void pair_by_place() {
    std::map<const FunctionCounts*, std::pair<const FunctionCounts*, int>> places;
    for (const std::size_t side : {0U, 1U}) {
      std::map<SourcePlace, const FunctionCounts*> above;  // named by what it is now
      for (const auto& pair : pairs_) above.emplace((side == 0 ? pair.first : pair.second)->begins, pair.second);
      for (const FunctionCounts* const one : side == 0 ? a_ : b_) {
        const auto next = above.lower_bound(one->begins);
        if (one->begins.second == 0 || next == above.begin() || std::prev(next)->first.first != one->begins.first)
          continue;
        places[one] = {std::prev(next)->second, one->begins.second - std::prev(next)->first.second};
      }
    }
    pair_by([&](const FunctionCounts& one) { return places[&one]; });
  }

  std::vector<Change> finish() {
    std::map<std::string, bool> same_file;  // none of its functions has other code
    for (const auto& [before, now] : pairs_) {
      if (!before->code.is_known() || !now->code.is_known()) continue;
      same_file.try_emplace(now->dso, true).first->second &= before->code == now->code;
    }
    const std::size_t matched = changes_.size();
    for (const FunctionCounts* const one : a_) take(one, nullptr);
    for (const FunctionCounts* const one : b_) take(nullptr, one);
    for (std::size_t i = matched; i < changes_.size(); ++i) changes_[i].same_code = same_file[changes_[i].dso];
    return std::move(changes_);
  }

 private:
  void take(const FunctionCounts* a, const FunctionCounts* b) {
    const FunctionCounts& shown = b != nullptr ? *b : *a;
    Change change{.name = shown.name, .dso = shown.dso, .begins = shown.begins};
    if (a != nullptr && a->name != shown.name) change.before = a->name;
    if (a != nullptr) change.a = a->sum;
    if (b != nullptr) change.b = b->sum;
    change.same_code = a != nullptr && b != nullptr && a->code.is_known() && a->code == b->code;
    change.lines = line_changes(a, b);
    changes_.push_back(std::move(change));
  }

  std::vector<const FunctionCounts*> a_, b_;
  std::vector<std::pair<const FunctionCounts*, const FunctionCounts*>> pairs_;
  std::vector<Change> changes_;
};

}  // namespace

std::string_view without_suffixes(std::string_view name) {
  for (;;) {
    std::string_view rest = name;
    const std::size_t number = rest.find_last_not_of("0123456789");
    if (number != std::string_view::npos && number + 1 < rest.size() && rest[number] == '.')
      rest.remove_suffix(rest.size() - number);
    const std::size_t dot = rest.rfind('.');
    if (dot == std::string_view::npos || dot == 0) return name;
    if (std::ranges::find(kSuffixes, rest.substr(dot + 1)) == kSuffixes.end()) return name;
    name = rest.substr(0, dot);
  }
}

namespace {

/// The least that a table keeps of a function by itself; nothing of a table that keeps all.
std::optional<double> least_kept(const std::vector<FunctionCounts>& table) {
  std::optional<double> least;
  bool has_others = false;
  for (const FunctionCounts& one : table) {
    if (one.name == kOtherFunctions) {
      has_others = true;
    } else {
      least = std::min(least.value_or(one.sum.value), one.sum.value);
    }
  }
  return has_others ? least.value_or(0) : std::optional<double>();
}

/// What is missing in a table because it is small there.
void sum_up_others(std::vector<Change>& changes, std::optional<double> least_a, std::optional<double> least_b) {
  if (!least_a && !least_b) return;
  Change others{.name = kOtherFunctions, .a = Sum{}, .b = Sum{}};
  std::erase_if(changes, [&](const Change& one) {
    const bool is_other = one.name == kOtherFunctions || (!one.a && least_a && one.value_b() <= *least_a) ||
                          (!one.b && least_b && one.value_a() <= *least_b);
    if (is_other && one.a) others.a->add(*one.a);
    if (is_other && one.b) others.b->add(*one.b);
    return is_other;
  });
  changes.push_back(std::move(others));
}

}  // namespace

std::set<std::string> own_names(const std::vector<FunctionCounts>& parts) {
  std::set<std::string> names;
  for (const FunctionCounts& one : parts) names.insert(one.name);
  return names;
}

std::vector<FunctionCounts> joined_functions(const std::vector<FunctionCounts>& parts,
                                             const std::set<std::string>& own) {
  std::map<std::pair<std::string, std::string>, FunctionCounts> all;
  for (const FunctionCounts& part : parts) {
    const auto owner = std::ranges::find_if(part.inlined, [&](const std::string& name) { return own.contains(name); });
    const bool is_inlined = owner != part.inlined.end() && *owner != part.name;
    const std::string& name = is_inlined ? *owner : part.name;
    FunctionCounts& function = all[{part.dso, name}];
    function.name = name;
    function.dso = part.dso;
    if (!is_inlined && part.begins.second != 0) function.begins = part.begins;
    if (!is_inlined && part.code.is_known()) function.code = part.code;
    function.sum.add(part.sum);
    for (const auto& [place, sum] : part.lines) function.lines[place].add(sum);
  }
  std::vector<FunctionCounts> joined;
  joined.reserve(all.size());
  for (auto& [key, function] : all) joined.push_back(std::move(function));
  return joined;
}

std::vector<Change> function_changes(const EventCounts& a, const EventCounts& b) {
  std::set<std::string> own = own_names(a.functions);
  own.merge(own_names(b.functions));
  std::vector<FunctionCounts> before = joined_functions(a.functions, own), now = joined_functions(b.functions, own);
  FunctionMatcher matcher(before, now);
  matcher.pair_by([](const FunctionCounts& one) { return std::pair(one.dso, one.name); });
  matcher.pair_by([](const FunctionCounts& one) { return one.name; });
  matcher.pair_by(
      [](const FunctionCounts& one) { return std::pair(one.code.opcodes, one.code.is_known() ? one.sum.value : 0); });
  matcher.pair_by([](const FunctionCounts& one) { return one.code.opcodes; });
  matcher.pair_by([](const FunctionCounts& one) { return one.begins; });
  matcher.pair_by_place();
  std::vector<Change> changes = matcher.finish();
  sum_up_others(changes, least_kept(before), least_kept(now));
  sort_by_difference(changes);
  return changes;
}

std::vector<EventChange> changes(const std::vector<EventCounts>& a, const std::vector<EventCounts>& b) {
  std::vector<EventChange> found;
  std::vector<const EventCounts*> rest;
  rest.reserve(b.size());
  for (const EventCounts& one : b) rest.push_back(&one);
  const auto take = [&](const EventCounts* before, const EventCounts* now) {
    EventChange& change = found.emplace_back();
    change.whole.name = now != nullptr ? now->event : before->event;
    if (before != nullptr) {
      change.class_a = before->value_class;
      change.whole.a = before->whole;
    }
    if (now != nullptr) {
      change.class_b = now->value_class;
      change.whole.b = now->whole;
    }
    const bool both = before != nullptr && now != nullptr && !before->functions.empty() && !now->functions.empty();
    if (both) change.functions = function_changes(*before, *now);
  };
  for (const EventCounts& one : a) {
    auto other = std::ranges::find(rest, one.event, [](const EventCounts* event) { return event->event; });
    if (other == rest.end())
      other = std::ranges::find(rest, without_modifiers(one.event),
                                [](const EventCounts* event) { return without_modifiers(event->event); });
    take(&one, other != rest.end() ? *other : nullptr);
    if (other != rest.end()) rest.erase(other);
  }
  for (const EventCounts* const one : rest) take(nullptr, one);
  return found;
}

}  // namespace zs::report
