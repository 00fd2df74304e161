// Control registers, descriptor-table registers, MSRs, ports, CPUID, time, HLT and the flags that guard interrupts.
// source: SDM vol. 2, "Operation" of each; vol. 3A, "Control Registers", "Initializing IA-32e Mode".
#include "arch/linear.h"
#include "machine/vcpu/operands.h"

namespace zs::machine::vcpu {

using U8 = std::uint8_t;
using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

// ---- control registers

void Core::write_cr0(std::uint64_t value) {
  value |= cr0::et;
  if (value >> 32 != 0) raise_gp();
  if ((value & cr0::pg) != 0 && (value & cr0::pe) == 0) raise_gp();
  if ((value & cr0::nw) != 0 && (value & cr0::cd) == 0) raise_gp();
  value &= cr0::pe | cr0::mp | cr0::em | cr0::ts | cr0::et | cr0::ne | cr0::wp | cr0::am | cr0::nw | cr0::cd | cr0::pg;
  const U64 changed = cr0 ^ value;
  U64 new_efer = efer;
  if ((changed & cr0::pg) != 0) {
    if ((value & cr0::pg) != 0 && (efer & efer::lme) != 0) {
      if ((cr4 & cr4::pae) == 0 || segments[kCs].long_code()) raise_gp();
      new_efer |= efer::lma;
    } else if ((value & cr0::pg) == 0) {
      if (code64) raise_gp();
      new_efer &= ~efer::lma;
    }
  }
  const bool pae = (cr4 & cr4::pae) != 0 && (new_efer & efer::lma) == 0 && (value & cr0::pg) != 0;
  if (pae && (changed & (cr0::pg | cr0::cd | cr0::nw)) != 0) load_pdptes(cr3);
  cr0 = value;
  efer = new_efer;
  if ((changed & cr0::pe) != 0 && (value & cr0::pe) != 0) cpl = 0;
  if ((changed & (cr0::pe | cr0::pg | cr0::wp)) != 0) flush_tlb();
  refresh_mode();
}

void Core::write_cr3(std::uint64_t value) {
  if (long_mode && (value & ~physical_mask) != 0) raise_gp();
  if ((cr0 & cr0::pg) != 0 && (cr4 & cr4::pae) != 0 && !long_mode) load_pdptes(value);
  cr3 = value;
  flush_tlb();
}

void Core::write_cr4(std::uint64_t value) {
  constexpr U64 kKnown = cr4::tsd | cr4::de | cr4::pse | cr4::pae | cr4::mce | cr4::pge | cr4::pce | cr4::osfxsr |
                         cr4::osxmmexcpt | cr4::umip | cr4::fsgsbase | cr4::smep | cr4::smap;
  if ((value & ~kKnown) != 0) raise_gp();
  if (long_mode && (value & cr4::pae) == 0) raise_gp();
  const U64 changed = cr4 ^ value;
  constexpr U64 kPaging = cr4::pse | cr4::pae | cr4::pge | cr4::smep | cr4::smap;
  if ((changed & kPaging) != 0 && (value & cr4::pae) != 0 && (cr0 & cr0::pg) != 0 && !long_mode) load_pdptes(cr3);
  cr4 = value;
  if ((changed & kPaging) != 0) flush_tlb();
  refresh_watching();
}

// ---- MSRs of the CPU itself

namespace {

struct OwnMsr {
  U32 number;
  U64 Core::*place;
  enum Holds : U8 { Anything, LowHalf, CanonicalAddress } holds;
};
constexpr OwnMsr kOwnMsrs[] = {
    {0x174, &Core::sysenter_cs, OwnMsr::LowHalf},
    {0x175, &Core::sysenter_esp, OwnMsr::CanonicalAddress},
    {0x176, &Core::sysenter_eip, OwnMsr::CanonicalAddress},
    {0xC0000081, &Core::star, OwnMsr::Anything},
    {0xC0000082, &Core::lstar, OwnMsr::CanonicalAddress},
    {0xC0000083, &Core::cstar, OwnMsr::CanonicalAddress},
    {0xC0000084, &Core::fmask, OwnMsr::LowHalf},
    {0xC0000102, &Core::kernel_gs_base, OwnMsr::CanonicalAddress},
    {0xC0000103, &Core::tsc_aux, OwnMsr::LowHalf},
};
constexpr U32 kEfer = 0xC0000080, kFsBase = 0xC0000100, kGsBase = 0xC0000101, kTsc = 0x10;

}  // namespace

bool Core::read_msr(std::uint32_t msr, std::uint64_t& value) {
  for (const OwnMsr& own : kOwnMsrs) {
    if (own.number == msr) return value = this->*own.place, true;
  }
  switch (msr) {
    case kEfer: return value = efer, true;
    case kFsBase: return value = segments[kFs].base, true;
    case kGsBase: return value = segments[kGs].base, true;
    default: break;
  }
  flush_reports();
  return msrs.rdmsr(msr, value);
}

bool Core::write_msr(std::uint32_t msr, std::uint64_t value) {
  for (const OwnMsr& own : kOwnMsrs) {
    if (own.number != msr) continue;
    if (own.holds == OwnMsr::CanonicalAddress && !arch::is_canonical(value)) return false;
    if (own.holds == OwnMsr::LowHalf) value &= 0xFFFFFFFF;
    return this->*own.place = value, true;
  }
  switch (msr) {
    case kEfer: {
      const U64 known = efer::sce | efer::lme | efer::lma | (has_nx ? efer::nxe : 0);
      if ((value & ~known) != 0) return false;
      if (((value ^ efer) & efer::lme) != 0 && (cr0 & cr0::pg) != 0) return false;
      efer = (value & ~efer::lma) | (efer & efer::lma);
      flush_tlb();
      refresh_mode();
      return true;
    }
    case kFsBase:
    case kGsBase:
      if (!arch::is_canonical(value)) return false;
      segments[msr == kFsBase ? kFs : kGs].base = value;
      refresh_views();
      return true;
    default: break;
  }
  flush_reports();
  return msrs.wrmsr(msr, value);
}

// ---- ports

void Core::io_check(std::uint16_t port, unsigned bytes) {
  if (debug_armed()) check_io_breakpoints(port, bytes);
  if (!protected_mode || (cpl <= iopl() && !virtual8086)) return;
  const Segment& tr = segments[kTr];
  if (!tr.present() || (tr.type() & 8) == 0 || tr.limit < 0x67) raise_gp();
  const U64 map = load_system(tr.base + 0x66, 2);
  const U64 at = map + port / 8u;
  if (at + 1 > tr.limit) raise_gp();
  const U64 bits = load_system(tr.base + at, 2) >> (port & 7);
  if ((bits & ((1u << bytes) - 1)) != 0) raise_gp();
}

void Core::require_iopl_in_virtual8086() const {
  if (virtual8086 && iopl() < 3) raise_gp();
}

namespace {

void require_iopl(const Core& c) {
  c.require_iopl_in_virtual8086();
  if (c.protected_mode && c.cpl > c.iopl()) raise_gp();
}

void require_ring0(const Core& c) {
  if (c.cpl != 0) raise_gp();
}

template <typename T>
void in(Core& c, const Insn& i) {
  const U16 port = i.detail != 0 ? static_cast<U8>(i.imm) : c.reg<U16>(8 * kRdx);
  c.io_check(port, sizeof(T));
  c.flush_reports();
  c.set_reg<T>(0, static_cast<T>(c.bus.in(port, sizeof(T))));
}
template <typename T>
void out(Core& c, const Insn& i) {
  const U16 port = i.detail != 0 ? static_cast<U8>(i.imm) : c.reg<U16>(8 * kRdx);
  c.io_check(port, sizeof(T));
  c.flush_reports();
  c.bus.out(port, sizeof(T), c.reg<T>(0));
}

template <bool Out>
void lower_io(Decoded& d) {
  const unsigned port = Out ? 0 : 1;
  d.insn.detail = d.is_immediate(port);
  const unsigned bytes = d.bytes(Out ? 1 : 0);
  if constexpr (Out) {
    d.insn.run = bytes == 1 ? out<U8> : bytes == 2 ? out<U16> : out<U32>;
  } else {
    d.insn.run = bytes == 1 ? in<U8> : bytes == 2 ? in<U16> : in<U32>;
  }
}

// ---- MOV CR

void mov_from_control(Core& c, const Insn& i) {
  require_ring0(c);
  U64 value = 0;
  switch (i.src) {
    case 0: value = c.cr0; break;
    case 2: value = c.cr2; break;
    case 3: value = c.cr3; break;
    case 4: value = c.cr4; break;
    case 8:
      c.flush_reports();
      value = c.interrupts.task_priority();
      break;
    default: raise_ud();
  }
  c.code64 ? c.set_reg<U64>(i.dst, value) : c.set_reg<U32>(i.dst, static_cast<U32>(value));
}

void mov_to_control(Core& c, const Insn& i) {
  require_ring0(c);
  const U64 value = c.code64 ? c.reg<U64>(i.src) : c.reg<U32>(i.src);
  switch (i.dst) {
    case 0: c.write_cr0(value); break;
    case 2: c.cr2 = value; break;
    case 3: c.write_cr3(value); break;
    case 4: c.write_cr4(value); break;
    case 8:
      if (value > 15) raise_gp();
      c.flush_reports();
      c.interrupts.set_task_priority(static_cast<U8>(value));
      c.arm();
      break;
    default: raise_ud();
  }
}

void lmsw(Core& c, const Insn& i) {
  require_ring0(c);
  const U16 value = read_operand<U16>(c, i, i.dst, i.to_memory);
  c.write_cr0((c.cr0 & ~U64{14}) | (value & 14) | ((c.cr0 | value) & 1));  // PE can be set, not cleared
}
void check_umip(const Core& c) {
  if ((c.cr4 & cr4::umip) != 0 && c.cpl != 0) raise_gp();
}
void store_word(Core& c, const Insn& i, U64 value) {
  if (i.to_memory) return c.store<U16>(i.segment, c.effective_address(i), static_cast<U16>(value));
  if (i.bytes == 8) return c.set_reg<U64>(i.dst, value);
  if (i.bytes == 4) return c.set_reg<U32>(i.dst, static_cast<U32>(value));
  c.set_reg<U16>(i.dst, static_cast<U16>(value));
}
void smsw(Core& c, const Insn& i) {
  check_umip(c);
  store_word(c, i, c.cr0);
}
void clts(Core& c, const Insn&) {
  require_ring0(c);
  c.cr0 &= ~cr0::ts;
}

// ---- table registers

template <TableRegister SystemState::*Table>
void load_table(Core& c, const Insn& i) {
  require_ring0(c);
  const U64 address = c.effective_address(i);
  const auto limit = c.load<U16>(i.segment, address);
  const U64 next = (address + 2) << i.address_shift >> i.address_shift;
  U64 base = c.code64 ? c.load<U64>(i.segment, next) : c.load<U32>(i.segment, next);
  if (!c.code64 && i.bytes == 2) base &= 0xFFFFFF;
  if (c.code64 && !arch::is_canonical(base)) raise_gp();
  c.*Table = {base, limit};
}
template <TableRegister SystemState::*Table>
void store_table(Core& c, const Insn& i) {
  check_umip(c);
  const U64 address = c.effective_address(i);
  const U64 next = (address + 2) << i.address_shift >> i.address_shift;
  c.probe_store(i.segment, next, c.code64 ? 8 : 4);
  c.store<U16>(i.segment, address, (c.*Table).limit);
  if (c.code64) {
    c.store<U64>(i.segment, next, (c.*Table).base);
  } else {
    c.store<U32>(i.segment, next, static_cast<U32>((c.*Table).base));
  }
}
void need_protected(const Core& c) {
  if (c.real_addressing()) raise_ud();
}
template <void (Core::*Load)(std::uint16_t)>
void load_selector(Core& c, const Insn& i) {
  need_protected(c);
  require_ring0(c);
  (c.*Load)(read_operand<U16>(c, i, i.dst, i.to_memory));
}
template <Seg Which>
void store_selector(Core& c, const Insn& i) {
  need_protected(c);
  check_umip(c);
  store_word(c, i, c.segments[Which].selector);
}

// ---- MSRs, CPUID, time

void set_edx_eax(Core& c, U64 value) {
  c.set_reg<U32>(8 * kRax, static_cast<U32>(value));
  c.set_reg<U32>(8 * kRdx, static_cast<U32>(value >> 32));
}

void rdmsr(Core& c, const Insn&) {
  require_ring0(c);
  U64 value = 0;
  if (!c.read_msr(c.reg<U32>(8 * kRcx), value)) raise_gp();
  set_edx_eax(c, value);
}

/// Enables are read after execution: what this write turns on sees the write retire.
void wrmsr(Core& c, const Insn& i) {
  require_ring0(c);
  const U64 value = static_cast<U64>(c.reg<U32>(8 * kRdx)) << 32 | c.reg<U32>(8 * kRax);
  if (!c.write_msr(c.reg<U32>(8 * kRcx), value)) raise_gp();
  c.ask_watch();
  c.watch_stale = true;
  c.arm();
  if (c.watch.retirements == Watch::Retirements::Count) return;
  const U64 from = c.linear_ip(), ip = c.regs[kIp];
  c.regs[kIp] = c.next_ip;
  c.access_count = 0;
  c.taken = false;
  c.retire_one(i.selector, c.cpl, from);
  c.regs[kIp] = ip;
}

U64 time_stamp(Core& c) {
  if ((c.cr4 & cr4::tsd) != 0 && c.cpl != 0) raise_gp();
  c.flush_reports();
  U64 value = 0;
  c.msrs.rdmsr(kTsc, value);
  return value;
}
void rdtsc(Core& c, const Insn&) { set_edx_eax(c, time_stamp(c)); }
void rdtscp(Core& c, const Insn&) {
  set_edx_eax(c, time_stamp(c));
  c.set_reg<U32>(8 * kRcx, static_cast<U32>(c.tsc_aux));
}
void rdpmc(Core& c, const Insn&) {
  if ((c.cr4 & cr4::pce) == 0 && c.cpl != 0 && c.protected_mode) raise_gp();
  c.flush_reports();
  U64 value = 0;
  if (!c.msrs.rdpmc(c.reg<U32>(8 * kRcx), value)) raise_gp();
  set_edx_eax(c, value);
}
void run_cpuid(Core& c, const Insn&) {
  const CpuidResult r = c.cpuid.cpuid(c.reg<U32>(8 * kRax), c.reg<U32>(8 * kRcx));
  c.set_reg<U32>(8 * kRax, r.eax);
  c.set_reg<U32>(8 * kRbx, r.ebx);
  c.set_reg<U32>(8 * kRcx, r.ecx);
  c.set_reg<U32>(8 * kRdx, r.edx);
}

// ---- interrupt flag, HLT

void cli(Core& c, const Insn&) {
  require_iopl(c);
  c.system_flags &= ~flag::interrupt;
}
void sti(Core& c, const Insn&) {
  require_iopl(c);
  if ((c.system_flags & flag::interrupt) == 0) {
    c.shadow = true;
    c.arm();
  }
  c.system_flags |= flag::interrupt;
}
void hlt(Core& c, const Insn&) {
  require_ring0(c);
  c.halted = true;
  c.arm();
}

// ---- caches and TLB

void invlpg(Core& c, const Insn& i) {
  require_ring0(c);
  c.flush_page((c.views[i.segment].base + c.effective_address(i)) & c.linear_mask);
}
void wbinvd(Core& c, const Insn&) {
  require_ring0(c);
  c.observer.caches_flushed();
}
/// Reads nothing, but faults as a load of one byte.
void clflush(Core& c, const Insn& i) {
  const U64 linear = c.checked_linear(i.segment, c.effective_address(i), 1, false);
  const TlbEntry& entry = c.translate(linear, AccessKind::Read, c.cpl == 3);
  c.observer.line_flushed(entry.physical | (linear & kPageOffset));
}

void swapgs(Core& c, const Insn&) {
  if (!c.code64) raise_ud();
  require_ring0(c);
  std::swap(c.kernel_gs_base, c.segments[kGs].base);
  c.refresh_views();
}
void rsm(Core& c, const Insn&) { c.leave_smm(); }

template <Seg Which, bool Write>
void base_instruction(Core& c, const Insn& i) {
  if (!c.code64 || (c.cr4 & cr4::fsgsbase) == 0) raise_ud();
  U64& base = c.segments[Which].base;
  if (Write) {
    const U64 value = i.bytes == 8 ? c.reg<U64>(i.dst) : c.reg<U32>(i.dst);
    if (!arch::is_canonical(value)) raise_gp();
    base = value;
    c.refresh_views();
  } else if (i.bytes == 8) {
    c.set_reg<U64>(i.dst, base);
  } else {
    c.set_reg<U32>(i.dst, static_cast<U32>(base));
  }
}

void stac_clac(Core& c, const Insn& i) {
  if ((c.cr4 & cr4::smap) == 0 || c.cpl != 0) raise_ud();
  c.write_flags(i.detail != 0 ? flag::ac : 0, flag::ac);
}

template <Handler Run, U8 Detail = 0>
void run_system(Decoded& d) {
  if (d.is_register(0)) d.insn.bytes = static_cast<U8>(d.bytes(0));
  plain<Run, Detail>(d);
}

// clang-format off
constexpr LowerRow kSystemRows[] = {
    {ZYDIS_MNEMONIC_IN, lower_io<false>}, {ZYDIS_MNEMONIC_OUT, lower_io<true>},
    {ZYDIS_MNEMONIC_LMSW, run_system<lmsw>}, {ZYDIS_MNEMONIC_SMSW, run_system<smsw>}, {ZYDIS_MNEMONIC_CLTS, run_system<clts>},
    {ZYDIS_MNEMONIC_LGDT, plain<load_table<&Core::gdtr>>}, {ZYDIS_MNEMONIC_LIDT, plain<load_table<&Core::idtr>>},
    {ZYDIS_MNEMONIC_SGDT, plain<store_table<&Core::gdtr>>}, {ZYDIS_MNEMONIC_SIDT, plain<store_table<&Core::idtr>>},
    {ZYDIS_MNEMONIC_LLDT, run_system<load_selector<&Core::load_ldt>>}, {ZYDIS_MNEMONIC_LTR, run_system<load_selector<&Core::load_tr>>},
    {ZYDIS_MNEMONIC_SLDT, run_system<store_selector<kLdtr>>}, {ZYDIS_MNEMONIC_STR, run_system<store_selector<kTr>>},
    {ZYDIS_MNEMONIC_RDMSR, run_system<rdmsr>}, {ZYDIS_MNEMONIC_WRMSR, run_system<wrmsr>},
    {ZYDIS_MNEMONIC_RDTSC, run_system<rdtsc>}, {ZYDIS_MNEMONIC_RDTSCP, run_system<rdtscp>}, {ZYDIS_MNEMONIC_RDPMC, run_system<rdpmc>},
    {ZYDIS_MNEMONIC_CPUID, run_system<run_cpuid>},
    {ZYDIS_MNEMONIC_CLI, run_system<cli>}, {ZYDIS_MNEMONIC_STI, run_system<sti>}, {ZYDIS_MNEMONIC_HLT, run_system<hlt>},
    {ZYDIS_MNEMONIC_INVLPG, run_system<invlpg>}, {ZYDIS_MNEMONIC_INVD, run_system<wbinvd>}, {ZYDIS_MNEMONIC_WBINVD, run_system<wbinvd>},
    {ZYDIS_MNEMONIC_CLFLUSH, run_system<clflush>}, {ZYDIS_MNEMONIC_CLFLUSHOPT, run_system<clflush>},
    {ZYDIS_MNEMONIC_SWAPGS, run_system<swapgs>}, {ZYDIS_MNEMONIC_RSM, run_system<rsm>},
    {ZYDIS_MNEMONIC_RDFSBASE, run_system<base_instruction<kFs, false>>}, {ZYDIS_MNEMONIC_RDGSBASE, run_system<base_instruction<kGs, false>>},
    {ZYDIS_MNEMONIC_WRFSBASE, run_system<base_instruction<kFs, true>>}, {ZYDIS_MNEMONIC_WRGSBASE, run_system<base_instruction<kGs, true>>},
    {ZYDIS_MNEMONIC_STAC, run_system<stac_clac, 1>}, {ZYDIS_MNEMONIC_CLAC, run_system<stac_clac, 0>},
};
// clang-format on

}  // namespace

void lower_mov_system(Decoded& d) {
  const auto class_of = [&](unsigned n) { return d.is_register(n) ? d.register_class(n) : ZYDIS_REGCLASS_INVALID; };
  if (class_of(0) == ZYDIS_REGCLASS_DEBUG || class_of(1) == ZYDIS_REGCLASS_DEBUG) return lower_mov_debug(d);
  d.insn.run = class_of(0) == ZYDIS_REGCLASS_CONTROL ? mov_to_control : mov_from_control;
}

std::span<const LowerRow> system_rows() { return kSystemRows; }

}  // namespace zs::machine::vcpu
