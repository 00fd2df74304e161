#include "engine/account/phases.h"

#include <algorithm>
#include <utility>

#include "arch/reported_in_full.h"

namespace zs::engine {

void Phases::begin(Stubs (*stubs)(const CodeCache&)) {
  stubs_ = stubs;
  const VirtualCpu& cpu = run_.thread->cpu;
  run_.phased = cpu.phase != nullptr;
  if (run_.phased) run_.phase = *cpu.phase;
  run_.watched.set_all(run_.phased);
  translate_anew();
  tally_.begin();
  place(*run_.thread);
}

// For the phase that it is.
void Phases::translate_anew() {
  const Thread& thread = *run_.thread;
  VirtualCpu cpu = thread.cpu;
  cpu.core = thread.core;
  run_.counting = CountingMode(cpu, run_.phase == Phase::FastForward);
  TranslationOptions options = run_.counting.translator_options(run_.config);
  if (run_.counting.watches_lines) options.watched = &run_.watched;
  if (run_.counting.counts_paths) options.history = &history_;
  const bool budget = run_.counting.form == TraceForm::Budget;
  if (budget && options.brakes) run_.trace().bias_pointer();
  run_.stubs = stubs_(*run_.code_cache);
  if (budget) run_.trace().use_budget_view();
  if (options.addresses || options.logs || options.stack_pointers)
    run_.trace().open_beside(reinterpret_cast<std::uint64_t>(run_.trace().slots()));
  run_.translator = std::make_unique<Translator>(*run_.code_cache, run_.stubs, *run_.code, *run_.counting.accumulators,
                                                 run_.counting.units, options);
}

bool Phases::follow() {
  if (!run_.phased || run_.thread->cpu.phase == nullptr) return false;
  const Phase next = *run_.thread->cpu.phase;
  const Phase before = std::exchange(run_.phase, next);
  if ((next == Phase::FastForward) == (before == Phase::FastForward)) return false;
  ++run_.phases_begun;
  if (before == Phase::FastForward) resume_cores();
  if (run_.has_other()) {
    run_.swap_translations();
  } else {
    run_.make_other();
    translate_anew();
  }
  run_.context.watch_mask = arch::LineSample::kMask;
  run_.context.probe_note = run_.trace().notes_begin();
  run_.context.trace_pointer = run_.trace_start = run_.trace().end();
  for (const auto& thread : run_.threads) place(*thread);
  if (run_.counting.watches_lines) watch_more();
  if (run_.watched.all() && next == Phase::FastForward && ++stretches_ == arch::kStretchesReportedInFull) watch_less();
  return true;
}

// Threads that went on without their cores do so at the same time from here on. Their machine is one.
void Phases::resume_cores() {
  std::uint64_t latest = 0;
  bool any = false;
  for (const auto& thread : run_.threads) {
    if (thread->core == nullptr) continue;
    if (!std::exchange(any, true)) thread->core->skipped(run_.counting.watches_lines);
    latest = std::max(latest, thread->core->played_until());
  }
  for (const auto& thread : run_.threads) {
    if (thread->core != nullptr) thread->core->wait_until(latest);
  }
}

// What the unit showed to ask beyond L2 is translated anew. Their machine is one.
void Phases::watch_more() {
  const auto any = std::ranges::find_if(run_.threads, [](const auto& thread) { return thread->core != nullptr; });
  if (any == run_.threads.end()) return;
  for (const std::uint64_t moved : (*any)->core->beyond_l2()) {
    const std::uint64_t pc = run_.moved_code.original(moved);
    if (run_.watched.insert(pc)) run_.translator->drop_with(pc);
  }
}

// From here on the tests cost more than they tell.
void Phases::watch_less() {
  run_.watched.set_all(false);
  run_.translator->flush();
}

void Phases::place(Thread& thread) const {
  if (thread.core != nullptr) thread.cpu.core = run_.phase == Phase::FastForward ? nullptr : thread.core;
}

}  // namespace zs::engine
