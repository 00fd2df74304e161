#include "uarch/replay/path_routines.h"

#include <tuple>

#include "uarch/branch/path_history.h"
#include "uarch/branch/return_stack.h"
#include "uarch/replay/play_state.h"
#include "uarch/replay/timed_routines.h"

namespace zs::uarch {

using enum CodeWriter::Condition;
using enum CodeWriter::Operation;
using namespace path_registers;

namespace {

constexpr auto kDword = CodeWriter::kDword;

/// The flags say: equal.
void nothing_more(CodeWriter& code) { code.operate(kCmp, kAx, kAx, kDword); }

}  // namespace

PathRoutines::PathRoutines(CodeWriter& code, const MemorySystem::Filter& filter,
                           const TournamentPredictor::Inline* tournament, bool by_targets) {
  const std::uint8_t* const hits = write_try(code, ZS_STATE(hits), ZS_STATE(counts));
  const std::uint8_t* const fetches = write_try(code, ZS_STATE(fetches), ZS_STATE(counts));
  touch = write_try(code, ZS_STATE(touches), ZS_STATE(targets));
  for (const unsigned store : {0U, 1U}) {
    look_again[store] = code.here();
    code.store(ZS_STATE(linear), kSi);
    code.operate(kSub, kDx, kSi);
    code.increment(kDx, kDword);  // bytes
    code.constant(kCx, store);
    code.jump(hits);
    look[store] = code.here();
    std::uint8_t* const not_hot = write_look(code, filter.store_tlb != 0, store);
    nothing_more(code);
    CodeWriter::aim(not_hot, code.here());
    code.ret();
  }
  for (const bool is_taken : {false, true}) {
    if (tournament == nullptr) break;
    conditional[is_taken ? 1 : 0] = code.here();
    write_conditional(code, *tournament, is_taken);
    code.ret();
  }
  if (by_targets) {
    indirect = write_indirect(code);
  } else {
    taken = tournament != nullptr ? write_taken(code) : TimedRoutines::write_follow(code);
  }
  call = write_call(code);
  if (by_targets) called = write_called(code);
  returned = write_return(code);
  for (const bool first : {false, true}) {
    for (const Lines lines : {kAnyLine, kNewestLine, kHotLine})
      fetch[first ? 1 : 0][lines] = write_fetch(code, filter.code_page_mask, first, lines, fetches);
  }
  if (tournament == nullptr) return;
  for (const bool is_taken : {false, true}) wrong[is_taken ? 1 : 0] = write_wrong(code, is_taken);
  room = write_room(code);
}

void PathRoutines::write_places(CodeWriter& code) {
  code.load(kTags, ZS_STATE(branch_tags));
  code.load(kHot, ZS_STATE(hot_lines));
  code.load(kCounts, ZS_STATE(counts));
  code.load(kStamp, ZS_COUNTS(stamp));
}

void PathRoutines::write_stamp(CodeWriter& code) { code.store(ZS_COUNTS(stamp), kStamp); }

/// As MemorySystem::Filter::hits() does it for hot lines. What is not leaves kDx as it was, and kSi is what kAx was.
std::uint8_t* PathRoutines::write_look(CodeWriter& code, bool own_tlb, unsigned store) {
  code.copy(kSi, kAx);
  code.copy(kCx, kDx);
  code.shift_right(kCx, kLineBits);
  static_assert(sizeof(HotLine) == 32 && kLineBits == 6);
  code.shift_right(kAx, 1, kDword);
  code.operate(kAnd, kAx, static_cast<std::int32_t>((HotLines::kEntries - 1) * sizeof(HotLine)), kDword);
  code.operate(kCmp, kCx, Memory{kHot, static_cast<std::int64_t>(offsetof(HotLine, line) + 8 * store), kAx});
  std::uint8_t* const not_hot = code.jump_later(kNotEqual);
  const std::size_t table = own_tlb ? store : 0;
  write_touch(
      code, kHot,
      in_state(offsetof(PlayState, tlbs) + table * sizeof(QuickPages::Inline) + offsetof(QuickPages::Inline, stamps)),
      store);
  return not_hot;
}

/// Of the hot line at lines + kAx. Uses kCx and kDx. stamps: where those of its TLB are
void PathRoutines::write_touch(CodeWriter& code, Register lines, Memory stamps, unsigned store) {
  const auto entry = [lines](std::size_t member) { return Memory{lines, static_cast<std::int64_t>(member), kAx}; };
  code.load_word(kCx, entry(offsetof(HotLine, page) + sizeof(HotLine::page[0]) * store));
  code.load(kDx, stamps);
  code.increment(kStamp);
  code.store({kDx, 0, kCx, 8}, kStamp);
  // The operations read 32 bits, of which the lower 16 are stored.
  code.load(kCx, entry(offsetof(HotLine, state)));
  code.load_word(kDx, {kCx});
  code.operate(kAnd, kDx, entry(offsetof(HotLine, keep)), kDword);
  code.operate(kOr, kDx, entry(offsetof(HotLine, set)), kDword);
  code.store_word({kCx}, kDx);
}

/// As TournamentPredictor does it.
void PathRoutines::write_conditional(CodeWriter& code, const TournamentPredictor::Inline& tournament, bool taken) {
  using T = TournamentPredictor;
  code.copy(kAx, kOutcomes, kDword);
  code.shift_right(kAx, tournament.index_bits, kDword);
  code.operate(kXor, kAx, kOutcomes, kDword);
  code.operate(kXor, kAx, kSi, kDword);
  code.operate(kAnd, kAx, static_cast<std::int32_t>(tournament.mask), kDword);
  code.operate(kAdd, kSi, ZS_STATE(by_address));
  code.load(kDi, ZS_STATE(by_outcomes));
  code.load_byte(kCx, {kSi});
  code.load_byte(kDx, {kDi, 0, kAx});
  code.operate(kOr, kCx, kDx, kDword);
  const std::size_t learned = offsetof(PlayState, learned) + (taken ? T::kTaken : 0);
  code.load_byte(kCx, {kState, static_cast<std::int64_t>(learned), kCx});
  code.copy(kDx, kCx, kDword);
  code.operate(kAnd, kDx, T::kOfAddress, kDword);
  code.store_byte({kSi}, kDx);
  code.copy(kDx, kCx, kDword);
  code.operate(kAnd, kDx, T::kOfOutcomes, kDword);
  code.store_byte({kDi, 0, kAx}, kDx);
  code.address(kOutcomes, {kOutcomes, taken ? 1 : 0, kOutcomes});
  code.operate(kAnd, kOutcomes, static_cast<std::int32_t>(tournament.history_mask), kDword);
  code.test_byte(kCx, T::kWrong);
}

/// function  of PlayState, as `first` is; its arguments are in their places but for that
const std::uint8_t* PathRoutines::write_try(CodeWriter& code, Memory function, Memory first) {
  const std::uint8_t* const begin = code.here();
  code.load(kDi, first);
  write_try(code, function);
  return begin;
}

void PathRoutines::write_try(CodeWriter& code, Memory function) {
  write_call_out(code, function);
  code.operate(kXor, kAx, 1, kDword);
  code.test_byte(kAx, 1);
  code.ret();
}

void PathRoutines::write_call_out(CodeWriter& code, Memory function) {
  code.operate(kSub, kSp, 8);
  write_stamp(code);
  code.call(function);
  write_places(code);
  code.operate(kAdd, kSp, 8);
}

const std::uint8_t* PathRoutines::write_taken(CodeWriter& code) {
  static_assert(std::tuple_size_v<decltype(WaitingFootprints::Inline::ring)> == 256);
  const std::uint8_t* const begin = code.here();
  code.load(kSi, ZS_STATE(waiting));
  code.load(kAx, {kSi, offsetof(WaitingFootprints::Inline, count)});
  code.low_byte(kCx, kAx);
  code.increment(kAx);
  code.store({kSi, offsetof(WaitingFootprints::Inline, count)}, kAx);
  code.store_word({kSi, offsetof(WaitingFootprints::Inline, ring), kCx, 2}, kDx);
  code.ret();
  return begin;
}

const std::uint8_t* PathRoutines::write_call(CodeWriter& code) {
  using Inline = ReturnStack::Inline;
  const std::uint8_t* const begin = code.here();
  code.load(kSi, ZS_STATE(returns));
  code.load(kCx, {kSi, offsetof(Inline, top)}, kDword);
  code.increment(kCx, kDword);
  code.operate(kXor, kAx, kAx, kDword);
  code.operate(kCmp, kCx, Memory{kSi, offsetof(Inline, entries)}, kDword);
  code.move_if(kEqual, kCx, kAx);
  code.store({kSi, offsetof(Inline, top)}, kCx, kDword);
  code.store({kSi, offsetof(Inline, addresses), kCx, 8}, kDx);
  code.ret();
  return begin;
}

/// As TargetCache does it.
const std::uint8_t* PathRoutines::write_indirect(CodeWriter& code) {
  using Inline = TargetCache::Inline;
  const std::uint8_t* const begin = code.here();
  code.load(kDi, {kRun, offsetof(arch::PathRun, next)}, kDword);
  code.load(kDx, ZS_STATE(last_targets));
  code.load(kAx, {kDx, offsetof(Inline, history)}, kDword);
  code.operate(kXor, kSi, kAx, kDword);
  code.operate(kAnd, kSi, static_cast<std::int32_t>(TargetCache::kEntries - 1), kDword);
  code.multiply(kCx, kDi, static_cast<std::int32_t>(TargetCache::kFactor));
  code.shift_right(kCx, TargetCache::kHashShift, kDword);
  code.shift_left(kAx, TargetCache::kHistoryBits, kDword);
  code.operate(kXor, kAx, kCx, kDword);
  code.store({kDx, offsetof(Inline, history)}, kAx, kDword);
  const Memory entry{kDx, offsetof(Inline, targets), kSi, sizeof(Inline::targets[0])};
  code.load(kAx, entry, kDword);
  code.store(entry, kDi, kDword);
  code.operate(kCmp, kAx, kDi, kDword);
  code.ret();
  return begin;
}

const std::uint8_t* PathRoutines::write_called(CodeWriter& code) const {
  const std::uint8_t* const begin = code.here();
  code.operate(kCmp, kDx, Memory{kRun, offsetof(arch::PathRun, next)});
  code.jump_if(kNotEqual, call);
  code.ret();
  return begin;
}

const std::uint8_t* PathRoutines::write_return(CodeWriter& code) const {
  using Inline = ReturnStack::Inline;
  const std::uint8_t* const begin = code.here();
  code.load(kSi, ZS_STATE(returns));
  code.load(kCx, {kSi, offsetof(Inline, top)}, kDword);
  code.load(kDi, {kRun, offsetof(arch::PathRun, next)});
  code.operate(kCmp, kDi, Memory{kSi, offsetof(Inline, addresses), kCx, 8});
  std::uint8_t* const elsewhere = code.jump_later(kNotEqual);
  code.load(kAx, {kSi, offsetof(Inline, entries)}, kDword);
  code.test(kCx, kCx, kDword);
  code.move_if(kEqual, kCx, kAx);
  code.address(kCx, {kCx, -1});
  code.store({kSi, offsetof(Inline, top)}, kCx, kDword);
  if (taken != nullptr) {
    // path_footprint()
    code.copy(kAx, kDi);
    code.shift_left(kAx, 3);
    code.shift_right(kDi, 13);
    code.operate(kXor, kAx, kDi);
    code.operate(kXor, kDx, kAx);
    code.operate(kSub, kSp, 8);
    code.call(taken);
    code.operate(kAdd, kSp, 8);
  }
  nothing_more(code);
  CodeWriter::aim(elsewhere, code.here());
  code.ret();
  return begin;
}

/// As BranchUnit::taken_wrong() does it, and ThreadPlayer::note_mispredicted().
const std::uint8_t* PathRoutines::write_wrong(CodeWriter& code, bool is_taken) const {
  const std::uint8_t* const begin = code.here();
  code.operate(kCmp, ZS_STATE(watched), 0);
  std::uint8_t* const is_watched = code.jump_later(kNotEqual);
  code.load(kDi, in_state(offsetof(PlayState, mispredicted) + sizeof(PlayState::mispredicted[0]) * (is_taken ? 1 : 0)));
  code.increment(Memory{kDi});
  code.operate(kAdd, kNow, ZS_STATE(mispredict_units));
  if (is_taken) {
    code.operate(kSub, kSp, 8);
    if (taken != nullptr) {
      code.copy(kDi, kSi);
      code.call(taken);
      code.copy(kSi, kDi);
    }
    code.call(touch);
    code.operate(kAdd, kSp, 8);
  }
  nothing_more(code);
  CodeWriter::aim(is_watched, code.here());
  code.ret();
  return begin;
}

const std::uint8_t* PathRoutines::write_room(CodeWriter& code) {
  const std::uint8_t* const begin = code.here();
  code.store(ZS_STATE(now), kNow);
  code.store(ZS_STATE(slots), kSlots);
  code.copy(kDi, kState);
  write_call_out(code, ZS_STATE(wait_for_room));
  code.load(kNow, ZS_STATE(now));
  code.ret();
  return begin;
}

/// As Filter does it with are_plain() and pass().
/// fetches  for kAnyLine
const std::uint8_t* PathRoutines::write_fetch(CodeWriter& code, std::uint64_t page_mask, bool first, Lines lines,
                                              const std::uint8_t* fetches) {
  using Counts = MemorySystem::InlineCounts;
  const std::uint8_t* const begin = code.here();
  std::uint8_t* fetched = nullptr;
  if (first) {
    code.operate(kCmp, kSi, ZS_COUNTS(fetched));
    fetched = code.jump_later(kEqual);
  }
  code.copy(kAx, kSi, kDword);
  code.operate(kAnd, kAx, static_cast<std::int32_t>(kLinesPerPage - 1), kDword);
  code.operate(kCmp, kSi, Memory{kCounts, offsetof(Counts, code), kAx, 8});
  std::uint8_t* const no_line = code.jump_later(kNotEqual);
  code.copy(kAx, kSi);
  code.shift_right(kAx, kPageBits - kLineBits);
  code.copy(kCx, kAx, kDword);
  code.operate(kAnd, kCx, static_cast<std::int32_t>(page_mask), kDword);
  code.operate(kCmp, kAx, Memory{kCounts, offsetof(Counts, code_pages), kCx, 8});
  std::uint8_t* const no_page = code.jump_later(kNotEqual);
  const std::uint8_t* const hit = code.here();
  if (first) code.operate(kAdd, ZS_COUNTS(fetches), 1);
  nothing_more(code);
  if (first) CodeWriter::aim(fetched, code.here());
  code.ret();
  CodeWriter::aim(no_line, code.here());
  CodeWriter::aim(no_page, code.here());
  // As Filter::touch_code() does it for hot lines.
  if (lines != kNewestLine) {
    static_assert(sizeof(HotLine) == 32);
    code.load(kDi, ZS_STATE(hot_code));
    code.copy(kAx, kSi, kDword);
    code.shift_left(kAx, 5, kDword);
    code.operate(kAnd, kAx, static_cast<std::int32_t>((HotLines::kEntries - 1) * sizeof(HotLine)), kDword);
    code.operate(kCmp, kSi, Memory{kDi, offsetof(HotLine, line), kAx});
    std::uint8_t* const not_hot = code.jump_later(kNotEqual);
    write_touch(code, kDi, ZS_STATE(code_stamps), 0);
    code.copy(kAx, kSi, kDword);
    code.operate(kAnd, kAx, static_cast<std::int32_t>(kLinesPerPage - 1), kDword);
    code.store({kCounts, offsetof(Counts, code), kAx, 8}, kSi);
    code.copy(kAx, kSi);
    code.shift_right(kAx, kPageBits - kLineBits);
    code.copy(kCx, kAx, kDword);
    code.operate(kAnd, kCx, static_cast<std::int32_t>(page_mask), kDword);
    code.store({kCounts, offsetof(Counts, code_pages), kCx, 8}, kAx);
    code.increment(ZS_COUNTS(code_known));
    code.jump(hit);
    CodeWriter::aim(not_hot, code.here());
  }
  if (lines == kAnyLine && first) {
    code.operate(kSub, kSp, 8);
    code.call(fetches);
    code.address(kSp, {kSp, 8});
    code.jump_if(kEqual, hit);
  } else if (lines == kAnyLine) {
    code.jump(fetches);
  }
  code.ret();
  return begin;
}

}  // namespace zs::uarch
