#include "engine/translate/near_stop.h"

// -mgeneral-regs-only (dependencies.cmake)

namespace {

constexpr unsigned kGprs = 16;

std::uint64_t host_ticks() {
  std::uint32_t low, high;
  asm volatile("rdtsc" : "=a"(low), "=d"(high));
  return std::uint64_t{high} << 32 | low;
}

}  // namespace

extern "C" std::uint64_t zs_choose_stop(zs::engine::Context* context) {
  using zs::engine::kPastStops;
  using zs::engine::NearTable;
  using zs::engine::StopKind;
  const auto* table = reinterpret_cast<const NearTable*>(context->near_table);
  const auto* words = reinterpret_cast<const std::uint32_t*>(table + 1);
  if (context->tripped != 0) return table->leave;
  if (context->past_stop != 0) {
    if (context->restart == 0) return table->leave;
    const std::uint64_t beyond = context->trace_pointer - kPastStops - table->end;
    context->trace_pointer = context->restart + beyond;
    context->restarted = context->restart;
    context->restart = 0;
    context->past_stop = 0;
    return table->over;
  }
  // So many instructions may run, and the one after them has to be told of alone.
  const std::uint64_t distance = table->end - context->trace_pointer;
  if (distance >= table->instructions) return table->leave;
  // Where it is a plain one, it runs too: what it did shows in the registers behind it.
  StopKind kind = StopKind::Before;
  if ((words[distance] & NearTable::kForeseen) != 0)
    kind = StopKind::Foreseen;
  else if ((words[distance] & NearTable::kPlain) != 0 && distance + 1 < table->instructions)
    kind = StopKind::Behind;
  if (kind == StopKind::Before && distance == 0) return table->leave;
  const std::uint64_t index = kind == StopKind::Behind ? distance + 1 : distance;
  context->stop_at = table->entry + (words[index] & NearTable::kOffset);
  context->stop_block = table->block;
  context->stop_index = static_cast<std::uint16_t>(index);
  context->stop_kind = kind;
  return table->resume;
}

extern "C" std::uint64_t zs_pass_stop(zs::engine::Context* context) {
  using zs::engine::kPastStops;
  using zs::engine::NearTable;
  using zs::engine::PassedStop;
  using zs::engine::StopKind;
  const bool wanted = *context->waits != 0 || context->tripped != 0;
  if (context->passes_left == 0 || context->stop_kind == StopKind::Before || wanted) return 0;
  const auto base = reinterpret_cast<std::uint64_t>(context) + zs::engine::kPassedOffset;
  auto* const stop = reinterpret_cast<volatile PassedStop*>(base) + context->passed;
  // Volatile, so that no call of memcpy is made of it.
  for (unsigned i = 0; i < kGprs; ++i) stop->gpr[i] = context->gpr[i];
  stop->flags = context->flags;
  stop->slot_map = context->slot_map;
  stop->slot_far = context->slot_far;
  stop->host_ticks = host_ticks();
  stop->block = context->stop_block;
  stop->index = context->stop_index;
  stop->kind = context->stop_kind;
  ++context->passed;
  --context->passes_left;
  // Instructions of the block that are counted already: what lies before the stop, and the one that overflows.
  const std::uint64_t told = context->stop_index + (context->stop_kind == StopKind::Foreseen ? 1U : 0U);
  context->trace_pointer = reinterpret_cast<const NearTable*>(context->near_table)->end - told + kPastStops;
  context->past_stop = 1;
  context->restart = context->period_start;
  context->restarted = 0;
  return context->stop_at;
}
