// Whether and how a CPU model counts what was asked for.
#include <utility>

#include "arch/events/tables.h"
#include "session/events/core_model_needs.h"
#include "session/events/event_draft.h"

namespace zs::session::event_list {
namespace {

using arch::PerfEvtSel;

const arch::Event* row_of(std::uint64_t config, const arch::CpuModel& cpu) {
  const arch::Event* found = nullptr;
  for (const arch::Event& row : arch::events(cpu)) {
    if (row.config() != config || row.counters.general().empty()) continue;
    if (row.kind() == arch::EventClass::Exact) return &row;
    if (found == nullptr) found = &row;
  }
  return found;
}

/// INST_RETIRED as a general-purpose counter counts it.
const arch::Event* plain_instructions(const arch::CpuModel& cpu) { return arch::find_event(cpu, "inst_retired.any_p"); }

Result<ParsedEvent> choose_software(const Draft& draft, ParsedEvent event) {
  if (event.precise > 0)
    return at(draft.modifiers.precise_column, std::string(draft.typed.bytes) + " has no precise form",
              "the kernel counts it; only the PMU's events take :p");
  if (draft.modifiers.added_column != 0)
    return at(draft.modifiers.added_column,
              std::string(draft.typed.bytes) + " is counted by the kernel, which has no counter mask, edge or invert");
  event.kind = draft.named.perf->kind;
  return event;
}

/// The row behind one of perf's names.
Result<const arch::Event*> row_of_perf(const Draft& draft, const arch::CpuModel& cpu) {
  const PerfName& perf = *draft.named.perf;
  if (perf.needs == "kernel")
    return at(draft.typed.column,
              "not modelled: " + std::string(draft.typed.bytes) +
                  " is not among the kernel's events that this version counts",
              "task-clock, cpu-clock, page-faults, minor-faults, major-faults and context-switches are");
  if (!perf.needs.empty()) return not_modelled(draft.typed, "", perf.needs);
  const arch::Event* row = arch::find_event(cpu, perf.row);
  if (row == nullptr)
    return at(draft.typed.column, std::string(cpu.name) + " has no event for " + quoted(draft.typed.bytes));
  return row;
}

/// A raw select is taken as it is.
void choose_select(PerfEvtSel select, const arch::CpuModel& cpu, ParsedEvent& event) {
  event.select = select;
  event.row = row_of(select.raw() & ~PerfEvtSel::pin.mask, cpu);
  if (event.row == nullptr) event.row = row_of(select.raw() & (PerfEvtSel::event.mask | PerfEvtSel::umask.mask), cpu);
  event.meaning = event.row != nullptr ? event.row->meaning
                                       : arch::meaning_of(cpu, static_cast<std::uint8_t>(select.get(PerfEvtSel::event)),
                                                          static_cast<std::uint8_t>(select.get(PerfEvtSel::umask)));
}

/// A named event is counted by whatever counts it best: instructions by PREC_DIST where :ppp asks for that.
void choose_row(const arch::Event* row, const arch::CpuModel& cpu, ParsedEvent& event) {
  const bool instructions = row->meaning == &arch::kInstructions && row->precise == arch::Precise::No;
  if (instructions && event.precise == 3) {
    if (const arch::Event* distribution = arch::find_event(cpu, "inst_retired.prec_dist")) row = distribution;
  }
  const bool fixed_only = row->counters.general().empty();
  const arch::Event* encoded = fixed_only && row->meaning == &arch::kInstructions ? plain_instructions(cpu) : row;
  event.row = row;
  event.meaning = row->meaning;
  if (encoded != nullptr) event.select = PerfEvtSel{encoded->config()};
}

Error cannot_count(const Draft& draft, const ParsedEvent& event, const arch::CpuModel& cpu) {
  if (event.row != nullptr) return not_modelled(draft.typed, event.row->name, core_model_part_of(event.row->name));
  if (!draft.named.known_as.empty())
    return not_modelled(draft.typed, draft.named.known_as, core_model_part_of(draft.named.known_as));
  return at(draft.typed.column,
            "not modelled: " + std::string(cpu.name) + " has no event " +
                in_hex(event.select.get(PerfEvtSel::event), 2) + "H with umask " +
                in_hex(event.select.get(PerfEvtSel::umask), 2) + "H that this version counts",
            kListHint);
}

void choose_counters(const arch::CpuModel& cpu, ParsedEvent& event) {
  const arch::Event* plain = plain_instructions(cpu);
  event.counters = event.row != nullptr ? event.row->counters : arch::any_of(cpu.general_counters);
  // INST_RETIRED.ANY is fixed counter 0, INST_RETIRED.ANY_P any general one: either name may have either counter.
  const bool instructions = event.row != nullptr && (event.row == plain || event.row->counters.general().empty());
  if (instructions && plain != nullptr) {
    event.counters = event.counters | plain->counters;
    for (unsigned i = 0; i < cpu.fixed_counters; ++i) {
      if (arch::fixed_meaning(cpu, i) == event.meaning) event.counters = event.counters | arch::fixed(i);
    }
  }
  event.precise_counters = event.counters & cpu.pebs_counters;
  event.has_address = event.row != nullptr && event.row->data_address;
  event.precise_distribution =
      event.precise > 0 && event.row != nullptr && event.row->precise == arch::Precise::Distribution;
  if (event.precise_distribution) event.precise_counters = event.precise_counters & cpu.distribution_counters;
}

}  // namespace

Result<ParsedEvent> choose(const Draft& draft, Text text, const arch::CpuModel& cpu) {
  const Modifiers& modifiers = draft.modifiers;
  ParsedEvent event;
  event.spelling = text.bytes;
  event.name = draft.name.empty() ? event.spelling : draft.name;
  event.period = draft.period;
  event.frequency = draft.frequency;
  event.precise = modifiers.precise;
  if (!modifiers.user.value_or(true))
    return at(text.column, quoted(text.bytes) + " counts in no ring", "ring 3 (:u) is what is counted");
  if (draft.named.perf != nullptr && draft.named.perf->kind != EventKind::Hardware)
    return choose_software(draft, std::move(event));

  if (modifiers.most_precise) event.precise = 3;
  if (draft.named.select) {
    choose_select(*draft.named.select, cpu, event);
  } else if (draft.named.perf != nullptr) {
    const auto row = row_of_perf(draft, cpu);
    if (!row) return row.error();
    choose_row(*row, cpu, event);
  } else {
    choose_row(draft.named.row, cpu, event);
  }
  if (event.meaning == nullptr || event.meaning->of_signals != nullptr) return cannot_count(draft, event, cpu);

  event.select = PerfEvtSel{event.select.raw() | modifiers.added.raw()}.with(PerfEvtSel::user, 1);
  if (event.select.has(PerfEvtSel::cmask) || event.select.has(PerfEvtSel::edge))
    return at(modifiers.added_column != 0 ? modifiers.added_column : draft.typed.column,
              "not modelled: a counter mask or edge makes " + std::string(draft.typed.bytes.substr(0, 80)) +
                  " count cycles, which needs the core model (cycles), which this version does not have",
              kListHint);
  choose_counters(cpu, event);
  if (event.precise > 0 && event.precise_counters.empty())
    return at(modifiers.precise_column,
              std::string(cpu.name) + " has no counter that samples " + quoted(draft.typed.bytes) + " precisely");
  return event;
}

}  // namespace zs::session::event_list
