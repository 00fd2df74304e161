#include "uarch/machine/bound_path_writer.h"

namespace zs::uarch {

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
  write_branch(block);
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

bool BoundPathWriter::write_conditional(const SimpleBlock& block) {
  code_.constant(kSi, block.hash & tournament_.mask);
  if (spacious_) {
    PathRoutines::write_conditional(code_, tournament_, block.taken);
  } else {
    code_.call(places_.routines.conditional[block.taken ? 1 : 0]);
  }
  return false;
}

}  // namespace zs::uarch
