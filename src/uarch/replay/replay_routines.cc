#include "uarch/replay/replay_routines.h"

#include <tuple>

#include "uarch/branch/path_history.h"
#include "uarch/branch/return_stack.h"
#include "uarch/replay/replay_state.h"
#include "uarch/replay/timed_routines.h"

namespace zs::uarch {

using enum Assembler::Condition;
using enum Assembler::Operation;
using namespace replay_registers;

namespace {

using enum Assembler::Width;

/// The flags say: equal.
void nothing_more(Assembler& code) { code.operate(kCmp, kRax, kRax, kDword); }

}  // namespace

ReplayRoutines::ReplayRoutines(Assembler& code, const MemorySystem::Filter& filter) {
  const std::uint8_t* const hits = write_try(code, ZS_STATE(hits), ZS_STATE(counts));
  const std::uint8_t* const fetches = write_try(code, ZS_STATE(fetches), ZS_STATE(counts));
  touch = write_try(code, ZS_STATE(touches), ZS_STATE(targets));
  store_again = code.here();
  code.store(ZS_STATE(linear), kRsi);
  code.operate(kSub, kRdx, kRsi);
  code.increment(kRdx, kDword);  // bytes
  code.constant(kRcx, 1);
  code.jump(hits);
  store = code.here();
  std::uint8_t* const not_hot = write_look(code, filter.store_tlb != 0, 1);
  nothing_more(code);
  Assembler::aim(not_hot, code.here());
  code.ret();
  taken = TimedRoutines::write_follow(code);
  call = write_call(code);
  returned = write_return(code);
  for (const bool first : {false, true})
    fetch[first ? 1 : 0] = write_fetch(code, filter.code_page_mask, first, fetches);
}

void ReplayRoutines::write_places(Assembler& code) {
  code.load(kTags, ZS_STATE(branch_tags));
  code.load(kHot, ZS_STATE(way_hints));
  code.load(kCounts, ZS_STATE(counts));
  code.load(kStamp, ZS_COUNTS(stamp));
}

void ReplayRoutines::write_stamp(Assembler& code) { code.store(ZS_COUNTS(stamp), kStamp); }

/// As MemorySystem::Filter::hits() does it with way hints. What is not leaves kRdx as it was, and kRsi is what kRax
/// was.
std::uint8_t* ReplayRoutines::write_look(Assembler& code, bool own_tlb, unsigned store) {
  code.copy(kRsi, kRax);
  code.copy(kRcx, kRdx);
  code.shift_right(kRcx, kLineBits);
  static_assert(sizeof(WayHint) == 32 && kLineBits == 6);
  code.shift_right(kRax, 1, kDword);
  code.operate(kAnd, kRax, static_cast<std::int32_t>((WayHints::kEntries - 1) * sizeof(WayHint)), kDword);
  code.operate(kCmp, kRcx, Memory{kHot, static_cast<std::int64_t>(offsetof(WayHint, line) + 8 * store), kRax});
  std::uint8_t* const not_hot = code.jump_later(kNotEqual);
  const std::size_t table = own_tlb ? store : 0;
  write_touch(
      code, kHot,
      in_state(offsetof(ReplayState, tlbs) + table * sizeof(QuickPages::Inline) + offsetof(QuickPages::Inline, stamps)),
      store);
  return not_hot;
}

/// Of the way hint at lines + kRax. Uses kRcx and kRdx. stamps: where those of its TLB are
void ReplayRoutines::write_touch(Assembler& code, Gpr lines, Memory stamps, unsigned store) {
  const auto entry = [lines](std::size_t member) { return Memory{lines, static_cast<std::int64_t>(member), kRax}; };
  code.load_word(kRcx, entry(offsetof(WayHint, page) + sizeof(WayHint::page[0]) * store));
  code.load(kRdx, stamps);
  code.increment(kStamp);
  code.store({kRdx, 0, kRcx, 8}, kStamp);
  // The operations read 32 bits, of which the lower 16 are stored.
  code.load(kRcx, entry(offsetof(WayHint, state)));
  code.load_word(kRdx, {kRcx});
  code.operate(kAnd, kRdx, entry(offsetof(WayHint, keep)), kDword);
  code.operate(kOr, kRdx, entry(offsetof(WayHint, set)), kDword);
  code.store_word({kRcx}, kRdx);
}

/// function  of ReplayState, as `first` is; its arguments are in their places but for that
const std::uint8_t* ReplayRoutines::write_try(Assembler& code, Memory function, Memory first) {
  const std::uint8_t* const begin = code.here();
  code.load(kRdi, first);
  write_try(code, function);
  return begin;
}

void ReplayRoutines::write_try(Assembler& code, Memory function) {
  write_call_out(code, function);
  code.operate(kXor, kRax, 1, kDword);
  code.test_byte(kRax, 1);
  code.ret();
}

void ReplayRoutines::write_call_out(Assembler& code, Memory function) {
  code.operate(kSub, kRsp, 8);
  write_stamp(code);
  code.call(function);
  write_places(code);
  code.operate(kAdd, kRsp, 8);
}

const std::uint8_t* ReplayRoutines::write_call(Assembler& code) {
  using Inline = ReturnStack::Inline;
  const std::uint8_t* const begin = code.here();
  code.load(kRsi, ZS_STATE(returns));
  code.load(kRcx, {kRsi, offsetof(Inline, top)}, kDword);
  code.increment(kRcx, kDword);
  code.operate(kXor, kRax, kRax, kDword);
  code.operate(kCmp, kRcx, Memory{kRsi, offsetof(Inline, entries)}, kDword);
  code.move_if(kEqual, kRcx, kRax);
  code.store({kRsi, offsetof(Inline, top)}, kRcx, kDword);
  code.store({kRsi, offsetof(Inline, addresses), kRcx, 8}, kRdx);
  code.ret();
  return begin;
}

const std::uint8_t* ReplayRoutines::write_return(Assembler& code) const {
  using Inline = ReturnStack::Inline;
  const std::uint8_t* const begin = code.here();
  code.load(kRsi, ZS_STATE(returns));
  code.load(kRcx, {kRsi, offsetof(Inline, top)}, kDword);
  code.load(kRdi, {kRun, offsetof(arch::PathRun, next)});
  code.operate(kCmp, kRdi, Memory{kRsi, offsetof(Inline, addresses), kRcx, 8});
  std::uint8_t* const elsewhere = code.jump_later(kNotEqual);
  code.load(kRax, {kRsi, offsetof(Inline, entries)}, kDword);
  code.test(kRcx, kRcx, kDword);
  code.move_if(kEqual, kRcx, kRax);
  code.address(kRcx, {kRcx, -1});
  code.store({kRsi, offsetof(Inline, top)}, kRcx, kDword);
  // path_footprint()
  code.copy(kRax, kRdi);
  code.shift_left(kRax, 3);
  code.shift_right(kRdi, 13);
  code.operate(kXor, kRax, kRdi);
  code.operate(kXor, kRdx, kRax);
  code.operate(kSub, kRsp, 8);
  code.call(taken);
  code.operate(kAdd, kRsp, 8);
  nothing_more(code);
  Assembler::aim(elsewhere, code.here());
  code.ret();
  return begin;
}

/// As Filter does it with are_plain() and pass().
const std::uint8_t* ReplayRoutines::write_fetch(Assembler& code, std::uint64_t page_mask, bool first,
                                                const std::uint8_t* fetches) {
  using Counts = MemorySystem::InlineCounts;
  const std::uint8_t* const begin = code.here();
  std::uint8_t* fetched = nullptr;
  if (first) {
    code.operate(kCmp, kRsi, ZS_COUNTS(fetched));
    fetched = code.jump_later(kEqual);
  }
  code.copy(kRax, kRsi, kDword);
  code.operate(kAnd, kRax, static_cast<std::int32_t>(kLinesPerPage - 1), kDword);
  code.operate(kCmp, kRsi, Memory{kCounts, offsetof(Counts, code), kRax, 8});
  std::uint8_t* const no_line = code.jump_later(kNotEqual);
  code.copy(kRax, kRsi);
  code.shift_right(kRax, kPageBits - kLineBits);
  code.copy(kRcx, kRax, kDword);
  code.operate(kAnd, kRcx, static_cast<std::int32_t>(page_mask), kDword);
  code.operate(kCmp, kRax, Memory{kCounts, offsetof(Counts, code_pages), kRcx, 8});
  std::uint8_t* const no_page = code.jump_later(kNotEqual);
  const std::uint8_t* const hit = code.here();
  if (first) code.operate(kAdd, ZS_COUNTS(fetches), 1);
  nothing_more(code);
  if (first) Assembler::aim(fetched, code.here());
  code.ret();
  Assembler::aim(no_line, code.here());
  Assembler::aim(no_page, code.here());
  // As Filter::touch_code() does it with way hints.
  static_assert(sizeof(WayHint) == 32);
  code.load(kRdi, ZS_STATE(hot_code));
  code.copy(kRax, kRsi, kDword);
  code.shift_left(kRax, 5, kDword);
  code.operate(kAnd, kRax, static_cast<std::int32_t>((WayHints::kEntries - 1) * sizeof(WayHint)), kDword);
  code.operate(kCmp, kRsi, Memory{kRdi, offsetof(WayHint, line), kRax});
  std::uint8_t* const not_hot = code.jump_later(kNotEqual);
  write_touch(code, kRdi, ZS_STATE(code_stamps), 0);
  code.copy(kRax, kRsi, kDword);
  code.operate(kAnd, kRax, static_cast<std::int32_t>(kLinesPerPage - 1), kDword);
  code.store({kCounts, offsetof(Counts, code), kRax, 8}, kRsi);
  code.copy(kRax, kRsi);
  code.shift_right(kRax, kPageBits - kLineBits);
  code.copy(kRcx, kRax, kDword);
  code.operate(kAnd, kRcx, static_cast<std::int32_t>(page_mask), kDword);
  code.store({kCounts, offsetof(Counts, code_pages), kRcx, 8}, kRax);
  code.increment(ZS_COUNTS(code_known));
  code.jump(hit);
  Assembler::aim(not_hot, code.here());
  if (first) {
    code.operate(kSub, kRsp, 8);
    code.call(fetches);
    code.address(kRsp, {kRsp, 8});
    code.jump_if(kEqual, hit);
    code.ret();
  } else {
    code.jump(fetches);
  }
  return begin;
}

}  // namespace zs::uarch
