#include "engine/stretches.h"

#include <algorithm>

#include "pmu/pmu.h"

namespace zs::engine {
namespace {

/// Fewer records than this are not worth a guard fault; shorter blocks get there cheaper.
constexpr std::uint64_t kFewestRecords = 8;
/// Fewer words are run as Variant::Logged, which goes on beyond an overflow but stores ten times as much. chosen: at a
/// few misses for a hundred accesses each stretch brings the overflow only a little closer, so the last ones are many.
constexpr std::uint64_t kFewestBeforeLog = 64;
constexpr std::uint64_t kFewestBudget = 128;
/// What is stored of a trace and beside it is then still in the host's caches when it is read.
constexpr std::uint64_t kBytesWithStackPointers = 64 << 10;
// A brake lets pass what was entered so far away, and is not so far away where it does not.
static_assert(kFewestBudget > TranslationOptions::kMostBraked + TraceBuffer::kBrakeBudget);

/// With other threads waiting, a thread runs at most so long between two turns. In bytes of trace.
constexpr std::uint64_t kQuantumRecords = 32768 * 4;
constexpr std::uint64_t kQuantumBudget = 262144;
/// A system call is part of a turn, as some two thousand instructions. Who does hardly anything else would not let the
/// others in before that, and never among its calls, where it has left its locks.
constexpr std::uint64_t kCallRecords = 256 * 4;
constexpr std::uint64_t kCallBudget = 2048;
/// With a core model: what one thread did beyond the others' turns is replayed without them when it ends or waits.
constexpr std::uint64_t kQuantumModelled = 1024 * 4;
/// Where it replays at once what it is told (CountingMode::at_once) and cores fight over lines, turns are the order of
/// their accesses: some 100 instructions. source: docs/models/machine.md, HITM by turn.
constexpr std::uint64_t kQuantumContended = 64 * 4;
/// Events that may pass without a visit here: a millisecond or so.
constexpr std::uint64_t kMostPassed = std::uint64_t{1} << 23;

}  // namespace

bool Stretches::is_far(const Allowance& allowed) const {
  if (run_.counting.form == TraceForm::Budget) return allowed.budget >= kFewestBudget;
  return allowed.records >= (accountant_.logged.possible() ? kFewestBeforeLog : kFewestRecords);
}

std::uint64_t Stretches::turn_bytes() const {
  if (run_.counting.form == TraceForm::Budget) return kQuantumBudget;
  if (run_.thread->cpu.core == nullptr) return kQuantumRecords;
  return turns_are_short() ? kQuantumContended : kQuantumModelled;
}

bool Stretches::turns_are_short() const {
  return run_.counting.at_once && run_.thread->cpu.core != nullptr && run_.lock.contended() &&
         run_.thread->cpu.core->contends();
}

bool Stretches::call_ends_turn() {
  if (!run_.lock.contended()) return false;
  run_.ran += run_.counting.form == TraceForm::Budget ? kCallBudget : kCallRecords;
  return run_.ran >= turn_bytes();
}

std::uint64_t Stretches::begin(const Allowance& allowed) {
  const std::uint64_t quantum = turn_bytes();
  std::uint64_t bytes = run_.trace().room();
  if (run_.counting.counts_paths && run_.config.contexts != 0) bytes = std::min(bytes, kBytesWithStackPointers);
  // Another thread may come to wait for its turn meanwhile, and nobody hears of it before the guard.
  if (run_.threads.size() != 1) bytes = std::min<std::uint64_t>(bytes, TraceBuffer::kBytes);
  if (run_.lock.contended())
    bytes = std::min(bytes, run_.ran + kFewestBudget < quantum ? quantum - run_.ran : kFewestBudget);
  if (run_.counting.form != TraceForm::Budget) {
    bytes = std::min(bytes + run_.translator->brake_bytes(),
                     run_.trace().room());  // a turn ends at a brake, and not twice
    return run_.trace().end() - std::min(bytes / 4, allowed.records) * 4;
  }
  if (allowed.budget <= bytes) allow_passes();
  return run_.trace().end() - std::min(bytes, allowed.budget);
}

void Stretches::allow_passes() {
  if (!run_.translator->has_near() || run_.phased || run_.lock.contended()) return;
  for (pmu::Pmu* pmu : run_.thread->cpu.pmus) {
    if (pmu->accumulators().empty()) continue;
    const pmu::Pmu::Repeating repeating = pmu->repeating(0);
    if (repeating.times == 0) return;
    const std::uint64_t events = repeating.events - 1;  // up to the overflow, without it
    const std::uint64_t most = run_.trace().room();
    if (events < kFewestBudget + run_.config.max_block_instructions || events > most) return;
    run_.context.period_start = run_.translator->near_end() - events;
    run_.context.passes_left =
        static_cast<std::uint32_t>(std::min({repeating.times, std::uint64_t{kMostPasses}, kMostPassed / events}));
  }
}

}  // namespace zs::engine
