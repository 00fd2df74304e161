// Segment registers and the tables behind them: descriptors, what each register may be loaded with, LDTR and TR.
// source: SDM vol. 3A, "Segment Descriptors", "System Descriptor Types", "Privilege Checking When Accessing Data
// Segments".
#include "arch/linear.h"
#include "machine/vcpu/operands.h"

namespace zs::machine::vcpu {

namespace {

bool is_null(std::uint16_t selector) { return (selector & 0xFFFC) == 0; }

}  // namespace

Segment null_segment(std::uint16_t selector, unsigned dpl) {
  Segment s;
  s.selector = selector;
  s.attributes = static_cast<std::uint16_t>(dpl << 5);
  return s;
}

Segment virtual8086_segment(std::uint16_t selector) {
  constexpr std::uint16_t kWritableDataOfRing3 = 0xF3;
  const std::uint64_t base = std::uint64_t{selector} << 4;
  return {.selector = selector, .attributes = kWritableDataOfRing3, .limit = 0xFFFF, .base = base};
}

Segment Core::Descriptor::segment(std::uint16_t selector) const {
  Segment s;
  s.selector = selector;
  s.attributes = static_cast<std::uint16_t>(low >> 40 & 0xF0FF);
  s.limit = static_cast<std::uint32_t>((low & 0xFFFF) | (low >> 32 & 0xF0000));
  if ((low >> 55 & 1) != 0) s.limit = s.limit << 12 | 0xFFF;
  s.base = (low >> 16 & 0xFFFFFF) | (low >> 32 & 0xFF000000);
  if (!code_or_data()) s.base |= (high & 0xFFFFFFFF) << 32;
  return s;
}

Core::Descriptor Core::read_descriptor(std::uint16_t selector, std::uint8_t vector) {
  const bool local = (selector & 4) != 0;
  if ((selector | 7u) > table_limit(selector) || (local && !segments[kLdtr].present()))
    selector_fault(vector, selector);
  Descriptor d;
  d.address = (local ? segments[kLdtr].base : gdtr.base) + (selector & 0xFFF8u);
  d.low = load_system(d.address, 8);
  return d;
}

std::uint64_t Core::table_limit(std::uint16_t selector) const {
  if ((selector & 4) == 0) return gdtr.limit;
  return segments[kLdtr].present() ? segments[kLdtr].limit : 0;
}

void Core::read_upper_half(Descriptor& descriptor, std::uint16_t selector) {
  if ((selector | 7u) + 8u > table_limit(selector)) selector_fault(kGeneralProtection, selector);
  descriptor.high = load_system(descriptor.address + 8, 8);
  if ((descriptor.high >> 40 & 31) != 0) selector_fault(kGeneralProtection, selector);
}

namespace {

/// What LDTR and TR hold is a canonical address, as what LGDT and LIDT load.
void check_base(const Core::Descriptor& d, std::uint16_t selector) {
  if (!arch::is_canonical(d.segment(selector).base)) selector_fault(kGeneralProtection, selector);
}

}  // namespace

void Core::set_accessed(Descriptor& descriptor) {
  if ((descriptor.low >> 40 & 1) != 0) return;
  descriptor.low |= std::uint64_t{1} << 40;
  store_system(descriptor.address + 5, 1, descriptor.low >> 40 & 0xFF);
}

void Core::set_real_segment(unsigned seg, std::uint16_t selector) {
  Segment& s = segments[seg];
  if (virtual8086) {
    s = virtual8086_segment(selector);
    return;
  }
  s.selector = selector;
  s.base = static_cast<std::uint64_t>(selector) << 4;
  // The limit stays what it was: 64 KiB, unless software made it larger in protected mode and came back. A null
  // selector left neither limit nor rights.
  if (!s.present()) s.limit = 0xFFFF;
  if (seg == kCs || !s.present()) s.attributes = 0x93;
}

Segment Core::checked_stack_segment(std::uint16_t selector, unsigned level, std::uint8_t vector, bool external) {
  const std::uint32_t ext = external ? 1 : 0;
  if (is_null(selector)) throw Fault{vector, true, ext};
  Descriptor d;
  try {
    d = read_descriptor(selector, vector);
  } catch (Fault& fault) {
    if (fault.vector == vector) fault.error |= ext;
    throw fault;
  }
  const bool writable_data = d.code_or_data() && (d.type() & 8) == 0 && (d.type() & 2) != 0;
  if ((selector & 3u) != level || d.dpl() != level || !writable_data)
    throw Fault{vector, true, (selector & 0xFFFCu) | ext};
  if (!d.present()) throw Fault{kStackFault, true, (selector & 0xFFFCu) | ext};
  set_accessed(d);
  return d.segment(selector);
}

Segment Core::checked_data_segment(std::uint16_t selector, std::uint8_t vector) {
  if (is_null(selector)) return null_segment(selector);
  Descriptor d = read_descriptor(selector, vector);
  const bool is_code = (d.type() & 8) != 0, bit1 = (d.type() & 2) != 0, conforming = is_code && (d.type() & 4) != 0;
  if (!d.code_or_data() || (is_code && !bit1)) selector_fault(vector, selector);
  if (!conforming && ((selector & 3u) > d.dpl() || cpl > d.dpl())) selector_fault(vector, selector);
  if (!d.present()) selector_fault(kNotPresent, selector);
  set_accessed(d);
  return d.segment(selector);
}

void Core::load_segment(unsigned seg, std::uint16_t selector) {
  if (real_addressing()) {
    set_real_segment(seg, selector);
    refresh_views();
    return;
  }
  if (seg == kSs) {
    if (is_null(selector) && code64 && cpl < 3 && (selector & 3u) == cpl) {
      segments[kSs] = null_segment(selector, cpl);
    } else {
      if (is_null(selector)) raise_gp();
      segments[kSs] = checked_stack_segment(selector, cpl, kGeneralProtection, false);
    }
    refresh_mode();
    return;
  }
  segments[seg] = checked_data_segment(selector, kGeneralProtection);
  refresh_views();
}

void Core::load_ldt(std::uint16_t selector) {
  if (is_null(selector)) {
    segments[kLdtr] = null_segment(selector);
    return;
  }
  if ((selector & 4) != 0) selector_fault(kGeneralProtection, selector);
  Descriptor d = read_descriptor(selector);
  if (d.code_or_data() || d.type() != 2) selector_fault(kGeneralProtection, selector);
  if (!d.present()) selector_fault(kNotPresent, selector);
  if (long_mode) read_upper_half(d, selector);
  check_base(d, selector);
  segments[kLdtr] = d.segment(selector);
}

void Core::load_tr(std::uint16_t selector) {
  if (is_null(selector)) raise_gp();
  if ((selector & 4) != 0) selector_fault(kGeneralProtection, selector);
  Descriptor d = read_descriptor(selector);
  const bool available = d.type() == 9 || (d.type() == 1 && !long_mode);
  if (d.code_or_data() || !available) selector_fault(kGeneralProtection, selector);
  if (!d.present()) selector_fault(kNotPresent, selector);
  if (long_mode) read_upper_half(d, selector);
  check_base(d, selector);
  d.low |= std::uint64_t{2} << 40;  // busy
  store_system(d.address + 5, 1, d.low >> 40 & 0xFF);
  segments[kTr] = d.segment(selector);
}

void Core::drop_inaccessible_segments() {
  for (const unsigned seg : {kEs, kDs, kFs, kGs}) {
    Segment& s = segments[seg];
    const bool conforming = (s.type() & 0xC) == 0xC;
    if (!is_null(s.selector) && (conforming || s.dpl() >= cpl)) continue;
    // Only the selector goes: the base, which 64-bit code addresses through FS and GS, stays.
    const std::uint64_t base = s.base;
    s = null_segment(0);
    s.base = base;
  }
  refresh_views();
}

// ---- instructions

namespace {

using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

void shadow_after_ss(Core& c) {
  c.shadow = true;
  c.shadow_blocks_traps = true;
  c.arm();
}

/// MOV Sreg, r/m16.
void mov_to_segment(Core& c, const Insn& i) {
  const U16 selector = read_operand<U16>(c, i, i.src, i.from_memory);
  c.load_segment(i.dst, selector);
  if (i.dst == kSs) shadow_after_ss(c);
}

template <typename T>
void mov_from_segment(Core& c, const Insn& i) {
  const U16 selector = c.segments[i.src].selector;
  if (i.to_memory) {
    c.store<U16>(i.segment, c.effective_address(i), selector);
  } else {
    c.set_reg<T>(i.dst, selector);
  }
}

void lower_mov(Decoded& d) {
  const auto is_class = [&](unsigned n, ZydisRegisterClass wanted) {
    return d.is_register(n) && d.register_class(n) == wanted;
  };
  if (is_class(0, ZYDIS_REGCLASS_SEGMENT)) {
    if (d.insn.dst != kCs) d.insn.run = mov_to_segment;  // otherwise #UD
    return;
  }
  if (is_class(1, ZYDIS_REGCLASS_SEGMENT)) {
    d.insn.run = by_width(d.bytes(0), [](auto t) -> Handler { return mov_from_segment<decltype(t)>; });
    return;
  }
  for (const unsigned n : {0u, 1u}) {
    if (is_class(n, ZYDIS_REGCLASS_CONTROL) || is_class(n, ZYDIS_REGCLASS_DEBUG)) return lower_mov_system(d);
  }
  d.insn.run = general_mov(d);
}

/// A 32-bit push of a segment register writes two bytes and moves the pointer by four, on these processors.
template <typename T>
void push_segment(Core& c, const Insn& i) {
  const U64 to = (c.regs[kRsp] - sizeof(T)) & c.stack_mask;
  if constexpr (sizeof(T) == 8) {
    c.store<T>(kSs, to, c.segments[i.dst].selector);
  } else {
    c.store<U16>(kSs, to, c.segments[i.dst].selector);
  }
  c.set_stack_pointer(to);
}

template <typename T>
void pop_segment(Core& c, const Insn& i) {
  const auto selector = c.top_of_stack<U16>();
  const U64 sp = c.regs[kRsp];
  c.load_segment(i.dst, selector);
  // The width of the pop is that of the stack before a new SS.
  c.regs[kRsp] = sp;
  c.set_stack_pointer(sp + sizeof(T));
  if (i.dst == kSs) shadow_after_ss(c);
}

/// LDS LES LFS LGS LSS.
template <typename T>
void load_far_pointer(Core& c, const Insn& i) {
  const U64 address = c.effective_address(i);
  const T offset = c.load<T>(i.segment, address);
  const auto selector = c.load<U16>(i.segment, (address + sizeof(T)) << i.address_shift >> i.address_shift);
  c.load_segment(i.detail, selector);
  c.set_reg<T>(i.dst, offset);
}

template <Seg Which>
void lower_far_pointer(Decoded& d) {
  if (!d.is_memory(1)) return;
  d.insn.detail = Which;
  d.insn.run = by_width(d.bytes(0), [](auto t) -> Handler { return load_far_pointer<decltype(t)>; });
}

/// Whether LAR, LSL, VERR and VERW may look at the descriptor at all.
bool visible_descriptor(Core& c, U16 selector, Core::Descriptor& d) {
  if (is_null(selector)) return false;
  try {
    d = c.read_descriptor(selector);
  } catch (const Fault& fault) {
    if (fault.vector == kGeneralProtection) return false;
    throw;
  }
  const bool conforming = d.code_or_data() && (d.type() & 0xC) == 0xC;
  return conforming || (c.cpl <= d.dpl() && (selector & 3u) <= d.dpl());
}

template <typename T, bool Limit>
void load_access_or_limit(Core& c, const Insn& i) {
  const U16 selector = read_operand<U16>(c, i, i.src, i.from_memory);
  Core::Descriptor d;
  bool valid = visible_descriptor(c, selector, d);
  if (valid && !d.code_or_data()) {
    // source: SDM vol. 2, LAR and LSL, tables of segment and gate types.
    constexpr unsigned kLar32 = 1u << 1 | 1u << 2 | 1u << 3 | 1u << 4 | 1u << 5 | 1u << 9 | 1u << 11 | 1u << 12;
    constexpr unsigned kLsl32 = 1u << 1 | 1u << 2 | 1u << 3 | 1u << 9 | 1u << 11;
    constexpr unsigned kLar64 = 1u << 2 | 1u << 9 | 1u << 11 | 1u << 12, kLsl64 = 1u << 2 | 1u << 9 | 1u << 11;
    const unsigned types = c.long_mode ? (Limit ? kLsl64 : kLar64) : (Limit ? kLsl32 : kLar32);
    valid = (types >> d.type() & 1) != 0;
  }
  c.status = with_status(c.status, status::zf, valid);
  if (!valid) return;
  const U64 value = Limit ? d.segment(selector).limit : d.low >> 32 & 0x00F0FF00;
  c.set_reg<T>(i.dst, static_cast<T>(value));
}

template <bool Write>
void verify(Core& c, const Insn& i) {
  const U16 selector = read_operand<U16>(c, i, i.dst, i.to_memory);
  Core::Descriptor d;
  bool good = visible_descriptor(c, selector, d) && d.code_or_data();
  if (good) {
    const bool is_code = (d.type() & 8) != 0, bit1 = (d.type() & 2) != 0;
    good = Write ? !is_code && bit1 : !is_code || bit1;
  }
  c.status = with_status(c.status, status::zf, good);
}
template <bool Write>
void lower_verify(Decoded& d) {
  if (!d.real_mode()) d.insn.run = verify<Write>;
}

void arpl(Core& c, const Insn& i) {
  const auto rpl = static_cast<U16>(c.reg<U16>(i.src) & 3);
  bool raised = false;
  const auto change = [&](U16 a) {
    raised = (a & 3) < rpl;
    return raised ? static_cast<U16>((a & ~3) | rpl) : a;
  };
  if (i.to_memory) {
    c.modify<U16>(i.segment, c.effective_address(i), change);
  } else {
    c.set_reg<U16>(i.dst, change(c.reg<U16>(i.dst)));
  }
  c.status = with_status(c.status, status::zf, raised);
}

}  // namespace

void lower_push_segment(Decoded& d) {
  d.insn.run = by_width(d.operand_bytes(), [](auto t) -> Handler { return push_segment<decltype(t)>; });
}
void lower_pop_segment(Decoded& d) {
  d.insn.run = by_width(d.operand_bytes(), [](auto t) -> Handler { return pop_segment<decltype(t)>; });
}

namespace {
constexpr LowerRow kSegmentRows[] = {
    {ZYDIS_MNEMONIC_MOV, lower_mov},
    {ZYDIS_MNEMONIC_LDS, lower_far_pointer<kDs>},
    {ZYDIS_MNEMONIC_LES, lower_far_pointer<kEs>},
    {ZYDIS_MNEMONIC_LFS, lower_far_pointer<kFs>},
    {ZYDIS_MNEMONIC_LGS, lower_far_pointer<kGs>},
    {ZYDIS_MNEMONIC_LSS, lower_far_pointer<kSs>},
    {ZYDIS_MNEMONIC_LAR, ZS_WIDE(load_access_or_limit, false)},
    {ZYDIS_MNEMONIC_LSL, ZS_WIDE(load_access_or_limit, true)},
    {ZYDIS_MNEMONIC_VERR, lower_verify<false>},
    {ZYDIS_MNEMONIC_VERW, lower_verify<true>},
    {ZYDIS_MNEMONIC_ARPL, plain<arpl>},
};
}  // namespace

std::span<const LowerRow> segment_rows() { return kSegmentRows; }

}  // namespace zs::machine::vcpu
