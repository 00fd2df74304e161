// Interrupts and exceptions: through the real-mode vector table, 16- and 32-bit gates with change of ring, 64-bit gates
// with IST; and what becomes of an exception while one is delivered (double fault, shutdown).
// source: SDM vol. 3A, "Interrupt and Exception Handling", "64-bit Mode Stack Frame", table "Conditions for Generating
// a Double Fault".
#include "arch/linear.h"
#include "machine/vcpu/frame.h"

namespace zs::machine::vcpu {

bool stack_allows(const Segment& ss, bool real_mode, std::uint64_t address, unsigned bytes) {
  const std::uint64_t last = address + bytes - 1;
  if (!real_mode && (ss.type() & 4) != 0) return address > ss.limit && last <= (ss.big() ? 0xFFFFFFFFu : 0xFFFFu);
  return last <= ss.limit || ss.limit == 0xFFFFFFFF;
}

void Frame::check() {
  for (unsigned n = 0; n < count_; ++n) {
    if (wide_ ? !arch::is_canonical(place(n)) : !stack_allows(ss_, !core_.protected_mode, place(n), slot_))
      throw Fault{kStackFault, true, error_};
    core_.probe_system_store(linear(n), slot_, user_);
  }
}

std::uint64_t Frame::write(std::uint64_t before) {
  for (unsigned n = 0; n < count_; ++n) core_.store_system(linear(n), slot_, values_[n], user_);
  const std::uint64_t sp = (sp_ - count_ * slot_) & mask_;
  return mask_ == 0xFFFF ? (before & ~std::uint64_t{0xFFFF}) | sp : sp;
}

namespace {

bool is_fault(std::uint8_t vector) {
  switch (vector) {
    case kDebug:
    case kNmi:
    case kBreakpoint:
    case kOverflow:
    case kDoubleFault:
    case kMachineCheck: return false;
    default: return true;
  }
}

}  // namespace

std::uint64_t Core::tss_stack(unsigned level, std::uint16_t& selector, bool external) {
  const Segment& tr = segments[kTr];
  const std::uint32_t ext = external ? 1 : 0;
  const bool wide = (tr.type() & 8) != 0;
  const unsigned offset = wide ? 4 + 8 * level : 2 + 4 * level;
  const unsigned bytes = wide ? 6 : 4;
  if (!tr.present() || offset + bytes - 1 > tr.limit) throw Fault{kInvalidTss, true, (tr.selector & 0xFFFCu) | ext};
  const std::uint64_t sp = load_system(tr.base + offset, wide ? 4 : 2);
  selector = static_cast<std::uint16_t>(load_system(tr.base + offset + (wide ? 4 : 2), 2));
  return sp;
}

std::uint64_t Core::tss_stack64(unsigned offset, bool external) {
  const Segment& tr = segments[kTr];
  const std::uint32_t ext = external ? 1 : 0;
  if (!tr.present() || offset + 7 > tr.limit) throw Fault{kInvalidTss, true, (tr.selector & 0xFFFCu) | ext};
  const std::uint64_t sp = load_system(tr.base + offset, 8);
  if (!arch::is_canonical(sp)) throw Fault{kStackFault, true, ext};
  return sp;
}

void Core::deliver(std::uint8_t vector, bool has_error, std::uint32_t error, Origin origin, std::uint64_t return_ip) {
  const bool external = origin != Origin::Software;  // as error codes understand it
  const std::uint32_t ext = external ? 1 : 0;
  std::uint64_t flags_image = rflags();
  swallow_trap = true;
  if (origin == Origin::Exception && is_fault(vector)) flags_image |= flag::rf;
  if (origin == Origin::External && suspended) flags_image |= flag::rf;

  if (!protected_mode) {
    if (vector * 4u + 3 > idtr.limit) throw Fault{kGeneralProtection, true, vector * 8u + 2 + ext};
    const std::uint64_t entry = load_system(idtr.base + vector * 4u, 4);
    Frame frame(*this, segments[kSs], regs[kRsp], 2, false, false, 0);
    frame.push(flags_image & 0xFFFF);
    frame.push(segments[kCs].selector);
    frame.push(return_ip & 0xFFFF);
    frame.check();
    regs[kRsp] = frame.write(regs[kRsp]);
    system_flags &= ~(flag::interrupt | flag::tf | flag::ac | flag::rf);
    set_real_segment(kCs, static_cast<std::uint16_t>(entry >> 16));
    next_ip = entry & 0xFFFF;
    refresh_mode();
    return;
  }

  const unsigned gate_bytes = long_mode ? 16 : 8;
  const std::uint32_t gate_error = vector * 8u + 2 + ext;
  if (vector * gate_bytes + gate_bytes - 1 > idtr.limit) throw Fault{kGeneralProtection, true, gate_error};
  const std::uint64_t gate = load_system(idtr.base + vector * gate_bytes, 8);
  const std::uint64_t gate_high = long_mode ? load_system(idtr.base + vector * gate_bytes + 8, 8) : 0;
  const auto type = static_cast<unsigned>(gate >> 40 & 31);
  const auto gate_dpl = static_cast<unsigned>(gate >> 45 & 3);
  const bool known = type == 14 || type == 15 || (!long_mode && (type == 6 || type == 7 || type == 5));
  if (!known) throw Fault{kGeneralProtection, true, gate_error};
  if (origin == Origin::Software && gate_dpl < cpl) throw Fault{kGeneralProtection, true, gate_error};
  if ((gate >> 47 & 1) == 0) throw Fault{kNotPresent, true, gate_error};

  const auto selector = static_cast<std::uint16_t>(gate >> 16);
  if (type == 5) {
    const Descriptor task = task_descriptor(selector, false, kGeneralProtection, ext);
    switch_task(task, selector, TaskSwitch::Call, return_ip, flags_image, ext);
    if (has_error) push_task_error(error, ext);
    return;
  }
  if ((selector & 0xFFFC) == 0) throw Fault{kGeneralProtection, true, ext};
  Descriptor d;
  try {
    d = read_descriptor(selector);
  } catch (Fault& fault) {
    if (fault.vector == kGeneralProtection) fault.error |= ext;
    throw fault;
  }
  const std::uint32_t code_error = (selector & 0xFFFCu) | ext;
  const bool is_code = d.code_or_data() && (d.type() & 8) != 0;
  if (!is_code || d.dpl() > cpl) throw Fault{kGeneralProtection, true, code_error};
  if (!d.present()) throw Fault{kNotPresent, true, code_error};
  Segment cs = d.segment(selector);
  if (long_mode && (!cs.long_code() || cs.big())) throw Fault{kGeneralProtection, true, code_error};
  const bool conforming = (d.type() & 4) != 0;
  const unsigned level = conforming ? cpl : d.dpl();
  const bool inward = level < cpl;
  if (virtual8086 && level != 0) throw Fault{kGeneralProtection, true, code_error};

  std::uint64_t target = (gate & 0xFFFF) | (gate >> 32 & 0xFFFF0000);
  if (type == 6 || type == 7) target &= 0xFFFF;
  if (long_mode) target |= (gate_high & 0xFFFFFFFF) << 32;

  Segment ss = segments[kSs];
  std::uint64_t sp = regs[kRsp];
  unsigned slot = long_mode ? 8 : type >= 14 ? 4 : 2;
  if (long_mode) {
    const auto ist = static_cast<unsigned>(gate >> 32 & 7);
    if (ist != 0 || inward) sp = tss_stack64(ist != 0 ? 0x24 + 8 * (ist - 1) : 4 + 8 * level, external);
    if (inward) ss = null_segment(static_cast<std::uint16_t>(level), level);
    sp &= ~std::uint64_t{15};
  } else if (inward) {
    std::uint16_t stack_selector = 0;
    sp = tss_stack(level, stack_selector, external);
    ss = checked_stack_segment(stack_selector, level, kInvalidTss, external);
  }

  const std::uint32_t stack_error = inward && !long_mode ? (ss.selector & 0xFFFCu) | ext : ext;
  Frame frame(*this, ss, sp, slot, level == 3, long_mode, stack_error);
  if (virtual8086) {
    for (const unsigned seg : {kGs, kFs, kDs, kEs}) frame.push(segments[seg].selector);
  }
  if (long_mode || inward) {
    frame.push(segments[kSs].selector);
    frame.push(regs[kRsp]);
  }
  frame.push(flags_image);
  frame.push(segments[kCs].selector);
  frame.push(return_ip);
  if (has_error) frame.push(error);
  frame.check();
  if (long_mode ? !arch::is_canonical(target) : target > cs.limit) throw Fault{kGeneralProtection, true, ext};

  const std::uint64_t pointer = frame.write(regs[kRsp]);
  set_accessed(d);
  regs[kRsp] = pointer;
  if (inward) segments[kSs] = ss;
  if (virtual8086) {
    for (const unsigned seg : {kEs, kDs, kFs, kGs}) segments[seg] = null_segment(0);
  }
  cs.selector = static_cast<std::uint16_t>((selector & 0xFFFC) | level);
  system_flags &= ~(flag::tf | flag::nt | flag::rf | flag::vm);
  if ((type & 1) == 0) system_flags &= ~flag::interrupt;
  set_code_segment(cs, level);
  next_ip = target;
}

namespace {

bool contributory(std::uint8_t vector) { return vector == 0 || (vector >= 10 && vector <= 13); }

}  // namespace

bool Core::raise(const Fault& fault) {
  Fault current = fault;
  for (;;) {
    const std::uint64_t from = linear_ip();
    const unsigned level = cpl;
    try {
      if (current.vector == kDebug) {
        dr7 &= ~std::uint64_t{1 << 13};  // GD
        debugctl &= ~std::uint64_t{2};   // BTF
        flush_reports();
        observer.debug_exception();
        watch_stale = true;
      }
      // In real mode there are no error codes.
      deliver(current.vector, current.has_error && protected_mode, current.error, Origin::Exception, regs[kIp]);
      regs[kIp] = next_ip;
      report_transfer({from, linear_ip(), arch::BranchKind::Far, false, static_cast<std::uint8_t>(level),
                       static_cast<std::uint8_t>(cpl)},
                      TransferCause::Exception);
      return true;
    } catch (const Fault& second) {
      if (current.vector == kDoubleFault) {
        stop = Stop{StopKind::TripleFault, false, linear_ip(), "an exception could not be delivered, nor #DF after it"};
        halted = true;
        return false;
      }
      const bool doubles =
          (contributory(current.vector) && contributory(second.vector)) ||
          (current.vector == kPageFault && (contributory(second.vector) || second.vector == kPageFault));
      current = doubles ? Fault{kDoubleFault, true, 0} : second;
    }
  }
}

}  // namespace zs::machine::vcpu
