// The register that stands in for the stolen one (kTracePointer) while instructions run that mention it: it holds the
// program's value of that one, and its own lies in Context::slot_map. Once chosen it stays until an instruction
// mentions it, or the path is left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "engine/isa_names.h"
#include "engine/translate/context.h"
#include "engine/translate/emitter.h"
#include "engine/translate/superblock.h"

namespace zs::engine {

/// Where the program's value of `reg` lies while another is in it.
constexpr std::size_t gpr_offset(unsigned reg) { return offsetof(Context, gpr) + 8 * reg; }

inline constexpr std::uint8_t kFsPrefix = 0x64, kGsPrefix = 0x65;

class StandIn {
 public:
  /// -1: there is none.
  int reg() const { return reg_; }
  bool is_there() const { return reg_ >= 0; }
  /// Which register holds, in code emitted now, what the program has in `reg`.
  Gpr of(int reg) const { return static_cast<Gpr>(reg == kTracePointer ? reg_ : reg); }
  /// Before instruction `index` of `path`: chooses one if need be, and frees one that this instruction mentions.
  void map(Emitter& out, const Path& path, std::size_t index) {
    if (is_there() || path.steps[index].insn.mentions(kTracePointer)) map_anew(out, path, index);
  }
  void unmap(Emitter& out);
  /// The bytes of `insn` as they are to run: with the stand-in, and with GS for FS, since the program's FS base is
  /// there.
  void copy(const Insn& insn, std::uint8_t (&bytes)[16]) const {
    std::memcpy(bytes, insn.bytes.data(), sizeof insn.bytes);
    bytes[15] = 0;
    if (insn.mentions(kTracePointer) || insn.fs) rewrite(insn, bytes);
  }

 private:
  void map_anew(Emitter& out, const Path& path, std::size_t index);
  void rewrite(const Insn& insn, std::uint8_t (&bytes)[16]) const;

  int reg_ = -1;
};

}  // namespace zs::engine
