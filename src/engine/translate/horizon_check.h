// The inline check for the event horizon, called a brake for short: one to a block of Variant::Full, where an overflow
// may be near, so that the block is left early and not by a fault of the guard.
//
// It stands where the program's flags are about to be overwritten, so that it may write them. Not before the first
// instruction, since a block that is entered makes progress; unless there is no other place, in the budget form, where
// a block is entered from afar. Measured there: an interpreter's loop runs 10 % slower with all brakes as early as they
// can be.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/translate/block.h"
#include "engine/translate/emitter.h"
#include "engine/translate/superblock.h"
#include "engine/translate/trace_buffer.h"

namespace zs::engine {

/// From how many bytes before the guard on brakes leave; in a spaced trace.
std::uint64_t brake_bytes(const TranslationOptions& options);

class HorizonCheck {
 public:
  HorizonCheck(const TraceBuffer& trace, const TranslationOptions& options) : trace_(trace), options_(options) {}

  /// Whether it is to stand before instruction `index` of `path`, where there are brakes and it does not stand already.
  bool is_wanted(const Path& path, std::size_t index, const Block& block) const;
  /// Ends with the jump that leaves early, whose rel32 is still to be patched. In the budget form it counts, for the
  /// whole path.
  void emit(Emitter& out);
  /// Whether an exit of that kind behind it appends no record: where the check let pass, the exit stays before the
  /// guard, so it need not look.
  bool silences(ExitKind kind) const {
    return options_.has_near() && (kind == ExitKind::Direct || kind == ExitKind::Indirect);
  }
  /// What an exit behind it adds to the trace pointer, the path to which counts `all`. The check has added what the end
  /// of the path does, and learns it from the first that asks, which is that end; what leaves earlier takes back the
  /// rest.
  std::int16_t advance(std::int32_t all);

 private:
  static constexpr std::int32_t kUnknown = -1;

  const TraceBuffer& trace_;
  const TranslationOptions& options_;
  std::uint64_t adds_after_ = 0;  // end of the addition in it, in the budget form
  std::int32_t adds_ = kUnknown;  // and what it adds
};

}  // namespace zs::engine
