#include "uarch/replay/timed_routines.h"

#include "uarch/replay/replay_state.h"

namespace zs::uarch {

using enum Assembler::Condition;
using enum Assembler::Operation;
using namespace replay_registers;

namespace {

using enum Assembler::Width;

/// kRsi: where in_flight has the entry of number kRcx, in bytes.
void write_place_in_flight(Assembler& code) {
  static_assert(sizeof(CoreClock::Inline::InFlight) == 16);
  code.copy(kRsi, kRcx, kDword);
  code.operate(kAnd, kRsi, static_cast<std::int32_t>(CoreClock::kRing - 1), kDword);
  code.shift_left(kRsi, 4, kDword);
}

}  // namespace

TimedRoutines::TimedRoutines(Assembler& code, const ReplayRoutines& common, bool own_tlb, std::uint32_t reorder_buffer)
    : begin(write_begin(code, reorder_buffer)),
      store(write_store(code, common)),
      conditional(write_conditional(code)),
      in_flight(write_in_flight(code)) {
  // As MemorySystem::early_load() does it.
  const std::uint8_t* const asked = code.here();
  code.store(ZS_STATE(linear), kRsi);
  code.operate(kSub, kRdx, kRsi);
  code.increment(kRdx, kDword);  // bytes
  code.copy(kRdi, kState);
  ReplayRoutines::write_try(code, ZS_STATE(loads));
  const std::uint8_t* const descriptor = code.here();
  std::uint8_t* const not_hot = ReplayRoutines::write_look(code, own_tlb, 0);
  code.operate(kCmp, kRax, kRax, kDword);
  code.ret();
  Assembler::aim(not_hot, asked);
  for (std::size_t i = 0; i < load.size(); ++i) load[i] = write_load(code, 8U << i, descriptor, asked);
}

/// As CoreClock::wait_for_room() does it where nothing is to be waited for.
const std::uint8_t* TimedRoutines::write_begin(Assembler& code, std::uint32_t reorder_buffer) {
  using Inline = CoreClock::Inline;
  const auto in_flight = [](std::size_t member) {  // of the entry at kRsi
    return Memory{kClock, static_cast<std::int64_t>(offsetof(Inline, in_flight) + member), kRsi};
  };
  const std::uint8_t* const begin = code.here();
  code.load(kRax, ZS_CLOCK(slots));
  code.increment(kRax);
  code.operate(kCmp, kRax, ZS_CLOCK(full_at));
  std::uint8_t* const full = code.jump_later(kNotBelow);
  const std::uint8_t* const has_room = code.here();
  code.load(kRax, ZS_CLOCK(now));
  code.load(kRcx, ZS_CLOCK(executed_behind));
  code.operate(kAdd, kRcx, kRax);
  code.operate(kCmp, kRcx, ZS_CLOCK(executed));
  std::uint8_t* const ports = code.jump_later(kBelow);
  code.operate(kSub, kRax, ZS_CLOCK(base));
  code.operate(kCmp, kRax, static_cast<std::int32_t>(CoreClock::kRebaseAfter));
  std::uint8_t* const late = code.jump_later(kAbove);
  code.ret();

  // What is complete leaves.
  Assembler::aim(full, code.here());
  code.load(kRdx, ZS_CLOCK(now));
  const std::uint8_t* const next = code.here();
  code.load(kRcx, ZS_CLOCK(oldest));
  code.address(kRdi, {kRax, static_cast<std::int64_t>(reorder_buffer)});
  code.operate(kCmp, kRcx, ZS_CLOCK(newest));
  std::uint8_t* const empty = code.jump_later(kEqual);
  write_place_in_flight(code);
  code.load(kRdi, in_flight(offsetof(Inline::InFlight, first_slot)));
  code.operate(kAdd, kRdi, static_cast<std::int32_t>(reorder_buffer));
  code.operate(kCmp, kRax, kRdi);
  std::uint8_t* const fits = code.jump_later(kBelow);
  code.load(kRdi, in_flight(offsetof(Inline::InFlight, retired)));
  code.operate(kAnd, kRdi, ~static_cast<std::int32_t>(kCauseBits));
  code.operate(kCmp, kRdi, kRdx);
  std::uint8_t* const waits = code.jump_later(kAbove);
  code.increment(ZS_CLOCK(oldest));
  code.jump(next);
  for (std::uint8_t* const from : {empty, fits}) Assembler::aim(from, code.here());
  code.store(ZS_CLOCK(full_at), kRdi);
  code.jump(has_room);

  for (std::uint8_t* const from : {ports, late, waits}) Assembler::aim(from, code.here());
  code.copy(kRdi, kState);
  ReplayRoutines::write_call_out(code, ZS_STATE(wait_for_room));
  code.ret();
  return begin;
}

/// As StoreBuffer::may_ever_meet() and Filter::hits() do it.
/// look, asked  what comes behind the former; the latter has the first byte in kRsi
const std::uint8_t* TimedRoutines::write_load(Assembler& code, unsigned bytes, const std::uint8_t* descriptor,
                                              const std::uint8_t* asked) {
  const std::uint8_t* const begin = code.here();
  constexpr unsigned kGranule = 1U << StoreBuffer::kGranuleBits;
  std::array<std::uint8_t*, kLineBytes / kGranule + 1> meets{};
  const unsigned last = bytes / kGranule;
  for (unsigned i = 0; i <= last; ++i) {
    if (i == last) {
      code.copy(kRcx, kRdx, kDword);
    } else {
      code.address(kRcx, {kRax, static_cast<std::int64_t>(i) * kGranule});
    }
    code.shift_right(kRcx, StoreBuffer::kGranuleBits, kDword);
    code.operate(kAnd, kRcx, static_cast<std::int32_t>(StoreBuffer::kGranules - 1), kDword);
    code.load(kRcx, {kStores, offsetof(StoreBuffer::Inline, newest), kRcx, 8});
    code.operate(kCmp, kRcx, Memory{kStores, offsetof(StoreBuffer::Inline, oldest)});
    meets[i] = code.jump_later(kAbove);
  }
  code.jump(descriptor);
  for (unsigned i = 0; i <= last; ++i) Assembler::aim(meets[i], code.here());
  code.copy(kRsi, kRax);
  code.jump(asked);
  return begin;
}

/// As MemorySystem::plain_store() does it.
const std::uint8_t* TimedRoutines::write_store(Assembler& code, const ReplayRoutines& common) {
  const std::uint8_t* const begin = code.here();
  code.operate(kSub, kRsp, 8);
  code.store(ZS_STATE(linear), kRax);
  code.call(common.store);
  std::uint8_t* const is_hot = code.jump_later(kEqual);
  code.call(common.store_again);
  std::uint8_t* const no_hit = code.jump_later(kNotEqual);
  Assembler::aim(is_hot, code.here());
  code.copy(kRdi, kState);
  code.load(kRsi, ZS_STATE(linear));
  code.copy(kRdx, kArgument);
  ReplayRoutines::write_stamp(code);
  code.call(ZS_STATE(pass_store));
  ReplayRoutines::write_places(code);
  code.test(kRax, kRax);
  Assembler::aim(no_hit, code.here());
  code.address(kRsp, {kRsp, 8});
  code.ret();
  return begin;
}

const std::uint8_t* TimedRoutines::write_conditional(Assembler& code) {
  const std::uint8_t* const begin = code.here();
  code.load(kRdi, ZS_STATE(branches));
  ReplayRoutines::write_call_out(code, ZS_STATE(predicts));
  code.test_byte(kRax, 1);
  code.ret();
  return begin;
}

/// As ReplayRoutines::taken has it.
const std::uint8_t* TimedRoutines::write_follow(Assembler& code) {
  const std::uint8_t* const begin = code.here();
  code.copy(kRsi, kRdx, kDword);
  code.load(kRdi, ZS_STATE(branches));
  ReplayRoutines::write_call_out(code, ZS_STATE(follow));
  code.ret();
  return begin;
}

/// As CoreClock::end() does it.
const std::uint8_t* TimedRoutines::write_in_flight(Assembler& code) {
  using Inline = CoreClock::Inline;
  const std::uint8_t* const begin = code.here();
  code.copy(kRcx, kRax);
  code.operate(kAnd, kRcx, ~static_cast<std::int32_t>(kCauseBits));
  code.operate(kCmp, kRcx, kRdx);
  std::uint8_t* const over = code.jump_later(kNotAbove);
  code.load(kRcx, ZS_CLOCK(newest));
  write_place_in_flight(code);
  code.increment(kRcx);
  code.store(ZS_CLOCK(newest), kRcx);
  code.load(kRdi, ZS_CLOCK(slots));
  code.increment(kRdi);
  code.store({kClock, offsetof(Inline, in_flight), kRsi}, kRdi);
  code.store({kClock, offsetof(Inline, in_flight) + offsetof(Inline::InFlight, retired), kRsi}, kRax);
  Assembler::aim(over, code.here());
  code.ret();
  return begin;
}

}  // namespace zs::uarch
