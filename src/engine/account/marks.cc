#include "engine/account/marks.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace zs::engine {
namespace {

/// nop dword [rip + disp32] without prefixes, as include/zeroskid/region.h writes it.
constexpr std::uint8_t kMarkerNop[] = {0x0F, 0x1F, 0x05};
constexpr std::uint8_t kMarkerLength = 7;

bool is_marker_nop(const Insn& insn) {
  return insn.facts.nop && insn.rip_relative && insn.length == kMarkerLength &&
         std::equal(std::begin(kMarkerNop), std::end(kMarkerNop), insn.bytes.begin());
}

/// The first marked record from `at` on, or ids.size(). Most are none, so sixteen are looked at together.
std::size_t next_marked(std::span<const std::uint32_t> ids, std::size_t at) {
  constexpr std::size_t kTogether = 16;
  for (; at + kTogether <= ids.size(); at += kTogether) {
    std::uint32_t any = 0;
    for (std::size_t i = 0; i < kTogether; ++i) any |= ids[at + i];
    if ((any & kMarkedRecord) != 0) break;
  }
  while (at < ids.size() && (ids[at] & kMarkedRecord) == 0) ++at;
  return at;
}

}  // namespace

Mark Marks::at(const Insn& insn) {
  Mark found = marks_.at(insn.pc);
  if (!found && is_marker_nop(insn)) found.time = marker(insn);
  any_ |= static_cast<bool>(found);
  if (any_) core_.counts_are_asked_for();
  in_traces_ |= found && !found.stepped;
  return found;
}

// Asked once: the answer is read from the program's memory with a system call, and a step asks each time.
MarkTime Marks::marker(const Insn& insn) {
  met_marker_ = true;
  const auto [at, fresh] = markers_.try_emplace(insn.pc, MarkTime::None);
  if (fresh) {
    std::int32_t displacement = 0;
    std::memcpy(&displacement, insn.bytes.data() + insn.disp_at, sizeof displacement);
    at->second = run_.recording.marker(insn.pc, insn.next() + static_cast<std::uint64_t>(std::int64_t{displacement}));
  }
  return at->second;
}

void Marks::adopt() {
  for (const CodeMark& mark : run_.recording.new_marks()) {
    marks_.add(mark);
    run_.invalidate(mark.pc, mark.pc + 1);
  }
}

void Marks::drop_marked() {
  marks_.for_each([this](std::uint64_t pc) { run_.translator->invalidate(pc, pc + 1); });
}

void Marks::reached(std::uint64_t pc, const arch::RegisterFile* registers) {
  const MarkVisit visit{.pc = pc, .uncounted = {}};
  run_.observer().reached(run_.shown(), {&visit, 1}, registers);
  if (registers != nullptr) adopt();
}

// A trace does not say between which records the elements of a REP string were counted, so where marks are, those run
// alone.
bool Marks::stop_counting_elements() {
  if (!any_ || !run_.counting.count_elements) return false;
  run_.counting.count_elements = false;
  run_.translator->stop_counting_elements();
  return true;
}

std::size_t Marks::next_mark(std::span<const std::uint32_t> ids, std::size_t from) const {
  if (!any_) return ids.size();
  if (run_.counting.form == TraceForm::Records) return next_marked(ids, from);
  while (from < ids.size() && run_.translator->blocks().mark_of(ids[from]) == MarkTime::None) ++from;
  return from;
}

/// Calls tell(id, before, with_extra) for each mark in the trace: of exit `id`, reached behind so many records, and the
/// extra one.
template <typename Tell>
void Marks::find_marks(const Records& records, Tell tell) {
  const auto [ids, extra] = records;
  for (std::size_t i = next_mark(ids, 0); i < ids.size(); i = next_mark(ids, i + 1)) {
    if (run_.counting.form == TraceForm::Records) ids[i] &= ~kMarkedRecord;
    tell(ids[i], run_.translator->blocks().mark_of(ids[i]) == MarkTime::Before ? i : i + 1, false);
  }
  if (!extra) return;
  const MarkTime time = run_.translator->blocks().mark_of(*extra);
  if (time != MarkTime::None) tell(*extra, ids.size(), time == MarkTime::After);
}

void Marks::count_records(const Records& records) {
  const bool traced = std::ranges::any_of(run_.thread->cpu.pmus, &pmu::Pmu::stores_branches);
  if (any_ && !run_.counting.cuts && run_.thread->cpu.core == nullptr && !traced) {
    count_with_visits(records);
    tally_.enter_branches(records, 0, records.size());
  } else {
    count_between_marks(records);
  }
}

// Like next_mark, and sums what lies before it.
std::size_t Marks::sum_up_to_mark(std::span<const std::uint32_t> ids, std::size_t from,
                                  std::span<std::uint32_t> running) const {
  const CountTable& counts = run_.translator->blocks().counts();
  if (run_.counting.form == TraceForm::Records) return from + counts.add_up_to_marked(ids.subspan(from), running);
  const std::size_t mark = next_mark(ids, from);
  counts.add_up_to_marked(ids.subspan(from, mark - from), running);
  return mark;
}

// The records are summed once; what the sums were at each mark is told to the observer before the PMUs count them all.
void Marks::count_with_visits(const Records& records) {
  const auto [ids, extra] = records;
  constexpr std::size_t kTogether = 256;
  const CountTable& counts = run_.translator->blocks().counts();
  const std::size_t accumulators = run_.counting.accumulators->size(), padded = counts.padded_accumulators();
  visits_.resize(kTogether);
  uncounted_.resize((kTogether + 1) * padded);
  const std::span running = std::span(uncounted_).last(padded);
  std::fill(running.begin(), running.end(), 0);
  std::size_t visits = 0;
  const auto tell = [&] {
    if (visits != 0) run_.observer().reached(run_.shown(), std::span(visits_).first(visits), nullptr);
    visits = 0;
  };
  const auto visit = [&](const std::uint32_t& id) {
    const MarkTime time = run_.translator->blocks().mark_of(id);
    if (time != MarkTime::Before) counts.add_up_to_marked({&id, 1}, running);
    if (time == MarkTime::None) return;
    std::uint32_t* const before = uncounted_.data() + visits * padded;
    for (std::size_t accumulator = 0; accumulator < accumulators; ++accumulator)
      before[accumulator] = running[accumulator];
    visits_[visits++] = {.pc = run_.translator->blocks().block_of(id).pc, .uncounted = {before, accumulators}};
    if (time == MarkTime::Before) counts.add_up_to_marked({&id, 1}, running);
    if (visits == kTogether) tell();
  };
  for (std::size_t at = 0; (at = sum_up_to_mark(ids, at, running)) < ids.size(); ++at) {
    if (run_.counting.form == TraceForm::Records) ids[at] &= ~kMarkedRecord;
    visit(ids[at]);
  }
  if (extra) visit(*extra);
  tell();
  std::copy_n(running.begin(), accumulators, tally_.totals().begin());
  tally_.count();
}

// The records, in pieces where there are marks: what retired before one is counted, and its branches are entered, when
// the observer hears of it.
void Marks::count_between_marks(const Records& records) {
  const auto [ids, extra] = records;
  const auto count_up_to = [&, ids = ids](std::size_t from, std::size_t to, std::optional<std::uint32_t> more) {
    if (from == to && !more) return;
    if (run_.thread->cpu.core != nullptr) return core_.count_modelled(ids, from, to);
    if (run_.counting.cuts) {
      if (from != to) tally_.count_and_cut(ids.subspan(from, to - from));
      if (more) tally_.count_and_cut({&*more, 1});
      return;
    }
    tally_.sum_records(ids.subspan(from, to - from), more);
    tally_.count();
  };
  std::size_t counted = 0, entered = 0;
  bool counted_extra = false;
  const auto enter_up_to = [&](std::size_t to) {
    if (entered < to) tally_.enter_branches(records, std::exchange(entered, to), to);
  };
  find_marks(records, [&, extra = extra](std::uint32_t id, std::size_t before, bool with_extra) {
    count_up_to(counted, before, with_extra ? extra : std::nullopt);
    counted = before;
    counted_extra = with_extra;
    enter_up_to(before + (with_extra ? 1 : 0));
    reached(run_.translator->blocks().block_of(id).pc, nullptr);
  });
  if (!counted_extra) count_up_to(counted, ids.size(), extra);
  enter_up_to(records.size());
}

// The pointer of a budget trace says how much has retired, and its notes at which values of it marks were met.
void Marks::count_budget(std::uint64_t start, std::uint64_t end, std::span<const MarkNote> notes) {
  const auto bias = static_cast<std::uint32_t>(run_.trace().pointer_bias());
  const auto place = [&](const MarkNote& note) {
    const Exit& exit = run_.translator->blocks().exit(note.exit);
    const std::uint32_t behind = note.pointer + bias + static_cast<std::uint32_t>(exit.advance);
    return run_.translator->blocks().mark_of(note.exit) == MarkTime::After ? behind : behind - exit.instructions;
  };
  const auto pc = [&](const MarkNote& note) { return run_.translator->blocks().block_of(note.exit).pc; };
  if (run_.counting.cuts) {
    for (const MarkNote& note : notes) {
      const std::uint64_t at = place(note);
      tally_.count_and_cut_instructions(at - std::exchange(start, at));
      reached(pc(note), nullptr);
    }
    return tally_.count_and_cut_instructions(end - start);
  }
  constexpr std::size_t kTogether = 256;
  const std::size_t accumulators = run_.counting.accumulators->size();
  visits_.resize(kTogether);
  uncounted_.assign(kTogether * accumulators, 0);
  while (!notes.empty()) {
    const std::size_t now = std::min(notes.size(), kTogether);
    for (std::size_t i = 0; i < now; ++i) {
      const std::span uncounted = std::span(uncounted_).subspan(i * accumulators, accumulators);
      for (std::size_t accumulator = 0; accumulator < accumulators; ++accumulator)
        uncounted[accumulator] =
            run_.counting.accumulators->counted(accumulator) ? static_cast<std::uint32_t>(place(notes[i]) - start) : 0;
      visits_[i] = {.pc = pc(notes[i]), .uncounted = uncounted};
    }
    run_.observer().reached(run_.shown(), std::span(visits_).first(now), nullptr);
    notes = notes.subspan(now);
  }
  const std::uint64_t instructions = end - start;
  if (instructions != 0) tally_.count_instructions(instructions);
}

}  // namespace zs::engine
