// What only blocks of Variant::Near have, the translation close to an overflow: at the entry a check whether all of the
// block may run; between its instructions checks whether this is the stop, where the overflow is next or was just now;
// and behind its code the way on where not all may run, with the table by which the stop is chosen (near_stop.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/translate/block.h"
#include "engine/translate/emitter.h"
#include "engine/translate/near_stop.h"
#include "engine/translate/stubs.h"
#include "engine/translate/superblock.h"
#include "engine/translate/trace_buffer.h"

namespace zs::engine {

/// The value of the trace pointer at which nothing more may run in Variant::Near. Behind the guard by what a block may
/// do unseen, because the guard stands that much too early.
inline std::uint64_t near_end(const TraceBuffer& trace, const TranslationOptions& options) {
  return trace.end() + options.most_unbraked();
}

class NearCode {
 public:
  NearCode(const TraceBuffer& trace, const Stubs& stubs, const TranslationOptions& options)
      : trace_(trace), stubs_(stubs), options_(options) {}

  /// At the entry: falls through if all of the block may run.
  void emit_entry_check(Emitter& out, const Path& path);
  /// Before the code of instruction `index`, whose glue is there: is this where the stop is, as zs_choose_stop says?
  /// plain, foreseen: InsnMeta of the instruction; plain_before: of the one before it
  void emit_stop_check(Emitter& out, std::size_t index, bool plain_before, bool plain, bool foreseen);
  /// Behind the code of a block with so many instructions: chooses the stop, and falls through to where an exit goes
  /// over to Variant::Full.
  void emit_choice(Emitter& out, unsigned instructions);
  /// Behind that exit.
  /// index  of the block
  /// metas  of its instructions
  /// leave  where that exit says its id to C++
  void emit_table(Emitter& out, const Block& block, std::uint32_t index, std::span<const InsnMeta> metas,
                  std::uint64_t leave);

 private:
  void emit_flags_back(Emitter& out) const;

  const TraceBuffer& trace_;
  const Stubs& stubs_;
  const TranslationOptions& options_;
  std::uint64_t entry_jump_after_ = 0;  // the jump of the entry's check,
  std::uint64_t limit_after_ = 0;       // and the immediate that it compares with
  bool flags_saved_ = false;
  std::uint64_t stop_jump_ = 0;    // the last jump to Stubs::at_stop in the block; 0: none yet
  std::size_t instructions_ = 0;   // that will be counted in it
  std::uint64_t leave_after_ = 0;  // the jump to where its exit says its id
  std::uint64_t table_after_ = 0;  // the immediate that holds the address of the table
  NearTable table_{};
};

}  // namespace zs::engine
