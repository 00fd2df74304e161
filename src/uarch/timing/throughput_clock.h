// A clock without registers, for the depth `fast`, where time is asked for only so that the caches know what is still
// on its way: every load is dispatched with its instruction, and a miss holds nothing up until the reorder buffer is
// full; nor do stores that miss, until there are as many as the store buffer has entries. It answers to the same calls
// as CoreClock. Its time is no estimate of a program's: nothing reports it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "uarch/timing/block_timing.h"
#include "uarch/timing/slot_cause.h"
#include "uarch/timing/timing_parameters.h"

namespace zs::uarch {

class ThroughputClock {
 public:
  /// store_buffer  entries, at most kRing
  ThroughputClock(const TimingParameters& core, std::uint32_t store_buffer)
      : reorder_buffer_(core.reorder_buffer),
        reorder_units_(std::uint64_t{core.reorder_buffer} * (kUnitsPerCycle / core.issue_width)),
        store_buffer_(store_buffer),
        mispredict_units_(core.mispredict_cycles * kUnitsPerCycle),
        resteer_units_(core.resteer_cycles * kUnitsPerCycle),
        hidden_units_(core.queue_slots * (kUnitsPerCycle / core.issue_width)) {}

  void begin(const BlockTiming& block) {
    wait_for_room();
    block_ = &block;
    shift_ = 0;
    complete_ = 0;
  }
  /// The first uop needs the place of the one that is a reorder buffer's size older.
  void wait_for_room() {
    if (slots_ + 1 >= full_at_) [[unlikely]]
      leave();
  }
  /// A whole block to which nothing happens but what happens at its branch, behind wait_for_room(). units, slots: as
  /// its timing has them
  void pass(std::uint32_t units, std::uint32_t slots) {
    now_ += units;
    slots_ += slots;
  }
  /// For code that does inline what those two do: where the clock is, and with how many slots there is no room; and
  /// where it has got to.
  std::uint64_t now() const { return now_; }
  std::uint64_t slots() const { return slots_; }
  std::uint64_t room_until() const { return full_at_ - 1; }
  void move_to(std::uint64_t now, std::uint64_t slots) { now_ = now, slots_ = slots; }
  /// Behind pass().
  void passed_mispredict() { now_ += mispredict_units_; }
  std::uint32_t mispredict_units() const { return mispredict_units_; }
  void passed_resteer() { now_ += resteer_units_; }
  void continue_with(const BlockTiming& longer) { block_ = &longer; }
  bool remembers(std::uint32_t) const { return false; }
  bool under_way() const { return block_ != nullptr; }

  std::uint64_t start_cycle() const { return now_ / kUnitsPerCycle; }
  // There is no store buffer that would ask.
  std::uint64_t retired_cycle() const { return 0; }
  std::uint64_t store_ready(std::size_t) const { return 0; }
  std::uint64_t store_retires(std::size_t) const { return 0; }
  /// In units.
  std::uint64_t dispatch(std::size_t instruction) const { return now_ + shift_ + block_->offset(instruction); }
  std::uint64_t dispatch_cycle(std::size_t instruction) const { return dispatch(instruction) / kUnitsPerCycle; }
  std::uint64_t load_dispatch(std::size_t load) const { return dispatch_cycle(block_->load_instruction(load)); }
  void load_done(std::size_t load, std::uint32_t latency_cycles, SlotCause) {
    load_done_from(dispatch(block_->load_instruction(load)), latency_cycles);
  }
  /// at  dispatch() of its instruction
  void load_done_from(std::uint64_t at, std::uint32_t latency_cycles) {
    complete_ = std::max(complete_, at + std::uint64_t{latency_cycles} * kUnitsPerCycle);
  }
  void store_stall(std::size_t, std::uint32_t cycles) { shift_ += cycles * kUnitsPerCycle; }
  /// A store whose line is writable only after so many cycles.
  void store_missed(std::size_t instruction, std::uint32_t cycles) { store_missed_from(dispatch(instruction), cycles); }
  void store_missed_from(std::uint64_t at, std::uint32_t cycles) {
    if (stores_ >= store_buffer_) {
      const std::uint64_t leaves = released_[(stores_ - store_buffer_) % kRing];
      if (leaves > at) {
        shift_ += leaves - at;
        at = leaves;
      }
    }
    const std::uint64_t before = stores_ == 0 ? 0 : released_[(stores_ - 1) % kRing];  // they leave in order
    released_[stores_++ % kRing] = std::max(before, at + std::uint64_t{cycles} * kUnitsPerCycle);
  }
  void fetch_stall(std::size_t, std::uint32_t cycles, SlotCause) {
    const std::uint32_t units = cycles * kUnitsPerCycle;
    if (units > hidden_units_) shift_ += units - hidden_units_;
  }
  void mispredict(std::size_t) { shift_ += mispredict_units_; }
  void resteer(std::size_t) { shift_ += resteer_units_; }
  void serialise(std::uint32_t cycles) { shift_ += cycles * kUnitsPerCycle; }
  void occupy(std::uint32_t cycles, SlotCause) { shift_ += std::uint64_t{cycles} * kUnitsPerCycle; }
  void end() {
    now_ += shift_;
    if (is_late(complete_)) note_miss();
    now_ += block_->cached().units;
    slots_ += block_->slots();
    block_ = nullptr;
  }
  // What happens to one access or line of a block that passes as one to which nothing happens, behind wait_for_room().
  /// at  now() and the offset of its instruction
  void pass_load(std::uint64_t at, std::uint32_t latency_cycles) {
    complete_ = at + std::uint64_t{latency_cycles} * kUnitsPerCycle;
    if (is_late(complete_)) note_miss();
  }
  void pass_fetch(std::uint32_t cycles) {
    shift_ = 0;
    fetch_stall(0, cycles, {});
    now_ += shift_;
  }
  void pass_store(std::uint64_t at, std::uint32_t cycles) {
    shift_ = 0;
    store_missed_from(at, cycles);
    now_ += shift_;
  }
  void idle_until(std::uint64_t cycle) { now_ = std::max(now_, cycle * kUnitsPerCycle); }
  void switch_to(SlotAccount&) {}

 private:
  /// Whether a load of the block that starts now may hold up a later block. One that needs its place in the reorder
  /// buffer starts no earlier than it takes to fill that.
  bool is_late(std::uint64_t complete) const { return complete > now_ + reorder_units_; }

  [[gnu::noinline]] void leave() {
    while (oldest_ != newest_ && misses_[oldest_ % kRing].first_slot + reorder_buffer_ <= slots_ + 1) {
      now_ = std::max(now_, misses_[oldest_ % kRing].complete);
      ++oldest_;
    }
    full_at_ = oldest_ == newest_ ? UINT64_MAX : misses_[oldest_ % kRing].first_slot + reorder_buffer_;
  }

  /// The block that starts now has a load that is late.
  void note_miss() {
    const std::uint64_t first = slots_ + 1;
    Miss& before = misses_[(newest_ - 1) % kRing];
    if (newest_ != oldest_ && before.first_slot == first) {  // so had it when it was let pass
      before.complete = std::max(before.complete, complete_);
      return;
    }
    if (newest_ - oldest_ == kRing) ++oldest_;  // as many blocks as no reorder buffer holds
    misses_[newest_++ % kRing] = {first, complete_};
    full_at_ = misses_[oldest_ % kRing].first_slot + reorder_buffer_;
  }

  static constexpr std::size_t kRing = 1024;
  struct Miss {
    std::uint64_t first_slot, complete;
  };

  std::uint32_t reorder_buffer_;
  std::uint64_t reorder_units_;  // that many slots take at least
  std::uint32_t store_buffer_, mispredict_units_, resteer_units_, hidden_units_;
  const BlockTiming* block_ = nullptr;
  // `now_` and `slots_` are not side by side, or move_to() would read the two as one vector, which must wait for two
  // stores.
  std::uint64_t now_ = 0, shift_ = 0, slots_ = 0, complete_ = 0;
  std::array<Miss, kRing> misses_{};
  std::size_t oldest_ = 0, newest_ = 0;
  std::uint64_t full_at_ = UINT64_MAX;  // slots with which the reorder buffer has no room beside the oldest miss
  std::array<std::uint64_t, kRing> released_{};  // when each of the last stores that missed leaves the store buffer
  std::uint64_t stores_ = 0;
};

}  // namespace zs::uarch
