// Overflows inside a trace: counters whose interrupt needs no registers (VirtualCpu::late_interrupts) do not keep the trace short.
// When it is read, it is cut at each instruction that overflows one: that instruction is counted with what retired before, the
// interrupt is taken, and counting goes on behind it. So an end of a window costs no visit of the dispatcher. Its price is the caches'
// more than the processor's: nothing of it was touched since the last window.

#include <algorithm>

#include "engine/runtime.h"

namespace zs::engine {

void Runtime::look_at_room() {
  std::span<std::uint64_t> left = room_;
  for (const pmu::Pmu* pmu : thread_->cpu.pmus) left = left.subspan(pmu->headrooms(left));
  // A trace does not reach further, whatever is in it.
  constexpr std::uint64_t kFar = std::uint64_t{1} << 40;
  near_lanes_.clear();
  for (std::size_t lane = 0; lane < room_.size(); ++lane) {
    if (room_[lane] < kFar) near_lanes_.push_back(lane);
  }
}

/// totals_ and `more` together overflow nothing. Then totals_ holds both.
bool Runtime::adds_up(std::span<const std::uint64_t> more) {
  for (std::size_t lane = 0; lane < totals_.size(); ++lane) {
    if (totals_[lane] + more[lane] > room_[lane]) return false;
  }
  for (std::size_t lane = 0; lane < totals_.size(); ++lane) totals_[lane] += more[lane];
  return true;
}

void Runtime::count_and_cut(std::span<const std::uint32_t> ids) {
  look_at_room();
  std::fill(totals_.begin(), totals_.end(), 0);
  while (!ids.empty()) {
    const auto now = ids.first(std::min(ids.size(), CountTable::kMostWithin));
    const std::size_t within = translator_->counts().add_within(now, room_, totals_);
    ids = ids.subspan(within);
    if (within == now.size()) continue;
    add_path(translator_->replay().sums_to(ids[0]));
    ids = ids.subspan(1);
  }
  count(totals_);
}

/// sums  what its instructions bring, as SuperblockReplay::sums_to has it
void Runtime::add_path(std::span<const std::uint16_t> sums) {
  const std::size_t lanes = lanes_->size();
  const auto instructions = static_cast<unsigned>(sums.size() / lanes - 1);
  // From one cut to the next: what instructions `from` to `to` bring.
  unsigned from = 0;
  const auto bring = [&](unsigned to, std::size_t lane) {
    return static_cast<std::uint64_t>(sums[to * lanes + lane] - sums[from * lanes + lane]);
  };
  const auto fits = [&](unsigned to) {
    return std::ranges::all_of(near_lanes_,
                               [&](std::size_t lane) { return totals_[lane] + bring(to, lane) <= room_[lane]; });
  };
  const auto add_up_to = [&](unsigned to) {
    for (std::size_t lane = 0; lane < lanes; ++lane) totals_[lane] += bring(to, lane);
    from = to;
  };
  while (!fits(instructions)) {
    unsigned to = from, beyond = instructions;
    const auto probe = [&](unsigned at) {
      if (to < at && at < beyond) (fits(at) ? to : beyond) = at;
    };
    // Right where the lane counts instructions.
    const std::uint64_t left = room_[near_lanes_[0]] - totals_[near_lanes_[0]];
    const unsigned guess = from + static_cast<unsigned>(std::min<std::uint64_t>(left, instructions - from));
    probe(guess);
    probe(guess + 1);
    while (beyond - to > 1) probe(to + (beyond - to) / 2);
    add_up_to(to + 1);
    cut();
  }
  add_up_to(instructions);
}

/// Counts totals_, which overflow something with their last instruction.
void Runtime::cut() {
  std::span<const std::uint64_t> left = totals_;
  for (pmu::Pmu* pmu : thread_->cpu.pmus) left = left.subspan(pmu->pass(left));
  std::fill(totals_.begin(), totals_.end(), 0);
  take_pmi(registers());
  look_at_room();
}

// Of a budget trace: which instruction it is does not matter where nothing but instructions is counted.
void Runtime::count_and_cut_instructions(std::uint64_t instructions) {
  look_at_room();
  while (instructions > room_[0]) {
    instructions -= room_[0] + 1;
    totals_[0] = room_[0] + 1;
    cut();
  }
  totals_[0] = instructions;
  count(totals_);
}

}  // namespace zs::engine
