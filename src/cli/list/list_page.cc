#include "cli/list/list_page.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>

#include "arch/events/tables.h"
#include "arch/ibs.h"
#include "base/check.h"
#include "base/items.h"
#include "cli/command/words.h"
#include "events/core_model_needs.h"
#include "events/event_parser.h"
#include "events/measured_error.h"
#include "events/perf_names.h"
#include "report/text/json.h"
#include "session/driver/core_choice.h"
#include "session/recording/branch_trace.h"

namespace zs::cli {
namespace {

using arch::PerfEvtSel;

std::vector<std::string> aliases_in(std::string_view text) {
  std::vector<std::string> words;
  for (const std::string_view word : pieces_of(text, ' ')) {
    if (!word.empty()) words.emplace_back(word);
  }
  return words;
}

ListedClass class_of(arch::EventClass kind, const arch::CpuModel& cpu) {
  switch (kind) {
    case arch::EventClass::Exact: return ListedClass::Exact;
    case arch::EventClass::Modelled:
      return session::core_of(cpu) != nullptr ? ListedClass::Modelled : ListedClass::NotModelled;
    case arch::EventClass::NotModelled: break;
  }
  return ListedClass::NotModelled;
}

void explain(ListedEvent& event, std::string_view vendors_name) {
  if (event.kind == ListedClass::NotModelled) event.needs = session::core_model_part_of(vendors_name);
  if (event.kind == ListedClass::Modelled) event.error = session::measured_error(vendors_name);
}

ListedEvent from_row(const arch::Event& row, const arch::CpuModel& cpu) {
  ListedEvent event{.name = std::string(row.name),
                    .aliases = aliases_in(row.aliases),
                    .kind = class_of(row.kind(), cpu),
                    .config = row.config(),
                    .counters = row.counters,
                    .precise = row.precise,
                    .data_address = row.data_address,
                    .extension = row.extension,
                    .description = std::string(row.description)};
  explain(event, row.name);
  if (event.kind == ListedClass::NotModelled) return event;
  // As -e would count it: INST_RETIRED.ANY may have a general counter too.
  const auto parsed = session::parse_events(row.name, cpu);
  CHECK(parsed.has_value());
  const session::ParsedEvent& counted = parsed->front().events.front();
  event.config = counted.select.with(PerfEvtSel::user, 0).raw();
  event.counters = counted.counters;
  return event;
}

ListedEvent from_perf(const session::PerfName& name, const arch::CpuModel& cpu) {
  ListedEvent event;
  if (const arch::Event* const row = session::row_of(name, cpu)) {
    event = from_row(*row, cpu);
    event.aliases = {std::string(row->name)};
  } else if (name.kind == session::EventKind::Hardware && name.needs.empty()) {
    event.needs = "an event of this CPU model";
  }
  event.name = name.name;
  for (std::string& alias : aliases_in(name.aliases)) event.aliases.push_back(std::move(alias));
  // What perf takes of AMD's processors for a name is often something else than of Intel's.
  if (cpu.vendor == arch::Vendor::Intel || event.description.empty()) event.description = name.description;
  if (name.kind == session::EventKind::BranchTrace) {
    event.kind = ListedClass::Exact;
  } else if (is_ibs(name.kind)) {
    event.kind = ListedClass::Modelled;
    event.error = "not measured";
  } else if (name.kind != session::EventKind::Hardware) {
    event.kind = ListedClass::Software;
  }
  if (!name.needs.empty()) event.needs = name.needs;
  return event;
}

/// "EVENT.UMASK" as libpfm4 spells it.
std::string spelled_with_colon(std::string name) {
  std::replace(name.begin(), name.end(), '.', ':');
  return name;
}

/// As a raw config would be counted.
ListedEvent from_pfm(const PfmEvent& pfm, const arch::CpuModel& cpu) {
  const auto parsed = session::parse_events(fmt::format("r{:x}", pfm.config), cpu);
  ListedEvent event;
  for (const char c : pfm.name) event.name += arch::lower(c);
  if (parsed) {
    const bool exact = parsed->front().events.front().detail == session::Detail::Exact;
    event.kind = exact ? ListedClass::Exact : ListedClass::Modelled;
  }
  explain(event, event.name);
  event.config = pfm.config;
  event.counters = arch::any_of(cpu.general_counters);
  event.description = pfm.description;
  return event;
}

bool has_name(const ListedEvent& event, const auto& predicate) {
  return predicate(event.name) || std::any_of(event.aliases.begin(), event.aliases.end(), predicate);
}

const char* precise_name(arch::Precise precise) {
  static constexpr const char* kNames[] = {"no", "yes", "only", "distribution"};
  return kNames[static_cast<std::size_t>(precise)];
}

std::string code_of(const ListedEvent& event, const arch::CpuModel& cpu) {
  if (!event.config) return "-";
  if (event.counters.general().empty()) return "fixed";
  const PerfEvtSel select{*event.config};
  std::string code = fmt::format("{:02X}/{:02X}", arch::event_code(cpu, select), select.get(PerfEvtSel::umask));
  if (select.has(PerfEvtSel::cmask)) code += fmt::format(" c{}", select.get(PerfEvtSel::cmask));
  if (select.has(PerfEvtSel::invert)) code += " i";
  if (select.has(PerfEvtSel::edge)) code += " e";
  if (select.has(PerfEvtSel::any)) code += " t";
  return code;
}

/// "0-2,4" for the bits of a set.
std::string ranges(std::uint64_t bits) {
  std::string text;
  for (unsigned n = 0; n < 64; ++n) {
    if ((bits >> n & 1) == 0) continue;
    unsigned last = n;
    while (last < 63 && (bits >> (last + 1) & 1) != 0) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(n) + (last > n ? "-" + std::to_string(last) : "");
    n = last;
  }
  return text;
}

std::vector<unsigned> members(std::uint64_t bits) {
  std::vector<unsigned> numbers;
  for (unsigned n = 0; n < 64; ++n) {
    if ((bits >> n & 1) != 0) numbers.push_back(n);
  }
  return numbers;
}

/// What a set bit of the select register means, by the field's name in the manual.
struct BitMeaning {
  std::string_view name, set, clear;
};
constexpr std::array kBitMeanings{
    BitMeaning{"USR", "counts in ring 3", "does not count in ring 3"},
    BitMeaning{"OS", "counts in ring 0 (not modelled)", "does not count in ring 0"},
    BitMeaning{"E", "counts only where the condition becomes true", ""},
    BitMeaning{"PC", "toggles a pin; changes no count", ""},
    BitMeaning{"INT", "asks for an interrupt (PMI) on overflow", "no interrupt on overflow"},
    BitMeaning{"ANY", "counts both hyper-threads of the core", ""},
    BitMeaning{"EN", "the counter runs", "the counter stands still"},
    BitMeaning{"INV", "fewer than CMASK a cycle; no meaning while CMASK is 0", ""},
    BitMeaning{"HG_ONLY", "only in a virtual machine, or only outside; no effect here", ""},
    BitMeaning{"CMASK", "cycles with at least so many occurrences", ""},
    BitMeaning{"IN_TX", "only inside a transaction", ""},
    BitMeaning{"IN_TXCP", "not what an aborted transaction did", ""},
};

std::uint64_t field_value(const arch::FieldFact& field, std::uint64_t word) {
  return word >> field.low & (~std::uint64_t{0} >> (63 - (field.high - field.low)));
}

/// A parser's message without the place, which is the whole word.
std::string reason_of(const Error& error) {
  const std::size_t colon = error.message.find(": ");
  return colon == std::string::npos ? error.message : error.message.substr(colon + 2);
}

/// The select register as the processor's manual draws it.
struct SelectRegister {
  std::string_view name;
  std::span<const arch::FieldFact> fields;
  std::uint64_t mask;
};
SelectRegister select_register(const arch::CpuModel& cpu) {
  if (cpu.vendor == arch::Vendor::Amd) return {"PERF_CTLx", arch::PerfCtl::fields.facts, arch::PerfCtl::fields.mask};
  return {"IA32_PERFEVTSELx", PerfEvtSel::fields.facts, PerfEvtSel::fields.mask};
}

/// "" for a field that is clear and says nothing by that.
std::string field_line(const arch::FieldFact& field, std::uint64_t word) {
  const std::uint64_t value = field_value(field, word);
  const std::string_view name = field.name;
  const std::string place =
      field.high == field.low ? fmt::format("bit  {}", field.low) : fmt::format("bits {}-{}", field.high, field.low);
  if (name == "EVENT" || name == "UMASK" || (name == "EVENT_HIGH" && value != 0))
    return fmt::format("  {:<11}{:<7} {:02X}H\n", place, name, value);
  const auto* meaning =
      std::find_if(kBitMeanings.begin(), kBitMeanings.end(), [&](const BitMeaning& row) { return row.name == name; });
  const std::string_view text = meaning == kBitMeanings.end() ? "" : value != 0 ? meaning->set : meaning->clear;
  if (value == 0 && text.empty()) return {};
  return fmt::format("  {:<11}{:<7} {:<5}{}\n", place, name, value, text);
}

}  // namespace

const char* name_of(ListedClass kind) {
  static constexpr const char* kNames[] = {"exact", "modelled", "software", "not modelled"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string counter_names(arch::CounterSet counters) {
  std::string text = ranges(counters.general().bits);
  for (const unsigned i : members(counters.fixed().bits >> arch::kFirstFixedBit))
    text += (text.empty() ? "fixed" : " fixed") + std::to_string(i);
  return text.empty() ? "-" : text;
}

std::vector<ListedEvent> list_events(const arch::CpuModel& cpu, const PfmNames& pfm) {
  std::vector<ListedEvent> events;
  for (const session::PerfName& name : session::perf_names()) events.push_back(from_perf(name, cpu));
  if (session::has_branch_trace(cpu)) events.push_back(from_perf(session::kBranchTrace, cpu));
  if (arch::has_ibs(cpu)) {
    events.push_back(from_perf(session::kIbsOp, cpu));
    events.push_back(from_perf(session::kIbsFetch, cpu));
  }
  for (const arch::Event& row : arch::events(cpu)) events.push_back(from_row(row, cpu));
  const std::size_t ours = events.size();
  for (const PfmEvent& further : pfm.events(cpu)) {
    const auto rows = arch::events(cpu);
    const bool known =
        std::any_of(rows.begin(), rows.end(), [&](const arch::Event& row) { return row.config() == further.config; }) ||
        arch::find_event(cpu, further.name) != nullptr;
    // Umasks E and I are attributes to libpfm4's own parser: -e cannot take those names.
    if (!known && pfm.config_of(cpu, spelled_with_colon(further.name))) events.push_back(from_pfm(further, cpu));
  }
  std::sort(events.begin() + static_cast<std::ptrdiff_t>(ours), events.end(),
            [](const ListedEvent& a, const ListedEvent& b) { return a.name < b.name; });
  return events;
}

std::vector<ListedEvent> matching(const std::vector<ListedEvent>& events, const std::vector<std::string>& globs) {
  std::vector<ListedEvent> found;
  const auto keep = [&](const auto& matches) {
    for (const ListedEvent& event : events) {
      const bool any = std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) {
        return has_name(event, [&](const std::string& name) { return matches(glob, name); });
      });
      if (any) found.push_back(event);
    }
  };
  keep([](const std::string& glob, const std::string& name) {
    return fnmatch(glob.c_str(), name.c_str(), FNM_CASEFOLD) == 0;
  });
  if (found.empty()) {
    keep([](const std::string& part, const std::string& name) {
      return arch::in_lower_case(name).find(arch::in_lower_case(part)) != std::string::npos;
    });
  }
  return found;
}

std::string list_page(const arch::CpuModel& cpu, const std::vector<ListedEvent>& events, bool verbose) {
  std::size_t name_width = 5, counters_width = 8, code_width = 10;
  for (const ListedEvent& event : events) {
    name_width = std::max(name_width, event.name.size());
    counters_width = std::max(counters_width, counter_names(event.counters).size());
    code_width = std::max(code_width, code_of(event, cpu).size());
  }
  std::string page = fmt::format("{:<{}}  {:<12}  {:<{}}  {:<{}}  {:<12}  {}\n", "EVENT", name_width, "CLASS",
                                 "CODE/UMASK", code_width, "COUNTERS", counters_width, "PRECISE", "DESCRIPTION");
  for (const ListedEvent& event : events) {
    std::string line =
        fmt::format("{:<{}}  {:<12}  {:<{}}  {:<{}}  {:<12}  {}", event.name, name_width, name_of(event.kind),
                    code_of(event, cpu), code_width, counter_names(event.counters), counters_width,
                    event.precise ? precise_name(*event.precise) : "-", event.description);
    line.erase(line.find_last_not_of(' ') + 1);
    page += line + "\n";
    if (!verbose) continue;
    if (!event.aliases.empty()) page += "    also: " + joined(event.aliases, ", ") + "\n";
    if (!event.error.empty()) page += fmt::format("    error: {}\n", event.error);
    if (!event.measured_here.empty()) page += fmt::format("    on this machine: {}\n", event.measured_here);
    if (event.needs == "kernel") {
      page += "    needs: the kernel's own counting\n";
    } else if (!event.needs.empty()) {
      page += fmt::format("    needs: more of the core ({})\n", event.needs);
    }
  }
  return page;
}

std::string list_json(const arch::CpuModel& cpu, const std::vector<ListedEvent>& events) {
  using report::Json;
  Json list = Json::array();
  for (const ListedEvent& event : events) {
    Json json = {{"name", event.name}, {"class", name_of(event.kind)}, {"aliases", event.aliases}};
    if (!event.needs.empty()) json["needs"] = event.needs;
    if (!event.error.empty()) json["error"] = event.error;
    if (!event.measured_here.empty()) json["measured_here"] = event.measured_here;
    if (event.config) {
      const PerfEvtSel select{*event.config};
      json["config"] = fmt::format("{:#x}", *event.config);
      json["event"] = arch::event_code(cpu, select);
      json["umask"] = select.get(PerfEvtSel::umask);
      json["cmask"] = select.get(PerfEvtSel::cmask);
      json["inv"] = select.has(PerfEvtSel::invert);
      json["edge"] = select.has(PerfEvtSel::edge);
      json["any"] = select.has(PerfEvtSel::any);
      json["counters"] = members(event.counters.general().bits);
      json["fixed_counters"] = members(event.counters.fixed().bits >> arch::kFirstFixedBit);
    }
    if (event.precise) {
      json["precise"] = precise_name(*event.precise);
      json["data_address"] = event.data_address;
      json["extension"] = event.extension;
    }
    json["description"] = event.description;
    list.push_back(std::move(json));
  }
  const Json json = {{"schema", "zeroskid-list"}, {"version", 1}, {"cpu", cpu.name}, {"events", std::move(list)}};
  return json.dump(2, true) + "\n";
}

std::string select_page(std::string_view word, const arch::CpuModel& cpu) {
  const std::uint64_t value = std::strtoull(std::string(word).c_str(), nullptr, 16);
  const SelectRegister select = select_register(cpu);
  std::string page = fmt::format("{}  {} of {}\n", word, select.name, cpu.name);
  for (const arch::FieldFact& field : select.fields) page += field_line(field, value);
  if (const std::uint64_t reserved = value & ~select.mask; reserved != 0)
    page += fmt::format("  reserved bits are set: {:#x}\n", reserved);

  const auto parsed = session::parse_events(word, cpu);
  if (!parsed) {
    page += fmt::format("Not counted: {}\n", reason_of(parsed.error()));
    if (!parsed.error().hint.empty()) page += fmt::format("hint: {}\n", parsed.error().hint);
    return page;
  }
  const arch::Event* row = parsed->front().events.front().row;
  const char* const number_class =
      parsed->front().events.front().detail == session::Detail::Exact ? "exact" : "modelled";
  page += row == nullptr ? std::string("Counts FP_ARITH_INST_RETIRED with these umask bits together, exact\n")
                         : fmt::format("Counts {}, {}: {}\n", row->name, number_class, row->description);
  return page;
}

std::string select_json(std::string_view word, const arch::CpuModel& cpu) {
  using report::Json;
  const std::uint64_t value = std::strtoull(std::string(word).c_str(), nullptr, 16);
  Json fields = Json::object();
  const SelectRegister select = select_register(cpu);
  for (const arch::FieldFact& field : select.fields) fields[field.name] = field_value(field, value);
  Json json = {{"schema", "zeroskid-select"}, {"version", 1}, {"cpu", cpu.name}, {"word", word}};
  json["fields"] = std::move(fields);
  json["reserved"] = fmt::format("{:#x}", value & ~select.mask);
  const auto parsed = session::parse_events(word, cpu);
  const arch::Event* row = parsed ? parsed->front().events.front().row : nullptr;
  json["counted"] = parsed.has_value();
  json["counts"] = row != nullptr ? Json(row->name) : Json(nullptr);
  if (!parsed) json["why"] = reason_of(parsed.error());
  return json.dump(2, true) + "\n";
}

}  // namespace zs::cli
