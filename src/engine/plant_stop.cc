#include "engine/plant_stop.h"

// -mgeneral-regs-only (dependencies.cmake)

namespace {

constexpr unsigned kJumpBytes = 5;  // jmp rel32
constexpr unsigned kGprs = 16;

std::uint64_t host_ticks() {
  std::uint32_t low, high;
  asm volatile("rdtsc" : "=a"(low), "=d"(high));
  return std::uint64_t{high} << 32 | low;
}

/// Puts a jump's bytes over the code at `at`. returns what was there
/// By aligned words, of which there are one or two: the processor starts anew at each store into code that has run lately, whatever its
/// size. Measured: 400 ticks a store.
std::uint64_t exchange_code(std::uint64_t at, std::uint64_t bytes) {
  constexpr std::uint64_t kBytes = (std::uint64_t{1} << 8 * kJumpBytes) - 1;
  constexpr unsigned kWord = sizeof(std::uint64_t);
  auto* const words = reinterpret_cast<volatile std::uint64_t*>(at & ~std::uint64_t{kWord - 1});
  const unsigned into = at % kWord, shift = 8 * into;
  const std::uint64_t first = words[0];
  words[0] = (first & ~(kBytes << shift)) | bytes << shift;
  std::uint64_t covered = first >> shift;
  if (into + kJumpBytes > kWord) {
    const unsigned behind = 8 * kWord - shift;
    const std::uint64_t second = words[1];
    words[1] = (second & ~(kBytes >> behind)) | bytes >> behind;
    covered |= second << behind;
  }
  return covered & kBytes;
}

}  // namespace

extern "C" void zs_lift_stop(zs::engine::Context* context) {
  if (context->stop_at == 0) return;
  exchange_code(context->stop_at, context->stop_covers);
  context->stop_at = 0;
}

extern "C" std::uint64_t zs_plant_stop(zs::engine::Context* context, std::uint64_t stopped) {
  using zs::engine::NearTable;
  using zs::engine::StopKind;
  zs_lift_stop(context);  // of a block that was left at its side
  const auto* table = reinterpret_cast<const NearTable*>(context->near_table);
  const auto* words = reinterpret_cast<const std::uint32_t*>(table + 1);
  // So many instructions may run, and the one after them has to be told of alone.
  const std::uint64_t distance = table->end - context->trace_pointer;
  if (context->tripped != 0) return table->leave;
  if (context->no_stop != 0) {
    if (context->restart == 0) return table->leave;
    context->trace_pointer = context->restart - distance;
    context->restarted = context->restart;
    context->restart = 0;
    context->no_stop = 0;
    return table->over;
  }
  if (distance >= table->instructions) return table->leave;
  // Where it is a plain one, it runs too: what it did shows in the registers behind it.
  StopKind kind = StopKind::Before;
  if ((words[distance] & NearTable::kForeseen) != 0)
    kind = StopKind::Foreseen;
  else if ((words[distance] & NearTable::kPlain) != 0 && distance + 1 < table->instructions)
    kind = StopKind::Behind;
  if (kind == StopKind::Before && distance == 0) return table->leave;
  const std::uint64_t index = kind == StopKind::Behind ? distance + 1 : distance;
  const std::uint64_t at = table->entry + (words[index] & NearTable::kOffset);
  context->stop_at = at;
  context->stop_block = table->block;
  context->stop_index = static_cast<std::uint16_t>(index);
  context->stop_kind = kind;
  // The block's exits are longer than the jump, so this covers nothing of another block, nor of a side exit before it.
  const auto distance_to_stub = static_cast<std::uint32_t>(stopped - (at + kJumpBytes));
  constexpr std::uint64_t kJump = 0xE9;
  context->stop_covers = exchange_code(at, std::uint64_t{distance_to_stub} << 8 | kJump);
  return table->resume;
}

extern "C" std::uint64_t zs_pass_stop(zs::engine::Context* context) {
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
  const std::uint64_t at = context->stop_at;
  zs_lift_stop(context);
  // Instructions of the block that are counted already: what lies before the stop, and the one that overflows.
  const std::uint64_t told = context->stop_index + (context->stop_kind == StopKind::Foreseen ? 1U : 0U);
  context->trace_pointer = reinterpret_cast<const NearTable*>(context->near_table)->end - told;
  context->no_stop = 1;
  context->restart = context->period_start;
  context->restarted = 0;
  return at;
}
