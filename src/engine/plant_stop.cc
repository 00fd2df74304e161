#include "engine/plant_stop.h"

// -mgeneral-regs-only (dependencies.cmake)

namespace {

constexpr unsigned kJumpBytes = sizeof zs::engine::Context::stop_covers;

void copy_bytes(volatile std::uint8_t* to, const volatile std::uint8_t* from) {
  for (unsigned i = 0; i < kJumpBytes; ++i) to[i] = from[i];
}

}  // namespace

extern "C" void zs_lift_stop(zs::engine::Context* context) {
  if (context->stop_at == 0) return;
  copy_bytes(reinterpret_cast<volatile std::uint8_t*>(context->stop_at), context->stop_covers);
  context->stop_at = 0;
}

extern "C" std::uint64_t zs_plant_stop(zs::engine::Context* context, std::uint64_t stopped) {
  using zs::engine::NearTable;
  zs_lift_stop(context);  // of a block that was left at its side
  const auto* table = reinterpret_cast<const NearTable*>(context->near_table);
  const auto* words = reinterpret_cast<const std::uint32_t*>(table + 1);
  // So many instructions may run, and the one after them has to be told of alone.
  const std::uint64_t distance = table->end - context->trace_pointer;
  if (context->no_stop != 0 || distance == 0 || distance >= table->instructions) return table->leave;
  // Where it is a plain one, it runs too: what it did shows in the registers behind it.
  const bool observes = (words[distance] & NearTable::kPlain) != 0 && distance + 1 < table->instructions;
  const std::uint64_t index = observes ? distance + 1 : distance;
  const std::uint64_t at = table->entry + (words[index] & NearTable::kOffset);
  context->stop_at = at;
  context->stop_block = table->block;
  context->stop_index = static_cast<std::uint16_t>(index);
  context->stop_observes = observes;
  // The block's exits are longer than the jump, so this covers nothing of another block, nor of a side exit before it.
  auto* code = reinterpret_cast<volatile std::uint8_t*>(at);
  copy_bytes(context->stop_covers, code);
  const auto distance_to_stub = static_cast<std::uint32_t>(stopped - (at + kJumpBytes));
  code[0] = 0xE9;  // jmp rel32
  for (unsigned i = 0; i < 4; ++i) code[1 + i] = static_cast<std::uint8_t>(distance_to_stub >> (8 * i));
  return table->resume;
}
