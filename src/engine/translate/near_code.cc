#include "engine/translate/near_code.h"

#include <cstring>

#include "engine/translate/code_space.h"
#include "isa/flag_writer.h"

namespace zs::engine {

// The immediate is patched when the block's length is known.
void NearCode::emit_entry_check(Emitter& out, const Path& path) {
  stop_jump_ = 0;
  instructions_ = path.steps.size();
  if (instructions_ != 0 && path.steps.back().insn.flow == Flow::Breakpoint) --instructions_;  // does not retire
  flags_saved_ = path.steps.empty() || !overwrites_flags(path.steps[0].insn);
  if (flags_saved_) {
    out.store(offsetof(Context, slot_rax), kRax);
    out.flags_to_ax();
  }
  out.compare32(kTracePointer, 0);
  limit_after_ = out.here();
  constexpr unsigned kGreater = 15;
  out.jcc(kGreater, out.here());
  entry_jump_after_ = out.here();
  emit_flags_back(out);
}

void NearCode::emit_flags_back(Emitter& out) const {
  if (!flags_saved_) return;
  out.ax_to_flags();
  out.load(kRax, offsetof(Context, slot_rax));
}

// The trace pointer tells it, which is that of the block's entry. Nothing of the program changes: rcx and the stolen
// register change places meanwhile.
void NearCode::emit_stop_check(Emitter& out, std::size_t index, bool plain_before, bool plain, bool foreseen) {
  const bool behind = index != 0 && plain_before;
  const bool before = index == 0 ? foreseen : !plain || index + 1 == instructions_;
  if (!behind && !before) return;
  constexpr unsigned kLongest = 32, kReach = 128;  // bytes: of the check up to its last jrcxz, and how far that jumps
  if (stop_jump_ == 0 || out.here() + kLongest - stop_jump_ > kReach) {
    out.code({0xEB, 5});  // jmp over what follows
    stop_jump_ = out.here();
    out.jmp(stubs_.at_stop);
  }
  const auto end = static_cast<std::int32_t>(near_end(trace_, options_) - trace_.pointer_bias());
  std::int32_t added = static_cast<std::int32_t>(index) - (behind ? 1 : 0) - end;
  out.exchange(kRcx, kTracePointer);
  out.add_disp(kRcx, added);
  out.jrcxz(stop_jump_);
  if (behind && before) {
    out.add_disp(kRcx, 1);
    out.jrcxz(stop_jump_);
    ++added;
  }
  out.add_disp(kRcx, -added);
  out.exchange(kRcx, kTracePointer);
}

void NearCode::emit_choice(Emitter& out, unsigned instructions) {
  const auto limit = static_cast<std::uint32_t>(near_end(trace_, options_) - instructions - trace_.pointer_bias());
  std::memcpy(reinterpret_cast<void*>(limit_after_ - sizeof limit), &limit, sizeof limit);
  out.need(CodeSpace::kMostPerStep);
  Emitter::patch_rel32(entry_jump_after_, out.here());
  out.store_imm32(offsetof(Context, near_table), 0);
  table_after_ = out.here();
  out.jmp(stubs_.choose_stop);
  table_.leave = static_cast<std::uint32_t>(out.here());
  emit_flags_back(out);
  out.jmp(out.here());
  leave_after_ = out.here();
  table_.over = static_cast<std::uint32_t>(out.here());
  emit_flags_back(out);
}

void NearCode::emit_table(Emitter& out, const Block& block, std::uint32_t index, std::span<const InsnMeta> metas,
                          std::uint64_t leave) {
  Emitter::patch_rel32(leave_after_, leave);
  while (out.here() % alignof(NearTable) != 0) out.u8(0xCC);
  const auto table_at = static_cast<std::uint32_t>(out.here());
  std::memcpy(reinterpret_cast<void*>(table_after_ - sizeof table_at), &table_at, sizeof table_at);
  table_.block = index;
  table_.entry = static_cast<std::uint32_t>(block.entry);
  table_.resume = static_cast<std::uint32_t>(entry_jump_after_);
  table_.end = static_cast<std::uint32_t>(near_end(trace_, options_));
  table_.instructions = static_cast<std::uint32_t>(metas.size());
  out.bytes(&table_, sizeof table_);
  out.need(sizeof(std::uint32_t) * metas.size());
  for (const InsnMeta& meta : metas) {
    out.u32(meta.code_offset | (meta.plain != 0 ? NearTable::kPlain : 0) |
            (meta.foreseen != 0 ? NearTable::kForeseen : 0));
  }
}

}  // namespace zs::engine
