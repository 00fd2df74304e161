#include "engine/translate/code_check.h"

#include <cstring>

#include "engine/translate/code_space.h"
#include "engine/translate/context.h"

namespace zs::engine {

void CodeCheck::emit(Emitter& out, const Path& path, std::uint32_t exit_id) {
  exit_id_ = exit_id;
  out.store(offsetof(Context, slot_rcx), kRcx);
  out.store(offsetof(Context, slot_rax), kRax);
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i < path.steps.size();) {
    const std::uint64_t start = path.steps[i].insn.pc;
    bytes.clear();
    for (; i < path.steps.size() && path.steps[i].insn.pc == start + bytes.size(); ++i) {
      const Insn& insn = path.steps[i].insn;
      bytes.insert(bytes.end(), insn.bytes.begin(), insn.bytes.begin() + insn.length);
    }
    emit_comparisons(out, start, bytes);
  }
  out.load(kRcx, offsetof(Context, slot_rcx));
  out.load(kRax, offsetof(Context, slot_rax));
}

void CodeCheck::emit_comparisons(Emitter& out, std::uint64_t address, const std::vector<std::uint8_t>& bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t left = bytes.size() - at;
    std::size_t size = left >= 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
    if (left < 8 && bytes.size() >= 8) {  // the last eight once more
      at = bytes.size() - 8;
      size = 8;
    }
    std::uint64_t expected = 0;
    std::memcpy(&expected, &bytes[at], size);
    emit_comparison(out, address + at, expected, size);
    at += size;
  }
}

// Falls through if the `size` bytes at `address` are `expected`. Clobbers rax and rcx.
void CodeCheck::emit_comparison(Emitter& out, std::uint64_t address, std::uint64_t expected, std::size_t size) {
  out.need(CodeSpace::kMostPerStep);
  if (size == 8) {
    out.code({0x48, 0xA1});
    out.u64(address);  // mov rax, [address]
  } else if (size == 4) {
    out.u8(0xA1);
    out.u64(address);  // mov eax, [address]
  } else {
    out.mov_imm(kRax, address);
    out.code({0x0Fu, size == 2 ? 0xB7u : 0xB6u, 0x00u});  // movzx eax, [rax]
  }
  out.mov_imm(kRcx, 0 - expected);
  out.add_registers(kRcx, kRax, 0);
  out.jmp_unless_rcx_is_0(out.here());
  jumps_.push_back(out.here());
}

void CodeCheck::emit_exit(Emitter& out, std::uint64_t leave) {
  if (jumps_.empty()) return;
  for (const std::uint64_t after : jumps_) Emitter::patch_rel32(after, out.here());
  jumps_.clear();
  out.load(kRcx, offsetof(Context, slot_rcx));
  out.load(kRax, offsetof(Context, slot_rax));
  out.store_imm32(offsetof(Context, exit_id), exit_id_);
  out.jmp(leave);
}

}  // namespace zs::engine
