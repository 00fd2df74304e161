#include "engine/overflow_points.h"

#include <algorithm>
#include <span>
#include <utility>

namespace zs::engine {
namespace {

/// Since C++ was left last.
std::span<const PassedStop> passed_stops(const Context& context) {
  const std::uint64_t first = reinterpret_cast<std::uint64_t>(&context) + kPassedOffset;
  return {reinterpret_cast<const PassedStop*>(first), context.passed};
}

/// The glue in front of an instruction has run: its registers go back. What an indirect branch spills, it spills later.
void give_back(const InsnMeta& meta, std::uint64_t (&gprs)[16], std::uint64_t slot_map, std::uint64_t slot_far) {
  if (const unsigned number = meta.far_register(); number != 0) gprs[number - 1] = slot_far;
  if (meta.map_register != 0) gprs[kTracePointer] = std::exchange(gprs[meta.map_register], slot_map);
}

}  // namespace

std::uint64_t OverflowPoints::approach(std::uint64_t distance, std::uint32_t link_from) {
  if (!run_.translator->has_near() || distance == 0 || code_.may_change_unseen(run_.thread->pc)) return 0;
  const std::uint64_t generation = run_.code_generation();
  const Block& block = run_.translator->get(run_.thread->pc, Variant::Near);
  if (block.instructions == 0) return 0;
  if (link_from != kNone && generation == run_.code_generation()) run_.translator->link(link_from, block);
  if (run_.wants_indirect_entry) run_.translator->add_near_entry(run_.translator->blocks().index_of(block));
  const std::uint64_t most = run_.trace().room();
  if (distance <= most) stretches_.allow_passes();
  run_.context.trace_pointer = run_.trace_start = run_.translator->near_end() - std::min(distance, most);
  return block.entry;
}

void OverflowPoints::retire_deferred() {
  const BlockStore& blocks = run_.translator->blocks();
  const std::span<const PassedStop> stops = passed_stops(run_.context);
  run_.visits.passed += stops.size();
  for (const PassedStop& stop : stops) {
    run_.observer().reported_late(stop.host_ticks);
    accountant_.tally.count_up_to_overflow();
    const Block& block = blocks.block(stop.block);
    const InsnMeta& meta = blocks.meta(block, stop.index);
    std::uint64_t gprs[16];
    std::ranges::copy(stop.gpr, gprs);
    give_back(meta, gprs, stop.slot_map, stop.slot_far);
    if (stop.kind == StopKind::Behind)
      accountant_.steps.retire_behind(block.pc_of(blocks.meta(block, stop.index - 1u)), block.pc_of(meta), gprs,
                                      stop.flags);
    else
      accountant_.steps.retire_branch(block.pc_of(meta), gprs, stop.flags);
  }
  if (std::exchange(run_.context.passed, 0) != 0) {
    run_.observer().reported_late(0);
    run_.trace_start = run_.translator->near_end();
  }
  if (const std::uint64_t restarted = std::exchange(run_.context.restarted, 0); restarted != 0)
    run_.trace_start = restarted;
  // Here and not where the next stretch is chosen: another thread may come in between.
  run_.context.forget_passed_stops();
}

std::uint64_t OverflowPoints::leave_near(const Allowance& allowed) {
  const auto stopped = std::exchange(stopped_, {});
  if (stopped.block == kNone || stopped.pc != run_.thread->pc) return 0;
  const Block& block = run_.translator->blocks().block(stopped.block);
  const InsnMeta& meta = run_.translator->blocks().meta(block, stopped.index);
  const bool addressed = meta.far_register() != 0;
  if (block.dead || addressed || run_.translator->blocks().find(run_.thread->pc, Variant::Full) != nullptr) return 0;
  if (meta.map_register != 0)
    run_.context.slot_map = std::exchange(run_.gpr(static_cast<Gpr>(meta.map_register)), run_.gpr(kTracePointer));
  run_.trace_start = run_.translator->near_end();  // nothing fits behind the block
  run_.context.trace_pointer = run_.trace_start - stopped.index + kPastStops;
  run_.context.past_stop = 1;
  run_.context.restart = stretches_.begin(allowed);
  return block.entry + meta.code_offset;
}

void OverflowPoints::link_behind_stop(std::uint32_t& link_from) {
  if (link_from == kNone || !run_.translator->comes_out_again(link_from) || code_.may_change_unseen(run_.thread->pc))
    return;
  const std::uint64_t generation = run_.code_generation();
  const Block& block = run_.translator->get(run_.thread->pc, Variant::Near);
  if (generation != run_.code_generation())
    link_from = kNone;
  else if (block.instructions != 0)
    run_.translator->link(link_from, block);
}

void OverflowPoints::leave_stop() {
  const Block& block = run_.translator->blocks().block(run_.context.stop_block);
  const InsnMeta& meta = run_.translator->blocks().meta(block, run_.context.stop_index);
  give_back(meta, run_.context.gpr, run_.context.slot_map, run_.context.slot_far);
  run_.thread->pc = block.pc_of(meta);
  stopped_ = {run_.context.stop_block, run_.context.stop_index, run_.thread->pc};
  const bool behind = run_.context.stop_kind == StopKind::Behind;
  run_.context.trace_pointer += run_.context.stop_index - (behind ? 1U : 0U);
  accountant_.drain({});
  if (behind)
    accountant_.steps.retire_behind(block.pc_of(run_.translator->blocks().meta(block, run_.context.stop_index - 1u)),
                                    run_.thread->pc, run_.context.gpr, run_.context.flags);
}

}  // namespace zs::engine
