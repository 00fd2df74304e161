#include "uarch/replay/throughput_code_writer.h"

#include <algorithm>

namespace zs::uarch {

using namespace replay_registers;
using enum Assembler::Condition;
using enum Assembler::Operation;

void ThroughputCodeWriter::write_block(const SimpleBlock& block, const SimpleBlock* before) {
  code_.operate(kCmp, kSlots, ZS_STATE(room_until));
  call_if(kNotBelow, places_.routines.room);
  const bool in_turn = filter_.in_turn(block.lines);
  const std::size_t first_of_lines = asides();
  std::size_t descriptor = 0;
  for (std::size_t line = 0; line < block.lines; ++line) {
    if (!in_turn) descriptor = write_looks(block, descriptor, block.looks_before_line(line));
    if (!write_line(block, before, line, in_turn ? ReplayRoutines::kNewestLine : ReplayRoutines::kWayHint)) continue;
    const std::size_t asked = ask_if(kNotEqual, Callout::Lines, line);
    back_here(asked);
    if (!in_turn) ask_of_line(asides_[asked], block, line);
    line_is_over();
  }
  if (in_turn) {  // one answer is about all lines
    for (std::size_t i = first_of_lines; i < asides(); ++i) back_here(i);
  }
  write_looks(block, descriptor, block.descriptors);
  write_branch(block);
  code_.operate(kAdd, kNow, static_cast<std::int32_t>(block.units));
  code_.operate(kAdd, kSlots, static_cast<std::int32_t>(block.slots));
}

/// Those from `look` up to `end`, which it returns.
std::size_t ThroughputCodeWriter::write_looks(const SimpleBlock& block, std::size_t descriptor, std::size_t end) {
  for (; descriptor < end; ++descriptor) {
    write_address(block.descriptor[descriptor], descriptor);
    if (block.descriptor[descriptor].is_prefetch())
      write_prefetch(descriptor);
    else
      write_look(block, descriptor);
  }
  return descriptor;
}

/// The block's access of that number.
const Step& ThroughputCodeWriter::access(std::size_t number) const {
  const auto is_access = [left = number](const Step& step) mutable {
    return step.kind != StepKind::Fetch && left-- == 0;
  };
  return *std::ranges::find_if(plan_.steps_of(which_), is_access);
}

/// It is always asked about.
void ThroughputCodeWriter::write_prefetch(std::size_t number) {
  const Step& step = access(number);
  code_.copy(kRsi, kRax);
  Aside& aside = asides_[ask_from(code_.jump_later(), Callout::Access, number)];
  aside.what.bytes = static_cast<std::uint8_t>(step.access);
  aside.ask = places_.ask_prefetch;
  aside.second = PlainDescriptor{.instruction = static_cast<std::uint32_t>(step.at), .offset = offset_of(step)}.word();
}

void ThroughputCodeWriter::write_look(const SimpleBlock& block, std::size_t number) {
  const ReplayRoutines& routines = places_.routines;
  const unsigned store = block.descriptor[number].store();
  std::uint8_t* not_hot;
  if (inlined_) {
    not_hot = ReplayRoutines::write_look(code_, filter_.store_tlb != 0, store);
  } else {
    code_.call(routines.descriptor[store]);
    not_hot = code_.jump_later(kNotEqual);
  }
  Aside& aside = asides_[ask_from(not_hot, Callout::Access, number)];
  if (filter_.in_turn(block.lines)) {  // the block may have to be replayed by hand, but not where the access hits
    aside.again = routines.look_again[store];
    return;
  }
  const Step& step = access(number);
  aside.what.bytes = static_cast<std::uint8_t>(step.bytes);
  aside.ask = places_.ask_look[store];
  aside.second = PlainDescriptor{.instruction = static_cast<std::uint32_t>(step.at), .offset = offset_of(step)}.word();
}

void ThroughputCodeWriter::ask_of_line(Aside& aside, const SimpleBlock& block, std::size_t line) {
  aside.first = block.first_line + line;
  const auto is_fetch = [at = *aside.first](const Step& step) {
    return step.kind == StepKind::Fetch && step.at >> kLineBits == at;
  };
  aside.ask = places_.ask_line;
  aside.second = offset_of(*std::ranges::find_if(plan_.steps_of(which_), is_fetch));
}

/// When it is dispatched, in units from the start of the block under way.
std::uint32_t ThroughputCodeWriter::offset_of(const Step& step) const {
  return plan_.segments[which_].timing->offset(step.instruction);
}

bool ThroughputCodeWriter::write_conditional(const SimpleBlock& block) {
  code_.constant(kRsi, block.hash & tournament_.mask);
  if (inlined_) {
    ReplayRoutines::write_conditional(code_, tournament_, block.taken);
  } else {
    code_.call(places_.routines.conditional[block.taken ? 1 : 0]);
  }
  return false;
}

}  // namespace zs::uarch
