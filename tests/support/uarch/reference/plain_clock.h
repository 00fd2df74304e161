// The core's clock once more, plainly: every instruction has its times in a map of registers; no matrix, no relative
// time, no cause in low bits, no block known before it ends. For tests, which hold that CoreClock says the same.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "uarch/reference/code_samples.h"
#include "uarch/timing/block_timing.h"
#include "uarch/timing/slot_cause.h"
#include "uarch/timing/timing_parameters.h"

namespace zs::uarch {

class PlainClock {
 public:
  struct Late {
    std::uint64_t time = 0;
    SlotCause cause = SlotCause::Latency;
    bool operator<(const Late& other) const { return time != other.time ? time < other.time : cause < other.cause; }
  };

  PlainClock(const TimingParameters& core, const MemoryLimits& memory)
      : core_(core), memory_(memory), slot_(kUnitsPerCycle / core.issue_width) {}

  void begin() {
    for (const Retired& block : retired_) {
      if (block.first_slot + core_.reorder_buffer > slots_ + 1) continue;
      share_out(now_, block.done.time, own_cause(block.done), [this](std::uint64_t units, SlotCause cause) {
        stall_until({now_ + units, cause});
      });
    }
    // The scheduler: ports may be behind by as much as it holds.
    if (ports_.done > ports_.behind) stall_until({ports_.done - ports_.behind, ports_.cause});
    block_.clear();
    written_.clear();
    shift_ = behind_ = offset_ = 0;
    whole_ = {.known = true};
  }

  /// The block's next instruction. Its loads, and what delays it, come next.
  void enter(const PlacedInstruction& instruction) {
    block_.push_back(instruction);
    cost_ = block_costs(core_, memory_, block_).back();
    const InstructionShape& shape = instruction.shape;
    addressed_ = latest(shape.address);
    result_ = latest(shape.reads | cost_.false_reads);
    if (shape.loads != 0) {
      const Value loaded = later(addressed_, cost_.load);
      result_ = joined(result_, loaded);
    }
  }
  std::uint64_t load_dispatch() const { return absolute(addressed_).time / kUnitsPerCycle; }
  /// When the data is known that the instruction stores.
  std::uint64_t store_ready() const {
    return absolute(joined(later(result_, data_cycles(cost_)), addressed_)).time / kUnitsPerCycle;
  }
  /// When the instruction retires at the earliest: behind all before it.
  std::uint64_t store_retires() const {
    return std::max(retired_units(), absolute_with_cause(absolute(whole_))) / kUnitsPerCycle + 1;
  }
  std::uint64_t dispatch() const { return (now_ + shift_ + offset_) / kUnitsPerCycle; }
  void load_done(std::uint32_t cycles, SlotCause level) {
    const Late arrives{absolute(addressed_).time + std::uint64_t{cycles} * kUnitsPerCycle, level};
    result_.other = std::max(result_.other, arrives);
    outstanding_.push_back({absolute(addressed_).time, arrives});
    if (outstanding_.size() > 4096) outstanding_.erase(outstanding_.begin(), outstanding_.begin() + 2048);
  }
  /// From this instruction on.
  void delay(std::uint64_t units, SlotCause cause) {
    lost[cause] += units;
    shift_ += units;
  }
  void store_stall(std::uint32_t cycles) {
    const std::uint64_t from = now_ + shift_ + offset_;
    share_out(from, from + std::uint64_t{cycles} * kUnitsPerCycle, SlotCause::StoreBuffer,
              [this](std::uint64_t units, SlotCause cause) { delay(units, cause); });
  }
  void fetch_stall(std::uint32_t cycles, SlotCause cause) {
    const std::uint64_t hidden = core_.queue_slots * slot_;
    if (cycles * kUnitsPerCycle > hidden) delay(cycles * kUnitsPerCycle - hidden, cause);
  }
  /// The instruction is done.
  void leave() {
    const InstructionShape& shape = block_.back().shape;
    result_ = later(result_, cost_.latency);
    for (unsigned r = 0; r < reg::kCount; ++r) {
      if ((shape.writes >> r & 1) != 0) written_[r] = {result_, shift_};
    }
    const Value dispatched{.known = true, .from_start = offset_};
    // Nothing waits for a prefetch, not even retirement.
    const bool prefetch =
        shape.loads != 0 && shape.writes == 0 && shape.stores == 0 && shape.branch == arch::BranchKind::None;
    whole_ = joined(whole_, prefetch ? dispatched : result_);
    if (shape.stores != 0) whole_ = joined(whole_, later(addressed_, 1));
    last_result_ = absolute(result_);
    offset_ += cost_.slots * slot_;
  }

  /// timing  of the block that ends
  void finish(const BlockTiming& timing) {
    timing_ = &timing;
    bound_ = bound_for(timing);
  }
  void mispredict() {
    const std::uint64_t next = next_dispatch();
    if (last_result_.time > next) {
      const std::uint64_t wait = last_result_.time - next;
      const std::uint64_t wrong = std::min<std::uint64_t>(wait, core_.reorder_buffer * slot_);
      behind(wrong, SlotCause::Mispredict);
      share_out(next + wrong, last_result_.time, own_cause(last_result_),
                [this](std::uint64_t units, SlotCause cause) { behind(units, cause); });
    }
    behind(core_.mispredict_cycles * kUnitsPerCycle, SlotCause::Mispredict);
  }
  void load_again(std::uint32_t times) { ports_.again += times; }
  void resteer() { behind(core_.resteer_cycles * kUnitsPerCycle, SlotCause::Resteer); }
  void serialise(std::uint32_t cycles) {
    Late all = absolute(whole_);
    if (!retired_.empty()) all = std::max(all, retired_.back().done);
    const std::uint64_t next = next_dispatch();
    share_out(next, all.time, SlotCause::Serialising,
              [this](std::uint64_t units, SlotCause cause) { behind(units, cause); });
    behind(cycles * kUnitsPerCycle, SlotCause::Serialising);
  }
  void occupy(std::uint32_t cycles, SlotCause cause) { behind(std::uint64_t{cycles} * kUnitsPerCycle, cause); }

  void end() {
    for (const auto& [r, value] : written_) registers[r] = {absolute(value.first, value.second).time};
    Late complete = absolute(whole_);
    if (!retired_.empty()) complete = std::max(complete, retired_.back().done);
    retired_.push_back({slots_ + 1, complete});
    if (retired_.size() > 1024) retired_.erase(retired_.begin(), retired_.begin() + 512);
    const std::uint64_t ports = timing_->executed().units;
    const std::uint64_t of_loads = ports_.again == 0 ? 0 : load_units(core_, timing_->load_uops() + ports_.again);
    ports_.done = std::max(ports_.done, now_) + std::max(ports, of_loads);
    if (std::max(ports, of_loads) > bound_.units) {
      ports_.behind = timing_->scheduler_units();
      ports_.cause = of_loads > ports ? SlotCause::L1 : timing_->executed().cause;
    }
    ports_.again = 0;
    lost[SlotCause::Retired] += (timing_->slots() - timing_->microcode_slots()) * slot_;
    lost[SlotCause::RetiredMicrocode] += timing_->microcode_slots() * slot_;
    lost[bound_.cause] += bound_.units - timing_->slots() * slot_;
    now_ += shift_ + behind_ + bound_.units;
    slots_ += timing_->slots();
  }

  std::uint64_t units() const { return now_; }
  /// Of the block under way: cycle of its dispatch.
  std::uint64_t start_cycle() const { return now_ / kUnitsPerCycle; }
  const Block& block() const { return block_; }

  std::map<SlotCause, std::uint64_t> lost;
  std::map<unsigned, Late> registers;

 private:
  /// A time within the block: what follows from the block's start, in units from there, and what does not. A delay
  /// moves the start as seen by all behind it.
  struct Value {
    bool known = false;  // from_start means something
    std::uint64_t from_start = 0;
    Late other;
  };
  struct Retired {
    std::uint64_t first_slot;
    Late done;
  };

  std::uint64_t retired_units() const { return retired_.empty() ? 0 : absolute_with_cause(retired_.back().done); }
  static std::uint64_t absolute_with_cause(const Late& late) {
    return late.time + static_cast<std::uint64_t>(late.cause);
  }
  Late absolute(const Value& value) const { return absolute(value, shift_); }
  Late absolute(const Value& value, std::uint64_t shift) const {
    const Late from_start{now_ + shift + value.from_start, SlotCause::Latency};
    return value.known ? std::max(from_start, value.other) : value.other;
  }
  static Value joined(const Value& one, const Value& two) {
    return {one.known || two.known, std::max(one.from_start, two.from_start), std::max(one.other, two.other)};
  }
  static Value later(Value value, std::uint32_t cycles) {
    value.from_start += std::uint64_t{cycles} * kUnitsPerCycle;
    if (value.other.time != 0) value.other.time += std::uint64_t{cycles} * kUnitsPerCycle;
    return value;
  }
  Value latest(RegisterSet set) const {
    Value value{.known = true, .from_start = offset_};
    for (unsigned r = 0; r < reg::kCount; ++r) {
      if ((set >> r & 1) == 0) continue;
      if (const auto own = written_.find(r); own != written_.end()) {
        value = joined(value, own->second.first);
      } else if (const auto before = registers.find(r); before != registers.end()) {
        value.other = std::max(value.other, before->second);
      }
    }
    return value;
  }
  static SlotCause own_cause(const Late& late) {
    return late.cause == SlotCause::L1 ? SlotCause::L1 : SlotCause::Latency;
  }
  /// A wait, from one moment to the next at which a load begins or ends: the deepest level outstanding has it.
  template <typename Charge>
  void share_out(std::uint64_t from, std::uint64_t until, SlotCause rest, const Charge& charge) const {
    while (from < until) {
      std::uint64_t end = until;
      SlotCause cause = rest;
      for (const auto& [begins, arrives] : outstanding_) {
        for (const std::uint64_t moment : {begins, arrives.time}) end = moment > from ? std::min(end, moment) : end;
        const bool deeper = cause == rest || arrives.cause > cause;
        if (begins <= from && from < arrives.time && deeper) cause = arrives.cause;
      }
      charge(end - from, cause);
      from = end;
    }
  }
  void behind(std::uint64_t units, SlotCause cause) {
    lost[cause] += units;
    behind_ += units;
  }
  std::uint64_t next_dispatch() const { return now_ + shift_ + behind_ + bound_.units; }
  void stall_until(const Late& late) {
    if (late.time <= now_) return;
    lost[late.cause] += late.time - now_;
    now_ = late.time;
  }
  BlockBound bound_for(const BlockTiming& timing) {
    const bool again = last_ == timing.id();
    last_ = timing.id();
    if (again) return timing.looped();
    if (core_.uop_cache_slots == 0) return timing.decoded();
    const auto at = filled_at_.find(timing.id());
    if (at != filled_at_.end() && filled_ - at->second < core_.uop_cache_slots) return timing.cached();
    filled_ += timing.cache_slots();
    filled_at_[timing.id()] = filled_;
    return timing.decoded();
  }

  TimingParameters core_;
  MemoryLimits memory_;
  std::uint64_t slot_;
  std::uint64_t now_ = 0, slots_ = 0, filled_ = 0;
  struct {
    std::uint64_t done = 0, behind = 0;
    SlotCause cause = SlotCause::Ports;
    std::uint32_t again = 0;  // loads of the block under way that take one once more
  } ports_;
  std::uint32_t last_ = UINT32_MAX;
  std::vector<Retired> retired_;  // each block, and when all up to it were complete
  std::map<std::uint32_t, std::uint64_t> filled_at_;
  std::vector<std::pair<std::uint64_t, Late>> outstanding_;  // each load's dispatch, and when it came from where

  // The block under way.
  Block block_;
  InstructionCost cost_;
  Value addressed_, result_, whole_;
  std::map<unsigned, std::pair<Value, std::uint64_t>> written_;  // and the delays up to its writer
  std::uint64_t shift_ = 0, offset_ = 0, behind_ = 0;
  Late last_result_;
  const BlockTiming* timing_ = nullptr;
  BlockBound bound_;
};

}  // namespace zs::uarch
