// The state as a whole: reset, getting and setting it, and what follows from it.
#include "machine/vcpu/core.h"
#include "machine/vcpu/x87_image.h"

namespace zs::machine {

CpuState CpuState::after_reset() {
  CpuState s;
  constexpr std::uint16_t kData = 0x93, kCode = 0x9B, kLdt = 0x82, kBusyTss = 0x8B;
  for (Segment& segment : s.segments) segment = {.selector = 0, .attributes = kData, .limit = 0xFFFF, .base = 0};
  s.segments[kCs] = {.selector = 0xF000, .attributes = kCode, .limit = 0xFFFF, .base = 0xFFFF0000};
  s.segments[kLdtr].attributes = kLdt;
  s.segments[kTr].attributes = kBusyTss;
  s.gdtr.limit = s.idtr.limit = 0xFFFF;
  s.rip = 0xFFF0;
  s.cr0 = 0x60000010;
  s.x87.control = 0x40;
  s.x87.valid = 0xFF;  // tags 5555H: eight zeros
  return s;
}

namespace vcpu {

Core::Core(const Vcpu::Around& around, Vcpu& of)
    : bus(around.bus),
      interrupts(around.interrupts),
      msrs(around.msrs),
      cpuid(around.cpuid),
      observer(around.observer),
      facade(of),
      tlbs(std::make_unique<Tlbs>()) {
  facts.resize(4);
  tally.resize(facts.size());
  const unsigned bits = cpuid.cpuid(0x80000000, 0).eax >= 0x80000008 ? cpuid.cpuid(0x80000008, 0).eax & 0xFF : 36;
  physical_mask = (std::uint64_t{1} << (bits >= 32 && bits <= 52 ? bits : 36)) - 1;
  const std::uint32_t extended = cpuid.cpuid(0x80000001, 0).edx;
  has_nx = (extended >> 20 & 1) != 0;
  has_1g_pages = (extended >> 26 & 1) != 0;
  reset();
}

CpuState Core::reset_state() {
  CpuState s = CpuState::after_reset();
  s.gpr[kRdx] = cpuid.cpuid(1, 0).eax;
  return s;
}

void Core::reset() {
  flush_reports();
  set_state(reset_state());
  debugctl = 0;
  nmi_pending = smi_pending = init_pending = mce_pending = false;
  shadow = suspended = branched = ds_fault_pending = false;
  pending_dr6 = 0;
  planned = 0;
  left = 0;
  reported = 0;
}

CpuState Core::state() const {
  CpuState s{*this};
  for (unsigned n = 0; n < 16; ++n) s.gpr[n] = regs[n];
  s.rip = regs[kIp];
  s.rflags = rflags();
  s.x87 = x87_state(fx);
  return s;
}

void Core::set_state(const CpuState& s) {
  for (unsigned n = 0; n < 16; ++n) regs[n] = s.gpr[n];
  regs[kNoRegister] = 0;
  regs[kIp] = s.rip;
  set_rflags(s.rflags);
  static_cast<SystemState&>(*this) = s;
  fx = x87_image(s.x87), mxcsr &= 0xFFFF;
  shadow = suspended = false;
  cpl = (cr0 & cr0::pe) != 0 ? segments[kSs].dpl() : 0;
  flush_tlb();
  if ((cr0 & cr0::pg) != 0 && (cr4 & cr4::pae) != 0 && (efer & efer::lma) == 0) {
    for (unsigned n = 0; n < 4; ++n) pdptes[n] = physical_load((cr3 & 0xFFFFFFE0) + 8 * n, 8);
  }
  refresh_mode();
  arm();
}

void Core::refresh_mode() {
  protected_mode = (cr0 & cr0::pe) != 0;
  long_mode = (efer & efer::lma) != 0;
  virtual8086 = protected_mode && !long_mode && (system_flags & flag::vm) != 0;
  const Segment& cs = segments[kCs];
  code64 = long_mode && cs.long_code();
  nx_enabled = (efer & efer::nxe) != 0;
  if (real_addressing()) {
    mode = Mode::Real16;
  } else if (long_mode) {
    mode = code64 ? Mode::Long64 : cs.big() ? Mode::Compat32 : Mode::Compat16;
  } else {
    mode = cs.big() ? Mode::Prot32 : Mode::Prot16;
  }
  ip_mask = code64 ? ~std::uint64_t{0} : cs.big() && protected_mode ? 0xFFFFFFFF : 0xFFFF;
  stack_mask = code64 ? ~std::uint64_t{0} : segments[kSs].big() ? 0xFFFFFFFF : 0xFFFF;
  stack_keep = stack_mask == 0xFFFF ? ~std::uint64_t{0xFFFF} : 0;
  linear_mask = code64 ? ~std::uint64_t{0} : 0xFFFFFFFF;
  system_mask = long_mode ? ~std::uint64_t{0} : 0xFFFFFFFF;
  target_first = code64 ? ~std::uint64_t{0} << 47 : 0;
  target_span = code64 ? (std::uint64_t{1} << 48) - 1 : cs.limit;
  walked_tlb = cpl == 3 ? tlbs->user.data() : tlbs->supervisor.data();
  forget_code_page();
  refresh_views();
  refresh_watching();
}

void Core::refresh_views() {
  for (unsigned n = 0; n < views.size(); ++n) {
    SegmentView& view = views[n];
    const Segment& s = segments[n];
    if (code64) {
      view = {.base = n >= kFs ? s.base : 0, .last_read = INT64_MAX, .last_write = INT64_MAX};
      continue;
    }
    view = {.base = s.base, .last_read = -1, .last_write = -1};
    if (!protected_mode) {
      view.last_read = view.last_write = s.limit;
    } else if (s.present()) {
      const bool is_code = (s.type() & 8) != 0, bit1 = (s.type() & 2) != 0;
      if (is_code && bit1) view.last_read = s.limit;
      if (!is_code && (s.type() & 4) == 0) {
        view.last_read = s.limit;
        if (bit1) view.last_write = s.limit;
      }
    }
  }
}

void Core::refresh_watching() {
  bool data_breakpoints = monitor.watches_data();
  for (unsigned n = 0; n < 4; ++n) {
    const bool enabled = (dr7 >> (2 * n) & 3) != 0, on_data = (dr7 >> (16 + 4 * n) & 3) != 0;
    data_breakpoints = data_breakpoints || (enabled && on_data);
  }
  const bool aligns = (system_flags & flag::ac) != 0 && (cr0 & cr0::am) != 0 && cpl == 3;
  tlb = noting || data_breakpoints || aligns ? tlbs->never_hits.data() : walked_tlb;
}

void Core::write_flags(std::uint64_t value, std::uint64_t mask) {
  const std::uint64_t before = rflags();
  const std::uint64_t after = (before & ~mask) | (value & mask);
  set_rflags(after);
  const std::uint64_t changed = before ^ after;
  if ((changed & (flag::interrupt | flag::tf)) != 0) arm();
  if ((changed & flag::ac) != 0) {
    if ((cr4 & cr4::smap) != 0) flush_tlb();
    refresh_watching();
  }
}

void Core::set_level(unsigned level) {
  if (level == cpl) return;
  cpl = level;
  watch_stale = true;
  arm();
}

void Core::set_code_segment(const Segment& segment, unsigned level) {
  segments[kCs] = segment;
  segments[kCs].selector = static_cast<std::uint16_t>((segment.selector & 0xFFFC) | level);
  set_level(level);
  refresh_mode();
}

}  // namespace vcpu
}  // namespace zs::machine
