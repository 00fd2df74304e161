// XCHG XADD CMPXCHG CMPXCHG8B CMPXCHG16B. There is one processor, so a lock is nothing to execute.
#include "machine/vcpu/operands.h"

namespace zs::machine::vcpu {
namespace {

template <typename T>
void xchg(Core& c, const Insn& i) {
  const T b = c.reg<T>(i.src);
  T old;
  if (i.to_memory) {
    c.modify<T>(i.segment, c.effective_address(i), [&](T a) { return old = a, b; });
  } else {
    old = c.reg<T>(i.dst);
    c.set_reg<T>(i.dst, b);
  }
  c.set_reg<T>(i.src, old);
}

/// Zydis keeps the order of the encoding: the memory operand may come second.
void lower_xchg(Decoded& d) {
  const bool memory_second = d.is_memory(1);
  if (memory_second) d.insn.to_memory = true, d.insn.from_memory = false;
  if (memory_second) d.insn.src = d.insn.dst;
  d.insn.run = by_size(d.bytes(0), [&](auto t) -> Handler { return xchg<decltype(t)>; });
}

void pause(Core&, const Insn&) {}

/// F3 90 is PAUSE; with REX.B it exchanges R8 as 90 alone does, and Zydis does not say so. Found by the host
/// comparison; some processors pause there too.
void lower_pause(Decoded& d) {
  if (d.raw.raw.rex.B == 0) {
    d.insn.run = pause;
    return;
  }
  d.insn.dst = 8 * kR8;
  d.insn.src = 8 * kRax;
  const unsigned narrow = (d.raw.attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE) != 0 ? 2 : 4;
  d.insn.run = by_size(d.raw.raw.rex.W != 0 ? 8 : narrow, [](auto t) -> Handler { return xchg<decltype(t)>; });
}

template <typename T>
void xadd(Core& c, const Insn& i) {
  const T b = c.reg<T>(i.src);
  T old;
  const auto change = [&](T a) {
    old = a;
    return Add::apply<T>(c.status, a, b);
  };
  if (i.to_memory) {
    c.modify<T>(i.segment, c.effective_address(i), change);
    c.set_reg<T>(i.src, old);
  } else {
    const T sum = change(c.reg<T>(i.dst));
    c.set_reg<T>(i.src, old);
    c.set_reg<T>(i.dst, sum);
  }
}

/// Memory is written in either case, so a page that may not be written faults in either.
template <typename T>
void cmpxchg(Core& c, const Insn& i) {
  const T accumulator = c.reg<T>(0), b = c.reg<T>(i.src);
  T old;
  const auto change = [&](T a) {
    old = a;
    Cmp::apply<T>(c.status, accumulator, a);
    return a == accumulator ? b : a;
  };
  if (i.to_memory) {
    c.modify<T>(i.segment, c.effective_address(i), change);
  } else {
    const T result = change(c.reg<T>(i.dst));
    // A 32-bit comparison that fails leaves the destination's upper half.
    if (old == accumulator) c.set_reg<T>(i.dst, result);
  }
  if (old != accumulator) c.set_reg<T>(0, old);
}

void cmpxchg8b(Core& c, const Insn& i) {
  const std::uint64_t address = c.effective_address(i);
  const std::uint64_t wanted =
      static_cast<std::uint64_t>(c.reg<std::uint32_t>(8 * kRdx)) << 32 | c.reg<std::uint32_t>(8 * kRax);
  const std::uint64_t made =
      static_cast<std::uint64_t>(c.reg<std::uint32_t>(8 * kRcx)) << 32 | c.reg<std::uint32_t>(8 * kRbx);
  std::uint64_t old = 0;
  c.modify<std::uint64_t>(i.segment, address, [&](std::uint64_t a) {
    old = a;
    return a == wanted ? made : a;
  });
  c.status = with_status(c.status, status::zf, old == wanted);
  if (old == wanted) return;
  c.set_reg<std::uint32_t>(8 * kRax, static_cast<std::uint32_t>(old));
  c.set_reg<std::uint32_t>(8 * kRdx, static_cast<std::uint32_t>(old >> 32));
}

void cmpxchg16b(Core& c, const Insn& i) {
  const std::uint64_t address = c.effective_address(i);
  if (((c.views[i.segment].base + address) & 15) != 0) raise_gp();
  c.probe_store(i.segment, address, 16);
  Xmm old;
  c.load_bytes(i.segment, address, &old, 16);
  const bool equal = old.low == c.regs[kRax] && old.high == c.regs[kRdx];
  const Xmm made = equal ? Xmm{c.regs[kRbx], c.regs[kRcx]} : old;
  c.store_bytes(i.segment, address, &made, 16);
  c.status = with_status(c.status, status::zf, equal);
  if (!equal) c.regs[kRax] = old.low, c.regs[kRdx] = old.high;
}

constexpr LowerRow kExchangeRows[] = {
    {ZYDIS_MNEMONIC_XCHG, lower_xchg},
    {ZYDIS_MNEMONIC_PAUSE, lower_pause},
    {ZYDIS_MNEMONIC_XADD, ZS_SIZED(xadd)},
    {ZYDIS_MNEMONIC_CMPXCHG, ZS_SIZED(cmpxchg)},
    {ZYDIS_MNEMONIC_CMPXCHG8B, plain<cmpxchg8b>},
    {ZYDIS_MNEMONIC_CMPXCHG16B, plain<cmpxchg16b>},
};

}  // namespace

std::span<const LowerRow> exchange_rows() { return kExchangeRows; }

}  // namespace zs::machine::vcpu
