// Code in memory that others may write: another process, or this one through another mapping of the same file, as
// just-in-time compilers do that never map a page both writable and executable. No fault tells of such a write. So a
// translation begins by comparing the bytes it was made of with those that are there now, eight at a time and without
// touching flags, and may then be linked to like any other. Where they differ it leaves, and is made anew.
// A write that comes while the block runs is seen at its next entry; a processor may be as late.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "engine/translate/translator.h"

namespace zs::engine {

// In front of the block's first instruction, with nothing of the program spilled or renamed.
void Translator::emit_code_check(const Path& path) {
  stale_jumps_.clear();
  if (path.steps.empty()) return;
  stale_exit_ = new_exit(ExitKind::Stale, current_.pc, current_.pc, 0, false, running_);
  out_.store(offsetof(Context, slot_rcx), kRcx);
  out_.store(offsetof(Context, slot_rax), kRax);
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i < path.steps.size();) {
    const std::uint64_t start = path.steps[i].insn.pc;
    bytes.clear();
    for (; i < path.steps.size() && path.steps[i].insn.pc == start + bytes.size(); ++i) {
      const Insn& insn = path.steps[i].insn;
      bytes.insert(bytes.end(), insn.bytes.begin(), insn.bytes.begin() + insn.length);
    }
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t left = bytes.size() - at;
      std::size_t size = left >= 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
      if (left < 8 && bytes.size() >= 8) {  // the last eight once more
        at = bytes.size() - 8;
        size = 8;
      }
      std::uint64_t expected = 0;
      std::memcpy(&expected, &bytes[at], size);
      emit_comparison(start + at, expected, size);
      at += size;
    }
  }
  out_.load(kRcx, offsetof(Context, slot_rcx));
  out_.load(kRax, offsetof(Context, slot_rax));
}

// Falls through if the `size` bytes at `address` are `expected`. Clobbers rax and rcx.
void Translator::emit_comparison(std::uint64_t address, std::uint64_t expected, std::size_t size) {
  out_.need(kMostPerStep);
  if (size == 8) {
    out_.u8(0x48);
    out_.u8(0xA1);
    out_.u64(address);  // mov rax, [address]
  } else if (size == 4) {
    out_.u8(0xA1);
    out_.u64(address);  // mov eax, [address]
  } else {
    out_.mov_imm(kRax, address);
    for (const unsigned byte : {0x0Fu, size == 2 ? 0xB7u : 0xB6u, 0x00u}) out_.u8(byte);  // movzx eax, [rax]
  }
  out_.mov_imm(kRcx, 0 - expected);
  out_.add_registers(kRcx, kRax, 0);
  out_.jmp_unless_rcx_is_0(out_.here());
  stale_jumps_.push_back(out_.here());
}

void Translator::emit_stale_exit() {
  if (stale_jumps_.empty()) return;
  for (const std::uint64_t after : stale_jumps_) Emitter::patch_rel32(after, out_.here());
  stale_jumps_.clear();
  out_.load(kRcx, offsetof(Context, slot_rcx));
  out_.load(kRax, offsetof(Context, slot_rax));
  out_.store_imm32(offsetof(Context, exit_id), stale_exit_);
  out_.jmp(stubs_.step_done);
}

}  // namespace zs::engine
