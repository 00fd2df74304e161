#include "engine/translate/record_emitter.h"

#include <cstddef>

#include "engine/translate/context.h"
#include "engine/translate/trace_record.h"

namespace zs::engine {

void RecordEmitter::emit(Emitter& out, std::uint32_t exit_id) const {
  const Exit& exit = store_.exit(exit_id);
  const bool probed = store_.probe_of(exit_id) != ProbeTime::None;
  switch (options_.form) {
    case TraceForm::Records:
      emit_store(out, exit_id | (probed ? kProbedRecord : 0));
      out.add_disp(kTracePointer, 4);
      break;
    case TraceForm::Spaced: {
      const std::uint32_t words = store_.counts().words(exit_id);
      out.add_disp(kTracePointer, static_cast<std::int32_t>(4 * words));
      emit_store(out, SpacedRecord::make(exit_id, words));
      break;
    }
    case TraceForm::Budget:
      if (probed) emit_probe_note(out, exit_id);
      if (exit.advance != 0) out.add_disp(kTracePointer, exit.advance);
      if (!exit.near && !exit.quiet) emit_store(out, exit_id);
      break;
  }
}

void RecordEmitter::emit_store(Emitter& out, std::uint32_t record) const {
  const auto bias = static_cast<std::uint32_t>(trace_.pointer_bias());
  for (const std::uint8_t byte : bias != 0 ? kBiasedAppend : kAppend) out.u8(byte);
  if (bias != 0) out.u32(bias);
  out.u32(record);
}

// Before the append, so that the note is there when that runs into the guard.
void RecordEmitter::emit_probe_note(Emitter& out, std::uint32_t exit_id) {
  out.store(offsetof(Context, slot_scratch), kRax);
  out.load(kRax, offsetof(Context, probe_note));
  out.code({0x44, 0x89, 0x18});  // mov [rax], r11d
  static_assert(offsetof(ProbeNote, pointer) == 0 && offsetof(ProbeNote, exit) == 4 && kTracePointer == kR11);
  out.code({0xC7, 0x40, 0x04});  // mov dword [rax + 4], imm32
  out.u32(exit_id | ProbeNote::kIsProbe);
  out.add_disp(kRax, sizeof(ProbeNote));
  out.store(offsetof(Context, probe_note), kRax);
  out.load(kRax, offsetof(Context, slot_scratch));
}

}  // namespace zs::engine
