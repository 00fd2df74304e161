// Emits what an exit tells the trace: its record, in the form that the trace has.
#pragma once

#include <cstdint>

#include "engine/translate/block_store.h"
#include "engine/translate/code_cache.h"
#include "engine/translate/emitter.h"
#include "engine/translate/superblock.h"

namespace zs::engine {

class RecordEmitter {
 public:
  RecordEmitter(const Window& window, const BlockStore& store, const TranslationOptions& options)
      : window_(window), store_(store), options_(options) {}

  void emit(Emitter& out, std::uint32_t exit_id) const;

 private:
  void emit_store(Emitter& out, std::uint32_t record) const;
  static void emit_mark_note(Emitter& out, std::uint32_t exit_id);

  const Window& window_;
  const BlockStore& store_;
  const TranslationOptions& options_;
};

}  // namespace zs::engine
