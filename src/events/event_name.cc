// From a name, a raw config or a select word to the event that it means.
#include <algorithm>
#include <array>
#include <utility>

#include "arch/events/tables.h"
#include "events/event_draft.h"
#include "events/nearest_names.h"
#include "session/driver/core_choice.h"

namespace zs::session::event_list {
namespace {

using arch::PerfEvtSel;

/// libpfm4's names of processors whose core events are those of a CPU model of ours.
struct PfmPrefix {
  std::string_view model, prefixes;
};
constexpr std::array kPfmPrefixes{
    PfmPrefix{"skylake-server@", " skx skl clx ix86arch "},
    PfmPrefix{"skylake-client@", " skl ix86arch "},
    PfmPrefix{"core2@", " core ix86arch "},
    PfmPrefix{"goldmont@", " glm ix86arch "},
    PfmPrefix{"icelake-server@", " icx icl ix86arch "},
    PfmPrefix{"nehalem@", " nhm nhm_ex ix86arch "},
    PfmPrefix{"sapphire-rapids@", " spr ix86arch "},
    PfmPrefix{"ivybridge@", " ivb ivb_ep ix86arch "},
    PfmPrefix{"haswell", " hsw hsw_ep ix86arch "},
    PfmPrefix{"westmere", " wsm wsm_dp ix86arch "},
    PfmPrefix{"zen4@", " amd64_fam19h_zen4 "},
};

bool names_this_processor(std::string_view prefix, const arch::CpuModel& cpu) {
  std::string word = " ";
  for (const char c : prefix) word += arch::lower(c);
  word += ' ';
  return std::any_of(kPfmPrefixes.begin(), kPfmPrefixes.end(), [&](const PfmPrefix& row) {
    return cpu.name.substr(0, row.model.size()) == row.model && row.prefixes.find(word) != std::string_view::npos;
  });
}

/// "PERF_COUNT_HW_BRANCH_INSTRUCTIONS" or "BRANCH_INSTRUCTIONS" as perf itself spells it.
std::string perf_spelling(std::string_view name) {
  for (const std::string_view prefix : {"PERF_COUNT_HW_", "PERF_COUNT_SW_"}) {
    if (name.size() > prefix.size() && arch::equal_case_blind(name.substr(0, prefix.size()), prefix))
      name.remove_prefix(prefix.size());
  }
  std::string spelling(name);
  std::replace(spelling.begin(), spelling.end(), '_', '-');
  return spelling;
}

/// What of a select register says what is counted.
std::uint64_t config_bits(const arch::CpuModel& cpu) {
  const std::uint64_t conditions = PerfEvtSel::edge.mask | PerfEvtSel::invert.mask | PerfEvtSel::cmask.mask;
  const bool intel = cpu.vendor == arch::Vendor::Intel;
  return cpu.code_bits() | conditions | (intel ? PerfEvtSel::pin.mask | PerfEvtSel::any.mask : 0);
}
constexpr std::uint64_t kRingBits =
    PerfEvtSel::user.mask | PerfEvtSel::kernel.mask | PerfEvtSel::interrupt.mask | PerfEvtSel::enable.mask;
/// Bits that ask for transactional memory; on AMD's processors they are of the event's code.
std::uint64_t transaction_bits(const arch::CpuModel& cpu) {
  return cpu.vendor == arch::Vendor::Intel ? PerfEvtSel::in_tx.mask | PerfEvtSel::in_txcp.mask : 0;
}
Error unknown(Text name, const Vocabulary& vocabulary) {
  std::vector<std::string> names;
  const auto add_words = [&](std::string_view words) {
    for (const Text word : split({words}, ' ')) {
      if (!word.empty()) names.emplace_back(word.bytes);
    }
  };
  for (const PerfName& row : perf_names()) {
    names.emplace_back(row.name);
    add_words(row.aliases);
  }
  for (const arch::Event& row : arch::events(vocabulary.cpu)) {
    names.emplace_back(row.name);
    add_words(row.aliases);
  }
  if (vocabulary.more != nullptr) {
    for (std::string& further : vocabulary.more->all(vocabulary.cpu)) names.push_back(std::move(further));
  }
  std::string dotted(name.bytes.substr(0, 256));
  std::replace(dotted.begin(), dotted.end(), ':', '.');
  constexpr std::size_t kShown = 3;
  std::vector<std::string> shown = meant_names(dotted, names);
  // A preset of PAPI's that means something here is no misspelling.
  const bool preset = !shown.empty() && arch::equal_case_blind(std::string_view(dotted).substr(0, 5), "PAPI_");
  for (const std::string& near : nearest_names(dotted, names, preset ? 0 : kShown)) {
    if (std::find(shown.begin(), shown.end(), near) == shown.end()) shown.push_back(near);
  }
  shown.resize(std::min(shown.size(), kShown));
  std::string hint;
  for (const std::string& near : shown) hint += (hint.empty() ? "nearest: " : ", ") + near;
  hint += hint.empty() ? "`zeroskid list` shows every event" : "; `zeroskid list` shows every event";
  return at(name.column, "unknown event " + quoted(name.bytes), hint);
}

/// The select register, as HPCTool is given it.
Result<PerfEvtSel> select_word(Text text, const arch::CpuModel& cpu) {
  const Number number = number_of(text.bytes.substr(2), 16);
  const std::string quote = quoted(text.bytes);
  if (number.bad == BadNumber::NoNumber) return at(text.column, quote + " is not a number");
  if (number.bad) return at(text.column, quote + " does not fit 64 bits");
  if ((number.value & transaction_bits(cpu)) != 0) return not_modelled(text, "", "transactional memory");
  if (const std::uint64_t other = number.value & ~(config_bits(cpu) | kRingBits); other != 0)
    return at(text.column, quote + " has bit " + std::to_string(63 - __builtin_clzll(other)) +
                               " set, which is not of an event select");
  const PerfEvtSel word{number.value};
  const PerfEvtSel works = word.with(PerfEvtSel::user, 1).with(PerfEvtSel::kernel, 0).with(PerfEvtSel::enable, 1);
  const std::string hint = "the same in ring 3: 0x" + in_hex(works.raw(), 6);
  if (word.has(PerfEvtSel::kernel))
    return at(text.column, "ring-0 counting is not modelled: " + quote + " has OS (bit 17) set", hint);
  if (!word.has(PerfEvtSel::user))
    return at(text.column, quote + " has USR (bit 16) clear, so it counts nothing in ring 3", hint);
  if (!word.has(PerfEvtSel::enable))
    return at(text.column, quote + " has EN (bit 22) clear, so its counter stands still", hint);
  return PerfEvtSel{number.value & config_bits(cpu)};
}

/// "r20d1 (mem_load_retired.l3_miss)"
std::string both_names(Text typed, std::string_view known_as) {
  std::string names(typed.size() > 80 ? typed.bytes.substr(0, 80) : typed.bytes);
  if (!known_as.empty() && !arch::equal_case_blind(names, known_as)) names += " (" + std::string(known_as) + ")";
  return names;
}

/// Asks the further names with as many segments as can belong to a name: from all of them down to the first.
std::optional<Named> resolve_further(const std::vector<Text>& segments, const Vocabulary& vocabulary) {
  constexpr std::size_t kMostSegments = 9, kLongest = 256;  // an event, and each of eight umask bits by name
  if (vocabulary.more == nullptr) return std::nullopt;
  for (std::size_t count = std::min(segments.size(), kMostSegments); count > 0; --count) {
    std::string name;
    for (std::size_t i = 0; i < count; ++i) name += (i == 0 ? "" : ":") + std::string(segments[i].bytes);
    if (name.size() > kLongest || name.find('=') != std::string::npos) continue;
    if (count < segments.size() && !looks_like_modifiers(segments[count])) continue;
    std::replace(name.begin(), name.end(), '.', ':');
    const auto config = vocabulary.more->config_of(vocabulary.cpu, name);
    if (!config) continue;
    std::replace(name.begin(), name.end(), ':', '.');
    return Named{.select = PerfEvtSel{*config & config_bits(vocabulary.cpu)}, .known_as = name, .segments = count};
  }
  return std::nullopt;
}

}  // namespace

Error not_modelled(Text typed, std::string_view known_as, std::string_view part) {
  return at(typed.column,
            "not modelled: " + both_names(typed, known_as) + " needs more of the core (" + std::string(part) +
                ") than its models have",
            kListHint);
}

Error no_core(Text typed, std::string_view known_as, std::string_view part, const arch::CpuModel& cpu) {
  return at(typed.column,
            "not modelled: " + both_names(typed, known_as) + " needs a model of the core (" + std::string(part) +
                "), which " + std::string(cpu.name) + " does not have",
            "CPU models with one are " + cores_by_name());
}

/// perf's raw config. The kernel ignores USR, OS, INT and EN there, because modifiers say them; so do we.
Result<PerfEvtSel> raw_config(Text text, std::string_view hex_digits, const arch::CpuModel& cpu) {
  const Number number = number_of(hex_digits, 16);
  if (number.bad) return at(text.column, quoted(text.bytes) + " does not fit 64 bits");
  if ((number.value & transaction_bits(cpu)) != 0) return not_modelled(text, "", "transactional memory");
  if (const std::uint64_t other = number.value & ~(config_bits(cpu) | kRingBits); other != 0)
    return at(text.column, quoted(text.bytes) + " has bit " + std::to_string(63 - __builtin_clzll(other)) +
                               " set, which is not of an event select");
  return PerfEvtSel{number.value & config_bits(cpu)};
}

Result<Named> resolve(const std::vector<Text>& segments, const Vocabulary& vocabulary) {
  const Text first = segments.front();
  if (first.empty()) return at(first.column, "an event name is missing");
  if (const PerfName* perf = find_perf_name(first.bytes)) return Named{.perf = perf};
  if (const arch::Event* row = arch::find_event(vocabulary.cpu, first.bytes)) return Named{.row = row};
  if (segments.size() > 1) {
    // A third piece that is no modifier is one more umask, and only libpfm4 knows how to combine them.
    const bool more_umasks = segments.size() > 2 && !looks_like_modifiers(segments[2]);
    if (auto further = more_umasks ? resolve_further(segments, vocabulary) : std::nullopt) return std::move(*further);
    const std::string dotted = std::string(first.bytes) + "." + std::string(segments[1].bytes);
    if (const arch::Event* row = arch::find_event(vocabulary.cpu, dotted)) return Named{.row = row, .segments = 2};
  }
  const bool raw =
      arch::lower(first.bytes[0]) == 'r' && number_of(first.bytes.substr(1), 16).bad != BadNumber::NoNumber;
  if (raw || starts_hex(first.bytes)) {
    const auto select =
        raw ? raw_config(first, first.bytes.substr(1), vocabulary.cpu) : select_word(first, vocabulary.cpu);
    if (!select) return select.error();
    return Named{.select = *select};
  }
  if (auto further = resolve_further(segments, vocabulary)) return std::move(*further);
  // "inst_retired:any_pp": the second piece is meant as a umask.
  if (segments.size() == 1 || looks_like_modifiers(segments[1])) return unknown(first, vocabulary);
  return unknown({{first.bytes.data(), first.size() + 1 + segments[1].size()}, first.column}, vocabulary);
}

Result<Draft> read_named(Text text, const Vocabulary& vocabulary) {
  Draft draft;
  Text rest = text;
  bool libpfm_spelling = false;
  std::string perf;  // keeps the respelled name alive
  std::vector<Text> segments;
  if (const std::size_t colons = text.bytes.find("::"); colons != std::string_view::npos) {
    const Text prefix = text.first(colons);
    rest = text.from(colons + 2);
    segments = split(rest, ':');
    libpfm_spelling = true;
    if (arch::equal_case_blind(prefix.bytes, "perf")) {
      perf = perf_spelling(segments.front().bytes);
      if (find_perf_name(perf) == nullptr) return unknown(segments.front(), vocabulary);
      segments.front().bytes = perf;
    } else if (!arch::equal_case_blind(prefix.bytes, "perf_raw") &&
               !names_this_processor(prefix.bytes, vocabulary.cpu)) {
      return at(prefix.column,
                quoted(prefix.bytes) + " names no processor whose events " + std::string(vocabulary.cpu.name) + " has",
                "leave the prefix out, or choose another --model");
    }
  } else {
    segments = split(rest, ':');
  }
  auto found = resolve(segments, vocabulary);
  if (!found) return found.error();
  draft.named = std::move(*found);
  const std::size_t used = draft.named.segments;
  libpfm_spelling |= used > 1;
  // The name as typed ends before the colon of its first modifier.
  draft.typed = used < segments.size() ? text.first(segments[used].column - 1 - text.column) : text;
  for (std::size_t i = used; i < segments.size(); ++i) {
    if (const auto read = read_modifiers(segments[i], libpfm_spelling, draft.modifiers); !read) return read.error();
  }
  return draft;
}

}  // namespace zs::session::event_list
