#include <algorithm>
#include <array>

#include "arch/events/event.h"
#include "base/items.h"
#include "events/nearest_names.h"

namespace zs::session {
namespace {

/// Letters and digits alone, without the plural's s.
std::string bare(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    const char small = arch::lower(c);
    if ((small >= 'a' && small <= 'z') || (small >= '0' && small <= '9')) letters += small;
  }
  if (letters.ends_with("misses")) {
    letters.resize(letters.size() - 2);
  } else if (letters.size() > 3 && letters.ends_with('s') && !letters.ends_with("ss")) {
    letters.pop_back();
  }
  return letters;
}

/// Words that all occur in the bare name, and names of what is meant then. The first row that fits counts, so what is
/// more particular stands first. source: papi_avail(1) for the presets that begin with "papi".
struct Meaning {
  std::array<std::string_view, 3> words;
  std::string_view names;
};
// clang-format off
constexpr Meaning kMeanings[] = {
    {{"papi", "totin"},       "instructions"},
    {{"papi", "totcyc"},      "cycles"},
    {{"papi", "refcyc"},      "ref-cycles"},
    {{"papi", "brmsp"},       "branch-misses"},
    {{"papi", "brcn"},        "br_inst_retired.conditional branches"},
    {{"papi", "brtkn"},       "br_inst_retired.near_taken branches"},
    {{"papi", "brin"},        "branches"},
    {{"papi", "ldin"},        "mem_inst_retired.all_loads L1-dcache-loads"},
    {{"papi", "srin"},        "mem_inst_retired.all_stores L1-dcache-stores"},
    {{"papi", "l1dcm"},       "L1-dcache-load-misses"},
    {{"papi", "l1icm"},       "L1-icache-load-misses"},
    {{"papi", "l1"},          "L1-dcache-load-misses"},
    {{"papi", "l2"},          "mem_load_retired.l2_miss"},
    {{"papi", "l3"},          "LLC-load-misses cache-misses"},
    {{"papi", "tlbd"},        "dTLB-load-misses"},
    {{"papi", "tlbi"},        "iTLB-load-misses"},
    {{"llc", "store"},        "cache-references"},
    {{"llc", "miss"},         "LLC-load-misses cache-misses"},
    {{"l3", "miss"},          "LLC-load-misses mem_load_retired.l3_miss cache-misses"},
    {{"lastlevel"},           "LLC-load-misses cache-misses"},
    {{"llc"},                 "LLC-loads LLC-load-misses cache-references"},
    {{"l2", "miss"},          "mem_load_retired.l2_miss l2_rqsts.miss"},
    {{"l1", "i", "miss"},     "L1-icache-load-misses"},
    {{"l1", "miss"},          "L1-dcache-load-misses mem_load_retired.l1_miss"},
    {{"icache"},              "L1-icache-load-misses"},
    {{"dcache", "miss"},      "L1-dcache-load-misses"},
    {{"cachemiss"},           "cache-misses LLC-load-misses"},
    {{"itlb"},                "iTLB-load-misses"},
    {{"tlb", "miss"},         "dTLB-load-misses iTLB-load-misses"},
    {{"tlb"},                 "dTLB-load-misses dTLB-loads"},
    {{"mispred"},             "branch-misses"},
    {{"branch", "miss"},      "branch-misses"},
    {{"brmiss"},              "branch-misses"},
    {{"branch"},              "branches"},
    {{"jump"},                "branches"},
    {{"hitm"},                "mem_load_l3_hit_retired.xsnp_hitm"},
    {{"refcycle"},            "ref-cycles"},
    {{"clocktick"},           "cycles ref-cycles"},
    {{"cputime"},             "task-clock"},
    {{"cpi"},                 "instructions cycles"},
    {{"ipc"},                 "instructions cycles"},
    {{"pagefault"},           "page-faults"},
    {{"contextswitch"},       "context-switches"},
    {{"instr"},               "instructions"},
    {{"insn"},                "instructions"},
    {{"load"},                "mem_inst_retired.all_loads L1-dcache-loads"},
    {{"store"},               "mem_inst_retired.all_stores L1-dcache-stores"},
};
// clang-format on

bool fits(const Meaning& row, std::string_view letters) {
  return std::all_of(row.words.begin(), row.words.end(),
                     [&](std::string_view word) { return letters.find(word) != std::string_view::npos; });
}

}  // namespace

std::vector<std::string> meant_names(std::string_view name, std::span<const std::string> candidates) {
  std::vector<std::string> meant;
  const auto add = [&](std::string_view one) {
    const auto known = std::find(candidates.begin(), candidates.end(), one);
    if (known != candidates.end() && std::find(meant.begin(), meant.end(), one) == meant.end()) meant.push_back(*known);
  };
  // A name with a dot, or that stands before one, is a vendor's: its spelling tells more than what it might mean.
  if (name.find('.') != std::string_view::npos) return meant;
  const std::string letters = bare(name);
  if (letters.size() < 3) return meant;
  const auto is_its_event = [&](const std::string& candidate) {
    return candidate.size() > name.size() && candidate[name.size()] == '.' &&
           arch::equal_case_blind(std::string_view(candidate).substr(0, name.size()), name);
  };
  if (std::any_of(candidates.begin(), candidates.end(), is_its_event)) return meant;
  for (const std::string& candidate : candidates) {
    if (bare(candidate) == letters) add(candidate);
  }
  const auto* const row =
      std::find_if(std::begin(kMeanings), std::end(kMeanings), [&](const Meaning& one) { return fits(one, letters); });
  if (row == std::end(kMeanings)) return meant;
  for (const std::string_view one : pieces_of(row->names, ' ')) add(one);
  return meant;
}

}  // namespace zs::session
