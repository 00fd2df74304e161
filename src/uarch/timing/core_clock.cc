#include "uarch/timing/core_clock.h"

#include <algorithm>

#include "base/check.h"

namespace zs::uarch {
namespace {

using Latency = BlockTiming::Latency;
using detail::cause_of;
using detail::time_of;

/// What is waited for where no load is outstanding: what follows a load of the block is a dependence.
SlotCause own_cause(std::uint64_t late_time) {
  return cause_of(late_time) == SlotCause::L1 ? SlotCause::L1 : SlotCause::Latency;
}

}  // namespace

CoreClock::CoreClock(const TimingParameters& core) : core_(core), units_of_slot_(kUnitsPerCycle / core.issue_width) {
  CHECK(inconsistency(core) == nullptr);
  own_.account = &own_account_;
  own_.filled = core.uop_cache_slots;
}

/// The first uop of the next block needs the place of the one that is a reorder buffer's size older. Each block on the
/// way there holds it up for its own cause.
void CoreClock::leave() {
  while (own_.oldest != own_.newest &&
         own_.in_flight[own_.oldest % kRing].first_slot + core_.reorder_buffer <= own_.slots + 1) {
    const std::uint64_t room_since = own_.in_flight[own_.oldest++ % kRing].retired;
    outstanding_.share_out(own_.now, time_of(room_since), own_cause(room_since),
                           [this](std::uint64_t units, SlotCause cause) {
                             own_.account->add(cause, units);
                             own_.now += units;
                           });
  }
  // What is next in flight has no older slot than the next.
  const std::uint64_t first =
      own_.oldest != own_.newest ? own_.in_flight[own_.oldest % kRing].first_slot : own_.slots + 1;
  own_.full_at = first + core_.reorder_buffer;
}

void CoreClock::know_id(std::uint32_t id) {
  if (id < filled_at_.size()) return;
  filled_at_.resize(std::max<std::size_t>(id + 1U, 2 * filled_at_.size()), 0);
  own_.filled_at = filled_at_.data();
}

void CoreClock::wait_until(std::uint64_t time, SlotCause cause) {
  if (time <= own_.now) return;
  own_.account->add(cause, time - own_.now);
  own_.now = time;
}

void CoreClock::fill_uop_cache(std::uint32_t id) {
  know_id(id);
  own_.filled += own_.block->cache_slots();
  filled_at_[id] = own_.filled;
}

void CoreClock::continue_with(const BlockTiming& longer) {
  CHECK(own_.block != nullptr && bound_ == nullptr);
  own_.block = &longer;
  shift_ = 0;
  lanes_.forget();
  for (const Event& event : events_) {
    if (event.is_load) {
      lanes_.join_load(own_, event.at, event.time, event.cause);
    } else {
      delay_lanes(event.at, event.time);
    }
  }
}

void CoreClock::switch_to(SlotAccount& account) {
  CHECK(own_.block == nullptr);
  own_.account = &account;
  const auto now = static_cast<Latency>(own_.now - own_.base);
  for (Latency& time : own_.ready) time = std::min(time, now);
}

void CoreClock::load_done(std::size_t load, std::uint32_t latency_cycles, SlotCause level) {
  CHECK(load < own_.block->loads() && level >= SlotCause::L1 && level <= SlotCause::Dram, load);
  events_.push_back({static_cast<std::uint32_t>(load), latency_cycles, level, true});
  lanes_.join_load(own_, load, latency_cycles, level);
  const std::uint64_t dispatched = time_of(own_.base + static_cast<std::uint64_t>(lanes_[own_.block->load_lane(load)]));
  outstanding_.add(level, dispatched, dispatched + std::uint64_t{latency_cycles} * kUnitsPerCycle, own_.now);
}

void CoreClock::store_stall(std::size_t instruction, std::uint32_t cycles) {
  const std::uint64_t from = own_.now + shift_ + own_.block->offset(instruction);
  outstanding_.share_out(
      from, from + std::uint64_t{cycles} * kUnitsPerCycle, SlotCause::StoreBuffer,
      [&](std::uint64_t units, SlotCause cause) { delay_from(instruction, static_cast<std::uint32_t>(units), cause); });
}

/// When the instruction behind `after` would be dispatched if nothing held it.
std::uint64_t CoreClock::next_dispatch(std::size_t after) {
  const std::uint32_t units = after + 1 < own_.block->instructions() ? own_.block->offset(after + 1) : bound().units;
  return own_.now + shift_ + units;
}

void CoreClock::delay_from(std::size_t instruction, std::uint32_t units, SlotCause cause) {
  own_.account->add(cause, units);
  events_.push_back({static_cast<std::uint32_t>(instruction), units, cause, false});
  delay_lanes(instruction, units);
}

void CoreClock::delay_lanes(std::size_t instruction, std::uint32_t units) {
  lanes_.join_results(own_);
  lanes_.join_events(own_);
  shift_ += units;
  lanes_.delay(own_, instruction, shift_);
}

void CoreClock::mispredict(std::size_t branch) {
  CHECK(branch < own_.block->branches(), branch);
  lanes_.join_results(own_);
  lanes_.join_events(own_);
  const std::size_t instruction = own_.block->branch_instruction(branch);
  const std::uint64_t resolved = own_.base + static_cast<std::uint64_t>(lanes_[own_.block->branch_lane(branch)]);
  const std::uint64_t next = next_dispatch(instruction);
  if (time_of(resolved) > next) {
    // The wrong path is dispatched until the reorder buffer is full; then the slots are lost to what the branch waits
    // for.
    const auto wait = static_cast<std::uint32_t>(time_of(resolved) - next);
    const std::uint32_t wrong_path = std::min(wait, core_.reorder_buffer * units_of_slot_);
    delay_from(instruction + 1, wrong_path, SlotCause::Mispredict);
    outstanding_.share_out(next + wrong_path, time_of(resolved), own_cause(resolved),
                           [&](std::uint64_t units, SlotCause cause) {
                             delay_from(instruction + 1, static_cast<std::uint32_t>(units), cause);
                           });
  }
  delay_from(instruction + 1, core_.mispredict_cycles * kUnitsPerCycle, SlotCause::Mispredict);
}

void CoreClock::resteer(std::size_t branch) {
  CHECK(branch < own_.block->branches(), branch);
  delay_from(own_.block->branch_instruction(branch) + 1, core_.resteer_cycles * kUnitsPerCycle, SlotCause::Resteer);
}

void CoreClock::fetch_stall(std::size_t instruction, std::uint32_t cycles, SlotCause cause) {
  const std::uint32_t hidden = core_.queue_slots * units_of_slot_;
  const std::uint32_t units = cycles * kUnitsPerCycle;
  if (units > hidden) delay_from(instruction, units - hidden, cause);
}

void CoreClock::serialise(std::uint32_t cycles) {
  lanes_.join_results(own_);
  const std::size_t behind = own_.block->instructions();
  const std::uint64_t complete = std::max(own_.retired, own_.base + static_cast<std::uint64_t>(lanes_[0]));
  const std::uint64_t next = next_dispatch(behind - 1);
  outstanding_.share_out(next, time_of(complete), SlotCause::Serialising, [&](std::uint64_t units, SlotCause cause) {
    delay_from(behind, static_cast<std::uint32_t>(units), cause);
  });
  delay_from(behind, cycles * kUnitsPerCycle, SlotCause::Serialising);
}

void CoreClock::occupy(std::uint32_t cycles, SlotCause cause) {
  // More than a Latency holds, perhaps: a string may be gigabytes long. No time within the block depends on it.
  const std::uint64_t units = std::uint64_t{cycles} * kUnitsPerCycle;
  own_.account->add(cause, units);
  occupied_ += units;
}

/// Keeps relative times small. What has long been ready stays so.
void CoreClock::rebase() {
  constexpr Latency long_ago = -(1 << 20);
  const std::uint64_t by =
      (own_.now - own_.base) & ~std::uint64_t{kCauseBits};  // more than a Latency holds, after a long idle time
  for (Latency& time : own_.ready) {
    time = static_cast<Latency>(std::max<std::int64_t>(time - static_cast<std::int64_t>(by), long_ago));
  }
  own_.base += by;
}

}  // namespace zs::uarch
