#include "engine/translate/horizon_check.h"

#include "isa/flag_writer.h"

namespace zs::engine {

std::uint64_t brake_bytes(const TranslationOptions& options) {
  // A spaced trace has few words to give away, since each stands for many instructions. With a core model it stands for
  // one and a path takes several; measured there: with 8 words perl takes 9 % and python3 6 % longer, because most
  // stretches run into the guard; with 32 zstd takes 8 % longer, whose last misses before a sample are logged. For the
  // budget form, TraceBuffer::kBrakeBudget.
  constexpr std::uint64_t kBytes = 4 * 8, kModelledBytes = 4 * 16;
  if (!options.brakes || options.has_near()) return 0;
  return options.addresses ? kModelledBytes : kBytes;
}

bool HorizonCheck::is_wanted(const Path& path, std::size_t index, const Block& block) const {
  if (block.variant != Variant::Full || block.unseen_changes || !overwrites_flags(path.steps[index].insn)) return false;
  return index != 0 || (options_.has_near() && !path.has_brake());
}

void HorizonCheck::emit(Emitter& out) {
  constexpr unsigned kAboveOrEqual = 3, kGreaterOrEqual = 13;
  if (options_.has_near()) {
    out.add_imm8(kTracePointer, 0);
    adds_after_ = out.here();
    adds_ = kUnknown;
    out.jcc(kGreaterOrEqual, out.here());
  } else {
    out.compare32(kTracePointer, static_cast<std::uint32_t>(trace_.end() - brake_bytes(options_)));
    out.jcc(kAboveOrEqual, out.here());
  }
}

std::int16_t HorizonCheck::advance(std::int32_t all) {
  if (adds_ == kUnknown) {
    adds_ = all;
    *reinterpret_cast<std::int8_t*>(adds_after_ - 1) = static_cast<std::int8_t>(all);
  }
  return static_cast<std::int16_t>(all - adds_);
}

}  // namespace zs::engine
