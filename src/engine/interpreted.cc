// The way to an overflow and on to the next translation behind it, instruction by instruction in C++ (interpreter.h): in the budget form,
// where a translation close to the overflow (Variant::Near) would be made for this one sample. In a program with much code few samples
// are taken where another was; to translate the few instructions before each costs more than to interpret them, and leaves code behind
// that is not run again.

#include "engine/isa_names.h"
#include "engine/runtime.h"
#include "engine/translate/interpreter.h"
#include "isa/condition.h"

namespace zs::engine {
namespace {

/// So often the way to an overflow is interpreted from one place; then it is translated. From as many places as only large programs have,
/// oftener: there translations cost more, and push out more. Measured: with 16 everywhere, sqlite3 and a shell take 3 % longer; with 3
/// everywhere, cc1 does.
constexpr std::uint8_t kMostTimes = 3, kMostTimesOfMany = 16;
constexpr std::uint32_t kManyPlaces = 2048;
/// Instructions at a time: from a brake to behind the overflow, and on to where a translation begins.
constexpr unsigned kMostRun = 128;
constexpr std::size_t kLongest = 15;  // bytes of an instruction
/// Single-step traps and alignment faults are the translation's business.
constexpr std::uint64_t kTrapFlag = 0x100, kAlignmentCheck = 0x40000;

}  // namespace

bool Runtime::is_worth_interpreting(std::uint64_t pc, std::uint64_t distance) {
  // Nothing here tells of a mark.
  if (!translator_->has_near() || any_marks_ || (context_.flags & (kTrapFlag | kAlignmentCheck)) != 0) return false;
  if (distance == 0) return true;  // else it would run as a step, which takes one more visit
  std::uint8_t& times = interpreted_[(pc ^ pc >> kInterpretedBits) % interpreted_.size()];
  if (times >= (interpreted_from_ < kManyPlaces ? kMostTimes : kMostTimesOfMany)) return false;
  if (times++ == 0) ++interpreted_from_;
  return true;
}

bool Runtime::run_interpreted(std::uint64_t distance) {
  Thread& thread = *thread_;
  InterpretedState state{.gpr = context_.gpr,
                         .flags = context_.flags,
                         .pc = thread.pc,
                         .fs = context_.fs_base,
                         .xsave = reinterpret_cast<std::byte*>(&context_) + kXsaveOffset};
  std::uint64_t uncounted = 0;
  const auto count_run = [&] {
    if (uncounted == 0) return;
    ran_ += uncounted;
    count({&uncounted, 1});
    uncounted = 0;
  };
  constexpr std::uint64_t kLine = 64;
  __builtin_prefetch(reinterpret_cast<const void*>(thread.pc + kLine));
  bool any = false, far = false;
  for (unsigned left = kMostRun; left != 0; --left) {
    const auto code = fetch(thread.pc);
    if (code.size() < kLongest || may_change_unseen(thread.pc)) break;
    if (distance == 0) {
      count_run();
      const Insn* const insn = stepped_insns_.find(thread.pc, code, config_.virtual_time);
      const std::uint64_t flags = context_.flags;
      if (insn == nullptr || !interpret(state, code.data())) break;
      const bool conditional = insn->facts.branch == arch::BranchKind::Conditional;
      translator_->prefetch(thread.pc);
      const bool taken = conditional ? holds(insn->condition, flags) : insn->facts.branch != arch::BranchKind::None;
      retire_alone(*insn, taken, thread.pc, context_.gpr, context_.flags);
      const Allowance allowed = allowance();
      distance = allowed.instructions;
      far = is_far(allowed);
    } else {
      if (far && translator_->find(thread.pc, Variant::Full) != nullptr) break;
      if (!interpret(state, code.data())) break;
      ++uncounted;
      --distance;
    }
    any = true;
  }
  count_run();
  if (any) wants_indirect_entry_ = false;
  return any;
}

}  // namespace zs::engine
