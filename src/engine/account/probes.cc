#include "engine/account/probes.h"

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

/// The first probed record from `at` on, or ids.size(). Most are none, so sixteen are looked at together.
std::size_t next_probed(std::span<const std::uint32_t> ids, std::size_t at) {
  constexpr std::size_t kTogether = 16;
  for (; at + kTogether <= ids.size(); at += kTogether) {
    std::uint32_t any = 0;
    for (std::size_t i = 0; i < kTogether; ++i) any |= ids[at + i];
    if ((any & kProbedRecord) != 0) break;
  }
  while (at < ids.size() && (ids[at] & kProbedRecord) == 0) ++at;
  return at;
}

}  // namespace

Probe Probes::at(const Insn& insn) {
  Probe found = probes_.at(insn.pc);
  if (!found && is_marker_nop(insn)) found = {.time = marker(insn), .stepped = run_.counting.counts_paths};
  any_ |= static_cast<bool>(found);
  if (any_) core_.counts_are_asked_for();
  in_traces_ |= found && !found.stepped;
  return found;
}

// Asked once: the answer is read from the program's memory with a system call, and a step asks each time.
ProbeTime Probes::marker(const Insn& insn) {
  met_marker_ = true;
  const auto [at, fresh] = markers_.try_emplace(insn.pc, ProbeTime::None);
  if (fresh) {
    std::int32_t displacement = 0;
    std::memcpy(&displacement, insn.bytes.data() + insn.disp_at, sizeof displacement);
    at->second = run_.recording.marker(insn.pc, insn.next() + static_cast<std::uint64_t>(std::int64_t{displacement}));
  }
  return at->second;
}

void Probes::adopt() {
  for (const CodeProbe& probe : run_.recording.new_probes()) {
    probes_.add(probe);
    run_.invalidate(probe.pc, probe.pc + 1);
  }
}

void Probes::drop_probed() {
  probes_.for_each([this](std::uint64_t pc) { run_.translator->invalidate(pc, pc + 1); });
}

void Probes::reached(std::uint64_t pc, const arch::RegisterFile* registers) {
  const ProbeVisit visit{.pc = pc, .uncounted = {}};
  run_.observer().reached(run_.shown(), {&visit, 1}, registers);
  if (registers != nullptr) adopt();
}

// A trace does not say between which records the elements of a REP string were counted, so where probes are, those run
// alone.
bool Probes::stop_counting_elements() {
  if (!any_ || !run_.counting.count_elements) return false;
  run_.counting.count_elements = false;
  run_.translator->stop_counting_elements();
  return true;
}

std::size_t Probes::next_probe(std::span<const std::uint32_t> ids, std::size_t from) const {
  if (!any_) return ids.size();
  if (run_.counting.form == TraceForm::Records) return next_probed(ids, from);
  while (from < ids.size() && run_.translator->blocks().probe_of(ids[from]) == ProbeTime::None) ++from;
  return from;
}

/// Calls report(id, before, with_extra) for each probe in the trace: of exit `id`, reached behind so many records, and
/// the extra one.
template <typename Report>
void Probes::find_probes(const Records& records, Report report) {
  const auto [ids, extra] = records;
  for (std::size_t i = next_probe(ids, 0); i < ids.size(); i = next_probe(ids, i + 1)) {
    if (run_.counting.form == TraceForm::Records) ids[i] &= ~kProbedRecord;
    report(ids[i], run_.translator->blocks().probe_of(ids[i]) == ProbeTime::Before ? i : i + 1, false);
  }
  if (!extra) return;
  const ProbeTime time = run_.translator->blocks().probe_of(*extra);
  if (time != ProbeTime::None) report(*extra, ids.size(), time == ProbeTime::After);
}

void Probes::count_records(const Records& records) {
  const bool traced = std::ranges::any_of(run_.thread->cpu.pmus, &pmu::Pmu::stores_branches);
  if (any_ && !run_.counting.splits && run_.thread->cpu.core == nullptr && !traced) {
    count_with_visits(records);
    tally_.enter_branches(records, 0, records.size());
  } else {
    count_between_probes(records);
  }
}

// Like next_probe, and sums what lies before it.
std::size_t Probes::sum_up_to_probe(std::span<const std::uint32_t> ids, std::size_t from,
                                    std::span<std::uint32_t> running) const {
  const CountTable& counts = run_.translator->blocks().counts();
  if (run_.counting.form == TraceForm::Records) return from + counts.add_up_to_probed(ids.subspan(from), running);
  const std::size_t probe = next_probe(ids, from);
  counts.add_up_to_probed(ids.subspan(from, probe - from), running);
  return probe;
}

// The records are summed once; what the sums were at each probe is reported to the observer before the PMUs count them
// all.
void Probes::count_with_visits(const Records& records) {
  const auto [ids, extra] = records;
  constexpr std::size_t kTogether = 256;
  const CountTable& counts = run_.translator->blocks().counts();
  const std::size_t accumulators = run_.counting.accumulators->size(), padded = counts.padded_accumulators();
  visits_.resize(kTogether);
  uncounted_.resize((kTogether + 1) * padded);
  const std::span running = std::span(uncounted_).last(padded);
  std::fill(running.begin(), running.end(), 0);
  std::size_t visits = 0;
  const auto report = [&] {
    if (visits != 0) run_.observer().reached(run_.shown(), std::span(visits_).first(visits), nullptr);
    visits = 0;
  };
  const auto visit = [&](const std::uint32_t& id) {
    const ProbeTime time = run_.translator->blocks().probe_of(id);
    if (time != ProbeTime::Before) counts.add_up_to_probed({&id, 1}, running);
    if (time == ProbeTime::None) return;
    std::uint32_t* const before = uncounted_.data() + visits * padded;
    for (std::size_t accumulator = 0; accumulator < accumulators; ++accumulator)
      before[accumulator] = running[accumulator];
    visits_[visits++] = {.pc = run_.translator->blocks().block_of(id).pc, .uncounted = {before, accumulators}};
    if (time == ProbeTime::Before) counts.add_up_to_probed({&id, 1}, running);
    if (visits == kTogether) report();
  };
  for (std::size_t at = 0; (at = sum_up_to_probe(ids, at, running)) < ids.size(); ++at) {
    if (run_.counting.form == TraceForm::Records) ids[at] &= ~kProbedRecord;
    visit(ids[at]);
  }
  if (extra) visit(*extra);
  report();
  std::copy_n(running.begin(), accumulators, tally_.totals().begin());
  tally_.count();
}

// The records, in pieces where there are probes: what retired before one is counted, and its branches are entered, when
// the observer hears of it.
void Probes::count_between_probes(const Records& records) {
  const auto [ids, extra] = records;
  const auto count_up_to = [&, ids = ids](std::size_t from, std::size_t to, std::optional<std::uint32_t> more) {
    if (from == to && !more) return;
    if (run_.thread->cpu.core != nullptr) return core_.count_modelled(ids, from, to);
    if (run_.counting.splits) {
      if (from != to) tally_.count_and_split(ids.subspan(from, to - from));
      if (more) tally_.count_and_split({&*more, 1});
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
  find_probes(records, [&, extra = extra](std::uint32_t id, std::size_t before, bool with_extra) {
    count_up_to(counted, before, with_extra ? extra : std::nullopt);
    counted = before;
    counted_extra = with_extra;
    enter_up_to(before + (with_extra ? 1 : 0));
    reached(run_.translator->blocks().block_of(id).pc, nullptr);
  });
  if (!counted_extra) count_up_to(counted, ids.size(), extra);
  enter_up_to(records.size());
}

// The pointer of a budget trace says how much has retired, and its notes at which values of it probes were met.
void Probes::count_budget(std::uint64_t start, std::uint64_t end, std::span<const ProbeNote> notes) {
  const auto bias = static_cast<std::uint32_t>(run_.trace().pointer_bias());
  const auto place = [&](const ProbeNote& note) {
    const Exit& exit = run_.translator->blocks().exit(note.exit);
    const std::uint32_t behind = note.pointer + bias + static_cast<std::uint32_t>(exit.advance);
    return run_.translator->blocks().probe_of(note.exit) == ProbeTime::After ? behind : behind - exit.instructions;
  };
  const auto pc = [&](const ProbeNote& note) { return run_.translator->blocks().block_of(note.exit).pc; };
  if (run_.counting.splits) {
    for (const ProbeNote& note : notes) {
      const std::uint64_t at = place(note);
      tally_.count_and_split_instructions(at - std::exchange(start, at));
      reached(pc(note), nullptr);
    }
    return tally_.count_and_split_instructions(end - start);
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
