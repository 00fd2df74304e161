#include "engine/translate/stand_in.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"

namespace zs::engine {
namespace {

/// With the REX/VEX extension bit set like r11's own, and with no special meaning as base.
constexpr Gpr kStandIns[] = {kR8, kR9, kR10, kR14, kR15};

/// Rewrites every place where `insn` encodes r11 to `reg`.
void rename_trace_register(std::uint8_t* bytes, const Insn& insn, int reg) {
  const auto low = static_cast<unsigned>(reg) & 7u;
  const auto set = [&](std::uint8_t at, unsigned shift) {
    bytes[at] = static_cast<std::uint8_t>((bytes[at] & ~(7u << shift)) | (low << shift));
  };
  if (insn.trace_register_at & 1) set(insn.modrm_at, 3);
  if (insn.trace_register_at & 2) set(insn.modrm_at, 0);
  if (insn.trace_register_at & 4) set(insn.sib_at, 0);
  if (insn.trace_register_at & 8) set(insn.sib_at, 3);
  if (insn.trace_register_at & 16) {
    bytes[insn.vvvv_at] =
        static_cast<std::uint8_t>((bytes[insn.vvvv_at] & ~0x78u) | ((~static_cast<unsigned>(reg) & 15u) << 3));
  }
  if (insn.trace_register_at & 32) set(insn.opcode_at, 0);
}

void exchange_fs_prefix(std::uint8_t* bytes) {
  static constexpr std::uint8_t kLegacyPrefixes[] = {0x26, 0x2E, 0x36, 0x3E, kFsPrefix, kGsPrefix,
                                                     0x66, 0x67, 0xF0, 0xF2, 0xF3};
  for (; std::ranges::find(kLegacyPrefixes, *bytes) != std::end(kLegacyPrefixes); ++bytes) {
    if (*bytes == kFsPrefix) *bytes = kGsPrefix;
  }
}

/// The one that the rest of the path mentions last, so that it stays for long.
Gpr choose_stand_in(const Path& path, std::size_t index) {
  const Insn& insn = path.steps[index].insn;
  int best = -1;
  std::size_t best_distance = 0;
  for (const Gpr candidate : kStandIns) {
    if (insn.mentions(candidate)) continue;
    std::size_t distance = index + 1;
    while (distance < path.steps.size() && !path.steps[distance].insn.mentions(candidate)) ++distance;
    if (best < 0 || distance > best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  CHECK(best >= 0);
  return static_cast<Gpr>(best);
}

}  // namespace

void StandIn::map_anew(Emitter& out, const Path& path, std::size_t index) {
  const Insn& insn = path.steps[index].insn;
  if (is_there() && insn.mentions(static_cast<Gpr>(reg_))) unmap(out);
  if (!insn.mentions(kTracePointer) || is_there()) return;
  const Gpr chosen = choose_stand_in(path, index);
  reg_ = chosen;
  out.store(offsetof(Context, slot_map), chosen);
  out.load(chosen, gpr_offset(kTracePointer));
}

void StandIn::unmap(Emitter& out) {
  if (!is_there()) return;
  out.store(gpr_offset(kTracePointer), static_cast<Gpr>(reg_));
  out.load(static_cast<Gpr>(reg_), offsetof(Context, slot_map));
  reg_ = -1;
}

void StandIn::rewrite(const Insn& insn, std::uint8_t (&bytes)[16]) const {
  if (insn.mentions(kTracePointer)) rename_trace_register(bytes, insn, reg_);
  if (insn.fs) exchange_fs_prefix(bytes);
}

}  // namespace zs::engine
