#include "uarch/timing/core_clock.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace zs::uarch {
namespace {

using Latency = BlockTiming::Latency;

// Several lanes at once, in whatever registers the host has.
using Lanes = Latency __attribute__((vector_size(4 * sizeof(Latency))));
constexpr std::size_t kLanesOfVector = 4;
static_assert(BlockTiming::kLanesAtOnce % kLanesOfVector == 0);

Lanes load_lanes(const Latency* from) {
  Lanes lanes;
  std::memcpy(&lanes, from, sizeof(lanes));
  return lanes;
}

/// lane[i] = max(lane[i], row[i] + since)
void join_row(Latency* lane, const Latency* row, Latency since, std::size_t count) {
  for (std::size_t i = 0; i < count; i += kLanesOfVector) {
    const Lanes old = load_lanes(lane + i);
    const Lanes made = load_lanes(row + i) + since;
    const Lanes later = made > old ? made : old;
    std::memcpy(lane + i, &later, sizeof(later));
  }
}

/// lane[i] = row[i] + since
void begin_row(Latency* lane, const Latency* row, Latency since, std::size_t count) {
  for (std::size_t i = 0; i < count; i += kLanesOfVector) {
    const Lanes made = load_lanes(row + i) + since;
    std::memcpy(lane + i, &made, sizeof(made));
  }
}

constexpr SlotCause cause_of(std::uint64_t late_time) { return static_cast<SlotCause>(late_time & kCauseBits); }
constexpr std::uint64_t time_of(std::uint64_t late_time) { return late_time & ~std::uint64_t{kCauseBits}; }

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

/// The block's first uop needs the place of the one that is a reorder buffer's size older.
void CoreClock::wait_for_reorder_buffer() {
  while (oldest_ != newest_ && in_flight_[oldest_ % kRing].first_slot + core_.reorder_buffer <= slots_ + 1) {
    room_since_ = in_flight_[oldest_ % kRing].retired;
    ++oldest_;
  }
  wait_until(time_of(room_since_), cause_of(room_since_));
}

void CoreClock::wait_for_scheduler() {
  if (executed_ > executed_behind_) wait_until(executed_ - executed_behind_, executed_cause_);
}

/// The block that was dispatched from `start` on gives the ports their work.
void CoreClock::execute(std::uint64_t start) {
  const BlockBound& work = block_->executed();
  executed_ = std::max(executed_, start) + work.units;
  if (work.units > bound().units) {
    executed_behind_ = block_->scheduler_units();
    executed_cause_ = work.cause;
  }
}

const BlockBound& CoreClock::delivered() {
  const std::uint32_t id = block_->id();
  const bool again = id == last_block_;
  last_block_ = id;
  if (again) return block_->looped();
  if (core_.uop_cache_width == 0) return block_->decoded();
  if (id >= filled_at_.size()) filled_at_.resize(id + 1U, 0);
  if (filled_at_[id] != 0 && filled_ - filled_at_[id] < core_.uop_cache_slots) return block_->cached();
  filled_ += block_->cache_slots();
  filled_at_[id] = filled_;
  return block_->decoded();
}

/// `count` lanes from the block's rows. A register that is ready when the block starts adds nothing to row 0, which waits for
/// dispatch and has every path of the register's row.
template <typename RowOf>
void CoreClock::join_rows(Latency* lane, std::size_t count, const RowOf& row_of) {
  const auto start = static_cast<Latency>(now_ - base_);
  begin_row(lane, row_of(0), start, count);
  const auto inputs = block_->live_in();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Latency since = ready_[inputs[i]];
    if (since > start) join_row(lane, row_of(1 + i), since, count);
  }
}

void CoreClock::begin(const BlockTiming& block) {
  CHECK(block_ == nullptr && block.lanes() <= kLanes, block.lanes());
  block_ = &block;
  wait_for_reorder_buffer();
  wait_for_scheduler();
  bound_ = nullptr;
  shift_ = 0;
  events_.clear();
  if (now_ - base_ > 1U << 28) rebase();
  join_results();
}

void CoreClock::join_results() {
  events_joined_ = false;
  join_rows(lane_.data(), block_->result_lanes(), [this](std::size_t row) { return block_->results_of(row); });
}

void CoreClock::continue_with(const BlockTiming& longer) {
  CHECK(block_ != nullptr && bound_ == nullptr && longer.lanes() <= kLanes, longer.lanes());
  block_ = &longer;
  shift_ = 0;
  join_results();
  for (const Event& event : events_) {
    if (event.is_load) {
      join_load(event);
    } else {
      delay_lanes(event.at, event.time);
    }
  }
}

const BlockBound& CoreClock::bound() {
  if (bound_ == nullptr) bound_ = &delivered();
  return *bound_;
}

void CoreClock::switch_to(SlotAccount& account) {
  CHECK(block_ == nullptr);
  account_ = &account;
  const auto now = static_cast<Latency>(now_ - base_);
  for (Latency& time : ready_) time = std::min(time, now);
}

void CoreClock::join_events() {
  if (events_joined_) return;
  events_joined_ = true;
  const std::size_t first = block_->result_lanes();
  join_rows(&lane_[first], block_->lanes() - first, [this](std::size_t row) { return block_->events_of(row); });
}

std::uint64_t CoreClock::load_dispatch(std::size_t load) {
  CHECK(load < block_->loads(), load);
  join_events();
  const Latency at = lane_[block_->load_lane(load)];
  return (base_ + static_cast<std::uint64_t>(at)) / kUnitsPerCycle;
}

void CoreClock::load_done(std::size_t load, std::uint32_t latency_cycles, SlotCause level) {
  CHECK(load < block_->loads() && level <= SlotCause::Dram, load);
  events_.push_back({static_cast<std::uint32_t>(load), latency_cycles, level, true});
  join_load(events_.back());
}

void CoreClock::join_load(const Event& event) {
  join_events();
  const auto dispatched = lane_[block_->load_lane(event.at)] & ~static_cast<Latency>(kCauseBits);
  const auto done = static_cast<Latency>(dispatched + static_cast<Latency>(event.time * kUnitsPerCycle)) |
                    static_cast<Latency>(event.cause);
  join_row(lane_.data(), block_->from_load(event.at), done, block_->lanes());
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

void CoreClock::end() {
  const BlockTiming& block = *block_;
  const BlockBound& bound = this->bound();
  retired_ = std::max(retired_, base_ + static_cast<std::uint64_t>(lane_[0]));
  const auto written = block.written();
  for (std::size_t i = 0; i < written.size(); ++i) ready_[written[i]] = lane_[1 + i];
  execute(now_);

  const std::uint32_t issue = block.slots() * units_of_slot_;
  const std::uint32_t microcode = block.microcode_slots() * units_of_slot_;
  account_->add(SlotCause::Retired, issue - microcode);
  account_->add(SlotCause::RetiredMicrocode, microcode);
  account_->add(bound.cause, bound.units - issue);
  now_ += bound.units + shift_;
  if (time_of(retired_) > now_) {
    CHECK(newest_ - oldest_ < kRing);
    in_flight_[newest_++ % kRing] = {slots_ + 1, retired_};
  }
  slots_ += block.slots();
  block_ = nullptr;
}

/// Keeps relative times small. What has long been ready stays so.
void CoreClock::rebase() {
  constexpr Latency long_ago = -(1 << 20);
  const auto by = static_cast<Latency>((now_ - base_) & ~std::uint64_t{kCauseBits});
  for (Latency& time : ready_) time = std::max(time - by, long_ago);
  base_ += static_cast<std::uint64_t>(by);
}

}  // namespace zs::uarch
