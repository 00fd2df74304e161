// cpu/event=0xd0,umask=0x81,name=X/ppp and ibs_op/cnt_ctl=1/
#include <algorithm>
#include <array>
#include <utility>

#include "arch/ibs.h"
#include "events/event_draft.h"

namespace zs::session::event_list {
namespace {

using arch::PerfEvtSel;

constexpr std::uint64_t kLongestPeriod = (std::uint64_t{1} << 47) - 1;  // as Linux: half a 48-bit counter

enum class TermKind : std::uint8_t {
  Event,
  Umask,
  Config,
  Cmask,
  Invert,
  Edge,
  Any,
  Pin,
  Name,
  Period,
  Frequency,
  LatencyThreshold,
};

struct Term {
  std::string_view name;
  TermKind kind;
  std::uint64_t most;
  bool is_flag;  // may stand without a value
  std::string_view example;
  std::string_view missing_part;  // not modelled: of the core model
};

// clang-format off
constexpr std::array kTerms{
    Term{"event",       TermKind::Event,     0xFF,                false, "event=0xd0",   ""},
    Term{"umask",       TermKind::Umask,     0xFF,                false, "umask=0x81",   ""},
    Term{"config",      TermKind::Config,    ~std::uint64_t{0},   false, "config=0x81d0", ""},
    Term{"cmask",       TermKind::Cmask,     0xFF,                false, "cmask=1",      ""},
    Term{"inv",         TermKind::Invert,    1,                   true,  "inv=1",        ""},
    Term{"edge",        TermKind::Edge,      1,                   true,  "edge=1",       ""},
    Term{"any",         TermKind::Any,       1,                   true,  "any=1",        ""},
    Term{"pc",          TermKind::Pin,       1,                   true,  "pc=1",         ""},
    Term{"name",        TermKind::Name,      0,                   false, "name=loads",   ""},
    Term{"period",      TermKind::Period,    kLongestPeriod,      false, "period=10007", ""},
    Term{"freq",        TermKind::Frequency, 0xFFFF'FFFF,         false, "freq=999",     ""},
    Term{"ldlat",       TermKind::LatencyThreshold, 0xFFFF,       false, "ldlat=30",     ""},
    Term{"offcore_rsp", TermKind::Cmask,     0,                   false, "",             "caches"},
    Term{"frontend",    TermKind::Cmask,     0,                   false, "",             "cycles"},
    Term{"in_tx",       TermKind::Cmask,     0,                   false, "",             "transactional memory"},
    Term{"in_tx_cp",    TermKind::Cmask,     0,                   false, "",             "transactional memory"},
};
// clang-format on

/// What the terms of one event have said so far.
struct Terms {
  PerfEvtSel select;
  bool has_select = false;
  std::size_t named_column = 0;  // of the term that names an event; 0 if none does
  std::array<bool, kTerms.size()> seen{};
};

/// At the commas outside quotes, blanks trimmed; at least one.
std::vector<Text> split_terms(Text text) {
  std::vector<Text> terms;
  bool quote = false;
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.bytes[i] == '\'') quote = !quote;
    if (text.bytes[i] != ',' || quote) continue;
    terms.push_back(trimmed(text.from(start).first(i - start)));
    start = i + 1;
  }
  terms.push_back(trimmed(text.from(start)));
  return terms;
}

Error unknown_term(Text key) {
  std::string hint = "terms are";
  for (const Term& term : kTerms) {
    if (term.missing_part.empty()) hint += " " + std::string(term.name);
  }
  return at(key.column, "unknown term " + quoted(key.bytes), hint);
}

/// The largest value of a term: AMD's codes of events have 12 bits.
std::uint64_t most_of(const Term& term, const arch::CpuModel& cpu) {
  return term.kind == TermKind::Event && cpu.vendor == arch::Vendor::Amd ? 0xFFF : term.most;
}

struct KeyValue {
  Text key;
  std::optional<Text> value;
};
KeyValue key_and_value(Text term) {
  const std::size_t equals = term.bytes.find('=');
  if (equals == std::string_view::npos) return {trimmed(term), std::nullopt};
  return {trimmed(term.first(equals)), trimmed(term.from(equals + 1))};
}

Result<void> set_often(std::string_view name, Text key, std::uint64_t number, Draft& draft) {
  if (number == 0) return at(key.column, std::string(name) + "=0: at least 1 is needed");
  (name == "period" ? draft.period : draft.frequency) = number;
  return {};
}

Result<void> apply_term(const Term& term, Text key, std::uint64_t number, const arch::CpuModel& cpu, Terms& terms,
                        Draft& draft) {
  PerfEvtSel& added = draft.modifiers.added;
  switch (term.kind) {
    case TermKind::Event:
      terms.select = PerfEvtSel{terms.select.raw() | arch::select_code(static_cast<std::uint16_t>(number), 0).raw()};
      break;
    case TermKind::Umask: terms.select = terms.select.with(PerfEvtSel::umask, number); break;
    case TermKind::Config: {
      const auto read = raw_config(key, in_hex(number), cpu);
      if (!read) return read.error();
      terms.select = PerfEvtSel{terms.select.raw() | read->raw()};
      break;
    }
    case TermKind::Period:
    case TermKind::Frequency: return set_often(term.name, key, number, draft);
    case TermKind::LatencyThreshold:
      draft.latency_threshold = static_cast<std::uint16_t>(number);
      draft.threshold_column = key.column;
      return {};
    case TermKind::Pin: added = added.with(PerfEvtSel::pin, number); return {};
    case TermKind::Cmask: added = added.with(PerfEvtSel::cmask, number); break;
    case TermKind::Invert: added = added.with(PerfEvtSel::invert, number); break;
    case TermKind::Edge: added = added.with(PerfEvtSel::edge, number); break;
    case TermKind::Any: added = added.with(PerfEvtSel::any, number); break;
    case TermKind::Name: return {};
  }
  const bool names_event =
      term.kind == TermKind::Event || term.kind == TermKind::Umask || term.kind == TermKind::Config;
  if (names_event) {
    terms.has_select = true;
  } else {
    draft.modifiers.added_column = key.column;
  }
  return {};
}

/// cpu/mem_inst_retired.all_loads,period=1000/
Result<void> read_name_term(Text name, const Vocabulary& vocabulary, Terms& terms, Draft& draft) {
  if (terms.named_column != 0) return at(name.column, "a second event's name, " + quoted(name.bytes));
  auto found = resolve({name}, vocabulary);
  if (!found) return found.error();
  if (found->perf != nullptr && found->perf->kind != EventKind::Hardware)
    return at(name.column, quoted(name.bytes) + " is counted by the kernel and not by the cpu",
              "write it without cpu/.../");
  draft.named = std::move(*found);
  terms.named_column = name.column;
  return {};
}

/// name=TEXT
Result<void> read_name(Text value, Draft& draft) {
  std::string_view name = value.bytes;
  if (name.size() >= 2 && name.front() == '\'' && name.back() == '\'') name = name.substr(1, name.size() - 2);
  const auto printable = [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; };
  if (!std::all_of(name.begin(), name.end(), printable))
    return at(value.column, "a name cannot hold control characters: " + quoted(name));
  draft.name = name;
  return {};
}

Result<void> read_term(Text term, const Vocabulary& vocabulary, Terms& terms, Draft& draft) {
  if (term.empty()) return at(term.column, "a term is missing", "as in cpu/event=0xd0,umask=0x81/");
  const auto [key, value] = key_and_value(term);
  const auto* known = std::find_if(kTerms.begin(), kTerms.end(), [name = key.bytes](const Term& row) {
    return arch::equal_case_blind(row.name, name);
  });
  if (known == kTerms.end()) return value ? unknown_term(key) : read_name_term(key, vocabulary, terms, draft);
  if (!known->missing_part.empty()) return not_modelled(key, "", known->missing_part);
  const std::size_t index = static_cast<std::size_t>(known - kTerms.begin());
  if (std::exchange(terms.seen[index], true)) return at(key.column, quoted(key.bytes) + " is given twice");
  if ((!value || value->empty()) && !known->is_flag)
    return at(key.column, quoted(key.bytes) + " needs a value, as in " + std::string(known->example));
  if (known->kind == TermKind::Name) return read_name(*value, draft);
  std::uint64_t number = 1;
  if (value) {
    const auto read = number_in(*value, known->name, most_of(*known, vocabulary.cpu));
    if (!read) return read.error();
    number = *read;
  }
  return apply_term(*known, key, number, vocabulary.cpu, terms, draft);
}

/// "/" TERMS "/" is over.
Result<Draft> read_modifiers_behind(Text after, Draft draft) {
  if (after.empty()) return draft;
  if (after.bytes.front() == ':') after = after.from(1);
  for (const Text segment : split(after, ':')) {
    if (const auto read = read_modifiers(segment, false, draft.modifiers); !read) return read.error();
  }
  return draft;
}

/// intel_bts//u: it has no terms.
Result<Draft> read_branch_trace(Text text, std::size_t slash) {
  const std::size_t close = text.bytes.rfind('/');
  const Text inside = text.from(slash + 1).first(close - slash - 1);
  if (close == slash || !trimmed(inside).empty())
    return at(inside.column, quoted(text.bytes) + ": intel_bts has no terms", "intel_bts//u");
  Draft draft;
  draft.typed = text.first(close + 1);
  draft.named.perf = &kBranchTrace;
  return read_modifiers_behind(text.from(close + 1), std::move(draft));
}

/// As Linux has them in its PMUs' formats.
struct IbsTerm {
  std::string_view name;
  std::uint64_t bit;  // of the control register; 0: of none
  std::uint64_t most;
};
constexpr IbsTerm kSwfilt{"swfilt", 0, 1},  // which ring is looked at afterwards: here there is one
    kPeriod{"period", 0, kLongestPeriod}, kFrequency{"freq", 0, 0xFFFF'FFFF};
constexpr IbsTerm kIbsOpTerms[] = {{"cnt_ctl", arch::IbsOpCtl::counts_ops.mask, 1},
                                   {"l3missonly", arch::IbsOpCtl::l3_miss_only.mask, 1},
                                   kSwfilt,
                                   kPeriod,
                                   kFrequency};
constexpr IbsTerm kIbsFetchTerms[] = {{"rand_en", arch::IbsFetchCtl::random.mask, 1},
                                      {"l3missonly", arch::IbsFetchCtl::l3_miss_only.mask, 1},
                                      kSwfilt,
                                      kPeriod,
                                      kFrequency};
struct IbsPmu {
  std::string_view name;
  const PerfName& event;
  std::span<const IbsTerm> terms;
};
constexpr IbsPmu kIbsPmus[] = {{"ibs_op", kIbsOp, kIbsOpTerms}, {"ibs_fetch", kIbsFetch, kIbsFetchTerms}};

Result<void> read_ibs_term(Text term, const IbsPmu& pmu, Draft& draft) {
  const auto [key, value] = key_and_value(term);
  if (arch::equal_case_blind(key.bytes, "name") && value) return read_name(*value, draft);
  const auto known = std::ranges::find_if(
      pmu.terms, [name = key.bytes](const IbsTerm& row) { return arch::equal_case_blind(row.name, name); });
  if (known == pmu.terms.end()) {
    std::string terms = "terms are ";
    for (const IbsTerm& row : pmu.terms) terms += std::string(row.name) + " ";
    return at(key.column, "unknown term " + quoted(key.bytes) + " of " + std::string(pmu.name), terms + "name");
  }
  std::uint64_t number = 1;
  if (value) {
    const auto read = number_in(*value, known->name, known->most);
    if (!read) return read.error();
    number = *read;
  } else if (known->most != 1) {
    return at(key.column, quoted(key.bytes) + " needs a value, as in " + std::string(known->name) + "=100000");
  }
  if (known->name == "period" || known->name == "freq") return set_often(known->name, key, number, draft);
  if (number != 0) draft.unit_bits |= known->bit;
  return {};
}

/// ibs_op/cnt_ctl=1/
Result<Draft> read_ibs(Text text, std::size_t slash, const IbsPmu& pmu) {
  const std::size_t close = text.bytes.rfind('/');
  if (close == slash) return at(text.column, quoted(text.bytes) + " is not closed", std::string(pmu.event.name));
  const Text inside = trimmed(text.from(slash + 1).first(close - slash - 1));
  Draft draft;
  draft.typed = text.first(close + 1);
  draft.named.perf = &pmu.event;
  if (!inside.empty()) {
    for (const Text term : split_terms(inside)) {
      if (const auto read = read_ibs_term(term, pmu, draft); !read) return read.error();
    }
  }
  return read_modifiers_behind(text.from(close + 1), std::move(draft));
}

}  // namespace

Result<Draft> read_terms(Text text, const Vocabulary& vocabulary) {
  const std::size_t slash = text.bytes.find('/');
  const Text pmu = text.first(slash);
  if (arch::equal_case_blind(pmu.bytes, kBranchTrace.name.substr(0, kBranchTrace.name.find('/'))))
    return read_branch_trace(text, slash);
  for (const IbsPmu& ibs : kIbsPmus) {
    if (arch::equal_case_blind(pmu.bytes, ibs.name)) return read_ibs(text, slash, ibs);
  }
  if (!arch::equal_case_blind(pmu.bytes, "cpu"))
    return at(pmu.column, "unknown PMU " + quoted(pmu.bytes),
              "cpu/.../, ibs_op//, ibs_fetch// and intel_bts// are modelled");
  // A quoted name may hold slashes: the last one is the closing one.
  const std::size_t close = text.bytes.rfind('/');
  const Text inside = text.from(slash + 1).first(close - slash - 1);

  Draft draft;
  draft.typed = text.first(close + 1);
  Terms terms;
  for (const Text term : split_terms(inside)) {
    if (const auto read = read_term(term, vocabulary, terms, draft); !read) return read.error();
  }
  if (terms.named_column != 0 && terms.has_select)
    return at(terms.named_column, "an event's name beside event=, umask= or config=", "give one or the other");
  if (terms.named_column == 0) draft.named.select = terms.select;

  return read_modifiers_behind(text.from(close + 1), std::move(draft));
}

}  // namespace zs::session::event_list
