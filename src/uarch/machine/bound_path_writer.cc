#include "uarch/machine/bound_path_writer.h"

#include "uarch/branch/path_history.h"

namespace zs::uarch {

using arch::BranchKind;
using namespace path_registers;
using enum CodeWriter::Condition;
using enum CodeWriter::Operation;

void BoundPathWriter::write_block(const SimpleBlock& block, const SimpleBlock* before) {
  code_.operate(kCmp, kSlots, ZS_STATE(room_until));
  ask_if(kNotBelow, Question::Room);
  const bool in_turn = filter_.in_turn(block.lines);
  const std::size_t first_of_lines = asides();
  std::size_t look = 0;
  for (std::size_t line = 0; line < block.lines; ++line) {
    for (; !in_turn && look < block.looks_before_line(line); ++look) write_look(block.look[look], look);
    if (!write_line(block, before, line, in_turn)) continue;
    back_here(ask_if(kNotEqual, Question::Lines, line));
    line_is_over();
  }
  if (in_turn) {  // one answer is about all lines
    for (std::size_t i = first_of_lines; i < asides(); ++i) back_here(i);
  }
  for (; look < block.looks; ++look) write_look(block.look[look], look);
  const std::size_t first_of_branch = asides();
  write_branch(block);
  for (std::size_t i = first_of_branch; i < asides(); ++i) {
    if (asides_[i].what.kind != Question::Resteer) back_here(i);
  }
  code_.operate(kAdd, kNow, static_cast<std::int32_t>(block.units));
  code_.operate(kAdd, kSlots, static_cast<std::int32_t>(block.slots));
}

void BoundPathWriter::write_look(Look look, std::size_t number) {
  const PathRoutines& routines = places_.routines;
  write_address(look, number);
  if (!spacious_) {
    code_.call(routines.look[look.store()]);
    back_here(ask_if(kNotEqual, Question::Access, number));
    return;
  }
  const auto others = PathRoutines::write_look(code_, places_.state, filter_.store_tlb != 0, look.store());
  asides_[ask_from({others.begin(), others.end()}, Question::Access, number)].again = routines.look_again[look.store()];
}

/// As BranchUnit does it. Everything that is asked here goes on behind the branch.
void BoundPathWriter::write_branch(const SimpleBlock& block) {
  switch (block.kind) {
    case BranchKind::Conditional:
      code_.constant(kSi, block.hash & tournament_.mask);
      if (spacious_) {
        PathRoutines::write_conditional(code_, tournament_, block.taken);
      } else {
        code_.call(places_.routines.conditional[block.taken ? 1 : 0]);
      }
      ask_if(kNotEqual, Question::Wrong);
      if (!block.taken) return;
      break;
    case BranchKind::RelativeCall:
      if (block.calls_next) break;
      code_.constant(kDx, block.pc + block.length);
      code_.call(places_.routines.call);
      break;
    case BranchKind::RelativeJump: break;
    case BranchKind::Return:
      code_.constant(kDx, path_footprint(block.pc, 0));
      code_.call(places_.routines.returned);
      ask_if(kNotEqual, Question::Branch);
      write_taken(block);
      return;
    default: ask_from({code_.jump_later()}, Question::Branch, 0); return;
  }
  code_.constant(kDx, block.footprint);
  code_.call(places_.routines.taken);
  write_taken(block);
}

}  // namespace zs::uarch
