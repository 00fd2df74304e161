// Hardware task switches: a TSS or a task gate as the target of a far JMP or CALL, a task gate in the IDT, IRET of a
// nested task. What is wrong faults in the old task until the new one's state is there, and then in the new one.
// source: SDM vol. 3A, "Task Switching", "Exception Conditions Checked During a Task Switch", "16-Bit Task-State
// Segment (TSS)".
#include "machine/vcpu/frame.h"

namespace zs::machine::vcpu {
namespace {

using U8 = std::uint8_t;
using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

constexpr U64 kBusy = U64{2} << 40;

/// Where a TSS keeps what; fields that the processor loads and stores are `bytes` wide, one behind the other.
struct TssLayout {
  unsigned bytes, ip, flags, registers, segments, segment_count, ldt, last;
};
constexpr TssLayout kTss32{4, 0x20, 0x24, 0x28, 0x48, 6, 0x60, 0x67};
constexpr TssLayout kTss16{2, 0x0E, 0x10, 0x12, 0x22, 4, 0x2A, 0x2B};
constexpr unsigned kLink = 0, kCr3 = 0x1C, kTrapWord = 0x64;

const TssLayout& layout_of(unsigned type) { return (type & 8) != 0 ? kTss32 : kTss16; }

[[noreturn]] void fault_of(U8 vector, U16 selector, U32 external) {
  throw Fault{vector, true, (selector & 0xFFFCu) | external};
}

Segment task_code(Core& c, U16 selector) {
  if ((selector & 0xFFFC) == 0) fault_of(kInvalidTss, selector, 0);
  Core::Descriptor d = c.read_descriptor(selector, kInvalidTss);
  const unsigned rpl = selector & 3u;
  const bool code = d.code_or_data() && (d.type() & 8) != 0, conforming = (d.type() & 4) != 0;
  if (!code || (conforming ? d.dpl() > rpl : d.dpl() != rpl)) fault_of(kInvalidTss, selector, 0);
  if (!d.present()) fault_of(kNotPresent, selector, 0);
  c.set_accessed(d);
  return d.segment(selector);
}

Segment task_ldt(Core& c, U16 selector) {
  if ((selector & 0xFFFC) == 0) return null_segment(selector);
  if ((selector & 4) != 0) fault_of(kInvalidTss, selector, 0);
  const Core::Descriptor d = c.read_descriptor(selector, kInvalidTss);
  if (d.code_or_data() || d.type() != 2 || !d.present()) fault_of(kInvalidTss, selector, 0);
  return d.segment(selector);
}

}  // namespace

Core::Descriptor Core::task_descriptor(U16 selector, bool busy, U8 vector, U32 external) {
  if ((selector & 4) != 0 || (selector | 7u) > gdtr.limit) fault_of(vector, selector, external);
  const Descriptor d = read_descriptor(selector, vector);
  const unsigned wanted = busy ? 3 : 1;
  if (d.code_or_data() || (d.type() & 7) != wanted) fault_of(vector, selector, external);
  if (!d.present()) fault_of(kNotPresent, selector, external);
  return d;
}

void Core::switch_task(const Descriptor& to, U16 selector, TaskSwitch why, U64 return_ip, U64 flags, U32 external) {
  Segment& tr = segments[kTr];
  Segment tss = to.segment(selector);
  const TssLayout &in = layout_of(to.type()), &out = layout_of(tr.type());
  if (tss.limit < in.last) fault_of(kInvalidTss, selector, external);
  if (!tr.present() || tr.limit < out.last) fault_of(kInvalidTss, tr.selector, external);

  // Everything that is read and written is there before anything changes.
  const U64 old_descriptor = gdtr.base + (tr.selector & 0xFFF8u) + 5;
  probe_system_store(tr.base + out.ip, out.segments + out.segment_count * out.bytes - out.ip);
  probe_system_store(tss.base + kLink, 2);
  probe_system_store(old_descriptor, 1);
  probe_system_store(to.address + 5, 1);
  const auto field = [&](unsigned offset) { return load_system(tss.base + offset, in.bytes); };
  const bool wide = in.bytes == 4;
  const U64 new_ip = field(in.ip), new_flags = field(in.flags), new_cr3 = wide ? field(kCr3) : 0;
  const auto new_ldt = static_cast<U16>(field(in.ldt));
  const bool traps = wide && (field(kTrapWord) & 1) != 0;
  std::array<U64, 8> registers{};
  for (unsigned n = 0; n < 8; ++n) registers[n] = field(in.registers + n * in.bytes) | (wide ? 0 : 0xFFFF0000);
  std::array<U16, 6> selectors{};  // a 16-bit TSS has no FS and GS
  for (unsigned n = 0; n < in.segment_count; ++n) selectors[n] = static_cast<U16>(field(in.segments + n * in.bytes));

  // The old task.
  if (why != TaskSwitch::Call) store_system(old_descriptor, 1, load_system(old_descriptor, 1) & ~(kBusy >> 40));
  if (why == TaskSwitch::Return) flags &= ~flag::nt;
  const auto keep = [&](unsigned offset, U64 value) { store_system(tr.base + offset, out.bytes, value); };
  keep(out.ip, return_ip);
  keep(out.flags, flags);
  for (unsigned n = 0; n < 8; ++n) keep(out.registers + n * out.bytes, regs[n]);
  for (unsigned n = 0; n < out.segment_count; ++n) keep(out.segments + n * out.bytes, segments[n].selector);
  if (why == TaskSwitch::Call) store_system(tss.base + kLink, 2, tr.selector);

  // The new one, from here on also for faults.
  if (why != TaskSwitch::Return) store_system(to.address + 5, 1, (to.low | kBusy) >> 40 & 0xFF);
  tss.attributes |= kBusy >> 40;
  tr = tss;
  cr0 |= cr0::ts;
  constexpr U64 kLocalBreakpoints = 0x155;
  dr7 &= ~kLocalBreakpoints;
  std::ranges::copy(registers, regs.begin());
  regs[kIp] = next_ip = new_ip;
  constexpr U64 kKnown = flag::arithmetic | flag::tf | flag::interrupt | flag::df | flag::iopl | flag::nt | flag::rf |
                         flag::vm | flag::ac | flag::vif | flag::vip | flag::id;
  set_rflags((new_flags & kKnown & (wide ? ~U64{0} : 0xFFFF)) | (why == TaskSwitch::Call ? flag::nt : 0));
  if (why == TaskSwitch::Return) nmi_blocked = false;
  for (unsigned n = 0; n < selectors.size(); ++n) segments[n] = null_segment(selectors[n]);
  segments[kLdtr] = null_segment(new_ldt);
  swallow_trap = watch_stale = true;
  if (traps) pending_dr6 |= U64{1} << 15;  // BT
  arm();
  cpl = (system_flags & flag::vm) != 0 ? 3 : selectors[kCs] & 3u;
  refresh_mode();
  if (wide && (cr0 & cr0::pg) != 0) write_cr3(new_cr3);
  try {
    segments[kLdtr] = task_ldt(*this, new_ldt);
    for (const unsigned seg : {kCs, kSs, kEs, kDs, kFs, kGs}) {
      segments[seg] = virtual8086  ? virtual8086_segment(selectors[seg])
                      : seg == kCs ? task_code(*this, selectors[kCs])
                      : seg == kSs ? checked_stack_segment(selectors[kSs], cpl, kInvalidTss, false)
                                   : checked_data_segment(selectors[seg], kInvalidTss);
    }
  } catch (Fault& fault) {
    refresh_mode();
    if (fault.vector != kPageFault) fault.error |= external;
    throw fault;
  }
  refresh_mode();
  if (new_ip > segments[kCs].limit) throw Fault{kGeneralProtection, true, external};
}

void Core::push_task_error(U32 error, U32 external) {
  Frame frame(*this, segments[kSs], regs[kRsp], layout_of(segments[kTr].type()).bytes, cpl == 3, false, external);
  frame.push(error);
  frame.check();
  regs[kRsp] = frame.write(regs[kRsp]);
}

void Core::enter_task(const Descriptor& d, U16 selector, TaskSwitch why) {
  const bool gate = d.type() == 5;
  if (long_mode || !(gate || d.type() == 1 || d.type() == 9)) selector_fault(kGeneralProtection, selector);
  if (d.dpl() < cpl || d.dpl() < (selector & 3u)) selector_fault(kGeneralProtection, selector);
  if (gate && !d.present()) selector_fault(kNotPresent, selector);
  const U16 task = gate ? static_cast<U16>(d.low >> 16) : selector;
  switch_task(task_descriptor(task, false, kGeneralProtection, 0), task, why, next_ip, rflags(), 0);
}

void Core::leave_task() {
  const Segment& tr = segments[kTr];
  const auto task = static_cast<U16>(load_system(tr.base + kLink, 2));
  switch_task(task_descriptor(task, true, kInvalidTss, 0), task, TaskSwitch::Return, next_ip, rflags(), 0);
}

}  // namespace zs::machine::vcpu
