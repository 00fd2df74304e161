#include "uarch/timing/core_clock.h"

#include <algorithm>

#include "base/check.h"

namespace zs::uarch {
namespace {

using Latency = BlockTiming::Latency;
using detail::cause_of;
using detail::time_of;

}  // namespace

CoreClock::CoreClock(const TimingParameters& core) : core_(core), units_of_slot_(kUnitsPerCycle / core.issue_width) {
  CHECK(inconsistency(core) == nullptr);
}

std::uint64_t CoreClock::ready(unsigned number) const {
  return base_ + static_cast<std::uint64_t>(static_cast<std::int64_t>(ready_[number]));
}

std::uint64_t CoreClock::drained_cycles() const {
  return (std::max(now_, time_of(retired_)) + kUnitsPerCycle - 1) / kUnitsPerCycle;
}

void CoreClock::wait_until(std::uint64_t time, SlotCause cause) {
  if (time <= now_) return;
  account_->add(cause, time - now_);
  now_ = time;
}

void CoreClock::fill_uop_cache(std::uint32_t id) {
  if (id >= filled_at_.size()) filled_at_.resize(std::max<std::size_t>(id + 1U, 2 * filled_at_.size()), 0);
  filled_ += block_->cache_slots();
  filled_at_[id] = filled_;
}

void CoreClock::continue_with(const BlockTiming& longer) {
  CHECK(block_ != nullptr && bound_ == nullptr);
  block_ = &longer;
  shift_ = 0;
  joined_ = 0;
  for (const Event& event : events_) {
    if (event.is_load) {
      join_load(event);
    } else {
      delay_lanes(event.at, event.time);
    }
  }
}

void CoreClock::switch_to(SlotAccount& account) {
  CHECK(block_ == nullptr);
  account_ = &account;
  const auto now = static_cast<Latency>(now_ - base_);
  for (Latency& time : ready_) time = std::min(time, now);
}

void CoreClock::load_done(std::size_t load, std::uint32_t latency_cycles, SlotCause level) {
  CHECK(load < block_->loads() && level <= SlotCause::Dram, load);
  events_.push_back({static_cast<std::uint32_t>(load), latency_cycles, level, true});
  join_load(events_.back());
}

void CoreClock::join_load(const Event& event) {
  join_results();
  join_events();
  const auto dispatched = lane_[block_->load_lane(event.at)] & ~static_cast<Latency>(kCauseBits);
  const auto done = static_cast<Latency>(dispatched + static_cast<Latency>(event.time * kUnitsPerCycle)) |
                    static_cast<Latency>(event.cause);
  detail::join_row(lane_.data(), block_->from_load(event.at), done, block_->lanes());
}

void CoreClock::store_stall(std::size_t instruction, std::uint32_t cycles) {
  delay_from(instruction, cycles * kUnitsPerCycle, SlotCause::StoreBuffer);
}

/// When the instruction behind `after` would be dispatched if nothing held it.
std::uint64_t CoreClock::next_dispatch(std::size_t after) {
  const std::uint32_t units = after + 1 < block_->instructions() ? block_->offset(after + 1) : bound().units;
  return now_ + shift_ + units;
}

void CoreClock::delay_from(std::size_t instruction, std::uint32_t units, SlotCause cause) {
  account_->add(cause, units);
  events_.push_back({static_cast<std::uint32_t>(instruction), units, cause, false});
  delay_lanes(instruction, units);
}

void CoreClock::delay_lanes(std::size_t instruction, std::uint32_t units) {
  join_results();
  join_events();
  shift_ += units;
  const auto start = static_cast<Latency>(now_ - base_ + shift_);
  const std::size_t first = block_->result_lanes();
  for (std::size_t i = 0; i < block_->lanes(); ++i) {
    if (block_->lane_instruction(i) < instruction) continue;
    const Latency latency = i < first ? block_->results_of(0)[i] : block_->events_of(0)[i - first];
    lane_[i] = std::max(lane_[i], latency + start);
  }
}

void CoreClock::mispredict(std::size_t branch) {
  CHECK(branch < block_->branches(), branch);
  join_results();
  join_events();
  const std::size_t instruction = block_->branch_instruction(branch);
  const std::uint64_t resolved = base_ + static_cast<std::uint64_t>(lane_[block_->branch_lane(branch)]);
  const std::uint64_t next = next_dispatch(instruction);
  if (time_of(resolved) > next) {
    // The wrong path is dispatched until the reorder buffer is full; then the slots are lost to what the branch waits for.
    const auto wait = static_cast<std::uint32_t>(time_of(resolved) - next);
    const std::uint32_t wrong_path = std::min(wait, core_.reorder_buffer * units_of_slot_);
    delay_from(instruction + 1, wrong_path, SlotCause::Mispredict);
    if (wait > wrong_path) delay_from(instruction + 1, wait - wrong_path, cause_of(resolved));
  }
  delay_from(instruction + 1, core_.mispredict_cycles * kUnitsPerCycle, SlotCause::Mispredict);
}

void CoreClock::resteer(std::size_t branch) {
  CHECK(branch < block_->branches(), branch);
  delay_from(block_->branch_instruction(branch) + 1, core_.resteer_cycles * kUnitsPerCycle, SlotCause::Resteer);
}

void CoreClock::fetch_stall(std::size_t instruction, std::uint32_t cycles, SlotCause cause) {
  const std::uint32_t hidden = core_.queue_slots * units_of_slot_;
  const std::uint32_t units = cycles * kUnitsPerCycle;
  if (units > hidden) delay_from(instruction, units - hidden, cause);
}

void CoreClock::serialise(std::uint32_t cycles) {
  join_results();
  const std::size_t behind = block_->instructions();
  const std::uint64_t complete = std::max(retired_, base_ + static_cast<std::uint64_t>(lane_[0]));
  const std::uint64_t next = next_dispatch(behind - 1);
  if (time_of(complete) > next) {
    const SlotCause cause = cause_of(complete) == SlotCause::Latency ? SlotCause::Serialising : cause_of(complete);
    delay_from(behind, static_cast<std::uint32_t>(time_of(complete) - next), cause);
  }
  delay_from(behind, cycles * kUnitsPerCycle, SlotCause::Serialising);
}

void CoreClock::occupy(std::uint32_t cycles, SlotCause cause) {
  delay_from(block_->instructions(), cycles * kUnitsPerCycle, cause);
}

/// Keeps relative times small. What has long been ready stays so.
void CoreClock::rebase() {
  constexpr Latency long_ago = -(1 << 20);
  const std::uint64_t by =
      (now_ - base_) & ~std::uint64_t{kCauseBits};  // more than a Latency holds, after a long idle time
  for (Latency& time : ready_) {
    time = static_cast<Latency>(std::max<std::int64_t>(time - static_cast<std::int64_t>(by), long_ago));
  }
  base_ += by;
}

}  // namespace zs::uarch
