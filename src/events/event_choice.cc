// Whether and how a CPU model counts what was asked for.
#include <utility>

#include "arch/events/tables.h"
#include "arch/ibs.h"
#include "events/core_model_needs.h"
#include "events/event_draft.h"
#include "session/driver/core_choice.h"
#include "session/recording/branch_trace.h"

namespace zs::session::event_list {
namespace {

using arch::PerfEvtSel;

const arch::Event* row_of_config(std::uint64_t config, const arch::CpuModel& cpu) {
  const arch::Event* found = nullptr;
  for (const arch::Event& row : arch::events(cpu)) {
    if (row.config() != config || row.counters.general().empty()) continue;
    if (row.kind() != arch::EventClass::NotModelled) return &row;
    if (found == nullptr) found = &row;
  }
  return found;
}

/// INST_RETIRED as a general-purpose counter counts it.
const arch::Event* plain_instructions(const arch::CpuModel& cpu) { return arch::find_event(cpu, "inst_retired.any_p"); }

/// The row by which a general-purpose counter counts what a fixed one does: instructions, or time. Null if there is
/// none.
const arch::Event* general_twin(const arch::Event& fixed, const arch::CpuModel& cpu) {
  if (fixed.meaning == &arch::kInstructions) return plain_instructions(cpu);
  for (const arch::Event& row : arch::events(cpu)) {
    const bool general = !row.counters.general().empty() && !row.has_condition();
    if (fixed.tick != arch::Tick::None && row.tick == fixed.tick && general) return &row;
  }
  return nullptr;
}

/// Whether the row counts what that fixed counter does.
bool counts_as(const arch::Event& row, const arch::Event& fixed) {
  return row.tick == fixed.tick && row.meaning == fixed.meaning &&
         (row.meaning != nullptr || row.tick != arch::Tick::None);
}

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

Result<ParsedEvent> choose_branch_trace(const Draft& draft, const arch::CpuModel& cpu, ParsedEvent event) {
  if (!has_branch_trace(cpu))
    return at(draft.typed.column, std::string(cpu.name) + " has no Branch Trace Store",
              "take --model " + std::string(arch::kDefaultCpuModel));
  if (event.precise > 0 || draft.modifiers.most_precise || draft.modifiers.added_column != 0)
    return at(draft.typed.column, std::string(draft.typed.bytes) + " takes no modifier but u: it has every branch");
  event.kind = EventKind::BranchTrace;
  return event;
}

Result<ParsedEvent> choose_ibs(const Draft& draft, const arch::CpuModel& cpu, ParsedEvent event) {
  if (!arch::has_ibs(cpu))
    return at(draft.typed.column, std::string(cpu.name) + " has no instruction-based sampling", "take --model zen4");
  if (core_of(cpu) == nullptr) return no_core(draft.typed, "", "fetches, ops and cycles", cpu);
  if (draft.modifiers.added_column != 0)
    return at(draft.modifiers.added_column, std::string(draft.typed.bytes) + " has no counter mask, edge or invert");
  if (event.precise > 2)
    return at(draft.modifiers.precise_column, std::string(draft.typed.bytes) + " is precise by itself: pp is the most");
  event.kind = draft.named.perf->kind;
  event.select = PerfEvtSel{draft.unit_bits};
  event.has_address = event.kind == EventKind::IbsOp;
  event.detail = Detail::Full;
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
  const arch::Event* row = row_of(perf, cpu);
  if (row == nullptr)
    return at(draft.typed.column,
              "not modelled: " + std::string(cpu.name) + " has no event for " + quoted(draft.typed.bytes));
  return row;
}

/// A raw select is taken as it is.
void choose_select(PerfEvtSel select, const arch::CpuModel& cpu, ParsedEvent& event) {
  event.select = select;
  event.row = row_of_config(select.raw() & ~PerfEvtSel::pin.mask, cpu);
  if (event.row == nullptr) event.row = row_of_config(select.raw() & cpu.code_bits(), cpu);
  event.meaning = event.row != nullptr ? event.row->meaning : arch::meaning_of(cpu, select);
  if (event.row != nullptr) event.tick = event.row->tick;
}

/// A named event is counted by whatever counts it best: instructions by PREC_DIST where :ppp asks for that.
void choose_row(const arch::Event* row, const arch::CpuModel& cpu, ParsedEvent& event) {
  const bool instructions = row->meaning == &arch::kInstructions && row->precise == arch::Precise::No;
  if (instructions && event.precise == 3) {
    if (const arch::Event* distribution = arch::find_event(cpu, "inst_retired.prec_dist")) row = distribution;
  }
  const bool fixed_only = row->counters.general().empty();
  const arch::Event* const twin = fixed_only ? general_twin(*row, cpu) : nullptr;
  event.row = row;
  event.meaning = row->meaning;
  event.tick = row->tick;
  event.select = PerfEvtSel{twin != nullptr ? twin->config() : row->config()};
}

/// What the event is called in the vendor's list or in libpfm4's; "" if nobody has a name for it.
std::string_view vendors_name(const Draft& draft, const ParsedEvent& event) {
  return event.row != nullptr ? event.row->name : std::string_view(draft.named.known_as);
}

/// The load-latency facility's threshold: what ldlat= says, or the name.
Result<void> choose_threshold(const Draft& draft, const arch::CpuModel& cpu, ParsedEvent& event) {
  if (!arch::is_load_latency(cpu, event.select)) {
    if (!draft.latency_threshold) return {};
    return at(draft.threshold_column,
              "ldlat= is of events that measure the latency of loads, and " + quoted(draft.typed.bytes) + " does not",
              "mem-loads does");
  }
  if (draft.latency_threshold) {
    event.latency_threshold = *draft.latency_threshold;
  } else if (draft.named.perf != nullptr) {
    event.latency_threshold = draft.named.perf->latency_threshold;
  } else if (draft.named.row != nullptr) {
    event.latency_threshold = static_cast<std::uint16_t>(draft.named.row->selector);
  }
  return {};
}

/// Of bits that AMD's select register has not.
Result<void> check_modifiers(const Draft& draft, const arch::CpuModel& cpu) {
  constexpr std::uint64_t kIntels = PerfEvtSel::pin.mask | PerfEvtSel::any.mask;
  if (cpu.vendor == arch::Vendor::Intel || (draft.modifiers.added.raw() & kIntels) == 0) return {};
  const std::size_t column = draft.modifiers.added_column;
  return at(column != 0 ? column : draft.typed.column,
            std::string(cpu.name) + " has no bits PC and ANY in its select registers", "leave any and pc out");
}

Error cannot_count(const Draft& draft, const ParsedEvent& event, const arch::CpuModel& cpu) {
  if (const std::string_view name = vendors_name(draft, event); !name.empty()) {
    const std::string_view part = core_model_part_of(name);
    return core_of(cpu) == nullptr ? no_core(draft.typed, name, part, cpu) : not_modelled(draft.typed, name, part);
  }
  return at(draft.typed.column,
            "not modelled: " + std::string(cpu.name) + " has no event " +
                in_hex(arch::event_code(cpu, event.select), 2) + "H with umask " +
                in_hex(event.select.get(PerfEvtSel::umask), 2) + "H that this version counts",
            kListHint);
}

void choose_counters(const arch::CpuModel& cpu, ParsedEvent& event) {
  event.counters = event.row != nullptr ? event.row->counters : arch::any_of(cpu.general_counters);
  // INST_RETIRED.ANY is fixed counter 0, INST_RETIRED.ANY_P any general one: either name may have either counter. So
  // with time.
  for (unsigned i = 0; i < cpu.fixed_counters && event.row != nullptr; ++i) {
    const arch::Event* const fixed = arch::fixed_event(cpu, i);
    if (fixed == nullptr || !counts_as(*event.row, *fixed)) continue;
    const arch::Event* const twin = general_twin(*fixed, cpu);
    if (event.row != twin && !event.row->counters.general().empty()) continue;
    event.counters = event.counters | arch::fixed(i);
    if (twin != nullptr) event.counters = event.counters | twin->counters;
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
  if (auto checked = check_modifiers(draft, cpu); !checked) return checked.error();
  if (!modifiers.user.value_or(true))
    return at(text.column, quoted(text.bytes) + " counts in no ring", "ring 3 (:u) is what is counted");
  if (draft.named.perf == &kBranchTrace) return choose_branch_trace(draft, cpu, std::move(event));
  if (draft.named.perf != nullptr && is_ibs(draft.named.perf->kind)) return choose_ibs(draft, cpu, std::move(event));
  if (draft.named.perf != nullptr && draft.named.perf->kind != EventKind::Hardware)
    return choose_software(draft, std::move(event));

  if (modifiers.most_precise) event.precise = cpu.has_pebs() ? 3 : 0;
  if (draft.named.select) {
    choose_select(PerfEvtSel{draft.named.select->raw() | modifiers.added.raw()}, cpu, event);
  } else if (draft.named.perf != nullptr) {
    const auto row = row_of_perf(draft, cpu);
    if (!row) return row.error();
    choose_row(*row, cpu, event);
  } else {
    choose_row(draft.named.row, cpu, event);
  }
  if (event.meaning == nullptr && event.tick == arch::Tick::None) return cannot_count(draft, event, cpu);
  event.detail = least_detail(event.meaning, event.tick);
  if (event.detail != Detail::Exact && core_of(cpu) == nullptr) return cannot_count(draft, event, cpu);

  event.select = PerfEvtSel{event.select.raw() | modifiers.added.raw()}.with(PerfEvtSel::user, 1);
  // Where the vendor's encoding has a mask of its own, the core model has done the comparing.
  const bool whole = event.row != nullptr && event.row == arch::find_whole_event(cpu, event.select);
  if (!whole && (event.select.has(PerfEvtSel::cmask) || event.select.has(PerfEvtSel::edge)))
    return at(modifiers.added_column != 0 ? modifiers.added_column : draft.typed.column,
              "not modelled: a counter mask or edge makes " + std::string(draft.typed.bytes.substr(0, 80)) +
                  " count cycles, which needs more of the core (cycles) than its models have",
              kListHint);
  if (auto set = choose_threshold(draft, cpu, event); !set) return set.error();
  choose_counters(cpu, event);
  if (event.precise > 0 && !cpu.has_pebs())
    return at(modifiers.precise_column,
              std::string(cpu.name) + " has no PEBS, so nothing samples " + quoted(draft.typed.bytes) + " precisely",
              "leave the :p off for samples at the overflow's interrupt, or take --model " +
                  std::string(arch::kDefaultCpuModel));
  if (event.precise > 0 && event.precise_counters.empty())
    return at(modifiers.precise_column,
              std::string(cpu.name) + " has no counter that samples " + quoted(draft.typed.bytes) + " precisely");
  return event;
}

}  // namespace zs::session::event_list
