// What the code of a path does about time, block by block.
#include <algorithm>
#include <bit>

#include "arch/this_processor.h"
#include "uarch/replay/replay_code_writer.h"

namespace zs::uarch {

using namespace replay_registers;
using enum Assembler::Condition;
using enum Assembler::Operation;
using Vector = Assembler::Vector;

namespace {

using enum Assembler::Width;
constexpr Vector kStart{0}, kFirstLanes{1}, kSince{14}, kMade{15};
constexpr std::size_t kLanes = 4;  // of a vector
static_assert(BlockTiming::kLanesAtOnce == kLanes);

Vector lanes_of(std::size_t vector) { return static_cast<Vector>(kFirstLanes + vector); }

/// Where there is no path the sum is long past.
bool is_never(BlockTiming::Latency latency) { return latency <= BlockTiming::kNever / 2; }

Memory ready_of(std::uint8_t name) {
  return in_clock(offsetof(CoreClock::Inline, ready) + sizeof(BlockTiming::Latency) * name);
}

}  // namespace

bool ReplayCodeWriter::is_supported() {
  constexpr std::uint32_t kAvx2 = 1U << 5, kAvxState = 4;
  return (arch::leaf_here(7).ebx & kAvx2) != 0 && (arch::xcr0_here() & kAvxState) != 0;
}

std::size_t ReplayCodeWriter::bytes_of(const BlockTiming& timing) {
  const std::size_t vectors = timing.result_lanes() / kLanes;
  const std::size_t inputs = timing.live_in().size();
  return 512 + 32 * vectors * (1 + inputs) + 16 * (inputs + timing.written().size()) +
         2 * timing.stores() * (32 + 24 * inputs);
}

/// As ThreadReplay::may_be_tagged() does it.
void ReplayCodeWriter::write_begin() {
  std::int32_t loads = 0;
  for (const SimpleBlock& block : blocks_) loads += static_cast<std::int32_t>(block.loads());
  if (loads == 0) return;
  code_.operate(kCmp, ZS_STATE(untagged), loads);
  code_.jump_if(kBelow, places_.exit);
  code_.operate(kSub, ZS_STATE(untagged), loads);
}

void ReplayCodeWriter::write_block(const SimpleBlock& block, const SimpleBlock* before) {
  const Segment& segment = plan_.segments[which_];
  const std::span<const Step> steps = plan_.steps_of(which_);
  code_.call(places_.timed.begin);
  known_older_ = kNoStore;
  std::size_t descriptor = 0;
  for (std::size_t i = 0; i != steps.size(); ++i) {
    const Step& step = steps[i];
    if (step.kind == StepKind::Fetch) {
      if (!write_line(block, before, (step.at >> kLineBits) - block.first_line)) continue;
    } else {
      write_access(step, block.descriptor[descriptor], descriptor, *segment.timing);
      ++descriptor;
    }
    back_here(ask_if(kNotEqual, Callout::Step, i));
    line_is_over();
  }
  write_branch(block);
  write_passing(*segment.timing);
}

void ReplayCodeWriter::write_access(const Step& step, AccessDescriptor descriptor, std::size_t number,
                                    const BlockTiming& timing) {
  if (step.kind == StepKind::Store) {
    write_ready(timing, step.store);
    write_older(timing, step.store);
    write_address(descriptor, number);
    const PlainStore store{static_cast<std::uint8_t>(descriptor.bytes()), step.store, step.place,
                           timing.offset(step.instruction)};
    code_.constant(kArgument, store.word());
    code_.call(places_.timed.store);
  } else {
    write_address(descriptor, number);
    const auto size = static_cast<std::size_t>(std::bit_width((descriptor.bytes() - 1) >> StoreBuffer::kGranuleBits));
    code_.call(places_.timed.load[size]);
  }
}

/// kRax: later than the block's start by that, behind Inline::base.
void ReplayCodeWriter::write_start(BlockTiming::Latency later) {
  code_.load(kRax, ZS_CLOCK(now));
  code_.operate(kSub, kRax, ZS_CLOCK(base));
  code_.operate(kAdd, kRax, later, kDword);
}

/// kRax: not before the register, and so much later.
void ReplayCodeWriter::join_register(std::uint8_t name, BlockTiming::Latency later) {
  code_.load(kRcx, ready_of(name), kDword);
  code_.operate(kAdd, kRcx, later, kDword);
  code_.operate(kCmp, kRax, kRcx, kDword);
  code_.move_if(kLess, kRax, kRcx);
}

/// When the data of a store is known. As CoreClock::store_ready() does it.
void ReplayCodeWriter::write_ready(const BlockTiming& timing, std::size_t store) {
  const std::size_t lane = timing.store_lane(store) - timing.result_lanes();
  write_start(timing.events_of(0)[lane]);
  std::size_t row = 0;
  for (const std::uint8_t name : timing.live_in()) {
    const BlockTiming::Latency latency = timing.events_of(++row)[lane];
    if (!is_never(latency)) join_register(name, latency);
  }
  code_.store(ZS_STATE(ready), kRax, kDword);
}

/// When what is older in the block is complete. As CoreClock::store_retires() does it; but a register is ready before
/// all that is older than the block is complete, and of the store before it is known.
void ReplayCodeWriter::write_older(const BlockTiming& timing, std::size_t store) {
  const bool first = known_older_ == kNoStore;
  const std::size_t lane = timing.older_lane(store) - timing.result_lanes();
  const std::size_t known = first ? lane : timing.older_lane(known_older_) - timing.result_lanes();
  known_older_ = store;
  const auto later = [&](std::size_t row) {
    const BlockTiming::Latency* const cells = timing.events_of(row);
    return cells[lane] > 0 && (first || cells[lane] > cells[known]);
  };
  const std::size_t rows = 1 + timing.live_in().size();
  std::size_t row = 0;
  while (row != rows && !later(row)) ++row;
  if (!first && row == rows) return;
  if (first || row == 0) write_start(timing.events_of(0)[lane]);
  if (!first) {
    code_.load(row == 0 ? kRcx : kRax, ZS_STATE(older), kDword);
    if (row == 0) {
      code_.operate(kCmp, kRax, kRcx, kDword);
      code_.move_if(kLess, kRax, kRcx);
    }
  }
  row = 0;
  for (const std::uint8_t name : timing.live_in()) {
    if (later(++row)) join_register(name, timing.events_of(row)[lane]);
  }
  code_.store(ZS_STATE(older), kRax, kDword);
}

void ReplayCodeWriter::write_conditional(const SimpleBlock& block) {
  code_.constant(kRsi, block.hash);
  code_.constant(kRdx, block.footprint | (block.taken ? 1U << 16 : 0U));
  code_.call(places_.timed.conditional);
}

/// As CoreClock::end() does it.
void ReplayCodeWriter::write_passing(const BlockTiming& timing) {
  code_.operate(kCmp, ZS_CLOCK(block), 0);
  ask_if(kNotEqual, Callout::End);
  code_.load(kRdx, ZS_CLOCK(now));
  write_results(timing);
  code_.load(kRcx, ZS_CLOCK(executed));
  code_.operate(kCmp, kRcx, kRdx);
  code_.move_if(kBelow, kRcx, kRdx, Assembler::kQword);
  code_.operate(kAdd, kRcx, static_cast<std::int32_t>(timing.executed().units));
  code_.store(ZS_CLOCK(executed), kRcx);
  code_.load(kRsi, ZS_CLOCK(account));
  const std::uint32_t issue = timing.slots() * units_of_slot_, microcode = timing.microcode_slots() * units_of_slot_;
  charge(SlotCause::Retired, issue - microcode);
  charge(SlotCause::RetiredMicrocode, microcode);
  write_bound(timing);
  code_.store(ZS_CLOCK(now), kRdx);
  code_.call(places_.timed.in_flight);
  add(ZS_CLOCK(slots), timing.slots());
}

/// Time passes by what delivers the block. As CoreClock::bound() does it: which block came before is known but for the
/// path's first.
void ReplayCodeWriter::write_bound(const BlockTiming& timing) {
  if (which_ != 0 && plan_.segments[which_ - 1].timing->id() == timing.id()) {
    write_time(timing, timing.looped());
    return;
  }
  if (which_ == 0) {
    code_.operate(kCmp, ZS_CLOCK(last_block), static_cast<std::int32_t>(timing.id()), kDword);
    elsewhere_.push_back({code_.jump_later(kEqual), nullptr, &timing, &timing.looped(), false});
  }
  code_.store_constant_dword(ZS_CLOCK(last_block), timing.id());
  if (places_.core.uop_cache_width == 0) {
    write_time(timing, timing.decoded());
  } else {
    code_.load(kRcx, ZS_CLOCK(filled_at));
    code_.address(kRdi, {kRcx, static_cast<std::int64_t>(sizeof(std::uint64_t)) * timing.id()});
    code_.load(kRcx, ZS_CLOCK(filled));
    code_.operate(kSub, kRcx, Memory{kRdi});
    code_.operate(kCmp, kRcx, static_cast<std::int32_t>(places_.core.uop_cache_slots));
    elsewhere_.push_back({code_.jump_later(kNotBelow), nullptr, &timing, &timing.decoded(), true});
    write_time(timing, timing.cached());
  }
  for (Elsewhere& other : elsewhere_) {
    if (other.back == nullptr) other.back = code_.here();
  }
}

/// kRdx: the end of a block that takes that, of which kRdx was the start. kRsi: the account.
void ReplayCodeWriter::write_time(const BlockTiming& timing, const BlockBound& bound) {
  const BlockBound& work = timing.executed();
  if (work.units > bound.units) {
    code_.store_constant(ZS_CLOCK(executed_behind), static_cast<std::int32_t>(timing.scheduler_units()));
    code_.store_constant_byte(ZS_CLOCK(executed_cause), static_cast<std::uint8_t>(work.cause));
  }
  charge(bound.cause, bound.units - timing.slots() * units_of_slot_);
  code_.operate(kAdd, kRdx, static_cast<std::int32_t>(bound.units));
}

/// kRsi: the account.
void ReplayCodeWriter::charge(SlotCause cause, std::uint32_t units) {
  static_assert(sizeof(SlotCause) == 1);
  const std::size_t at = offsetof(SlotAccount, units) + sizeof(std::uint64_t) * static_cast<std::size_t>(cause);
  add({kRsi, static_cast<std::int64_t>(at)}, units);
}

/// kRdx: the block's start; kRax: when it is complete, behind it.
void ReplayCodeWriter::write_results(const BlockTiming& timing) {
  const std::size_t lanes = timing.result_lanes(), vectors = lanes / kLanes;
  const auto cell = [](std::size_t number) {
    return Memory{kRcx, static_cast<std::int64_t>(sizeof(BlockTiming::Latency) * number)};
  };
  code_.copy(kRax, kRdx);
  code_.operate(kSub, kRax, ZS_CLOCK(base));
  code_.broadcast(kStart, kRax);
  code_.constant(kRcx, reinterpret_cast<std::uint64_t>(timing.results_of(0)));
  for (std::size_t i = 0; i < vectors; ++i) code_.add_vector(lanes_of(i), kStart, cell(kLanes * i));
  std::size_t row = 0;
  for (const std::uint8_t name : timing.live_in()) {
    ++row;
    const BlockTiming::Latency* const cells = timing.results_of(row);
    bool begun = false;
    for (std::size_t i = 0; i < vectors; ++i) {
      if (std::all_of(cells + kLanes * i, cells + kLanes * (i + 1), is_never)) continue;
      if (!begun) code_.broadcast(kSince, ready_of(name));
      begun = true;
      code_.add_vector(kMade, kSince, cell(row * lanes + kLanes * i));
      code_.maximum_vector(lanes_of(i), lanes_of(i), kMade);
    }
  }
  code_.first_lane(kRax, kFirstLanes);
  code_.sign_extend(kRax, kRax);
  code_.operate(kAdd, kRax, ZS_CLOCK(base));
  code_.load(kRcx, ZS_CLOCK(retired));
  code_.operate(kCmp, kRax, kRcx);
  code_.move_if(kBelow, kRax, kRcx, Assembler::kQword);
  code_.store(ZS_CLOCK(retired), kRax);
  std::size_t lane = 0;
  for (const std::uint8_t name : timing.written()) {
    ++lane;
    code_.store_lane(ready_of(name), lanes_of(lane / kLanes), static_cast<std::uint8_t>(lane % kLanes));
  }
}

void ReplayCodeWriter::write_end() {
  add(ZS_STATE(uops), plan_.uops);
  add(ZS_STATE(fused), plan_.fused);
}

void ReplayCodeWriter::write_aside() {
  for (const Elsewhere& other : elsewhere_) {
    Assembler::aim(other.from, code_.here());
    if (other.fills) {  // kRcx, kRdi: as write_bound() leaves them
      code_.load(kRcx, ZS_CLOCK(filled));
      code_.operate(kAdd, kRcx, static_cast<std::int32_t>(other.timing->cache_slots()));
      code_.store(ZS_CLOCK(filled), kRcx);
      code_.store(Memory{kRdi}, kRcx);
    }
    write_time(*other.timing, *other.bound);
    code_.jump(other.back);
  }
}

}  // namespace zs::uarch
