#include "engine/translate/superblock_builder.h"

#include <algorithm>

#include "engine/translate/stack_switch.h"
#include "isa/decode.h"

namespace zs::engine {
namespace {

constexpr unsigned kMostSideExits = 7;
/// Bytes from the head of a loop to the branch that leads back, for a path that did not begin at the head. Measured:
/// with longer ones cc1 takes 6 % longer, since most of such a loop is another path's already; with none a sieve takes
/// 15 % longer, zstd 10 %, exceptions 8 %.
constexpr std::uint64_t kLongestLoop = 512;
/// A path close to an overflow has so many instructions before it may end where a whole block begins: shorter ones are
/// more of them. chosen
constexpr std::size_t kFewestNear = 12;

/// Whether the registers behind it are known without looking, or it goes straight on to where they are stored.
bool can_be_logged(const Insn& insn, const InsnSlots& slots) {
  if (insn.flow == Flow::Syscall || insn.flow == Flow::Emulated) return false;
  return insn.flow == Flow::Plain || (slots.stores_after == 0 && slots.flags == AddressTerm::kNoSlot);
}

}  // namespace

// A core model most often asks for the block that was made last, whose path is still here. (Not so of kept
// translations: what they were made of may have lain at an address where something else was.)
const Path& SuperblockBuilder::replay(const Block& block, unsigned instructions) {
  const bool made_last = options_.addresses && walk_.pc == block.pc && walk_.variant == block.variant &&
                         path_.steps.size() >= instructions;
  if (!made_last) return follow(block.pc, block.variant, instructions, true);
  path_.steps.cut(instructions);
  return path_;
}

const Path& SuperblockBuilder::collect(std::uint64_t pc, Variant variant, unsigned limit) {
  const Path& path = follow(pc, variant, limit, false);
  if (!options_.addresses || !path.full || !walk_.stays()) return path;
  // A core model's blocks end with branches, or with the longest path, and one that goes on in the next path is more
  // work than a shorter one.
  std::size_t whole = path.steps.size();
  while (whole != 0 && path.steps[whole - 1].insn.facts.branch == arch::BranchKind::None) --whole;
  if (whole == path.steps.size() || whole == 0) return path;
  return follow(pc, variant, static_cast<unsigned>(whole), false);
}

// What it asks of each instruction is inline. Measured: with calls a translation takes 5 % longer.
const Path& SuperblockBuilder::follow(std::uint64_t pc, Variant variant, unsigned limit, bool again) {
  path_.clear();
  planner_.clear(variant == Variant::Logged);
  walk_ = {.pc = pc, .variant = variant, .limit = limit, .again = again, .unseen = source_.may_change_unseen(pc)};
  std::uint64_t at = pc;
  while (!ends_before(at) && add_step(at) && go_on(at)) {}
  return path_;
}

// returns false, which is what those say that do not go on
inline bool SuperblockBuilder::end(ExitKind kind, std::uint64_t at) {
  path_.end_kind = kind;
  path_.end_pc = at;
  return false;
}

inline bool SuperblockBuilder::is_there(std::uint64_t pc) const {
  return store_.at(pc, walk_.stays() ? walk_.variant : Variant::Full) != kNone;
}

// Whether the path ends before the instruction at `at`, whatever that is.
inline bool SuperblockBuilder::ends_before(std::uint64_t at) {
  const std::size_t size = path_.steps.size();
  if (walk_.variant == Variant::Near && !walk_.again && size >= kFewestNear && is_there(at)) walk_.up_to_whole = size;
  if (size >= walk_.limit) return !end_full(at);
  if (walk_.variant == Variant::Full && options_.has_near() && size == options_.most_unbraked() &&
      (walk_.unseen || !path_.has_brake()))
    return !end(ExitKind::Direct, at);
  // What has a translation is not translated twice. A core model's blocks end with branches, so there no path ends
  // elsewhere.
  const auto may_end = [&] {
    return !options_.addresses || path_.steps.back().insn.facts.branch != arch::BranchKind::None;
  };
  if (walk_.stays() && !walk_.again && size != 0 && may_end() && is_there(at)) return !end(ExitKind::Direct, at);
  return false;
}

bool SuperblockBuilder::end_full(std::uint64_t at) {
  path_.full = true;
  if (walk_.up_to_whole == 0 || walk_.up_to_whole == path_.steps.size()) return end(ExitKind::Direct, at);
  // Behind a stop the program goes on there, in code that is hot, and not in a block that begins where this one was
  // cut.
  const std::uint64_t whole = path_.steps[walk_.up_to_whole].insn.pc;
  path_.steps.cut(walk_.up_to_whole);
  return end(ExitKind::Direct, whole);
}

// Whether the instruction at `at` is on the path now.
inline bool SuperblockBuilder::add_step(std::uint64_t at) {
  const auto code = source_.fetch(at);
  if (code.empty()) return end(ExitKind::Unfetchable, at);
  PathStep& step = path_.steps.add();
  if (!decode_into(step.insn, at, code, options_.processor)) {
    path_.steps.drop_last();
    const bool cut = code.size() < 15 && is_truncated(code);
    return end(cut ? ExitKind::Unfetchable : ExitKind::Undecodable, at);
  }
  if (const auto kind = refusal(step)) {
    path_.steps.drop_last();
    return end(*kind, at);
  }
  return true;
}

// How the path ends before `step`, if it may not be on it.
inline std::optional<ExitKind> SuperblockBuilder::refusal(PathStep& step) {
  const Insn& insn = step.insn;
  if (options_.addresses) {
    if (const auto kind = refusal_of_addresses(step)) return kind;
  }
  if (is_up_to(walk_.variant) && (options_.addresses ? step.risky : counts_near(insn, true)) &&
      ++walk_.risky > most_risky(walk_.variant))
    return ExitKind::Direct;
  if (!fits32(insn.pc - walk_.pc)) return ExitKind::Direct;
  // One stack pointer is stored for each record.
  const bool calls = insn.flow == Flow::Call || insn.flow == Flow::IndirectCall;
  if (options_.stack_pointers && calls && !path_.calls.empty()) return ExitKind::Direct;
  if (walk_.variant == Variant::Logged && !can_be_logged(insn, step.slots)) return ExitKind::NeedsStep;
  if (walk_.variant == Variant::Quiet && (walk_.unseen || counts_near(insn, false))) return ExitKind::NeedsStep;
  if (walk_.variant != Variant::Step) {
    if (needs_step(insn)) return ExitKind::NeedsStep;
    // Not on a way that was taken: what is wanted now may not have been wanted when its block was made.
    if (const Probe probe = walk_.again ? Probe{} : source_.probe(insn)) {
      if (path_.steps.size() > 1) return ExitKind::Direct;
      if (probe.stepped || walk_.variant == Variant::Near) return ExitKind::NeedsStep;
      path_.probe = probe.time;
    }
  }
  if (insn.flow == Flow::Refused) return ExitKind::Refused;
  return std::nullopt;
}

std::optional<ExitKind> SuperblockBuilder::refusal_of_addresses(PathStep& step) {
  effects_of(step.insn, effects_);
  if (walk_.variant != Variant::Step && (effects_.alone || walk_.unseen)) return ExitKind::NeedsStep;
  if (!planner_.add(effects_, step.slots)) {
    path_.full = true;
    return ExitKind::Direct;
  }
  step.risky = is_risky(step.insn);
  return std::nullopt;
}

inline bool SuperblockBuilder::needs_step(const Insn& insn) const {
  const bool uncounted_rep = insn.facts.rep_string && accumulators_.any_memory() &&
                             (!options_.count_elements || insn.memory_count == 0 || insn.memory[0].address32);
  // POPF and IRETQ may set the trap flag, which the dispatcher then keeps for the program (Thread::traps). What the
  // engine answers may be a fault at its operand, or of a register that is not 0, and then it has not retired.
  return insn.gs || (options_.stack_pointers && switches_stack(insn)) || is_popf(insn) ||
         insn.flow == Flow::FarReturn || uncounted_rep || is_rdpkru(insn) || is_wrpkru(insn) ||
         (insn.touches_memory() && (insn.flow == Flow::Emulated || accumulators_.any_addresses()));
}

bool SuperblockBuilder::is_risky(const Insn& insn) {
  const std::uint8_t risks = options_.risks;
  if ((risks & kRiskAny) != 0 || ((risks & kRiskLoad) != 0 && is_load_or_prefetch(insn.facts)) ||
      ((risks & kRiskStore) != 0 && insn.facts.stores != 0) ||
      ((risks & kRiskBranch) != 0 && insn.facts.branch != arch::BranchKind::None))
    return true;
  return counts_near(insn, false);
}

// Whether it has an event of an accumulator that may be close to its overflow.
// plain  of one in which every instruction counts, too
bool SuperblockBuilder::counts_near(const Insn& insn, bool plain) {
  for (std::size_t accumulator = 0; accumulator < accumulators_.size(); ++accumulator) {
    if (!store_.counts().near(accumulator) || (!plain && accumulators_.counts_plain(accumulator))) continue;
    for (const bool taken : {false, true}) {
      if (fact_counts_.of(insn.facts, taken)[accumulator] != 0) return true;
    }
  }
  return false;
}

// Whether to go on decoding at `target` after a direct transfer.
bool SuperblockBuilder::worth_following(std::uint64_t target) const {
  if (source_.may_change_unseen(target) != walk_.unseen) return false;
  // The longer, the better: each block looks for itself how far it may run, and what runs once in a period is predicted
  // badly.
  if (walk_.variant == Variant::Near) return true;
  const PathSteps& steps = path_.steps;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].insn.pc == target) return steps.size() + (steps.size() - i) <= options_.max_instructions;
  }
  return walk_.again || !walk_.stays() || !is_there(target);
}

// Past the step added last: whether the path goes on, and if so at `at`.
inline bool SuperblockBuilder::go_on(std::uint64_t& at) {
  PathStep& step = path_.steps.back();
  const Insn& insn = step.insn;
  if (path_.probe == ProbeTime::After) return end(ExitKind::Direct, insn.next());
  switch (insn.flow) {
    case Flow::Plain: at = insn.next(); return true;
    case Flow::Jump:
    case Flow::Call:
    case Flow::TransactionBegin:
      at = insn.target;
      if (walk_.variant == Variant::Step || !worth_following(at)) return end(ExitKind::Direct, at);
      if (insn.flow == Flow::Call) path_.calls.push_back(insn.next());
      return true;
    case Flow::Return:
      if (path_.calls.empty() || insn.return_pop != 0 || !fits32(path_.calls.back())) break;
      at = step.follow_return = path_.calls.back();
      path_.calls.pop_back();
      return (worth_following(at) && ++walk_.side_exits < kMostSideExits) || end(ExitKind::Direct, at);
    case Flow::ConditionalJump: return go_on_with_condition(step, at);
    case Flow::CounterJump: at = insn.next(); return ++walk_.side_exits < kMostSideExits || end(ExitKind::Direct, at);
    case Flow::Stop: return end(ExitKind::Direct, insn.next());
    case Flow::IndirectJump:
    case Flow::IndirectCall:
    case Flow::Syscall:
    case Flow::Emulated:
    case Flow::FarReturn:
    case Flow::Breakpoint:
    case Flow::Refused: break;
  }
  path_.terminated = true;
  return false;
}

bool SuperblockBuilder::go_on_with_condition(PathStep& step, std::uint64_t& at) {
  const Insn& insn = step.insn;
  at = insn.next();
  if (walk_.variant != Variant::Step && insn.target <= insn.pc) {
    // A loop: its taken side is the hot one. Go round while a whole further turn fits; where the path began in the
    // middle of the loop, on to its head, or it would always be run in two pieces.
    step.follow_taken = true;
    at = insn.target;
    const bool inside = std::any_of(path_.steps.begin(), path_.steps.end(),
                                    [&](const PathStep& other) { return other.insn.pc == insn.target; });
    if ((!inside && insn.pc - insn.target > kLongestLoop) || !worth_following(at)) return end(ExitKind::Direct, at);
  }
  return ++walk_.side_exits < kMostSideExits || end(ExitKind::Direct, at);
}

}  // namespace zs::engine
