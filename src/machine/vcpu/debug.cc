// Debug registers: what DR0..DR3 and DR7 match, MOV to and from them.
// source: SDM vol. 3B, "Debug Registers", figure "Debug Registers"; table "Debug Exception Conditions".
#include <algorithm>
#include <utility>

#include "machine/vcpu/lower.h"

namespace zs::machine::vcpu {
namespace {

using U32 = std::uint32_t;
using U64 = std::uint64_t;

struct Condition {
  bool enabled = false;
  unsigned kind = 0;  // 0 execute, 1 write, 2 I/O, 3 read or write
  unsigned bytes = 1;
};
Condition condition(U64 dr7, unsigned n) {
  static constexpr unsigned kBytes[] = {1, 2, 8, 4};
  return {(dr7 >> (2 * n) & 3) != 0, static_cast<unsigned>(dr7 >> (16 + 4 * n) & 3), kBytes[dr7 >> (18 + 4 * n) & 3]};
}

/// A bit for each register whose condition `matches(condition, number)`.
template <typename Matches>
U64 hits_of(U64 dr7, Matches matches) {
  U64 hits = 0;
  for (unsigned n = 0; n < 4; ++n) hits |= U64{matches(condition(dr7, n), n)} << n;
  return hits;
}

bool overlap(U64 a, U64 a_bytes, U64 b, U64 b_bytes) { return a < b + b_bytes && b < a + a_bytes; }

}  // namespace

void Core::check_data_breakpoints(std::uint64_t linear, unsigned bytes, bool write) {
  U64 hits = 0;
  for (unsigned n = 0; n < 4; ++n) {
    const Condition c = condition(dr7, n);
    const bool kind_matches = c.kind == 3 || (c.kind == 1 && write);
    if (kind_matches && overlap(breakpoints[n] & ~U64{c.bytes - 1}, c.bytes, linear, bytes)) hits |= U64{1} << n;
    // DR6 shows a match of a disabled register too, but only an enabled one traps.
    if ((hits >> n & 1) != 0 && c.enabled) pending_dr6 |= U64{1} << n;
  }
  if (pending_dr6 != 0) {
    pending_dr6 |= hits;
    arm();
  }
}

void Core::check_io_breakpoints(std::uint16_t port, unsigned bytes) {
  if ((cr4 & cr4::de) == 0) return;
  pending_dr6 |= hits_of(dr7, [&](const Condition& c, unsigned n) {
    return c.enabled && c.kind == 2 && overlap(breakpoints[n] & ~U64{c.bytes - 1}, c.bytes, port, bytes);
  });
  if (pending_dr6 != 0) arm();
}

bool Core::watches_code() const {
  return hits_of(dr7, [](const Condition& c, unsigned) { return c.enabled && c.kind == 0; }) != 0;
}

bool Core::code_breakpoint_here() {
  const U64 hits = hits_of(
      dr7, [&](const Condition& c, unsigned n) { return c.enabled && c.kind == 0 && breakpoints[n] == linear_ip(); });
  if (hits != 0) note_debug_cause(hits);
  return hits != 0;
}

void Core::note_debug_cause(std::uint64_t causes) {
  constexpr U64 kBreakpoints = 0xF;
  dr6 = (dr6 & ~kBreakpoints) | causes | std::exchange(pending_dr6, 0);
}

namespace {

void check_debug_access(Core& c, unsigned number) {
  if ((number == 4 || number == 5) && (c.cr4 & cr4::de) != 0) raise_ud();
  if (c.cpl != 0) raise_gp();
  if ((c.dr7 >> 13 & 1) != 0) {  // GD
    c.note_debug_cause(1u << 13);
    throw Fault{kDebug, false, 0};
  }
}

void mov_from_debug(Core& c, const Insn& i) {
  check_debug_access(c, i.src);
  const unsigned number = i.src == 4 ? 6u : i.src == 5 ? 7u : i.src;
  const U64 value = number == 6 ? c.dr6 : number == 7 ? c.dr7 : c.breakpoints[number & 3];
  c.code64 ? c.set_reg<U64>(i.dst, value) : c.set_reg<U32>(i.dst, static_cast<U32>(value));
}

void mov_to_debug(Core& c, const Insn& i) {
  check_debug_access(c, i.dst);
  const unsigned number = i.dst == 4 ? 6u : i.dst == 5 ? 7u : i.dst;
  const U64 value = c.code64 ? c.reg<U64>(i.src) : c.reg<U32>(i.src);
  if (number >= 6 && value >> 32 != 0) raise_gp();
  switch (number) {
    case 6: c.dr6 = (value & 0xE00F) | 0xFFFF0FF0; break;
    case 7: c.dr7 = (value & 0xFFFF23FF) | 0x400; break;
    default: c.breakpoints[number & 3] = value; break;
  }
  c.refresh_watching();
  c.arm();
}

}  // namespace

void lower_mov_debug(Decoded& d) {
  const bool to = d.is_register(0) && d.register_class(0) == ZYDIS_REGCLASS_DEBUG;
  if ((to ? d.insn.dst : d.insn.src) > 7) return;
  d.insn.run = to ? mov_to_debug : mov_from_debug;
}

}  // namespace zs::machine::vcpu
