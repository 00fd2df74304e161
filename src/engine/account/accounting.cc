// Trace to PMU: the event horizon, draining the trace, and the instruction that is retired alone with full state.

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "arch/msrs.h"
#include "arch/records/lbr.h"
#include "base/check.h"
#include "engine/isa_names.h"
#include "engine/runtime.h"
#include "isa/condition.h"
#include "isa/line_splits.h"

namespace zs::engine {
namespace {

/// Most occurrences of an event in one instruction other than a REP string, found by asking it about extreme ones.
std::uint32_t most_per_instruction(const arch::EventMeaning& meaning) {
  std::uint32_t most = 1;
  for (int branch = 0; branch <= static_cast<int>(arch::BranchKind::Far); ++branch) {
    for (int fp = 0; fp <= static_cast<int>(arch::FpArith::Packed512Single); ++fp) {
      for (const bool taken : {false, true}) {
        arch::Retired extreme;
        extreme.branch = static_cast<arch::BranchKind>(branch);
        extreme.fp = static_cast<arch::FpArith>(fp);
        extreme.fp_weight = 2;
        extreme.loads = extreme.stores = 2;
        extreme.load_count = extreme.store_count = 2;
        extreme.split_loads = extreme.split_stores = 2;
        extreme.nop = extreme.locked = true;
        extreme.taken = taken;
        most = std::max(most, meaning.count(extreme));
      }
    }
  }
  CHECK(most <= kMaxPerInstruction);
  return most;
}

/// Of `signals`, with one at a time of each group from `group` on.
std::uint64_t most_of_signals(const arch::EventMeaning& meaning, const arch::CoreSignals& signals, std::size_t group) {
  if (group == arch::kAlternativeSignals.size()) return meaning.of_signals(signals);
  const auto first = static_cast<std::size_t>(arch::kAlternativeSignals[group].first);
  const auto last = static_cast<std::size_t>(arch::kAlternativeSignals[group].last);
  std::uint64_t most = 0;
  for (std::size_t chosen = first; chosen <= last; ++chosen) {
    arch::CoreSignals one = signals;
    for (std::size_t i = first; i <= last; ++i) one.counts[i] = i == chosen ? signals.counts[i] : 0;
    most = std::max(most, most_of_signals(meaning, one, group + 1));
  }
  return most;
}

/// The same of a modelled event: no instruction adds more to any of the signals that it sums, nor to all alternatives together.
std::uint32_t most_per_instruction(const arch::EventMeaning& meaning, const arch::CoreFeed& core) {
  arch::CoreSignals most;
  for (std::size_t i = 0; i < arch::kCoreSignals; ++i)
    most.counts[i] = core.most_per_instruction(static_cast<arch::CoreSignal>(i));
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(most_of_signals(meaning, most, 0), 1, UINT32_MAX));
}

/// The signals that a modelled event sums.
arch::SignalSet signals_of(const arch::EventMeaning& meaning) {
  arch::SignalSet signals;
  for (std::size_t i = 0; i < arch::kCoreSignals; ++i) {
    arch::CoreSignals one;
    one.counts[i] = 1U << 20;  // some events are parts of a signal
    signals[i] = meaning.of_signals(one) != 0;
  }
  return signals;
}

/// Which instructions can have one of these.
std::uint8_t risks_of(const arch::SignalSet& signals) {
  const auto risk_of = [](arch::CoreSignal signal) {
    switch (arch::cause_of(signal)) {
      case arch::SignalCause::Load: return kRiskLoad;
      case arch::SignalCause::Store: return kRiskStore;
      case arch::SignalCause::Branch: return kRiskBranch;
      case arch::SignalCause::Any: break;
    }
    return kRiskAny;
  };
  std::uint8_t risks = 0;
  for (std::size_t i = 0; i < arch::kCoreSignals; ++i) {
    if (signals[i]) risks = static_cast<std::uint8_t>(risks | risk_of(static_cast<arch::CoreSignal>(i)));
  }
  return risks;
}

/// Whether the event happens exactly once in every instruction, so that its count is also a bound on time.
bool counts_instructions(const arch::EventMeaning& meaning) {
  if (most_per_instruction(meaning) != 1) return false;
  for (int branch = 0; branch <= static_cast<int>(arch::BranchKind::Far); ++branch) {
    arch::Retired plain;
    plain.branch = static_cast<arch::BranchKind>(branch);
    if (meaning.count(plain) != 1) return false;
  }
  return true;
}

/// What may pass before the first counter of time wraps, as core cycles at least.
std::uint64_t nearest_time(const pmu::Pmu& pmu) {
  constexpr std::uint64_t kWidest = 8;  // slots in a cycle
  const pmu::Elapsed left = pmu.time_headroom();
  return std::min({left.core, left.reference, left.slots / kWidest});
}

}  // namespace

void Runtime::adopt_lanes(const VirtualCpu& cpu) {
  std::vector<arch::EventMeaning> meanings;
  bool branches = false, only_add = true;
  for (const pmu::Pmu* pmu : cpu.pmus) {
    meanings.insert(meanings.end(), pmu->lanes().begin(), pmu->lanes().end());
    branches |= pmu->wants_branches();
    only_add &= pmu->only_adds();
  }
  models_ = cpu.core != nullptr;
  cuts_ = cpu.late_interrupts && !models_ && only_add;
  lanes_ = std::make_unique<LaneSet>(std::move(meanings), models_);
  for (auto* scratch : {&totals_, &room_, &more_}) scratch->assign(lanes_->size(), 0);
  per_instruction_.clear();
  for (std::size_t lane = 0; lane < lanes_->size(); ++lane) {
    const arch::EventMeaning& meaning = (*lanes_)[lane];
    per_instruction_.push_back(lanes_->modelled(lane) ? most_per_instruction(meaning, *cpu.core)
                                                      : most_per_instruction(meaning));
  }
  // Elements of REP strings have no bound per block, so they are summed up only where no overflow can be near.
  count_elements_ = lanes_->any_memory() && !cuts_;
  constexpr std::uint64_t kFarAway = std::uint64_t{1} << 46;
  // A block has about nine instructions; of what only some instructions do, fewer.
  // Where registers are stored too, these take a word for two instructions anyway.
  const std::uint32_t instructions_per_word = models_ ? 2 : 8, others_per_word = models_ ? 1 : 2;
  units_.clear();
  arch::SignalSet near_signals;
  others_are_near_ = false;
  time_is_near_ = false;
  for (const pmu::Pmu* pmu : cpu.pmus) {
    for (std::size_t lane = 0; lane < pmu->lanes().size(); ++lane) {
      const arch::EventMeaning& meaning = pmu->lanes()[lane];
      const bool near = !cuts_ && pmu->headroom(lane) < kFarAway;
      if (meaning.memory && near) count_elements_ = false;
      if (lanes_->modelled(units_.size())) {
        if (near) near_signals |= signals_of(meaning);
        units_.push_back(near ? per_instruction_[units_.size()] : 0);
      } else {
        others_are_near_ |= near;
        units_.push_back(!near ? 0 : counts_instructions(meaning) ? instructions_per_word : others_per_word);
      }
    }
  }
  risks_ = risks_of(near_signals);
  const bool by_hits = std::ranges::any_of(arch::kHitSignals, [&near_signals](arch::CoreSignal signal) {
    return near_signals[static_cast<std::size_t>(signal)];
  });
  seldom_ = branches || by_hits ? arch::SignalSet() : near_signals;
  if (models_) {
    for (const pmu::Pmu* pmu : cpu.pmus) time_is_near_ |= nearest_time(*pmu) < kFarAway;
    if (time_is_near_) risks_ |= kRiskAny;
  }
  const bool any_near = std::ranges::any_of(units_, [](std::uint32_t unit) { return unit != 0; });
  at_once_ = models_ && (any_near || time_is_near_);
  logs_ = at_once_ && any_near && !time_is_near_ && !cpu.pmi_reads_memory;
  const bool budget =
      !models_ && lanes_->size() == 1 && !branches && counts_instructions((*lanes_)[0]) && !(cpu.marks && any_near);
  form_ = budget ? TraceForm::Budget : any_near || models_ ? TraceForm::Spaced : TraceForm::Records;
}

Runtime::Allowance Runtime::allowance() const {
  Allowance allowed;
  if (cuts_) return allowed;
  std::size_t lane = 0;
  for (const pmu::Pmu* pmu : thread_->cpu.pmus) {
    for (std::size_t own = 0; own < pmu->lanes().size(); ++own, ++lane) {
      const std::uint64_t headroom = pmu->headroom(own);
      const std::uint64_t most = std::max<std::uint64_t>(translator_->counts().most(lane), per_instruction_[lane]);
      // One block more than planned may complete before the append that faults, or fault in its middle.
      const bool spaced = form_ == TraceForm::Spaced && units_[lane] != 0;
      const std::uint64_t words = headroom / (spaced ? units_[lane] : most);
      const std::uint64_t last = spaced ? translator_->counts().most_words() : 1;
      allowed.records = std::min(allowed.records, words < last ? 0 : words - last);
      // The same for all, so that the pointer alone tells the distance (near_end(), engine/translate/near_code.h).
      const std::uint64_t unseen = translator_->most_unbraked();
      allowed.budget = std::min(allowed.budget, headroom <= unseen ? 0 : headroom - unseen);
      allowed.instructions = std::min(allowed.instructions, headroom / per_instruction_[lane]);
    }
    if (time_is_near_) {
      if (pmu->needs_each()) return {.records = 0, .instructions = 0, .budget = 0};
      // Nobody knows how long an instruction takes until it has run. So a part of the way, and once more.
      constexpr std::uint64_t kCyclesPerInstruction = 16;
      const std::uint64_t instructions = std::max<std::uint64_t>(1, nearest_time(*pmu) / kCyclesPerInstruction);
      const std::uint64_t last = translator_->counts().most_words();
      allowed.records = std::min(allowed.records, instructions < last ? 0 : instructions - last);
      allowed.instructions = std::min(allowed.instructions, instructions);
    }
  }
  return allowed;
}

void Runtime::count(std::span<const std::uint64_t> events) {
  std::size_t lane = 0;
  for (pmu::Pmu* pmu : thread_->cpu.pmus) {
    const std::size_t own_lanes = pmu->lanes().size();
    for (std::size_t own = 0; own < own_lanes; ++own, ++lane) {
      if (events[lane] == 0) continue;
      // Only what is of the nature of time has no bound.
      if (lanes_->modelled(lane) && events[lane] > pmu->headroom(own))
        pmu->pass(own, events[lane]);
      else
        pmu->count(own, events[lane]);
    }
  }
}

// In the budget form: the next instruction overflows a counter.
void Runtime::count_up_to_overflow() {
  for (const pmu::Pmu* pmu : thread_->cpu.pmus) {
    if (pmu->lanes().empty()) continue;
    const std::uint64_t events = pmu->headroom(0);
    ran_ += events;
    count({&events, 1});
  }
}

// What REP strings did to memory since the last drain.
void Runtime::drain_elements() {
  static constexpr struct { std::uint8_t loads, stores; } kAccesses[4] = {{1, 0}, {2, 0}, {0, 1}, {1, 1}};
  constexpr std::uint64_t kMostAtOnce = std::uint64_t{1} << 30;
  for (std::size_t rep_class = 0; rep_class < 4; ++rep_class) {
    std::uint64_t left = std::exchange(context_.elements[rep_class], 0);
    while (left != 0) {
      const std::uint64_t now = std::min(left, kMostAtOnce);
      left -= now;
      arch::Retired with, without;
      with.rep_string = without.rep_string = true;
      with.loads = without.loads = kAccesses[rep_class].loads;
      with.stores = without.stores = kAccesses[rep_class].stores;
      with.load_count = now * with.loads;
      with.store_count = now * with.stores;
      for (std::size_t lane = 0; lane < lanes_->size(); ++lane) {
        totals_[lane] = (*lanes_)[lane].count(with) - (*lanes_)[lane].count(without);
      }
      count(totals_);
    }
  }
}

// The records in [start, end), oldest first, and `extra`, which was not stored. A spaced trace has each at the end of its words, so it is
// read backwards.
Records Runtime::recorded(std::uint64_t start, std::uint64_t end, std::optional<std::uint32_t> extra) {
  if (form_ == TraceForm::Records)
    return {.stored = {reinterpret_cast<std::uint32_t*>(start), (end - start) / 4}, .extra = extra};
  // They never shrink: what is made larger is written with zeros, for each word of the trace.
  ids_.resize(std::max<std::size_t>(ids_.size(), 1 + (end - start) / 4));
  std::size_t first = ids_.size();
  const auto read = [&](auto note) {
    if (extra) {
      end -= 4 * translator_->counts().words(*extra);
      ids_[--first] = *extra;
      note(*extra);
    }
    while (end > start) {
      std::uint32_t record;
      std::memcpy(&record, reinterpret_cast<const void*>(end), sizeof record);
      const std::uint32_t exit = SpacedRecord::exit(record);
      ids_[--first] = exit;
      end -= 4 * SpacedRecord::words(record);
      note(exit);
    }
  };
  if (thread_->cpu.core == nullptr) {
    read([](std::uint32_t) {});
  } else {
    begin_runs(ids_.size());
    // In the same pass: the chain of records leaves the processor time for it.
    read([&](std::uint32_t exit) { note_run(first, exit, window_.slot_number_at(end)); });
  }
  CHECK(end == start, end, start);
  return {.stored = std::span(ids_).subspan(first), .extra = {}};
}

void Runtime::drain(std::optional<std::uint32_t> extra_exit) {
  const std::uint64_t end = context_.trace_pointer;
  const std::uint64_t start = trace_start_;
  trace_start_ = end;
  if (!logged_) ran_ += end - start;
  const auto* const notes = reinterpret_cast<const MarkNote*>(window_.notes_begin());
  const auto* const notes_end =
      reinterpret_cast<const MarkNote*>(std::exchange(context_.mark_note, window_.notes_begin()));
  const bool models = thread_->cpu.core != nullptr;
  if (!models && (thread_->cpu.pmus.empty() || lanes_->size() == 0)) return;
  if (form_ == TraceForm::Budget) return count_budget(start, end, {notes, notes_end});
  if (count_elements_) drain_elements();
  const Records records = recorded(start, end, extra_exit);
  if (records.size() == 0) return;
  if (logged_) return count_logged(records.stored);
  count_records(records);
  enter_branches(records, 0, records.size());
}

// LBR: branches of drained records [from, to), oldest first. Only the newest that a filter lets through can survive in the stack, so
// older records need not be looked at; in call-stack mode every one matters.
void Runtime::enter_branches(const Records& records, std::size_t from, std::size_t to) {
  constexpr std::size_t kDeepestStack = 32;
  std::vector<arch::LbrSelect> selects;
  bool all = false;
  for (const pmu::Pmu* pmu : thread_->cpu.pmus) {
    if (!pmu->wants_branches()) continue;
    const arch::LbrSelect select = pmu->branch_filter();
    all |= select.has(arch::LbrSelect::call_stack);
    selects.push_back(select);
  }
  if (selects.empty()) return;
  const auto pass_every_filter = [&](const PathBranch& branch) {
    return std::ranges::all_of(selects,
                               [&](arch::LbrSelect select) { return arch::lets_through(select, branch.kind); });
  };
  std::size_t first = to;
  std::size_t found = 0;
  while (first > from && (all || found < kDeepestStack)) {
    const auto& branches = translator_->replay().branches_to(records[--first]);
    found += static_cast<std::size_t>(std::ranges::count_if(branches, pass_every_filter));
  }
  const arch::CoreFeed* const core = thread_->cpu.core;
  std::size_t left = 0;
  for (std::size_t i = first; core != nullptr && i < to; ++i)
    left += translator_->replay().branches_to(records[i]).size();
  for (std::size_t i = first; i < to; ++i) {
    for (const auto& branch : translator_->replay().branches_to(records[i])) {
      std::uint64_t target = branch.to;
      if (target == 0)
        target =
            i + 1 < records.size() ? translator_->block(translator_->exit(records[i + 1]).block).pc : indirect_target_;
      arch::TakenBranch taken;
      taken.from = branch.from;
      taken.to = target;
      taken.kind = branch.kind;
      taken.mispredicted = core != nullptr && core->was_mispredicted(--left, branch.from);
      enter_branch(taken);
    }
  }
}

void Runtime::enter_branch(const arch::TakenBranch& branch) {
  for (pmu::Pmu* pmu : thread_->cpu.pmus) {
    if (pmu->wants_branches()) pmu->enter_branch(branch);
  }
}

std::uint64_t Runtime::effective_address(const MemoryOperand& operand, std::uint64_t next_pc) const {
  std::uint64_t address = static_cast<std::uint64_t>(operand.displacement);
  if (operand.rip_relative) address += next_pc;
  if (operand.base >= 0) address += context_.gpr[operand.base];
  if (operand.index >= 0 && !operand.vector_index) address += context_.gpr[operand.index] * operand.scale;
  if (operand.plus_al) address += context_.gpr[kRax] & 0xFF;
  if (operand.bit_register >= 0) {
    // A signed bit offset as wide as the operand, in words of its size.
    const unsigned bits = 8 * operand.bytes;
    const std::int64_t offset =
        static_cast<std::int64_t>(context_.gpr[operand.bit_register] << (64 - bits)) >> (64 - bits);
    address += static_cast<std::uint64_t>(offset >> std::countr_zero(bits)) * operand.bytes;
  }
  if (operand.address32) address &= UINT32_MAX;
  if (operand.fs) address += context_.fs_base;
  if (operand.gs) address += context_.gs_base;
  return address;
}

// tell_core: that the instruction runs, where there is one and it is not told otherwise
void Runtime::begin_step(bool tell_core) {
  StepInProgress& step = thread_->step;
  const Insn* const found = stepped_insns_.find(thread_->pc, fetch(thread_->pc), config_.virtual_time);
  if (found == nullptr) return;
  const Insn& insn = step.insn = *found;
  step.active = true;
  step.mark = mark(insn);
  if (step.mark.stepped) step.before = registers();
  step.rcx_before = context_.gpr[kRcx];
  for (std::size_t i = 0; i < insn.memory_count; ++i)
    step.addresses[i] = effective_address(insn.memory[i], insn.next());
  step.told_core = false;
  if (tell_core && thread_->cpu.core != nullptr) begin_core_step(step);
}

// The instruction at `pc`, which runs or has run among others, as it was when its block was made. Holds until the next is asked for.
const Insn& Runtime::insn_alone(std::uint64_t pc) {
  const Insn* const insn = stepped_insns_.find(pc, fetch(pc), config_.virtual_time);
  CHECK(insn != nullptr, pc);
  return *insn;
}

// What there is to say of it without addresses and marks.
arch::Retired Runtime::retired_alone(const Insn& insn) {
  arch::Retired retired;
  static_cast<arch::InsnFacts&>(retired) = insn.facts;
  retired.ip = insn.pc;
  retired.load_count = insn.facts.loads;
  retired.store_count = insn.facts.stores;
  return retired;
}

// The registers are those after it.
void Runtime::retire_alone(const Insn& insn, bool taken, std::uint64_t next, const std::uint64_t (&gprs)[16],
                           std::uint64_t flags) {
  arch::Retired retired = retired_alone(insn);
  retired.taken = taken;
  retired.next_ip = next;
  const arch::RegisterFile after = register_file(gprs, flags, next);
  tell_pmus(retired, after);
  take_pmi(after);
}

// One that goes straight on.
void Runtime::retire_behind(std::uint64_t pc, std::uint64_t next, const std::uint64_t (&gprs)[16],
                            std::uint64_t flags) {
  if (!thread_->cpu.pmus.empty()) retire_alone(insn_alone(pc), false, next, gprs, flags);
}

// A direct branch that is no call, so the registers are those before it and after it.
void Runtime::retire_branch(std::uint64_t pc, const std::uint64_t (&gprs)[16], std::uint64_t flags) {
  const Insn& insn = insn_alone(pc);
  CHECK(insn.flow == Flow::Jump || insn.flow == Flow::ConditionalJump, pc);
  const bool taken = insn.flow != Flow::ConditionalJump || holds(insn.condition, flags);
  retire_alone(insn, taken, taken ? insn.target : insn.next(), gprs, flags);
}

void Runtime::retire_step(bool taken) {
  StepInProgress& step = thread_->step;
  if (!step.active) return;
  step.active = false;
  const Insn& insn = step.insn;
  arch::CoreFeed* const core = thread_->cpu.core;
  if (core != nullptr && !step.told_core) run_core_step(taken, thread_->pc);
  arch::Retired retired;
  static_cast<arch::InsnFacts&>(retired) = insn.facts;
  retired.taken =
      insn.facts.branch != arch::BranchKind::None && (insn.facts.branch != arch::BranchKind::Conditional || taken);
  retired.ip = insn.pc;
  retired.next_ip = thread_->pc;
  std::uint64_t elements = 1;
  if (insn.facts.rep_string) {
    const bool count32 = insn.memory_count != 0 && insn.memory[0].address32;
    elements = step.rcx_before - context_.gpr[kRcx];
    if (count32) elements &= UINT32_MAX;
  }
  retired.load_count = insn.facts.loads * elements;
  retired.store_count = insn.facts.stores * elements;
  bool addressed = false;
  for (std::size_t i = 0; i < insn.memory_count; ++i) {
    const MemoryOperand& operand = insn.memory[i];
    if (!addressed || (operand.read && !insn.memory[0].read)) {
      retired.data_address = step.addresses[i];
      addressed = true;
    }
    if (operand.write && retired.store_address == 0) retired.store_address = step.addresses[i];
    const bool down = (context_.flags & 0x400) != 0;
    const auto splits = static_cast<std::uint32_t>(
        insn.facts.rep_string ? split_elements(step.addresses[i], operand.bytes, elements, down)
                              : std::uint64_t{crosses_line(step.addresses[i], operand.bytes)});
    if (operand.read) retired.split_loads += splits;
    if (operand.write) retired.split_stores += splits;
  }
  if (core != nullptr) tell_of_core(retired);
  if (thread_->cpu.pmus.empty()) return;
  const Mark mark = step.mark;
  const arch::RegisterFile* const before = mark.stepped ? &step.before : nullptr;
  if (mark.time == MarkTime::Before) {
    reached(insn.pc, before);
    if (core != nullptr) advance_time();
  }
  const arch::RegisterFile after = registers();
  tell_pmus(retired, after);
  if (mark.time == MarkTime::After) reached(insn.pc, before);
  take_pmi(after);
}

void Runtime::tell_pmus(const arch::Retired& retired, const arch::RegisterFile& after) {
  for (pmu::Pmu* pmu : thread_->cpu.pmus) pmu->retire(retired, after);
}

void Runtime::take_pmi(const arch::RegisterFile& after) {
  if (thread_->cpu.pmi_requested == nullptr || *thread_->cpu.pmi_requested) observer().pmi(shown(thread_->id), after);
}

}  // namespace zs::engine
