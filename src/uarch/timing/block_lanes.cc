#include "uarch/timing/block_lanes.h"

namespace zs::uarch {

void BlockLanes::join_load(const InlineClock& clock, std::size_t load, std::uint32_t cycles, SlotCause cause) {
  join_results(clock);
  join_events(clock);
  const auto dispatched = lane_[clock.block->load_lane(load)] & ~static_cast<Latency>(kCauseBits);
  const auto done =
      static_cast<Latency>(dispatched + static_cast<Latency>(cycles * kUnitsPerCycle)) | static_cast<Latency>(cause);
  detail::join_row(lane_.data(), clock.block->from_load(load), done, clock.block->lanes());
}

void BlockLanes::delay(const InlineClock& clock, std::size_t instruction, std::uint32_t shift) {
  const auto start = static_cast<Latency>(clock.now - clock.base + shift);
  const std::size_t first = clock.block->result_lanes();
  for (std::size_t i = 0; i < clock.block->lanes(); ++i) {
    if (clock.block->lane_instruction(i) < instruction) continue;
    const Latency latency = i < first ? clock.block->results_of(0)[i] : clock.block->events_of(0)[i - first];
    lane_[i] = std::max(lane_[i], latency + start);
  }
}

}  // namespace zs::uarch
