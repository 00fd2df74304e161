#include "engine/account/core_feeder.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <deque>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "engine/translate/stubs.h"

namespace zs::engine {
namespace {

/// Whether it is an event of the load-latency facility.
bool counts_latency(const arch::EventMeaning& meaning) {
  return arch::depends_on(meaning, arch::CoreSignal::LatencyLoads);
}

}  // namespace

// With these bases of segments.
arch::SlotValues CoreFeeder::slot_values(const std::uint64_t* slots) const {
  return {.slots = slots, .fs = run_.context.fs_base, .gs = run_.context.gs_base, .listed = {}};
}

// Ids are given out anew when the translator has forgotten everything.
void CoreFeeder::forget_flushed_paths() {
  if (std::exchange(paths_of_flush_, run_.translator->flushes()) == run_.translator->flushes()) return;
  forget_all_paths();
  run_.thread->cpu.core->forget_paths();
  code_bound_.forgotten();
}

// The path was described.
void CoreFeeder::bound_memory(CorePaths::Path path) {
  code_bound_.described(path.first());
  const std::size_t held =
      run_.translator->bytes() + paths_.bytes() + bytes_elsewhere_ + run_.thread->cpu.core->path_bytes();
  if (!run_.translator->flushes_soon() && code_bound_.exceeded(held, paths_.size())) run_.translator->flush_soon();
}

CorePaths::Path CoreFeeder::path(std::uint32_t exit_id) {
  if (const CorePaths::Path known = paths_[exit_id]; known.kind != CorePaths::Path::Unknown) return known;
  const Exit& exit = run_.translator->blocks().exit(exit_id);
  const auto insns = run_.translator->replay().path_to(exit_id);
  const CorePaths::Path path =
      paths_.describe(exit_id, run_.translator->blocks().block(exit.block).pc, insns,
                      exit.kind == ExitKind::Indirect ? 0 : exit.target, *run_.thread->cpu.core);
  bound_memory(path);
  return path;
}

void CoreFeeder::begin_runs(std::size_t most) {
  forget_flushed_paths();
  runs_.resize(most);
  any_empty_run_ = false;
  behind_run_ = run_.indirect_target;
}

void CoreFeeder::note_run(std::size_t at, std::uint32_t exit, std::uint32_t slots) {
  CorePaths::Path path = paths_[exit];
  std::uint64_t next = 0;
  if (path.kind != CorePaths::Path::Direct) {
    if (path.kind == CorePaths::Path::Unknown) path = this->path(exit);
    any_empty_run_ |= path.kind == CorePaths::Path::Empty;
    if (path.kind == CorePaths::Path::Followed)
      next = run_.translator->blocks().exit(exit).target;
    else if (path.kind == CorePaths::Path::Indirect)
      next = behind_run_;
  }
  behind_run_ = path.first();
  runs_[at] = {.path = exit, .slots = slots, .next = run_.moved_code(next)};
}

// Records [from, to) of the `records` that are being drained, reported to the core, at once.
// play(runs, values): reports to it. Returns false, and has reported nothing, if that did.
bool CoreFeeder::run_core(std::size_t records, std::size_t from, std::size_t to, const PlayRuns& play) {
  if (from == to) return true;
  code_bound_.ran(to - from);
  std::span<const arch::PathRun> runs = std::span(runs_).subspan(runs_.size() - records + from, to - from);
  if (any_empty_run_) {
    reported_runs_.clear();
    std::ranges::copy_if(runs, std::back_inserter(reported_runs_),
                         [this](const arch::PathRun& run) { return paths_[run.path].kind != CorePaths::Path::Empty; });
    runs = reported_runs_;
  }
  return runs.empty() || play(runs, slot_values(run_.trace().slots()));
}

void CoreFeeder::run_core_into(const Block& block, Piece piece) {
  if (piece.from == piece.to) return;
  forget_flushed_paths();
  const auto insns = run_.translator->replay().path_into(block, piece.to).subspan(piece.from);
  arch::CoreFeed& core = *run_.thread->cpu.core;
  // The one number of all such paths names another path each time, so the model plays first what waits: once for a
  // block, as where no window ends in it.
  const std::uint32_t number = piece.from == 0 ? BlockStore::kPathLeft : run_.translator->reserve_exits(1);
  paths_.describe(number, insns.front().insn->pc, insns, piece.next, core);
  const arch::PathRun run{.path = number,
                          .slots = run_.trace().slot_number_at(run_.context.trace_pointer),
                          .next = run_.moved_code(piece.next)};
  core.run({&run, 1}, slot_values(run_.trace().slots()));
}

// Where a count decides what happens next, what was reported must have been replayed. Else it may wait for the other
// threads' turns.
void CoreFeeder::settle_if_asked() {
  if (run_.counting.at_once || asked_) run_.thread->cpu.core->settle();
}

void CoreFeeder::run_records(std::size_t records, std::size_t from, std::size_t to) {
  run_core(records, from, to, [this](std::span<const arch::PathRun> runs, const arch::SlotValues& values) {
    run_.thread->cpu.core->run(runs, values);
    return true;
  });
}

// Of the path of record `at`. Each has a number of its own: a number that names another path all the time would have
// the model play what waits.
void CoreFeeder::run_piece(std::span<const std::uint32_t> ids, std::size_t at, Piece piece) {
  if (piece.from == piece.to) return;
  const std::uint32_t id = ids[at];
  const Exit exit = run_.translator->blocks().exit(id);
  const arch::PathRun& whole = run_of(ids.size(), at);
  if (piece.from == 0 && piece.to == exit.instructions) return run_records(ids.size(), at, at + 1);
  const auto [number, fresh] = pieces_.try_emplace(std::uint64_t{id} << 32 | piece.from << 16 | piece.to);
  const auto insns = run_.translator->replay().path_to(id);
  const bool last = piece.to == exit.instructions;
  const std::uint64_t next = last ? whole.next : run_.moved_code(insns[piece.to].insn->pc);
  if (fresh) {
    number->second = run_.translator->reserve_exits(1);
    bound_memory(paths_.describe(number->second, insns[piece.from].insn->pc,
                                 insns.subspan(piece.from, piece.to - piece.from), next, *run_.thread->cpu.core));
  }
  const arch::PathRun run{.path = number->second, .slots = whole.slots, .next = next};
  run_.thread->cpu.core->run({&run, 1}, slot_values(run_.trace().slots()));
}

// What the model has played up to overflows that were found in the trace.
void CoreFeeder::count_up_to_splits() {
  std::deque<arch::CoreSignals>& at_splits = run_.thread->signals_at_splits;
  for (; !at_splits.empty(); at_splits.pop_front()) {
    tally_.clear();
    tally_.add_signals(tally_.totals(), at_splits.front());
    tally_.count();
    advance_time(at_splits.front());
    run_.observer().signals_counted(run_.shown());
  }
}

void CoreFeeder::count_and_split(std::span<const std::uint32_t> ids, std::size_t from, std::size_t to) {
  std::size_t record = from;  // which is reported up to there:
  unsigned instruction = 0;
  const auto report_up_to = [&](std::size_t end, unsigned instructions) {
    if (instruction != 0 && end != record) {
      run_piece(ids, record, {.from = instruction, .to = run_.translator->blocks().exit(ids[record]).instructions});
      ++record;
      instruction = 0;
    }
    run_records(ids.size(), record, end);
    record = end;
    if (instructions != instruction) run_piece(ids, record, {.from = instruction, .to = instructions});
    instruction = instructions;
  };
  tally_.count_and_split(ids.subspan(from, to - from),
                         [&](std::size_t at, unsigned instructions) { report_up_to(from + at, instructions); });
  report_up_to(to, 0);
  settle_if_asked();
  count_signals();
}

void CoreFeeder::count_into_and_split(std::uint32_t index, unsigned instructions, std::uint64_t next) {
  const Block block = run_.translator->blocks().block(index);
  unsigned reported = 0;
  tally_.count_into_and_split(index, instructions, [&](std::size_t, unsigned to) {
    const std::uint64_t behind =
        to == instructions ? next : run_.translator->replay().path_into(block, instructions)[to].insn->pc;
    run_core_into(block, {.from = reported, .to = to, .next = behind});
    reported = to;
  });
  run_core_into(block, {.from = reported, .to = instructions, .next = next});
  settle_if_asked();
  count_signals();
}

// Records [from, to), as run_core() has them, reported and counted.
void CoreFeeder::count_modelled(std::span<const std::uint32_t> ids, std::size_t from, std::size_t to) {
  if (run_.counting.splits) return count_and_split(ids, from, to);
  run_records(ids.size(), from, to);
  settle_if_asked();
  if (run_.counting.deferred) return deferred_.add(ids.subspan(from, to - from));
  tally_.sum_records(ids.subspan(from, to - from), {});
  tally_.add_signals(tally_.totals());
  tally_.count();
  advance_time();
}

void CoreFeeder::count_into_deferred(std::uint32_t index, unsigned instructions, std::uint64_t next) {
  run_core_into(run_.translator->blocks().block(index), {.to = instructions, .next = next});
  settle_if_asked();
  deferred_.add_into(index, instructions, next);
}

void CoreFeeder::count_signals() {
  if (run_.counting.deferred) deferred_.count();
  count_up_to_splits();
  tally_.clear();
  tally_.add_signals(tally_.totals());
  tally_.count();
  advance_time();
}

void CoreFeeder::settle(Thread& thread) {
  if (thread.cpu.core == nullptr) return;
  thread.cpu.core->settle();
  thread.core_time = thread.cpu.core->played_until();
  Thread* const running = std::exchange(run_.thread, &thread);
  count_signals();
  run_.thread = running;
}

std::uint64_t CoreFeeder::time_of(const Thread& thread) {
  return thread.cpu.core != nullptr ? thread.cpu.core->played_until() : thread.core_time;
}

// Whose turn is next, among those that wait and the one that runs: who is behind on its core's clock and has nothing
// left to replay there, so that what cores do is reported nearly in the order of their cycles. null: the running thread
// goes on.
Thread* CoreFeeder::next_by_time() {
  constexpr std::uint64_t kNotYet = UINT64_MAX;
  const auto time = [](const Thread& thread) {
    return thread.cpu.core != nullptr && thread.cpu.core->lags() ? kNotYet : time_of(thread);
  };
  while (true) {
    Thread* const next = run_.lock.lowest(time);
    const std::uint64_t own = time(*run_.thread);
    if (next == nullptr || time(*next) > own) return nullptr;
    if (time(*next) != kNotYet) return next;
    run_.thread->cpu.core->play_on();
  }
}

void CoreFeeder::runs_after_this(Thread& woken) {
  if (!run_.counting.models) return;
  if (run_.thread->cpu.core != nullptr) run_.thread->cpu.core->settle();
  const std::uint64_t now = time_of(*run_.thread);
  woken.core_time = std::max(woken.core_time, now);
  if (woken.cpu.core != nullptr) woken.cpu.core->wait_until(now);
}

// ---- one instruction alone ----------------------------------------------------------------------------------------

void CoreFeeder::begin_step(StepInProgress& step) {
  effects_of(step.insn, step.effects);
  AddressSlots planner;
  CHECK(planner.add(step.effects, step.slots));
  for (const InsnSlots::Store& store : std::span(step.slots.before).first(step.slots.stores_before))
    step.values[store.slot] = run_.context.gpr[store.reg];
  step.listed.clear();
  for (const Access& access : step.effects.accesses) {
    if (access.form != arch::AccessForm::Listed) continue;
    if (access.operand.vector_index)
      list_elements(step.effects.elements, access, step);
    else
      list_lines(access, step);
  }
}

// The instruction has run; `next` is where the thread goes on.
void CoreFeeder::run_step(bool taken, std::uint64_t next) {
  forget_flushed_paths();
  StepInProgress& step = run_.thread->step;
  const bool conditional = step.insn.facts.branch == arch::BranchKind::Conditional;
  const std::uint32_t number = conditional ? run_.context.exit_id : step.first_exit;
  arch::CoreFeed& core = *run_.thread->cpu.core;
  if (paths_[number].kind == CorePaths::Path::Unknown) {
    const bool branch = step.insn.facts.branch != arch::BranchKind::None;
    const PathInsn insn{.insn = &step.insn,
                        .slots = &step.slots,
                        .taken = branch && (!conditional || taken),
                        .went_to = branch && (!conditional || taken) ? step.insn.target : 0};
    bound_memory(paths_.describe(number, step.insn.pc, {&insn, 1}, next, core));
  }
  for (const InsnSlots::Store& store : std::span(step.slots.after).first(step.slots.stores_after))
    step.values[store.slot] = run_.context.gpr[store.reg];
  arch::SlotValues values = slot_values(step.values);
  values.listed = step.listed;
  const arch::PathRun run{.path = number, .slots = 0, .next = run_.moved_code(next)};
  step.reported_to_core = true;
  step.mispredicted = false;
  step.branch_cycle = 0;
  step.signals = {};
  run_.ran += sizeof(std::uint32_t);  // as a record
  const bool probed = static_cast<bool>(step.probe);
  if (!run_.counting.at_once && !probed) {  // no counter waits for it: its signals are counted with those of others
    core.run({&run, 1}, values);
    step.load = step.store = step.fetch = {};
    return;
  }
  if (probed) core.settle();  // the observer will ask what was counted up to here
  count_signals();            // what another thread on this core has ended
  const arch::CoreSignals before = core.signals();
  core.run({&run, 1}, values);
  core.settle();
  if (run_.counting.deferred) deferred_.counted_step();
  if (step.probe.time != ProbeTime::Before) advance_time();
  const arch::CoreSignals& now = core.signals();
  if (run_.in_unit()) step.signals = signals_since(before, now);
  for (std::size_t accumulator = 0; accumulator < run_.counting.accumulators->size(); ++accumulator) {
    if (run_.counting.accumulators->modelled(accumulator))
      run_.thread->accumulators_reported[accumulator] = (*run_.counting.accumulators)[accumulator].of_signals(now);
  }
  step.load = core.last_load();
  step.store = core.last_store();
  step.fetch = core.last_fetch();
  step.mispredicted = core.last_mispredicted();
  step.branch_cycle = core.cycle_of_branch(0, step.insn.pc);
}

void CoreFeeder::add_outcome(arch::Retired& retired) const {
  const StepInProgress& step = run_.thread->step;
  retired.signals = &step.signals;
  retired.load = step.load;
  retired.store = step.store;
  retired.fetch = step.fetch;
  retired.mispredicted = step.mispredicted;
  retired.branch_cycle = step.branch_cycle;
}

// ---- time -----------------------------------------------------------------------------------------------------------

// What the model says has passed since it was last asked. Frequencies are not modelled: all clocks tick alike, but for
// the bus.
void CoreFeeder::advance_time(const arch::CoreSignals& now) {
  using enum arch::CoreSignal;
  arch::CoreSignals& reported = run_.thread->time_reported;
  const auto since = [&](auto... signals) { return ((now[signals] - reported[signals]) + ...); };
  if (since(Cycles, Slots) == 0) return;
  if (!run_.in_unit()) {
    reported = now;
    return;
  }
  pmu::Elapsed elapsed;
  elapsed.core = elapsed.reference = since(Cycles);
  elapsed.bus = now[Cycles] / kCyclesPerBusTick - reported[Cycles] / kCyclesPerBusTick;
  elapsed.slots = since(Slots);
  const pmu::IssuedSlots issued = pmu::issued_slots(now, reported);
  reported = now;
  bool near = false;
  for (pmu::Pmu* pmu : run_.thread->cpu.pmus) {
    const bool records = pmu->records_time();
    const pmu::Elapsed room = records ? pmu->time_headroom() : pmu::Elapsed{};
    pmu->advance(elapsed);
    pmu->issue(issued);
    if (!records) continue;
    if (pmu->record_is_due()) name_waiting(*pmu, elapsed.core > room.core ? elapsed.core - room.core - 1 : 0);
    near |= nearest_time(*pmu) < kWatchedCycles;
  }
  if (run_.counting.time_is_near) run_.thread->cpu.core->watch_retirement(near);
}

// The record that is due is of the instruction that retirement waited for, so many cycles ago. Its registers are gone,
// so it is the next time.
void CoreFeeder::name_waiting(pmu::Pmu& pmu, std::uint64_t cycles_ago) const {
  // chosen: a loop's body; beyond that, steps to find it would cost more than the sample is worth.
  constexpr std::uint32_t kMostSteps = 256;
  pmu.await(run_.thread->cpu.core->waited_for(cycles_ago), kMostSteps);
}

void CoreFeeder::take_time_pmi() {
  if (run_.thread->cpu.core != nullptr && run_.thread->cpu.pmi_requested != nullptr && *run_.thread->cpu.pmi_requested)
    tally_.take_pmi(run_.registers());
}

void CoreFeeder::pass_wishes(const VirtualCpu& cpu) {
  if (cpu.core == nullptr) return;
  for (const pmu::Pmu* pmu : cpu.pmus) {
    if (pmu->wants_branches()) cpu.core->remember_branches();
    // Whatever the register holds: 0 is a threshold too, as Westmere's latency_above_threshold_0 has it.
    if (std::ranges::any_of(pmu->accumulators(), counts_latency))
      cpu.core->set_latency_threshold(static_cast<std::uint32_t>(pmu->latency_threshold()));
  }
}

void CoreFeeder::unmapped(std::uint64_t address, std::uint64_t length) {
  if (run_.thread->core != nullptr && length != 0)
    run_.thread->core->unmapped(page_down(address), page_up(address + length));
}

void CoreFeeder::large_pages(std::uint64_t address, std::uint64_t length, bool wanted) {
  if (run_.thread->core != nullptr && length != 0)
    run_.thread->core->large_pages(page_down(address), page_up(address + length), wanted);
}

// ---- elements of gathers and scatters -----------------------------------------------------------------------------

namespace {

/// A vector or mask register in an XSAVE area of the standard form.
/// source: SDM vol. 1, "XSAVE Area"; offsets of all but the legacy region by CPUID leaf 0DH.
class SavedVectors {
 public:
  explicit SavedVectors(const std::byte* area) : area_(area) { std::memcpy(&present_, area + 512, sizeof present_); }

  /// The first `bytes` of vector register `number`, then zeros to 64.
  std::array<std::byte, 64> vector(unsigned number, std::size_t bytes) const {
    std::array<std::byte, 64> value{};
    if (number >= 16) {
      copy(kHi16Zmm, 64 * (number - 16), value.data(), 64);
      return value;
    }
    constexpr std::size_t kXmmAt = 160;
    if ((present_ >> kSse & 1) != 0) std::memcpy(value.data(), area_ + kXmmAt + 16 * std::size_t{number}, 16);
    if (bytes > 16) copy(kAvx, 16 * std::size_t{number}, value.data() + 16, 16);
    if (bytes > 32) copy(kZmmHi256, 32 * std::size_t{number}, value.data() + 32, 32);
    return value;
  }
  std::uint64_t mask(unsigned number) const {
    std::uint64_t value = 0;
    copy(kOpmask, 8 * std::size_t{number}, reinterpret_cast<std::byte*>(&value), 8);
    return value;
  }

 private:
  enum Component : unsigned { kSse = 1, kAvx = 2, kOpmask = 5, kZmmHi256 = 6, kHi16Zmm = 7 };

  /// A component in its initial state is not written: all zeros.
  void copy(Component component, std::size_t offset, std::byte* to, std::size_t bytes) const {
    if ((present_ >> component & 1) == 0) return;
    std::memcpy(to, area_ + xsave_offset(component) + offset, bytes);
  }

  const std::byte* area_;
  std::uint64_t present_ = 0;  // XSTATE_BV
};

}  // namespace

// Where the operand lies with this value of its index.
std::uint64_t CoreFeeder::element_address(const MemoryOperand& operand, std::uint64_t index) const {
  std::uint64_t address = static_cast<std::uint64_t>(operand.displacement) + index * operand.scale;
  if (operand.base >= 0) address += run_.context.gpr[operand.base];
  if (operand.address32) address &= UINT32_MAX;
  if (operand.fs) address += run_.context.fs_base;
  if (operand.gs) address += run_.context.gs_base;
  return address;
}

// Of a state area.
void CoreFeeder::list_lines(const Access& access, StepInProgress& step) const {
  const MemoryOperand& operand = access.operand;
  const std::uint64_t address = element_address(operand, operand.index >= 0 ? run_.context.gpr[operand.index] : 0);
  step.listed.push_back(operand.bytes / access.bytes);
  for (std::uint32_t at = 0; at < operand.bytes; at += access.bytes) step.listed.push_back(address + at);
}

// Before the instruction: afterwards its mask is empty.
void CoreFeeder::list_elements(const ElementList& list, const Access& access, StepInProgress& step) const {
  const SavedVectors saved(reinterpret_cast<const std::byte*>(&run_.context) + kXsaveOffset);
  const auto indices = saved.vector(list.index_register, 64);
  const std::uint64_t mask_register =
      list.mask_register >= 0 ? saved.mask(static_cast<unsigned>(list.mask_register)) : 0;
  const auto mask_vector =
      list.mask_vector >= 0 ? saved.vector(static_cast<unsigned>(list.mask_vector), 64) : std::array<std::byte, 64>{};
  const std::size_t count_at = step.listed.size();
  step.listed.push_back(0);
  for (unsigned i = 0; i < list.elements; ++i) {
    const bool wanted = list.mask_register >= 0
                            ? (mask_register >> i & 1) != 0
                            : (std::to_integer<unsigned>(mask_vector[(i + 1u) * access.bytes - 1]) & 0x80u) != 0;
    if (!wanted) continue;
    std::int64_t index = 0;
    if (list.index_bytes == 4) {
      std::int32_t narrow = 0;
      std::memcpy(&narrow, indices.data() + 4 * std::size_t{i}, 4);
      index = narrow;
    } else {
      std::memcpy(&index, indices.data() + 8 * std::size_t{i}, 8);
    }
    step.listed.push_back(element_address(access.operand, static_cast<std::uint64_t>(index)));
    ++step.listed[count_at];
  }
}

}  // namespace zs::engine
