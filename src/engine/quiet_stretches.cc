#include "engine/quiet_stretches.h"

#include <algorithm>
#include <utility>

namespace zs::engine {
namespace {

/// Words of trace. Farther from an overflow a visit costs less than it is worth. chosen
constexpr std::uint64_t kFar = 4096;
/// A stretch tells nothing of what follows if it was shorter.
constexpr std::uint64_t kTelling = 8;
/// One that comes to such an instruction sooner is no better than a bounded block. In instructions; chosen
constexpr unsigned kFewest = 8;

}  // namespace

// Whether the overflow came closer by less than a quarter of what ran.
void QuietStretches::look_back(const Allowance& allowed) {
  if (begun_ == 0) return;
  const std::uint64_t words = (run_.trace_start - std::exchange(begun_, 0)) / 4;
  const std::uint64_t closer = allowed_ - std::min(allowed.records, allowed_);
  if (words >= kTelling)
    rare_ = 4 * closer < words;
  else if (was_quiet_)
    rare_ = false;
}

void QuietStretches::begin_others(const Allowance& allowed) {
  begun_ = run_.trace_start;
  allowed_ = allowed.records;
  was_quiet_ = false;
}

std::uint64_t QuietStretches::enter(const Allowance& allowed, std::uint32_t link_from) {
  if (run_.counting.models || run_.counting.form != TraceForm::Spaced) return 0;
  look_back(allowed);
  if (!rare_ && stretches_.is_far(allowed)) return 0;
  const Allowance quiet = accountant_.tally.quiet_allowance();
  if (allowed.records >= kFar || !stretches_.is_far(quiet)) return 0;
  const std::uint64_t generation = run_.code_generation();
  const Block& block = run_.translator->get(run_.thread->pc, Variant::Quiet, link_from);
  if (block.instructions == 0) return 0;
  const bool soon =
      block.instructions < kFewest && run_.translator->blocks().exit(block.first_exit).kind == ExitKind::NeedsStep;
  if (soon && allowed.instructions >= kFewest) return 0;
  const std::uint32_t index = run_.translator->blocks().index_of(block);
  if (link_from != kNone && generation == run_.code_generation()) run_.translator->link(link_from, block);
  if (run_.wants_indirect_entry) run_.translator->add_near_entry(index);
  run_.context.trace_pointer = run_.trace_start = begun_ = stretches_.begin(quiet);
  allowed_ = allowed.records;
  was_quiet_ = true;
  return run_.translator->blocks().block(index).entry;
}

}  // namespace zs::engine
