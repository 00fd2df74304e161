#include "engine/kernel/signals/signal_entry.h"

#include <atomic>
#include <cstring>
#include <utility>

#include "arch/linear.h"
#include "engine/kernel/signals/signal_frame.h"
#include "engine/kernel/signals/signal_gate.h"
#include "engine/kernel/threads/syscall_window.h"
#include "engine/kernel/threads/thread_stacks.h"
#include "engine/memory/copy_code.h"
#include "engine/raw_syscall.h"
#include "engine/tried_instructions.h"

namespace zs::engine {

SignalEntry* SignalEntry::instance = nullptr;

void signal_entry(int signal, siginfo_t* info, void* ucontext) {
  // The kernel leaves the alignment check on, if the program had it on; compiled code does not keep to it.
  constexpr unsigned long long kAlignmentCheck = 0x40000;
  if (const auto flags = __builtin_ia32_readeflags_u64(); (flags & kAlignmentCheck) != 0)
    __builtin_ia32_writeeflags_u64(flags & ~kAlignmentCheck);
  SignalEntry::instance->on_signal(signal, *info, *static_cast<ucontext_t*>(ucontext));
}

namespace {

std::uint64_t pc_of(const greg_t* regs) { return static_cast<std::uint64_t>(regs[REG_RIP]); }
void go_on_at(greg_t* regs, std::uint64_t pc) { regs[REG_RIP] = static_cast<greg_t>(pc); }
void go_on_at(greg_t* regs, const char& place) { go_on_at(regs, reinterpret_cast<std::uint64_t>(&place)); }

bool is_request(int signal, const siginfo_t& info) { return signal == SIGTRAP && info.si_code == kAsksToRunNatively; }

/// Our own code faulted. Say where, and end as any other failure of ours.
[[noreturn]] void end_in_engine(std::uint64_t pc, const siginfo_t& info) {
  char text[] = "zeroskid: internal error: fault in the engine at 0x0000000000000000, address 0x0000000000000000\n";
  const auto hex = [&](char* at, std::uint64_t value) {
    for (int i = 15; i >= 0; --i, value >>= 4) at[i] = "0123456789abcdef"[value & 15];
  };
  hex(std::strstr(text, "0x") + 2, pc);
  hex(std::strstr(text, "address 0x") + 10, reinterpret_cast<std::uint64_t>(info.si_addr));
  raw_syscall(SYS_write, 2, text, sizeof text - 1);
  raw_syscall(SYS_exit_group, kToolFailed);
  __builtin_unreachable();
}

/// Where a thread goes on that has faulted at `pc` in what the engine only tries; 0: it was in nothing of the kind.
std::uint64_t behind_try(std::uint64_t pc) {
  static constexpr struct {
    const char *fault, *end;
  } kTries[] = {{&zs_runs_rdgsbase_fault, &zs_runs_rdgsbase_end},
                {&zs_runs_rdtsc_fault, &zs_runs_rdtsc_end},
                {&zs_runs_int80_fault, &zs_runs_int80_end}};
  for (const auto& tried : kTries) {
    if (pc == reinterpret_cast<std::uint64_t>(tried.fault)) return reinterpret_cast<std::uint64_t>(tried.end);
  }
  return behind_copy_of_code(pc);
}

/// A system call that has not started yet is called off.
void leave_call_window(greg_t* regs) {
  static constexpr struct {
    const char *begin, *syscall, *interrupted;
  } kWindows[] = {
      {&zs_syscall_window_begin, &zs_syscall_window_syscall, &zs_syscall_window_interrupted},
      {&zs_clone_window_begin, &zs_clone_window_syscall, &zs_clone_window_interrupted},
      {&zs_touch_begin, &zs_touch_end, &zs_touch_left},
  };
  const std::uint64_t pc = pc_of(regs);
  for (const auto& window : kWindows) {
    if (pc >= reinterpret_cast<std::uint64_t>(window.begin) && pc <= reinterpret_cast<std::uint64_t>(window.syscall))
      go_on_at(regs, *window.interrupted);
  }
}

}  // namespace

void SignalEntry::on_signal(int signal, siginfo_t& info, ucontext_t& context) {
  greg_t* const regs = context.uc_mcontext.gregs;
  Thread* found = thread_at(reinterpret_cast<std::uint64_t>(__builtin_frame_address(0)));
  if (found->vfork_child != nullptr && raw_syscall(SYS_gettid) != found->id.tid) found = found->vfork_child;
  Thread& thread = *found;
  if (is_for_tracer(thread, context) || is_engines_own(thread, signal, info, regs) ||
      is_lookup(thread, signal, info, regs))
    return;
  const std::uint64_t pc = pc_of(regs);
  if (is_request(signal, info)) thread.process->leaves = true;
  // It sleeps, or slept, in a page fault that another thread has to answer, which waits for the lock.
  const std::uint64_t slept_at = EngineLock::where_it_waited_for_memory(info);
  const bool waits = slept_at != 0 && slept_at == pc && run_.lock.owner() == &thread;
  if (slept_at != 0 && !waits) return;
  const bool synchronous = waits || (is_synchronous(signal) && (info.si_code > 0 || info.si_code == SI_KERNEL));
  if (const std::uint64_t behind = behind_try(pc); synchronous && behind != 0) return go_on_at(regs, behind);
  if (synchronous) return take_fault(thread, info, regs, waits);
  if (!take_asynchronous(thread, signal, info, context)) return;
  // In C++ the dispatcher will look at `pending` itself, until it has looked for the last time.
  if (run_.lock.owner() == &thread && (in_code(thread, pc) || entry_.begun())) entry_.trip();
  leave_call_window(regs);
}

bool SignalEntry::in_code(const Thread& thread, std::uint64_t pc) const {
  return run_.code_cache->executes(pc) && run_.lock.owner() == &thread;
}

// What the kernel took once more in the program's registers has not ended the process: a tracer has taken it away.
bool SignalEntry::is_for_tracer(Thread& thread, ucontext_t& context) {
  if (thread.rsp_while_shown == 0) return false;
  greg_t* const regs = context.uc_mcontext.gregs;
  regs[REG_RSP] = static_cast<greg_t>(std::exchange(thread.rsp_while_shown, 0));
  go_on_at(regs, zs_was_program);
  const std::uint64_t everything = ~std::uint64_t{0};
  std::memcpy(&context.uc_sigmask, &everything, 8);
  return true;
}

// The kernel returns with IRET, which faults where the stack pointer is no address.
void SignalEntry::leave_code_for(std::uint64_t stub, greg_t* regs) {
  go_on_at(regs, stub);
  if (!arch::is_canonical(static_cast<std::uint64_t>(regs[REG_RSP])))
    entry_.keep_odd_stack_pointer(static_cast<std::uint64_t>(std::exchange(regs[REG_RSP], 0)));
}

// A trap or fault that the engine has asked for: behind POPF, and at the end of the trace.
bool SignalEntry::is_engines_own(Thread& thread, int signal, const siginfo_t& info, greg_t* regs) {
  // POPF has set the trap flag; behind the next instruction, which is the engine's, it goes.
  if (signal == SIGTRAP && info.si_code == TRAP_TRACE && (static_cast<std::uint64_t>(regs[REG_EFL]) & kTrapFlag) != 0 &&
      run_.lock.owner() == &thread) {
    regs[REG_EFL] &= ~static_cast<greg_t>(kTrapFlag);
    thread.traps = true;
    return true;
  }
  const std::uint64_t pc = pc_of(regs);
  if (!in_code(thread, pc)) return false;
  // While the program has the alignment check on, appends of the budget form fault too: they leave as at the guard. All
  // else that is not the program's own access is aligned.
  const bool misaligned_append = signal == SIGBUS && info.si_code == BUS_ADRALN;
  const auto address = reinterpret_cast<std::uint64_t>(info.si_addr);
  const bool beside = signal == SIGSEGV && info.si_code > 0 && run_.map.layout().engine.contains(address);
  // A jump and a system call have no code of their own, so an append stands where they begin. The register holds the
  // pointer less a bias, both of 32 bits.
  constexpr std::uint64_t kAppended = 4;
  const std::uint64_t pointer = static_cast<std::uint64_t>(regs[REG_R11]) + run_.trace().pointer_bias();
  const auto behind_trace = static_cast<std::uint32_t>(address - pointer);
  if ((!misaligned_append && !beside) || !(is_glue(pc) || (beside && behind_trace < kAppended))) return false;
  if (beside && run_.trace().open_beside(address)) return true;
  if (beside && !run_.trace().faults_at(address)) return false;
  run_.context.guard_pc = pc;
  leave_code_for(run_.stubs.guard, regs);
  return true;
}

// Code of the engine's between the program's instructions, or behind them in an exit.
bool SignalEntry::is_glue(std::uint64_t pc) const {
  const BlockStore& blocks = run_.translator->blocks();
  return !blocks.is_in_front(blocks.locate(pc), pc);
}

// The direct table was asked for what is in rcx: the fault names its entry, or that has no address, or leads to none.
bool SignalEntry::is_lookup_at(const siginfo_t& info, const greg_t* regs) const {
  if (!run_.code_cache->direct_table().is_mapped()) return false;
  const std::uint64_t entry = run_.code_cache->direct_table().entry_of(static_cast<std::uint64_t>(regs[REG_RCX]));
  return info.si_code == SI_KERNEL || reinterpret_cast<std::uint64_t>(info.si_addr) == entry;
}

// An indirect branch met an untouched page of the direct table (pc 0), a part of it that nothing was put into yet, or a
// target that it does not cover.
bool SignalEntry::is_lookup(const Thread& thread, int signal, const siginfo_t& info, greg_t* regs) {
  if (signal != SIGSEGV || info.si_code <= 0 || run_.lock.owner() != &thread) return false;
  const std::uint64_t pc = pc_of(regs);
  const bool left_table = in_code(thread, pc) && is_glue(pc) && is_lookup_at(info, regs);
  if (!(pc == 0 && entry_.begun()) && !left_table) return false;
  const DirectTable& table = run_.code_cache->direct_table();
  if (left_table && !table.covers(static_cast<std::uint64_t>(regs[REG_RCX]))) entry_.note_far_lookup(pc);
  leave_code_for(run_.stubs.indirect_miss, regs);
  return true;
}

// waits_for_memory: it is no fault yet, and perhaps will be none
void SignalEntry::take_fault(Thread& thread, const siginfo_t& info, greg_t* regs, bool waits_for_memory) {
  const std::uint64_t pc = pc_of(regs);
  const BlockStore::Place place = in_code(thread, pc) ? run_.translator->blocks().locate(pc) : BlockStore::Place{};
  // Whatever page the kernel has to see to first, it sleeps for it: also the trace's, and that of the code. Who slept
  // there is not in front of an instruction, and goes on where it was.
  if (waits_for_memory && !run_.translator->blocks().is_in_front(place, pc)) return;
  if (place.block == kNone) end_in_engine(pc, info);
  // Undo what the translation did to the registers around this instruction.
  if (place.meta.rcx_spilled != 0) {
    regs[REG_RCX] = static_cast<greg_t>(run_.context.slot_rcx);
  } else if (const unsigned number = place.meta.far_register(); number != 0) {
    regs[kSavedAt[number - 1]] = static_cast<greg_t>(run_.context.slot_far);
  }
  if (place.meta.map_register != 0) {
    run_.context.gpr[kTracePointer] = static_cast<std::uint64_t>(regs[kSavedAt[place.meta.map_register]]);
    regs[kSavedAt[place.meta.map_register]] = static_cast<greg_t>(run_.context.slot_map);
  }
  Fault& fault = thread.fault;
  fault.present = true;
  fault.info = info;
  if (waits_for_memory) fault.info.si_signo = kWaitsForMemory;
  fault.error_code = static_cast<std::uint64_t>(regs[REG_ERR]);
  fault.trap_number = static_cast<std::uint64_t>(regs[REG_TRAPNO]);
  fault.address = static_cast<std::uint64_t>(regs[REG_CR2]);
  fault.cache_pc = pc;
  leave_code_for(run_.stubs.fault, regs);
}

// returns whether the thread has something to look at now
bool SignalEntry::take_asynchronous(Thread& thread, int signal, const siginfo_t& info, ucontext_t& context) {
  if (is_request(signal, info)) {
    thread.pending.fetch_or(kSentWaits);
    return true;
  }
  if (is_synchronous(signal)) {  // sent by somebody
    if ((thread.sent.load() & signal_bit(signal)) == 0) thread.sent_info[signal] = info;
    thread.sent.fetch_or(signal_bit(signal));
    if ((thread.mask_in_force() & signal_bit(signal)) != 0) return false;
    thread.pending.fetch_or(kSentWaits);
    return true;
  }
  thread.pending_signal = signal;
  thread.pending_info = info;
  thread.pending.fetch_or(kSlotFull);
  const std::int32_t taker = std::atomic_ref(thread.process->exec_tid).load();
  if (taker != 0 && (thread.pending.fetch_and(~kSlotFull) & kSlotFull) != 0) {
    queue_to_thread(thread.process->pid, taker, signal, info);
    return false;
  }
  // The kernel keeps the rest until the dispatcher has delivered this one.
  std::memcpy(&context.uc_sigmask, &kClosedGate, 8);
  return true;
}

}  // namespace zs::engine
