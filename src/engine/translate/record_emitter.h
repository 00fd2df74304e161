// Emits what an exit tells the trace: its record, in the form that the trace has.
#pragma once

#include <cstdint>

#include "engine/translate/block_store.h"
#include "engine/translate/emitter.h"
#include "engine/translate/superblock.h"
#include "engine/translate/trace_buffer.h"

namespace zs::engine {

class RecordEmitter {
 public:
  RecordEmitter(const TraceBuffer& trace, const BlockStore& store, const TranslationOptions& options)
      : trace_(trace), store_(store), options_(options) {}

  void emit(Emitter& out, std::uint32_t exit_id) const;

 private:
  void emit_store(Emitter& out, std::uint32_t record) const;
  static void emit_probe_note(Emitter& out, std::uint32_t exit_id);

  const TraceBuffer& trace_;
  const BlockStore& store_;
  const TranslationOptions& options_;
};

}  // namespace zs::engine
