#include "engine/account/tally.h"

#include <algorithm>
#include <utility>

#include "arch/records/lbr.h"

namespace zs::engine {

void Tally::begin() {
  for (auto* scratch : {&totals_, &room_, &more_}) scratch->assign(run_.counting.accumulators->size(), 0);
}

Allowance Tally::allowance() const {
  Allowance allowed;
  if (run_.counting.splits || run_.counting.deferred) return allowed;
  std::size_t accumulator = 0;
  for (const pmu::Pmu* pmu : run_.thread->cpu.pmus) {
    for (std::size_t own = 0; own < pmu->accumulators().size(); ++own, ++accumulator) {
      if (run_.phase != Phase::Unit && run_.counting.accumulators->modelled(accumulator)) continue;
      const std::uint64_t headroom = pmu->headroom(own);
      const std::uint64_t most = std::max<std::uint64_t>(run_.translator->blocks().counts().most(accumulator),
                                                         run_.counting.per_instruction[accumulator]);
      // One block more than planned may complete before the append that faults, or fault in its middle.
      const bool spaced = run_.counting.form == TraceForm::Spaced && run_.counting.units[accumulator] != 0;
      const std::uint64_t words = headroom / (spaced ? run_.counting.units[accumulator] : most);
      const std::uint64_t last = spaced ? run_.translator->blocks().counts().most_words() : 1;
      allowed.records = std::min(allowed.records, words < last ? 0 : words - last);
      // The same for all, so that the pointer alone tells the distance (near_end(), engine/translate/near_code.h).
      const std::uint64_t unseen = run_.translator->most_unbraked();
      allowed.budget = std::min(allowed.budget, headroom <= unseen ? 0 : headroom - unseen);
      const bool plain = run_.counting.models && run_.counting.accumulators->counts_every_instruction(accumulator);
      std::uint64_t& instructions = plain ? allowed.plain : allowed.instructions;
      instructions = std::min(instructions, headroom / run_.counting.per_instruction[accumulator]);
    }
    if (run_.counting.time_is_near && run_.phase == Phase::Unit) {
      if (pmu->needs_each()) return {.records = 0, .instructions = 0, .budget = 0};
      // Nobody knows how long an instruction takes until it has run. So a part of the way, and once more.
      constexpr std::uint64_t kCyclesPerInstruction = 16;
      const std::uint64_t instructions = std::max<std::uint64_t>(1, nearest_time(*pmu) / kCyclesPerInstruction);
      const std::uint64_t last = run_.translator->blocks().counts().most_words();
      allowed.records = std::min(allowed.records, instructions < last ? 0 : instructions - last);
      allowed.instructions = std::min(allowed.instructions, instructions);
    }
  }
  return allowed;
}

Allowance Tally::quiet_allowance() const {
  Allowance allowed;
  std::size_t accumulator = 0;
  for (const pmu::Pmu* pmu : run_.thread->cpu.pmus) {
    if (pmu->needs_each()) return {.records = 0, .instructions = 0, .budget = 0};
    for (std::size_t own = 0; own < pmu->accumulators().size(); ++own, ++accumulator) {
      if (run_.counting.accumulators->modelled(accumulator)) continue;
      // Of the others, those that are far go on as in any block.
      const std::uint64_t words =
          run_.counting.units[accumulator] == 0                   ? run_.translator->blocks().counts().most(accumulator)
          : run_.counting.accumulators->counts_plain(accumulator) ? run_.counting.units[accumulator]
                                                                  : 0;
      if (words != 0) allowed.records = std::min(allowed.records, pmu->headroom(own) / words);
    }
  }
  const std::uint64_t last = run_.translator->blocks().counts().most_words();
  allowed.records = allowed.records < last ? 0 : allowed.records - last;
  return allowed;
}

void Tally::count(std::span<const std::uint64_t> events) {
  std::size_t accumulator = 0;
  for (pmu::Pmu* pmu : run_.thread->cpu.pmus) {
    const std::size_t own_accumulators = pmu->accumulators().size();
    for (std::size_t own = 0; own < own_accumulators; ++own, ++accumulator) {
      if (events[accumulator] == 0) continue;
      // Only what is of the nature of time has no bound.
      if (run_.counting.accumulators->modelled(accumulator) && events[accumulator] > pmu->headroom(own))
        pmu->pass(own, events[accumulator]);
      else
        pmu->count(own, events[accumulator]);
    }
  }
}

void Tally::count_instructions(std::uint64_t instructions) {
  for (std::size_t accumulator = 0; accumulator < totals_.size(); ++accumulator)
    totals_[accumulator] = run_.counting.accumulators->counted(accumulator) ? instructions : 0;
  count(totals_);
}

void Tally::count_up_to_overflow() {
  for (const pmu::Pmu* pmu : run_.thread->cpu.pmus) {
    if (pmu->accumulators().empty()) continue;
    const std::uint64_t events = pmu->headroom(0);
    run_.ran += events;
    count({&events, 1});
  }
}

// LBR and BTS: branches of drained records [from, to), oldest first. Only the newest that a filter lets through can
// survive in the stack, so older records need not be looked at; in call-stack mode, and with BTS, every one matters.
void Tally::enter_branches(const Records& records, std::size_t from, std::size_t to) {
  constexpr std::size_t kDeepestStack = 32;
  std::vector<arch::LbrSelect> selects;
  bool all = false;
  for (const pmu::Pmu* pmu : run_.thread->cpu.pmus) {
    if (!pmu->wants_branches()) continue;
    const arch::LbrSelect select = pmu->branch_filter();
    all |= select.has(arch::LbrSelect::call_stack) || pmu->stores_branches();
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
    const auto& branches = run_.translator->replay().branches_to(records[--first]);
    found += static_cast<std::size_t>(std::ranges::count_if(branches, pass_every_filter));
  }
  const arch::CoreFeed* const core = run_.thread->cpu.core;
  std::size_t left = 0;
  for (std::size_t i = first; core != nullptr && i < to; ++i)
    left += run_.translator->replay().branches_to(records[i]).size();
  for (std::size_t i = first; i < to; ++i) {
    for (const auto& branch : run_.translator->replay().branches_to(records[i])) {
      std::uint64_t target = branch.to;
      if (target == 0)
        target = i + 1 < records.size() ? run_.translator->blocks().block_of(records[i + 1]).pc : run_.indirect_target;
      enter_branch(taken(branch, target, core != nullptr ? --left : 0));
    }
  }
}

void Tally::enter_branches_into(const Block& block, unsigned instructions) {
  if (std::ranges::none_of(run_.thread->cpu.pmus, [](const pmu::Pmu* pmu) { return pmu->wants_branches(); })) return;
  const std::vector<PathBranch> branches = run_.translator->replay().branches_into(block, instructions);
  for (std::size_t i = 0; i < branches.size(); ++i)
    enter_branch(taken(branches[i], branches[i].to, branches.size() - 1 - i));
}

/// behind  how many taken branches the core has been told of since
arch::TakenBranch Tally::taken(const PathBranch& branch, std::uint64_t target, std::size_t behind) const {
  arch::TakenBranch taken{.from = branch.from, .to = target, .kind = branch.kind};
  if (const arch::CoreFeed* const core = run_.thread->cpu.core; core != nullptr) {
    taken.mispredicted = core->was_mispredicted(behind, branch.from);
    taken.cycle = core->cycle_of_branch(behind, branch.from);
  }
  return taken;
}

void Tally::enter_branch(const arch::TakenBranch& branch) {
  for (pmu::Pmu* pmu : run_.thread->cpu.pmus) {
    if (pmu->wants_branches()) pmu->enter_branch(branch);
  }
}

void Tally::sum_records(std::span<const std::uint32_t> ids, std::optional<std::uint32_t> more) {
  std::fill(totals_.begin(), totals_.end(), 0);
  if (!run_.counting.accumulators->any_counted()) return;
  run_.translator->blocks().counts().sum(ids, totals_);
  if (!more) return;
  for (std::size_t accumulator = 0; accumulator < run_.counting.accumulators->size(); ++accumulator)
    totals_[accumulator] += run_.translator->blocks().counts().at(*more, accumulator);
}

void Tally::add_signals(std::span<std::uint64_t> sums, const arch::CoreSignals& signals) {
  for (std::size_t accumulator = 0; accumulator < run_.counting.accumulators->size(); ++accumulator) {
    if (!run_.counting.accumulators->modelled(accumulator)) continue;
    const std::uint64_t now = (*run_.counting.accumulators)[accumulator].of_signals(signals);
    const std::uint64_t before = std::exchange(run_.thread->accumulators_reported[accumulator], now);
    if (run_.in_unit()) sums[accumulator] += now - before;
  }
}

void Tally::look_at_room() {
  std::span<std::uint64_t> left = room_;
  for (const pmu::Pmu* pmu : run_.thread->cpu.pmus) left = left.subspan(pmu->headrooms(left));
  // A trace does not reach further, whatever is in it.
  constexpr std::uint64_t kFar = std::uint64_t{1} << 40;
  near_accumulators_.clear();
  for (std::size_t accumulator = 0; accumulator < room_.size(); ++accumulator) {
    if (room_[accumulator] < kFar) near_accumulators_.push_back(accumulator);
  }
}

/// totals_ and `more` together overflow nothing. Then totals_ holds both.
bool Tally::adds_up() {
  for (std::size_t accumulator = 0; accumulator < totals_.size(); ++accumulator) {
    if (totals_[accumulator] + more_[accumulator] > room_[accumulator]) return false;
  }
  for (std::size_t accumulator = 0; accumulator < totals_.size(); ++accumulator)
    totals_[accumulator] += more_[accumulator];
  return true;
}

void Tally::count_and_split(std::span<const std::uint32_t> ids, const BeforeSplit& before_split) {
  look_at_room();
  clear();
  for (std::size_t at = 0; at != ids.size();) {
    const auto now = ids.subspan(at, std::min(ids.size() - at, CountTable::kMostWithin));
    const std::size_t within = run_.translator->blocks().counts().add_within(now, room_, totals_);
    at += within;
    if (within == now.size()) continue;
    add_path(run_.translator->replay().sums_to(ids[at]), at, before_split);
    ++at;
  }
  count(totals_);
}

void Tally::count_into_and_split(std::uint32_t block, unsigned instructions, const BeforeSplit& before_split) {
  look_at_room();
  clear();
  add_path(run_.translator->replay().sums_into(block, instructions), 0, before_split);
  count(totals_);
}

/// sums  what its instructions bring, as SuperblockReplay::sums_to has it
void Tally::add_path(std::span<const std::uint16_t> sums, std::size_t record, const BeforeSplit& before_split) {
  const std::size_t accumulators = run_.counting.accumulators->size();
  const auto instructions = static_cast<unsigned>(sums.size() / accumulators - 1);
  // From one split to the next: what instructions `from` to `to` bring.
  unsigned from = 0;
  const auto bring = [&](unsigned to, std::size_t accumulator) {
    return static_cast<std::uint64_t>(sums[to * accumulators + accumulator] - sums[from * accumulators + accumulator]);
  };
  const auto fits = [&](unsigned to) {
    return std::ranges::all_of(near_accumulators_, [&](std::size_t accumulator) {
      return totals_[accumulator] + bring(to, accumulator) <= room_[accumulator];
    });
  };
  const auto add_up_to = [&](unsigned to) {
    for (std::size_t accumulator = 0; accumulator < accumulators; ++accumulator)
      totals_[accumulator] += bring(to, accumulator);
    from = to;
  };
  while (!fits(instructions)) {
    unsigned to = from, beyond = instructions;
    const auto probe = [&](unsigned at) {
      if (to < at && at < beyond) (fits(at) ? to : beyond) = at;
    };
    // Right where the accumulator counts instructions.
    const std::uint64_t left = room_[near_accumulators_[0]] - totals_[near_accumulators_[0]];
    const unsigned guess = from + static_cast<unsigned>(std::min<std::uint64_t>(left, instructions - from));
    probe(guess);
    probe(guess + 1);
    while (beyond - to > 1) probe(to + (beyond - to) / 2);
    add_up_to(to + 1);
    if (before_split) before_split(record, from);
    split();
  }
  add_up_to(instructions);
}

/// Counts totals_, which overflow something with their last instruction.
void Tally::split() {
  std::span<const std::uint64_t> left = totals_;
  for (pmu::Pmu* pmu : run_.thread->cpu.pmus) left = left.subspan(pmu->pass(left));
  std::fill(totals_.begin(), totals_.end(), 0);
  take_pmi(run_.registers());
  look_at_room();
}

void Tally::count_and_split_instructions(std::uint64_t instructions) {
  look_at_room();
  while (instructions > room_[0]) {
    instructions -= room_[0] + 1;
    totals_[0] = room_[0] + 1;
    split();
  }
  totals_[0] = instructions;
  count(totals_);
}

void Tally::retire(const arch::Retired& retired, const arch::RegisterFile& after) {
  for (pmu::Pmu* pmu : run_.thread->cpu.pmus) pmu->retire(retired, after);
}

void Tally::take_pmi(const arch::RegisterFile& after) {
  const VirtualCpu& cpu = run_.thread->cpu;
  if (cpu.pmi_requested != nullptr && !*cpu.pmi_requested && (cpu.phase_over == nullptr || !*cpu.phase_over)) return;
  if (!run_.counting.splits || cpu.core == nullptr) return run_.observer().pmi(run_.shown(), after);
  if (run_.observer().pmi_ahead(run_.shown(), after)) cpu.core->keep_signals(run_.thread->signals_at_splits);
}

}  // namespace zs::engine
