#include "uarch/replay/timed_routines.h"

#include "uarch/replay/play_state.h"

namespace zs::uarch {

using enum CodeWriter::Condition;
using enum CodeWriter::Operation;
using namespace path_registers;

namespace {

constexpr auto kDword = CodeWriter::kDword;

/// kSi: where in_flight has the entry of number kCx, in bytes.
void write_place_in_flight(CodeWriter& code) {
  static_assert(sizeof(CoreClock::Inline::InFlight) == 16);
  code.copy(kSi, kCx, kDword);
  code.operate(kAnd, kSi, static_cast<std::int32_t>(CoreClock::kRing - 1), kDword);
  code.shift_left(kSi, 4, kDword);
}

}  // namespace

TimedRoutines::TimedRoutines(CodeWriter& code, const PathRoutines& common, bool own_tlb, std::uint32_t reorder_buffer)
    : begin(write_begin(code, reorder_buffer)),
      store(write_store(code, common)),
      conditional(write_conditional(code)),
      in_flight(write_in_flight(code)) {
  // As MemorySystem::early_load() does it.
  const std::uint8_t* const asked = code.here();
  code.store(ZS_STATE(linear), kSi);
  code.operate(kSub, kDx, kSi);
  code.increment(kDx, kDword);  // bytes
  code.copy(kDi, kState);
  PathRoutines::write_try(code, ZS_STATE(loads));
  const std::uint8_t* const look = code.here();
  std::uint8_t* const not_hot = PathRoutines::write_look(code, own_tlb, 0);
  code.operate(kCmp, kAx, kAx, kDword);
  code.ret();
  CodeWriter::aim(not_hot, asked);
  for (std::size_t i = 0; i < load.size(); ++i) load[i] = write_load(code, 8U << i, look, asked);
}

/// As CoreClock::wait_for_room() does it where nothing is to be waited for.
const std::uint8_t* TimedRoutines::write_begin(CodeWriter& code, std::uint32_t reorder_buffer) {
  using Inline = CoreClock::Inline;
  const auto in_flight = [](std::size_t member) {  // of the entry at kSi
    return Memory{kClock, static_cast<std::int64_t>(offsetof(Inline, in_flight) + member), kSi};
  };
  const std::uint8_t* const begin = code.here();
  code.load(kAx, ZS_CLOCK(slots));
  code.increment(kAx);
  code.operate(kCmp, kAx, ZS_CLOCK(full_at));
  std::uint8_t* const full = code.jump_later(kNotBelow);
  const std::uint8_t* const has_room = code.here();
  code.load(kAx, ZS_CLOCK(now));
  code.load(kCx, ZS_CLOCK(executed_behind));
  code.operate(kAdd, kCx, kAx);
  code.operate(kCmp, kCx, ZS_CLOCK(executed));
  std::uint8_t* const ports = code.jump_later(kBelow);
  code.operate(kSub, kAx, ZS_CLOCK(base));
  code.operate(kCmp, kAx, static_cast<std::int32_t>(CoreClock::kRebaseAfter));
  std::uint8_t* const late = code.jump_later(kAbove);
  code.ret();

  // What is complete leaves.
  CodeWriter::aim(full, code.here());
  code.load(kDx, ZS_CLOCK(now));
  const std::uint8_t* const next = code.here();
  code.load(kCx, ZS_CLOCK(oldest));
  code.address(kDi, {kAx, static_cast<std::int64_t>(reorder_buffer)});
  code.operate(kCmp, kCx, ZS_CLOCK(newest));
  std::uint8_t* const empty = code.jump_later(kEqual);
  write_place_in_flight(code);
  code.load(kDi, in_flight(offsetof(Inline::InFlight, first_slot)));
  code.operate(kAdd, kDi, static_cast<std::int32_t>(reorder_buffer));
  code.operate(kCmp, kAx, kDi);
  std::uint8_t* const fits = code.jump_later(kBelow);
  code.load(kDi, in_flight(offsetof(Inline::InFlight, retired)));
  code.operate(kAnd, kDi, ~static_cast<std::int32_t>(kCauseBits));
  code.operate(kCmp, kDi, kDx);
  std::uint8_t* const waits = code.jump_later(kAbove);
  code.increment(ZS_CLOCK(oldest));
  code.jump(next);
  for (std::uint8_t* const from : {empty, fits}) CodeWriter::aim(from, code.here());
  code.store(ZS_CLOCK(full_at), kDi);
  code.jump(has_room);

  for (std::uint8_t* const from : {ports, late, waits}) CodeWriter::aim(from, code.here());
  code.copy(kDi, kState);
  PathRoutines::write_call_out(code, ZS_STATE(wait_for_room));
  code.ret();
  return begin;
}

/// As StoreBuffer::may_ever_meet() and Filter::hits() do it.
/// look, asked  what comes behind the former; the latter has the first byte in kSi
const std::uint8_t* TimedRoutines::write_load(CodeWriter& code, unsigned bytes, const std::uint8_t* look,
                                              const std::uint8_t* asked) {
  const std::uint8_t* const begin = code.here();
  constexpr unsigned kGranule = 1U << StoreBuffer::kGranuleBits;
  std::array<std::uint8_t*, kLineBytes / kGranule + 1> meets{};
  const unsigned last = bytes / kGranule;
  for (unsigned i = 0; i <= last; ++i) {
    if (i == last) {
      code.copy(kCx, kDx, kDword);
    } else {
      code.address(kCx, {kAx, static_cast<std::int64_t>(i) * kGranule});
    }
    code.shift_right(kCx, StoreBuffer::kGranuleBits, kDword);
    code.operate(kAnd, kCx, static_cast<std::int32_t>(StoreBuffer::kGranules - 1), kDword);
    code.load(kCx, {kStores, offsetof(StoreBuffer::Inline, newest), kCx, 8});
    code.operate(kCmp, kCx, Memory{kStores, offsetof(StoreBuffer::Inline, oldest)});
    meets[i] = code.jump_later(kAbove);
  }
  code.jump(look);
  for (unsigned i = 0; i <= last; ++i) CodeWriter::aim(meets[i], code.here());
  code.copy(kSi, kAx);
  code.jump(asked);
  return begin;
}

/// As MemorySystem::plain_store() does it.
const std::uint8_t* TimedRoutines::write_store(CodeWriter& code, const PathRoutines& common) {
  const std::uint8_t* const begin = code.here();
  code.operate(kSub, kSp, 8);
  code.store(ZS_STATE(linear), kAx);
  code.call(common.look[1]);
  std::uint8_t* const is_hot = code.jump_later(kEqual);
  code.call(common.look_again[1]);
  std::uint8_t* const no_hit = code.jump_later(kNotEqual);
  CodeWriter::aim(is_hot, code.here());
  code.copy(kDi, kState);
  code.load(kSi, ZS_STATE(linear));
  code.copy(kDx, kArgument);
  PathRoutines::write_stamp(code);
  code.call(ZS_STATE(pass_store));
  PathRoutines::write_places(code);
  code.test(kAx, kAx);
  CodeWriter::aim(no_hit, code.here());
  code.address(kSp, {kSp, 8});
  code.ret();
  return begin;
}

const std::uint8_t* TimedRoutines::write_conditional(CodeWriter& code) {
  const std::uint8_t* const begin = code.here();
  code.load(kDi, ZS_STATE(branches));
  PathRoutines::write_call_out(code, ZS_STATE(predicts));
  code.test_byte(kAx, 1);
  code.ret();
  return begin;
}

/// As PathRoutines::taken has it.
const std::uint8_t* TimedRoutines::write_follow(CodeWriter& code) {
  const std::uint8_t* const begin = code.here();
  code.copy(kSi, kDx, kDword);
  code.load(kDi, ZS_STATE(branches));
  PathRoutines::write_call_out(code, ZS_STATE(follow));
  code.ret();
  return begin;
}

/// As CoreClock::end() does it.
const std::uint8_t* TimedRoutines::write_in_flight(CodeWriter& code) {
  using Inline = CoreClock::Inline;
  const std::uint8_t* const begin = code.here();
  code.copy(kCx, kAx);
  code.operate(kAnd, kCx, ~static_cast<std::int32_t>(kCauseBits));
  code.operate(kCmp, kCx, kDx);
  std::uint8_t* const over = code.jump_later(kNotAbove);
  code.load(kCx, ZS_CLOCK(newest));
  write_place_in_flight(code);
  code.increment(kCx);
  code.store(ZS_CLOCK(newest), kCx);
  code.load(kDi, ZS_CLOCK(slots));
  code.increment(kDi);
  code.store({kClock, offsetof(Inline, in_flight), kSi}, kDi);
  code.store({kClock, offsetof(Inline, in_flight) + offsetof(Inline::InFlight, retired), kSi}, kAx);
  CodeWriter::aim(over, code.here());
  code.ret();
  return begin;
}

}  // namespace zs::uarch
