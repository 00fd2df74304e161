#include "cli/command/perf_options.h"

#include <algorithm>
#include <cctype>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "base/items.h"

/// perf_options.txt, which says how it is written; put here by perf_options_text.S.
extern "C" {
extern const char zs_perf_options[], zs_perf_options_end[];
}

namespace zs::cli {
namespace {

/// perf's verbs that pass on to another what they have not themselves.
struct PassedOn {
  std::string_view verb, to;
};
constexpr PassedOn kPassedOn[] = {{"mem record", "record"}, {"c2c record", "record"}, {"mem report", "report"}};

struct NamedStanding {
  std::string_view name;
  Standing standing;
};
constexpr NamedStanding kStandings[] = {{"same", Standing::Same},
                                        {"no matter", Standing::NoMatter},
                                        {"otherwise", Standing::Otherwise},
                                        {"refused", Standing::Refused}};
constexpr std::string_view kNoVerb = "no verb";  // of ours: where the others have a standing

/// A row of the text, "VERBS | STANDING | TEXT", or a line of options below one, which begins with blanks.
struct Line {
  std::string_view verbs, standing, text, options;
};

/// Takes what stands before the separator, or all.
std::string_view taken(std::string_view& from, std::string_view separator) {
  const std::size_t end = std::min(from.find(separator), from.size());
  const std::string_view piece = from.substr(0, end);
  from.remove_prefix(std::min(end + separator.size(), from.size()));
  return piece;
}

/// visit(row, with each line of its options): nothing is kept, since every command line asks.
template <typename Visit>
void for_each_line(const Visit& visit) {
  Line row;
  for (std::string_view line : pieces_of({zs_perf_options, zs_perf_options_end}, '\n')) {
    if (line.empty() || line.starts_with('#')) continue;
    if (line.starts_with(' ')) {
      row.options = line;
    } else {
      const std::string_view verbs = taken(line, " | "), standing = taken(line, " | ");
      row = {verbs, standing, line, ""};
    }
    visit(row);
  }
}

Standing standing_of(const Line& line) {
  const auto found = std::ranges::find(kStandings, line.standing, &NamedStanding::name);
  CHECK(found != std::end(kStandings));
  return found->standing;
}

bool names_verb(std::string_view verbs, std::string_view verb) {
  while (!verbs.empty()) {
    if (taken(verbs, ", ") == verb) return true;
  }
  return false;
}

/// Of "-c --count N".
PerfOption option_of(const Line& line, std::string_view option) {
  const std::size_t last = option.rfind(' ') + 1;  // 0: one name alone
  const bool has_value = option[last] != '-';
  const std::string_view value = has_value ? option.substr(last) : "";
  if (has_value) option = option.substr(0, last - 1);
  return {option, value, standing_of(line), line.text};
}

std::vector<PerfOption> options_of(std::string_view verb) {
  std::vector<PerfOption> all;
  for_each_line([&](const Line& line) {
    if (line.options.empty() || !names_verb(line.verbs, verb)) return;
    for (std::string_view option : items_of(line.options)) {
      option.remove_prefix(std::min(option.find_first_not_of(' '), option.size()));
      if (!option.empty()) all.push_back(option_of(line, option));
    }
  });
  // By letter in either case, then by long name; those without a letter come last.
  std::ranges::sort(all, {}, [](const PerfOption& option) {
    const std::string_view names = option.names.substr(option.names.starts_with('(') ? 1 : 0);
    const std::size_t dashes = names.find("--");
    return std::tuple(dashes == 0, dashes == 0 ? '-' : std::tolower(names[1]),
                      dashes == names.npos ? "" : names.substr(dashes));
  });
  for (PerfOption& option : all) {
    if (option.names.starts_with('(')) option.names.remove_prefix(option.names.find("--"));
  }
  return all;
}

}  // namespace

std::vector<PerfOption> perf_options(std::string_view verb) {
  std::vector<PerfOption> all = options_of(verb);
  std::vector<std::string_view> own;
  for (const PerfOption& option : all) {
    for (const std::string_view name : items_of(option.names, ' ')) own.push_back(name);
  }
  const auto is_own = [&](std::string_view name) { return std::ranges::find(own, name) != own.end(); };
  const auto passed_on = std::ranges::find(kPassedOn, verb, &PassedOn::verb);
  if (passed_on == std::end(kPassedOn)) return all;
  for (PerfOption row : options_of(passed_on->to)) {
    const std::size_t first = std::min(row.names.find(' '), row.names.size());
    if (first < row.names.size() && is_own(row.names.substr(first + 1))) row.names = row.names.substr(0, first);
    if (is_own(row.names.substr(0, first))) row.names.remove_prefix(std::min(first + 1, row.names.size()));
    if (!row.names.empty()) all.push_back(row);
  }
  return all;
}

std::vector<PerfVerb> perf_verbs() {
  std::vector<PerfVerb> verbs;
  for_each_line([&](const Line& line) {
    if (line.standing == kNoVerb) verbs.push_back({line.verbs, line.text});
  });
  return verbs;
}

}  // namespace zs::cli
