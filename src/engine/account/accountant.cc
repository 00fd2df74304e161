#include "engine/account/accountant.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace zs::engine {

// The records in [start, end), oldest first, and `extra`, which was not stored. A spaced trace has each at the end of
// its words, so it is read backwards.
Records Accountant::recorded(std::uint64_t start, std::uint64_t end, std::optional<std::uint32_t> extra) {
  if (run_.counting.form == TraceForm::Records)
    return {.stored = {reinterpret_cast<std::uint32_t*>(start), (end - start) / 4}, .extra = extra};
  // They never shrink: what is made larger is written with zeros, for each word of the trace.
  ids_.resize(std::max<std::size_t>(ids_.size(), 1 + (end - start) / 4));
  std::size_t first = ids_.size();
  const auto read = [&](auto note) {
    if (extra) {
      end -= 4 * run_.translator->blocks().counts().words(*extra);
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
  if (run_.thread->cpu.core == nullptr) {
    read([](std::uint32_t) {});
  } else {
    core.begin_runs(ids_.size());
    // In the same pass: the chain of records leaves the processor time for it.
    read([&](std::uint32_t exit) { core.note_run(first, exit, run_.trace().slot_number_at(end)); });
  }
  CHECK(end == start, end, start);
  return {.stored = std::span(ids_).subspan(first), .extra = {}};
}

// What REP strings did to memory since the last drain.
void Accountant::drain_elements() {
  static constexpr struct { std::uint8_t loads, stores; } kAccesses[4] = {{1, 0}, {2, 0}, {0, 1}, {1, 1}};
  constexpr std::uint64_t kMostAtOnce = std::uint64_t{1} << 30;
  for (std::size_t rep_class = 0; rep_class < 4; ++rep_class) {
    std::uint64_t left = std::exchange(run_.context.elements[rep_class], 0);
    while (left != 0) {
      const std::uint64_t now = std::min(left, kMostAtOnce);
      left -= now;
      arch::Retired with, without;
      with.rep_string = without.rep_string = true;
      with.loads = without.loads = kAccesses[rep_class].loads;
      with.stores = without.stores = kAccesses[rep_class].stores;
      with.load_count = now * with.loads;
      with.store_count = now * with.stores;
      for (std::size_t accumulator = 0; accumulator < run_.counting.accumulators->size(); ++accumulator) {
        tally.totals()[accumulator] = run_.counting.accumulators->modelled(accumulator)
                                          ? 0
                                          : (*run_.counting.accumulators)[accumulator].count(with) -
                                                (*run_.counting.accumulators)[accumulator].count(without);
      }
      tally.count();
    }
  }
}

// What was noted beside the trace since the last time: the lines, and probe_notes_.
std::span<const std::uint64_t> Accountant::take_notes() {
  const std::uint64_t begin = run_.trace().notes_begin(), end = std::exchange(run_.context.probe_note, begin);
  probe_notes_.clear();
  const std::span notes(reinterpret_cast<std::uint64_t*>(begin), (end - begin) / sizeof(std::uint64_t));
  if (!probes.in_traces()) return notes;
  std::size_t lines = 0;
  for (const std::uint64_t note : notes) {
    if (const auto probe = std::bit_cast<ProbeNote>(note); (probe.exit & ProbeNote::kIsProbe) != 0)
      probe_notes_.push_back({.pointer = probe.pointer, .exit = probe.exit & ~ProbeNote::kIsProbe});
    else
      notes[lines++] = note;
  }
  return notes.first(lines);
}

void Accountant::drain(std::optional<std::uint32_t> extra_exit) {
  const std::uint64_t end = run_.context.trace_pointer;
  const std::uint64_t start = run_.trace_start;
  run_.trace_start = end;
  if (!logged.running()) run_.ran += end - start;
  const std::span<const std::uint64_t> lines = take_notes();
  if (!lines.empty() && run_.thread->core != nullptr) run_.thread->core->accessed(lines);
  const bool models = run_.thread->cpu.core != nullptr;
  const bool counts = !run_.thread->cpu.pmus.empty() && run_.counting.accumulators->size() != 0;
  if (!models && !counts && !run_.thread->cpu.counts_paths) return;
  if (run_.counting.form == TraceForm::Budget) return probes.count_budget(start, end, probe_notes_);
  if (run_.counting.count_elements) drain_elements();
  const Records records = recorded(start, end, extra_exit);
  if (records.size() == 0) return;
  if (run_.thread->cpu.counts_paths) exits.add(records);
  if (logged.running()) return logged.count(records.stored);
  probes.count_records(records);
}

void Accountant::count_into(std::uint32_t index, unsigned instructions, std::uint64_t pc) {
  Translator& translator = *run_.translator;
  const Block block = translator.blocks().block(index);
  if (run_.thread->cpu.counts_paths) exits.add_into(index, instructions);
  if (run_.counting.splits) {
    if (run_.thread->cpu.core == nullptr) return tally.count_into_and_split(index, instructions);
    return core.count_into_and_split(index, instructions, pc);
  }
  if (run_.counting.deferred) return core.count_into_deferred(index, instructions, pc);
  if (block.variant == Variant::Logged) return logged.count_into(index, instructions, pc);
  tally.clear();
  if (run_.thread->cpu.core != nullptr) {
    core.run_core_into(block, {.to = instructions, .next = pc});
    core.settle_if_asked();
    tally.add_signals(tally.totals());
    core.advance_time();
  }
  std::vector<std::uint32_t> prefix(run_.counting.accumulators->size(), 0);
  translator.replay().count_prefix(block, instructions, prefix);
  for (std::size_t accumulator = 0; accumulator < prefix.size(); ++accumulator)
    tally.totals()[accumulator] += prefix[accumulator];
  tally.enter_branches_into(block, instructions);
  tally.count();
}

}  // namespace zs::engine
