// The run loop: what happens between instructions, in the processor's order, and the fast loop over instructions in
// which nothing can happen.
// source: SDM vol. 3A, table "Priority Among Concurrent Events".
#include <algorithm>

#include "arch/linear.h"
#include "machine/vcpu/core.h"
#include "machine/vcpu/x87_image.h"

namespace zs::machine::vcpu {

using Retirements = Watch::Retirements;

arch::RegisterFile Core::register_file(std::uint64_t ip) const {
  return arch::register_file(regs.data(), rflags(), ip);
}

std::uint64_t Core::linear_ip() const { return ((code64 ? 0 : segments[kCs].base) + regs[kIp]) & linear_mask; }

// ---- reports

void Core::flush_reports() {
  if (watch.retirements == Retirements::Tally) {
    report_rows.clear();
    for (std::size_t row = 2; row < tally.size(); ++row) {
      if (tally[row] == 0) continue;
      report_rows.push_back({facts[row], tally[row]});
      report_rows.back().kind.cpl = static_cast<std::uint8_t>(watched_cpl);
      tally[row] = 0;
    }
    if (!report_rows.empty()) observer.tallied(report_rows);
  }
  if (const std::uint64_t now = retired(); now != reported) {
    const std::uint64_t count = now - reported;
    reported = now;
    observer.counted(count);
  }
}

void Core::ask_watch() {
  flush_reports();
  watch = observer.watch(cpl);
  watched_cpl = cpl;
  watch_stale = false;
  watch_until = retired() + watch.horizon;
  if (watch_until < watch.horizon) watch_until = ~std::uint64_t{0};
  if (const bool notes = watch.retirements == Retirements::Each; notes != noting) {
    noting = notes;
    refresh_watching();
  }
}

void Core::report_transfer(arch::TakenBranch branch, TransferCause cause) {
  branch.cause = cause;
  observer.transferred(branch, cause);
}

void Core::retire_one(std::uint16_t row, unsigned level, std::uint64_t from) {
  arch::Retired retired_now = facts[row + (taken && facts[row].branch != arch::BranchKind::None ? 1u : 0u)];
  retired_now.cpl = static_cast<std::uint8_t>(level);
  retired_now.next_cpl = static_cast<std::uint8_t>(cpl);
  retired_now.transfer_entered = watch.branches;
  retired_now.ip = from;
  retired_now.next_ip = linear_ip();
  if (retired_now.rep_string) {
    retired_now.load_count = rep_elements * retired_now.loads;
    retired_now.store_count = rep_elements * retired_now.stores;
  }
  for (unsigned n = 0; n < access_count; ++n) {
    const MemoryAccess& access = accesses[n];
    const bool split = (access.linear & 63) + access.bytes > 64;
    if (split) ++(access.write ? retired_now.split_stores : retired_now.split_loads);
  }
  const auto bytes_of = [](const MemoryAccess& access) {
    return static_cast<std::uint8_t>(access.bytes <= UINT8_MAX ? access.bytes : 0);
  };
  if (access_count != 0) {
    retired_now.data_address = accesses[0].linear;
    retired_now.data_bytes = bytes_of(accesses[0]);
  }
  for (unsigned n = access_count; n-- != 0;) {
    if (!accesses[n].write) continue;
    retired_now.store_address = accesses[n].linear;
    retired_now.store_bytes = bytes_of(accesses[n]);
  }
  observer.retired(retired_now, register_file(regs[kIp]), std::span(accesses.data(), access_count));
}

// ---- the fast loop

template <Watch::Retirements R, bool Branches>
void Core::spin() {
  const Insn* insn = scratch.data();
  do {
    insn = fetch(insn);
    next_ip = (regs[kIp] + insn->length) & ip_mask;
    [[maybe_unused]] unsigned level = 0;
    [[maybe_unused]] std::uint64_t from = 0;
    if constexpr (R != Retirements::Count || Branches) taken = false;
    if constexpr (R == Retirements::Each) access_count = 0;
    if constexpr (R != Retirements::Count || Branches) {
      level = cpl;
      from = linear_ip();
    }
    insn->run(*this, *insn);
    regs[kIp] = next_ip;
    if constexpr (R != Retirements::Count || Branches) {
      if (suspended) continue;
    }
    if constexpr (Branches) {
      const arch::Retired& kind = facts[insn->facts];
      if (kind.branch != arch::BranchKind::None && (kind.taken || taken)) {
        branched = true;
        if (watch.branches) {
          report_transfer(
              {from, linear_ip(), kind.branch, false, static_cast<std::uint8_t>(level), static_cast<std::uint8_t>(cpl)},
              TransferCause::Instruction);
        }
      }
    }
    if constexpr (R == Retirements::Tally) {
      if (insn->rep != Rep::None) [[unlikely]] {
        flush_reports();
        retire_one(insn->facts, level, from);
      } else {
        ++tally[insn->facts + (taken ? 1u : 0u)];
      }
    }
    if constexpr (R == Retirements::Each) {
      if (insn->facts != 0) retire_one(insn->facts, level, from);
    }
  } while (--left > 0);
}

void Core::spin_as_watched(bool stepping) {
  const bool branches = watch.branches || stepping;
  switch (watch.retirements) {
    case Retirements::Count: return branches ? spin<Retirements::Count, true>() : spin<Retirements::Count, false>();
    case Retirements::Tally: return branches ? spin<Retirements::Tally, true>() : spin<Retirements::Tally, false>();
    case Retirements::Each: return branches ? spin<Retirements::Each, true>() : spin<Retirements::Each, false>();
  }
}

// ---- between instructions

void Core::take_interrupt(std::uint8_t vector) {
  const std::uint64_t from = linear_ip();
  const unsigned level = cpl;
  halted = false;
  try {
    deliver(vector, false, 0, Origin::External, regs[kIp]);
    regs[kIp] = next_ip;
    suspended = false;
    report_transfer({from, linear_ip(), arch::BranchKind::Far, false, static_cast<std::uint8_t>(level),
                     static_cast<std::uint8_t>(cpl)},
                    TransferCause::Interrupt);
  } catch (const Fault& fault) {
    handle_fault(fault);
  }
  watch_stale = true;
}

/// A trap of HLT itself, as of every event, ends the halt.
void Core::handle_fault(const Fault& fault) {
  halted = suspended = false;
  if (!raise(fault)) stopping = true;
}

/// Delivers what is due. returns false if the run ends here (stop is filled in)
bool Core::boundary() {
  for (;;) {
    if (stopping) return false;
    if (const auto hit = monitor.take_hit()) {
      stop = {StopKind::Watchpoint, false, *hit, ""};
      return false;
    }
    if (stop_requested) {
      stop_requested = false;
      stop = {StopKind::Requested, false, linear_ip(), ""};
      return false;
    }
    const bool blocked = shadow;
    if (ds_fault_pending) {
      ds_fault_pending = false;
      if (ds_fault.vector == kPageFault) cr2 = ds_fault_address;
      handle_fault(ds_fault);
    } else if (mce_pending) {
      mce_pending = false;
      flush_reports();
      observer.machine_check();
      watch_stale = true;
      if ((cr4 & cr4::mce) == 0) {
        stop = {StopKind::TripleFault, false, linear_ip(), "machine check with CR4.MCE clear"};
        return false;
      }
      handle_fault({kMachineCheck, false, 0});
    } else if (smi_pending && !in_smm && !blocked) {
      enter_smm();
    } else if (init_pending && !in_smm) {
      do_init();
    } else if (pending_dr6 != 0 && !shadow_blocks_traps) {
      note_debug_cause(0);
      handle_fault({kDebug, false, 0});
    } else if (nmi_pending && !nmi_blocked && !blocked) {
      nmi_pending = false;
      flush_reports();
      nmi_blocked = true;
      take_interrupt(kNmi);
    } else if (interrupt_line && (system_flags & flag::interrupt) != 0 && !blocked) {
      flush_reports();
      const auto vector = interrupts.acknowledge();
      if (!vector) {
        interrupt_line = false;
        continue;
      }
      take_interrupt(*vector);
    } else {
      break;
    }
  }
  if (halted) {
    stop = {StopKind::Halted, (system_flags & flag::interrupt) != 0, linear_ip(), ""};
    return false;
  }
  return true;
}

bool Core::event_due() const {
  const bool steps = (system_flags & flag::tf) != 0;
  return ds_fault_pending || mce_pending || ((smi_pending || init_pending) && !in_smm) || pending_dr6 != 0 || steps ||
         (nmi_pending && !nmi_blocked) || (interrupt_line && (system_flags & flag::interrupt) != 0);
}

Stop Core::run(std::uint64_t instructions) {
  std::uint64_t deadline = retired() + instructions;
  if (deadline < instructions) deadline = ~std::uint64_t{0};
  stopping = stop_requested = false;
  watch_stale = true;
  // A handler that faults at its first instruction and a repetition without end retire nothing. After a good number of
  // such rounds in a row each counts like an instruction: no guest runs longer than its limit lets it.
  constexpr unsigned kFruitlessForFree = 256;
  fruitless = 0;
  unsigned in_a_row = 0;
  std::uint64_t last_retired = ~std::uint64_t{0};
  for (bool first = true;; first = false) {
    bool finished = false, refused = false;
    in_a_row = retired() == last_retired ? in_a_row + 1 : 0;
    if (in_a_row > kFruitlessForFree) ++fruitless;
    last_retired = retired();
    try {
      // Reporting moves the clock, and a timer that this lets expire interrupts before the next instruction.
      if (watch_stale || retired() >= watch_until) ask_watch();
      finished = !boundary();
      if (!finished && !first && retired() + fruitless >= deadline) {
        stop = {StopKind::Limit, (system_flags & flag::interrupt) != 0, linear_ip(), ""};
        finished = true;
      }
      if (!finished && first && instructions == 0) {
        stop = {StopKind::Limit, (system_flags & flag::interrupt) != 0, linear_ip(), ""};
        finished = true;
      }
      if (!finished) run_stretch(deadline);
    } catch (const Fault& fault) {
      try {
        handle_fault(fault);
      } catch (const Refusal& refusal) {
        stop = {StopKind::Unsupported, false, linear_ip(), refusal.what};
        refused = true;
      }
    } catch (const Refusal& refusal) {
      stop = {StopKind::Unsupported, false, linear_ip(), refusal.what};
      refused = true;
    } catch (const MonitorStop& stopped) {
      monitor.stopped_at(stopped.linear);
      stop = {StopKind::Breakpoint, (system_flags & flag::interrupt) != 0, stopped.linear, ""};
      finished = true;
    }
    if (finished || refused) {
      flush_reports();
      return stop;
    }
  }
}

/// As many instructions as may run before something must be looked at.
void Core::run_stretch(std::uint64_t deadline) {
  if (watch_stale || retired() >= watch_until) ask_watch();
  std::uint64_t count = std::min<std::uint64_t>(deadline - retired() - fruitless, std::uint64_t{1} << 30);
  if (watch.retirements != Retirements::Each)
    count = std::min(count, std::max<std::uint64_t>(watch_until - retired(), 1));
  const bool steps = (system_flags & flag::tf) != 0;
  const bool resumes = (system_flags & flag::rf) != 0;
  const bool code_breakpoints = watches_code();
  // Behind MOV SS and POP SS a code breakpoint is lost on Intel's processors, and hits on AMD's.
  const bool breaks = code_breakpoints && !resumes && (!shadow_blocks_traps || is_amd());
  if (breaks && code_breakpoint_here()) throw Fault{kDebug, false, 0};
  system_flags &= ~flag::rf;
  // After a shadow an ordinary look at what is pending follows the next instruction.
  if (steps || code_breakpoints || shadow || monitor.passes_one()) count = 1;
  const bool was_shadow = shadow;
  if (was_shadow) shadow = shadow_blocks_traps = false;
  planned = retired() + count;
  left = static_cast<std::int64_t>(count);
  branched = swallow_trap = false;
  spin_as_watched(steps);
  monitor.passed();
  if (suspended) --planned;  // not retired yet
  const bool branch_steps = (debugctl & 2) != 0;
  if (steps && !swallow_trap && !shadow_blocks_traps && (!branch_steps || branched)) pending_dr6 |= 1u << 14;
}

// ---- SMM and INIT

void Core::enter_smm() {
  smi_pending = false;
  flush_reports();
  observer.smm(true);
  watch_stale = true;
  smm_saved = state();
  smm_saved.rip = regs[kIp];
  smm_saved.halted = false;
  CpuState s = smm_saved;
  for (Segment& segment : s.segments) segment = {.selector = 0, .attributes = 0x93, .limit = 0xFFFFFFFF, .base = 0};
  s.segments[kLdtr] = smm_saved.segments[kLdtr];
  s.segments[kTr] = smm_saved.segments[kTr];
  s.segments[kCs] = {
      .selector = static_cast<std::uint16_t>(smbase >> 4), .attributes = 0x93, .limit = 0xFFFFFFFF, .base = smbase};
  s.rip = 0x8000;
  s.rflags = 2;
  s.cr0 &= ~(cr0::pe | cr0::em | cr0::ts | cr0::pg);
  s.cr4 = s.efer = 0;
  s.dr7 = 0x400;
  s.in_smm = s.nmi_blocked = true;
  set_state(s);
}

void Core::leave_smm() {
  if (!in_smm) raise_ud();
  flush_reports();
  observer.smm(false);
  watch_stale = true;
  CpuState s = smm_saved;
  s.smbase = smbase;
  set_state(s);
  next_ip = s.rip;
}

/// INIT: as RESET, but caches, MSRs and the x87 and SSE state stay.
void Core::do_init() {
  init_pending = false;
  flush_reports();
  observer.init();
  watch_stale = true;
  CpuState s = reset_state();
  s.cr0 = (cr0 & (cr0::cd | cr0::nw)) | cr0::et;
  s.x87 = x87_state(fx), s.xmm = xmm, s.mxcsr = mxcsr;
  s.smbase = smbase;
  s.star = star, s.lstar = lstar, s.cstar = cstar, s.fmask = fmask;
  s.sysenter_cs = sysenter_cs, s.sysenter_esp = sysenter_esp, s.sysenter_eip = sysenter_eip;
  set_state(s);
  pending_dr6 = 0;
  debugctl = 0;
}

}  // namespace zs::machine::vcpu
