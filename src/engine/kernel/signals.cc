// Signals of the program. The engine's handler is installed for every signal that the program handles or would die of; it
// only notes what came and makes translated code leave at its next append. The dispatcher then builds the frame that
// the kernel would have built.
//
// Who holds an asynchronous signal: the kernel, then the thread's slot, then the program; never two of them and never none.
//   kernel -> slot      on_signal() only. It closes the kernel's gate on its way out (everything is blocked in the interrupted
//                       context's mask), so the slot is full only while the gate is closed: order and queueing stay the kernel's.
//   slot -> program     deliver_waiting() only: empties the slot, builds the frame or dies, settles the mask.
//   slot -> kernel      give_back_signal(), where the program has come to block what is in the slot; and before execve, for
//                       the slots of threads that end with it (queue_signals_for_next_image).
// The gate is opened by settle_mask() only, and the system call that does so is made only while the slot is empty: both happen in one
// interruptible window (syscall_window.h). What destroys or replaces a slot (the end of a thread, execve, return from a handler)
// first closes the gate in the same way, by hold_signals(): if the slot was not empty the call starts over behind the signal's
// handler; if it was, all that comes later stays in the kernel, and execve carries it into the next image, which starts with the
// gate closed and is told the program's mask (--signal-mask). fork and vfork happen in such a window with the gate open, because a signal
// to the process group must come before them or to both processes; the slot that is copied is empty.
//
// Synchronous signals are never really blocked, because the engine's own guard faults are such. One that somebody sent is kept
// in Thread::sent, and merged with its like, until the program does not block it. The kernel's mask is the program's less these.

#include <asm/prctl.h>
#include <sys/mman.h>

#include <cstring>
#include <utility>

#include "arch/linear.h"
#include "base/check.h"
#include "engine/kernel/syscall_window.h"
#include "engine/memory/copy_code.h"
#include "engine/memory/guest_access.h"
#include "engine/raw_syscall.h"
#include "engine/runtime.h"

namespace zs::engine {
namespace {

constexpr std::uint64_t kSignalBlockBytes = 128 << 10;

bool is_synchronous(int signal) { return (signal_bit(signal) & kSynchronousSignals) != 0; }

bool ignored_by_default(int signal) {
  return signal == SIGCHLD || signal == SIGCONT || signal == SIGURG || signal == SIGWINCH;
}
bool stops_by_default(int signal) { return signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU; }

/// RF, which the processor sets in what it saves of a fault, and not of a trap.
constexpr std::uint64_t kResumeFlag = 0x10000;
/// source: SDM vol. 3A, table "Exceptions and Interrupts": all that reach a program are faults but debug traps, INT3 and INTO.
bool resumes_at_its_instruction(const Fault& fault) { return fault.trap_number != 1 && fault.trap_number != 3 && fault.trap_number != 4; }

void real_sigaction(int signal, const KernelSigaction& action) {
  raw_syscall(SYS_rt_sigaction, signal, &action, nullptr, 8);
}

/// Does nothing and returns kInterruptedBeforeStart while `pending` is not 0.
long set_kernel_mask(std::uint64_t mask, const std::atomic<std::uint32_t>& pending) {
  const long arguments[6] = {SIG_SETMASK, reinterpret_cast<long>(&mask), 0, sizeof mask, 0, 0};
  return zs_interruptible_syscall(SYS_rt_sigprocmask, arguments, &pending);
}

/// To a thread of this process, with all that came with the signal. The kernel allows that to a process itself only.
void queue_to_thread(std::int32_t pid, std::int32_t tid, int signal, const siginfo_t& info) {
  if (is_error(raw_syscall(SYS_rt_tgsigqueueinfo, pid, tid, signal, &info))) {
    raw_syscall(SYS_tgkill, pid, tid, signal);  // the queue is full: as the kernel, without what came with it
  }
}

}  // namespace

void signal_entry(int signal, siginfo_t* info, void* ucontext) {
  // The kernel leaves the alignment check on, if the program had it on; compiled code does not keep to it.
  constexpr unsigned long long kAlignmentCheck = 0x40000;
  if (const auto flags = __builtin_ia32_readeflags_u64(); (flags & kAlignmentCheck) != 0)
    __builtin_ia32_writeeflags_u64(flags & ~kAlignmentCheck);
  Runtime::instance->on_signal(signal, info, ucontext);
}

// Closes the gate: from here on the kernel keeps every signal, and the slot is empty. Open it with settle_mask().
// false: a signal waits already, nothing was changed, and its handler must run first.
bool Runtime::hold_signals() {
  const std::uint64_t everything = ~std::uint64_t{0};
  return set_kernel_mask(everything, run_.thread->pending) == 0;
}

// Makes the kernel's mask the program's. Where a signal waits the gate stays closed, and its delivery comes back here.
void Runtime::settle_mask() { set_kernel_mask(run_.thread->mask & ~kSynchronousSignals, run_.thread->pending); }

// Puts the slot's signal back into the kernel's queue; the gate is closed.
void Runtime::give_back_signal() {
  Thread& thread = *run_.thread;
  queue_to_thread(thread.process->pid, thread.id.tid, thread.pending_signal, thread.pending_info);
  thread.pending.fetch_and(~kSlotFull);
  settle_mask();
}

// Before execve, which ends the other threads of the process: what waits for them, and what they take from the kernel from
// now on, goes to this thread's queue in the kernel, which lives on. So does what was sent to this one and is blocked.
void Runtime::queue_signals_for_next_image() {
  Thread& taker = *run_.thread;
  for (int signal = 1; signal <= kSignals; ++signal) {
    if ((taker.sent.load() & signal_bit(signal)) == 0) continue;
    queue_to_thread(taker.process->pid, taker.id.tid, signal, taker.sent_info[signal]);
  }
  taker.sent.store(0);
  if (run_.threads.size() == 1) return;
  std::atomic_ref(taker.process->exec_tid).store(taker.id.tid);
  for (const auto& other : run_.threads) {
    if (other.get() == &taker || other->process != taker.process) continue;
    if ((other->pending.fetch_and(~kSlotFull) & kSlotFull) == 0) continue;
    queue_to_thread(taker.process->pid, taker.id.tid, other->pending_signal, other->pending_info);
  }
}

// The execve failed.
void Runtime::let_others_take_signals() {
  Thread& taker = *run_.thread;
  if (std::atomic_ref(taker.process->exec_tid).exchange(0) == 0) return;
  for (const auto& other : run_.threads) {
    // Its gate may be closed, its slot empty: it looks, and settles its mask.
    if (other.get() != &taker && other->process == taker.process) other->pending.fetch_or(kSentWaits);
  }
}

void Runtime::map_signal_block(Thread& thread) {
  void* block = thread.signal_block;
  if (block == nullptr) {
    // Aligned to its size, so that the handler finds the thread from its stack pointer.
    const long at = raw_syscall(SYS_mmap, nullptr, 2 * kSignalBlockBytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(!is_error(at));
    const std::uint64_t aligned = (static_cast<std::uint64_t>(at) + kSignalBlockBytes - 1) & ~(kSignalBlockBytes - 1);
    if (aligned != static_cast<std::uint64_t>(at))
      raw_syscall(SYS_munmap, at, aligned - static_cast<std::uint64_t>(at));
    const std::uint64_t end = static_cast<std::uint64_t>(at) + 2 * kSignalBlockBytes;
    if (aligned + kSignalBlockBytes != end)
      raw_syscall(SYS_munmap, aligned + kSignalBlockBytes, end - aligned - kSignalBlockBytes);
    block = reinterpret_cast<void*>(aligned);
  }
  thread.signal_block = block;
  *static_cast<Thread**>(block) = &thread;
}

// Installs what really must be there for the program's `action`.
void Runtime::install(int signal, const KernelSigaction& action) {
  KernelSigaction real;
  const bool handled = action.handler > 1;
  real.handler = reinterpret_cast<std::uint64_t>(&signal_entry);
  real.flags = SA_SIGINFO | SA_ONSTACK | kSaRestorer;
  real.restorer = reinterpret_cast<std::uint64_t>(&zs_signal_restorer);
  real.mask = ~std::uint64_t{0};
  if (is_synchronous(signal)) {
    real.flags |= SA_NODEFER;
    real.mask &= ~kSynchronousSignals;
  } else if (handled) {
    real.flags |= action.flags & (SA_RESTART | SA_NOCLDSTOP | SA_NOCLDWAIT);
  } else if (action.handler == 1 || ignored_by_default(signal) || stops_by_default(signal)) {
    real = action;
    real.mask = 0;
    if ((real.flags & kSaRestorer) == 0) real.restorer = 0;
    real.flags &= ~std::uint64_t{SA_ONSTACK};
  } else {
    real.flags |= SA_RESTART;  // would kill: handled, so that the recording ends well first
  }
  real_sigaction(signal, real);
}

void Runtime::install_handlers() {
  Process& process = *run_.thread->process;
  for (int signal = 1; signal <= kSignals; ++signal) {
    if (signal == SIGKILL || signal == SIGSTOP) continue;
    KernelSigaction old;
    raw_syscall(SYS_rt_sigaction, signal, nullptr, &old, 8);
    process.actions[signal] = KernelSigaction{};
    if (old.handler == 1) process.actions[signal].handler = 1;
    install(signal, process.actions[signal]);
  }
}

// Runs on the thread's signal block with everything asynchronous blocked. No libc: it may have been interrupted in the middle.
void Runtime::on_signal(int signal, siginfo_t* info, void* raw_context) {
  auto* uc = static_cast<ucontext_t*>(raw_context);
  greg_t* regs = uc->uc_mcontext.gregs;
  const auto frame = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  Thread* found = *reinterpret_cast<Thread**>(frame & ~(kSignalBlockBytes - 1));
  if (found->vfork_child != nullptr && raw_syscall(SYS_gettid) != found->id.tid) found = found->vfork_child;
  Thread& thread = *found;
  const auto pc = static_cast<std::uint64_t>(regs[REG_RIP]);
  if (thread.shown.host_rsp != 0) {
    thread.shown.signal = signal;
    thread.shown.info = *info;
    regs[REG_RSP] = static_cast<greg_t>(std::exchange(thread.shown.host_rsp, 0));
    regs[REG_RIP] = static_cast<greg_t>(reinterpret_cast<std::uint64_t>(&zs_was_program));
    const std::uint64_t everything = ~std::uint64_t{0};
    std::memcpy(&uc->uc_sigmask, &everything, 8);
    return;
  }
  const bool in_code = run_.window.in_code(pc) && run_.lock.owner() == &thread;
  // To one of the stubs. Where the program's stack pointer is no address the kernel cannot return with it (IRET faults).
  const auto leave_to = [&](std::uint64_t stub) {
    regs[REG_RIP] = static_cast<greg_t>(stub);
    if (arch::is_canonical(static_cast<std::uint64_t>(regs[REG_RSP]))) return;
    odd_stack_pointer_ = static_cast<std::uint64_t>(std::exchange(regs[REG_RSP], 0));
  };

  // POPF has set the trap flag; behind the next instruction, which is the engine's, it goes.
  if (signal == SIGTRAP && info->si_code == TRAP_TRACE &&
      (static_cast<std::uint64_t>(regs[REG_EFL]) & kTrapFlag) != 0 && run_.lock.owner() == &thread) {
    regs[REG_EFL] &= ~static_cast<greg_t>(kTrapFlag);
    thread.traps = true;
    return;
  }
  // While the program has the alignment check on, appends of the budget form fault too: they leave as at the guard.
  const bool misaligned_append =
      in_code && signal == SIGBUS && info->si_code == BUS_ADRALN && record_of_append(pc) != 0;
  if (misaligned_append || (in_code && signal == SIGSEGV && info->si_code > 0 &&
                            run_.window.in_trace_or_guard(reinterpret_cast<std::uint64_t>(info->si_addr)))) {
    run_.context.guard_pc = pc;
    leave_to(run_.stubs.guard);
    return;
  }
  // An indirect branch met an untouched page of the direct table (pc 0), or a target that it does not cover.
  if (signal == SIGSEGV && info->si_code > 0 && run_.lock.owner() == &thread) {
    static constexpr std::uint8_t kDirectLookup[] = {0xFF, 0x24, 0xCD};  // jmp [rcx*8 + bias]
    const bool left_table =
        in_code && std::memcmp(reinterpret_cast<const void*>(pc), kDirectLookup, sizeof kDirectLookup) == 0;
    if ((pc == 0 && entering_.load()) || left_table) {
      if (left_table) far_lookup_ = pc;
      leave_to(run_.stubs.indirect_miss);
      return;
    }
  }
  // It sleeps, or slept, in a page fault that another thread has to answer, which waits for the lock.
  const std::uint64_t slept_at = EngineLock::where_it_waited_for_memory(*info);
  const bool waits = slept_at == pc && run_.lock.owner() == &thread;
  if (slept_at != 0 && !waits) return;
  const bool synchronous = waits || (is_synchronous(signal) && (info->si_code > 0 || info->si_code == SI_KERNEL));
  if (const std::uint64_t behind = behind_copy_of_code(pc); synchronous && behind != 0) {
    regs[REG_RIP] = static_cast<greg_t>(behind);
    return;
  }
  if (synchronous) {
    const BlockStore::Place place = in_code ? run_.translator->locate(pc) : BlockStore::Place{};
    if (place.block == kNone && waits) return;
    if (place.block == kNone) {
      // Our own code faulted. Say where, and end as any other failure of ours.
      char text[] = "zeroskid: internal error: fault in the engine at 0x0000000000000000, address 0x0000000000000000\n";
      const auto hex = [&](char* at, std::uint64_t value) {
        for (int i = 15; i >= 0; --i, value >>= 4) at[i] = "0123456789abcdef"[value & 15];
      };
      hex(std::strstr(text, "0x") + 2, pc);
      hex(std::strstr(text, "address 0x") + 10, reinterpret_cast<std::uint64_t>(info->si_addr));
      raw_syscall(SYS_write, 2, text, sizeof text - 1);
      raw_syscall(SYS_exit_group, kToolFailed);
    }
    // Undo what the translation did to the registers around this instruction.
    if (place.meta.far_register == kRcxSpilled) {
      regs[REG_RCX] = static_cast<greg_t>(run_.context.slot_rcx);
    } else if (place.meta.far_register != 0) {
      regs[kSavedAt[place.meta.far_register - 1]] = static_cast<greg_t>(run_.context.slot_far);
    }
    if (place.meta.map_register != 0) {
      run_.context.gpr[kTracePointer] = static_cast<std::uint64_t>(regs[kSavedAt[place.meta.map_register]]);
      regs[kSavedAt[place.meta.map_register]] = static_cast<greg_t>(run_.context.slot_map);
    }
    Fault& fault = thread.fault;
    fault.present = true;
    fault.info = *info;
    if (waits) fault.info.si_signo = kWaitsForMemory;
    fault.error_code = static_cast<std::uint64_t>(regs[REG_ERR]);
    fault.trap_number = static_cast<std::uint64_t>(regs[REG_TRAPNO]);
    fault.address = static_cast<std::uint64_t>(regs[REG_CR2]);
    fault.cache_pc = pc;
    leave_to(run_.stubs.fault);
    return;
  }
  if (is_synchronous(signal)) {  // sent by somebody
    if ((thread.sent.load() & signal_bit(signal)) == 0) thread.sent_info[signal] = *info;
    thread.sent.fetch_or(signal_bit(signal));
    if ((thread.mask & signal_bit(signal)) != 0) return;
    thread.pending.fetch_or(kSentWaits);
  } else {
    thread.pending_signal = signal;
    thread.pending_info = *info;
    thread.pending.fetch_or(kSlotFull);
    const std::int32_t taker = std::atomic_ref(thread.process->exec_tid).load();
    if (taker != 0 && (thread.pending.fetch_and(~kSlotFull) & kSlotFull) != 0) {
      queue_to_thread(thread.process->pid, taker, signal, *info);
      return;
    }
    // The gate: the kernel keeps the rest until the dispatcher has delivered this one.
    const std::uint64_t everything = ~kSynchronousSignals;
    std::memcpy(&uc->uc_sigmask, &everything, 8);
  }
  // In C++ the dispatcher will look at `pending` itself, until it has looked for the last time.
  if (run_.lock.owner() == &thread && (in_code || entering_.load()) && !tripped_.exchange(true)) {
    run_.window.trip();
    run_.context.tripped = 1;
  }
  static constexpr struct {
    const char *begin, *syscall, *interrupted;
  } kWindows[] = {
      {&zs_syscall_window_begin, &zs_syscall_window_syscall, &zs_syscall_window_interrupted},
      {&zs_clone_window_begin, &zs_clone_window_syscall, &zs_clone_window_interrupted},
      {&zs_touch_begin, &zs_touch_end, &zs_touch_left},
  };
  for (const auto& window : kWindows) {
    if (pc >= reinterpret_cast<std::uint64_t>(window.begin) && pc <= reinterpret_cast<std::uint64_t>(window.syscall))
      regs[REG_RIP] = static_cast<greg_t>(reinterpret_cast<std::uint64_t>(window.interrupted));
  }
}

bool Runtime::deliver_waiting() {
  Thread& thread = *run_.thread;
  bool any = false;
  while (const std::uint32_t waits = thread.pending.load(std::memory_order_acquire)) {
    any = true;
    if ((waits & kSentWaits) != 0) {
      thread.pending.fetch_and(~kSentWaits);
      deliver_sent();
      settle_mask();
      continue;
    }
    // A frame built since then, for a fault, may have blocked it.
    const int signal = thread.pending_signal;
    const std::uint64_t mask = thread.has_temporary_mask ? thread.temporary_mask : thread.mask;
    if ((mask & signal_bit(signal)) != 0) {
      give_back_signal();
      continue;
    }
    const siginfo_t info = thread.pending_info;
    thread.pending.fetch_and(~kSlotFull);
    deliver(signal, info, nullptr);
  }
  thread.has_temporary_mask = false;
  return any;
}

void Runtime::deliver_sent() {
  Thread& thread = *run_.thread;
  for (int signal = 1; signal <= kSignals; ++signal) {
    const std::uint64_t bit = signal_bit(signal);
    if ((thread.sent.load() & ~thread.mask & bit) == 0) continue;
    const siginfo_t info = thread.sent_info[signal];
    thread.sent.fetch_and(~bit);
    deliver(signal, info, nullptr);
  }
}

void Runtime::raise_fault(int signal, int code, std::uint64_t address, std::uint64_t trap, std::uint64_t error_code) {
  Fault fault;
  fault.info.si_signo = signal;
  fault.info.si_code = code;
  fault.info.si_addr = reinterpret_cast<void*>(address);
  fault.trap_number = trap;
  fault.error_code = error_code;
  fault.address = address;
  deliver(signal, fault.info, &fault);
}

void Runtime::deliver(int signal, const siginfo_t& info, const Fault* fault) {
  Thread& thread = *run_.thread;
  KernelSigaction& action = thread.process->actions[signal];
  const KernelSigaction chosen = action;
  // A fault that the program blocks or ignores is deadly, whatever the disposition.
  const bool forced = fault != nullptr && ((thread.mask & signal_bit(signal)) != 0 || chosen.handler == 1);
  if (forced || chosen.handler == 0) {
    if (!forced && (ignored_by_default(signal) || stops_by_default(signal))) return settle_mask();
    die_of(signal, info);
  }
  if (chosen.handler == 1) return settle_mask();
  // Its tracer hears of it first, and says what becomes of it. Of what really faulted it has heard already.
  if (fault != nullptr && fault->cache_pc == 0 && thread.process->traced) {
    let_kernel_deliver(signal, info);
    if (thread.shown.signal != signal) return deliver(thread.shown.signal, thread.shown.info, nullptr);
  }
  if (!push_frame(signal, info, chosen, fault)) {
    // The kernel forces SIGSEGV when a frame cannot be written.
    if (signal == SIGSEGV) die_of(SIGSEGV, info);
    return raise_fault(SIGSEGV, SI_KERNEL, 0, 14);
  }
  if ((chosen.flags & SA_RESETHAND) != 0) {
    action = KernelSigaction{};
    install(signal, action);
  }
  const std::uint64_t base = thread.has_temporary_mask ? thread.temporary_mask : thread.mask;
  thread.has_temporary_mask = false;
  thread.mask = base | chosen.mask;
  if ((chosen.flags & SA_NODEFER) == 0) thread.mask |= signal_bit(signal);
  thread.mask &= ~(signal_bit(SIGKILL) | signal_bit(SIGSTOP));
  settle_mask();
}

bool Runtime::on_alternate_stack(std::uint64_t sp) const {
  const stack_t& alternate = run_.thread->alternate;
  const auto base = reinterpret_cast<std::uint64_t>(alternate.ss_sp);
  return alternate.ss_size != 0 && (alternate.ss_flags & SS_DISABLE) == 0 && sp > base &&
         sp - base <= alternate.ss_size;
}

// The program's registers as a signal frame holds them, all but the address of the vector ones.
KernelUcontext Runtime::saved_registers() const {
  KernelUcontext uc{};
  uc.flags = 7;  // UC_FP_XSTATE | UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS
  for (unsigned reg = 0; reg < 16; ++reg) uc.context.registers[kSavedAt[reg]] = run_.context.gpr[reg];
  uc.context.registers[REG_RIP] = run_.thread->pc;
  uc.context.registers[REG_EFL] = run_.context.flags | (run_.thread->traps ? kTrapFlag : 0);
  uc.context.cs = 0x33;
  uc.context.ss = 0x2B;
  return uc;
}

// The vector registers and the x87's, with what the kernel puts around them: FpSoftwareBytes, and kFpMagic2 behind.
std::vector<std::byte> Runtime::saved_xstate() const {
  const std::uint32_t xsave_size = xsave_bytes();
  std::vector<std::byte> fp(xsave_size + 4);
  std::memcpy(fp.data(), reinterpret_cast<const std::byte*>(&run_.context) + kXsaveOffset, xsave_size);
  // A component in its initial state may not have been written; handlers read the area all the same.
  std::uint64_t components = 0;
  std::memcpy(&components, fp.data() + 512, 8);
  if ((components & 1) == 0) {
    constexpr std::uint16_t kInitialControl = 0x37F;
    std::memset(fp.data(), 0, 24);
    std::memset(fp.data() + 32, 0, 128);
    std::memcpy(fp.data(), &kInitialControl, sizeof kInitialControl);
  }
  if ((components & 2) == 0) std::memset(fp.data() + 160, 0, 256);
  if ((components & 4) == 0 && xsave_size >= 832) std::memset(fp.data() + 576, 0, 256);
  FpSoftwareBytes software{};
  software.magic1 = kFpMagic1;
  software.extended_size = xsave_size + 4;
  software.xfeatures = xsave_mask();
  software.xstate_size = xsave_size;
  std::memcpy(fp.data() + kFpSoftwareOffset, &software, sizeof software);
  std::memcpy(fp.data() + xsave_size, &kFpMagic2, 4);
  return fp;
}

// Of a handler: that of a new program. What the interrupted code may touch by protection keys stays.
// source: Linux, arch/x86/kernel/signal.c: handle_signal(), "Ensure the signal handler starts with the new fpu state"
void Runtime::begin_with_fresh_xstate() {
  auto* const area = reinterpret_cast<std::byte*>(&run_.context) + kXsaveOffset;
  constexpr std::uint64_t kProtectionKeys = 1u << 9;
  constexpr std::uint32_t kInitialMxcsr = 0x1F80;
  std::uint64_t components;
  std::memcpy(&components, area + 512, 8);
  components &= kProtectionKeys;
  std::memcpy(area + 512, &components, 8);
  std::memcpy(area + 24, &kInitialMxcsr, sizeof kInitialMxcsr);
}

// source: Linux, arch/x86/kernel/signal.c and fpu/signal.c: frame layout and alignment.
bool Runtime::push_frame(int signal, const siginfo_t& info, const KernelSigaction& action, const Fault* fault) {
  Thread& thread = *run_.thread;
  constexpr std::uint64_t kRedZone = 128;
  constexpr std::int32_t kAutodisarm = INT32_MIN;  // SS_AUTODISARM, 1U << 31
  std::uint64_t sp = run_.gpr(kRsp) - kRedZone;
  const bool has_alternate = thread.alternate.ss_size != 0 && (thread.alternate.ss_flags & SS_DISABLE) == 0;
  if ((action.flags & SA_ONSTACK) != 0 && has_alternate && !on_alternate_stack(run_.gpr(kRsp))) {
    sp = reinterpret_cast<std::uint64_t>(thread.alternate.ss_sp) + thread.alternate.ss_size;
  }
  const std::vector<std::byte> fp = saved_xstate();
  sp = (sp - fp.size()) & ~std::uint64_t{63};
  const std::uint64_t fpstate = sp;
  sp = ((sp - sizeof(SignalFrame)) & ~std::uint64_t{15}) - 8;

  SignalFrame frame;
  std::memset(&frame, 0, sizeof frame);
  frame.return_address = action.restorer;
  frame.uc = saved_registers();
  frame.uc.stack.sp = reinterpret_cast<std::uint64_t>(thread.alternate.ss_sp);
  frame.uc.stack.flags = has_alternate ? thread.alternate.ss_flags : SS_DISABLE;
  frame.uc.stack.size = thread.alternate.ss_size;
  KernelSigcontext& c = frame.uc.context;
  if (fault != nullptr) {
    c.err = fault->error_code;
    c.trapno = fault->trap_number;
    c.cr2 = fault->address;
    if (resumes_at_its_instruction(*fault)) c.registers[REG_EFL] |= kResumeFlag;
  }
  c.oldmask = thread.mask;
  c.fpstate = fpstate;
  frame.uc.mask = thread.mask;
  frame.info = run_.ids.shown_info(signal, info);

  if (run_.write(fpstate, fp.data(), fp.size()) != fp.size()) return false;
  if (run_.write(sp, &frame, sizeof frame) != sizeof frame) return false;
  if (has_alternate && (thread.alternate.ss_flags & kAutodisarm) != 0)
    thread.alternate = stack_t{nullptr, SS_DISABLE, 0};

  run_.gpr(kRdi) = static_cast<std::uint64_t>(signal);
  run_.gpr(kRsi) = sp + offsetof(SignalFrame, info);
  run_.gpr(kRdx) = sp + offsetof(SignalFrame, uc);
  run_.gpr(kRax) = 0;
  run_.gpr(kRsp) = sp;
  thread.pc = action.handler;
  run_.context.flags &= ~std::uint64_t{0x10400};  // DF, RF
  thread.traps = thread.step_traps = false;
  begin_with_fresh_xstate();
  return true;
}

void Runtime::sys_rt_sigreturn() {
  Thread& thread = *run_.thread;
  const std::uint64_t at = run_.gpr(kRsp) - 8;
  SignalFrame frame;
  if (read_guest(at, &frame, sizeof frame) != sizeof frame) return raise_fault(SIGSEGV, SI_KERNEL, 0, 14);
  const KernelSigcontext& c = frame.uc.context;
  auto* xsave = reinterpret_cast<std::byte*>(&run_.context) + kXsaveOffset;
  const std::uint32_t xsave_size = xsave_bytes();
  std::vector<std::byte> fp(xsave_size);
  if (c.fpstate == 0) {
    std::memset(xsave + 512, 0, 64);  // XSTATE_BV = 0: initial state
    const std::uint32_t mxcsr = 0x1F80;
    std::memcpy(xsave + 24, &mxcsr, 4);
  } else {
    FpSoftwareBytes software{};
    bool extended = read_guest(c.fpstate + kFpSoftwareOffset, &software, sizeof software) == sizeof software &&
                    software.magic1 == kFpMagic1 && software.xstate_size <= xsave_size && software.xstate_size >= 576;
    if (extended) {
      std::uint32_t magic2 = 0;
      extended = read_guest(c.fpstate + software.xstate_size, &magic2, 4) == 4 && magic2 == kFpMagic2;
    }
    const std::size_t size = extended ? software.xstate_size : 512;
    std::memcpy(fp.data(), xsave, xsave_size);
    if (read_guest(c.fpstate, fp.data(), size) != size) return raise_fault(SIGSEGV, SI_KERNEL, 0, 14);
    std::uint64_t components = 3;
    if (extended) std::memcpy(&components, fp.data() + 512, 8);
    components &= xsave_mask();
    std::memset(fp.data() + 512, 0, 64);
    std::memcpy(fp.data() + 512, &components, 8);
    std::uint32_t mxcsr, mxcsr_mask;
    std::memcpy(&mxcsr, fp.data() + 24, 4);
    std::memcpy(&mxcsr_mask, xsave + 28, 4);  // as the CPU wrote it
    mxcsr &= mxcsr_mask != 0 ? mxcsr_mask : 0xFFBF;
    std::memcpy(fp.data() + 24, &mxcsr, 4);
    std::memcpy(xsave, fp.data(), xsave_size);
  }
  for (unsigned reg = 0; reg < 16; ++reg) run_.gpr(static_cast<Gpr>(reg)) = c.registers[kSavedAt[reg]];
  thread.pc = c.registers[REG_RIP];
  constexpr std::uint64_t kRestorable = 0x50CD5;  // AC OF DF TF SF ZF AF PF CF RF, as FIX_EFLAGS
  thread.traps = (c.registers[REG_EFL] & kTrapFlag) != 0;
  run_.context.flags = ((run_.context.flags & ~kRestorable) | (c.registers[REG_EFL] & kRestorable)) & ~kTrapFlag;
  thread.alternate.ss_sp = reinterpret_cast<void*>(frame.uc.stack.sp);
  thread.alternate.ss_flags = frame.uc.stack.flags & ~SS_ONSTACK;
  thread.alternate.ss_size = frame.uc.stack.size;
  thread.mask = frame.uc.mask & ~(signal_bit(SIGKILL) | signal_bit(SIGSTOP));
  deliver_sent();
}

long Runtime::sys_rt_sigaction(int signal, std::uint64_t action, std::uint64_t old, std::uint64_t size) {
  if (size != 8) return -EINVAL;
  if (signal < 1 || signal > kSignals || (action != 0 && (signal == SIGKILL || signal == SIGSTOP))) return -EINVAL;
  KernelSigaction wanted;
  if (action != 0 && read_guest(action, &wanted, sizeof wanted) != sizeof wanted) return -EFAULT;
  KernelSigaction& current = run_.thread->process->actions[signal];
  const KernelSigaction before = current;
  if (action != 0) {
    wanted.mask &= ~(signal_bit(SIGKILL) | signal_bit(SIGSTOP));
    current = wanted;
    install(signal, current);
  }
  if (old != 0 && run_.write(old, &before, sizeof before) != sizeof before) return -EFAULT;
  return 0;
}

long Runtime::sys_rt_sigprocmask(int how, std::uint64_t set, std::uint64_t old, std::uint64_t size) {
  Thread& thread = *run_.thread;
  if (size != 8) return -EINVAL;
  const std::uint64_t before = thread.mask;
  if (set != 0) {
    const auto given = read_guest_value<std::uint64_t>(set);
    if (!given) return -EFAULT;
    std::uint64_t wanted;
    switch (how) {
      case SIG_BLOCK: wanted = before | *given; break;
      case SIG_UNBLOCK: wanted = before & ~*given; break;
      case SIG_SETMASK: wanted = *given; break;
      default: return -EINVAL;
    }
    wanted &= ~(signal_bit(SIGKILL) | signal_bit(SIGSTOP));
    // What came before is delivered before: once this returns, nothing that it blocks may be.
    if (set_kernel_mask(wanted & ~kSynchronousSignals, thread.pending) != 0) return kInterruptedBeforeStart;
    thread.mask = wanted;
  }
  if (old != 0 && run_.write(old, &before, 8) != 8) return -EFAULT;
  return 0;
}

long Runtime::sys_sigaltstack(std::uint64_t stack, std::uint64_t old) {
  Thread& thread = *run_.thread;
  const bool on_it = on_alternate_stack(run_.gpr(kRsp));
  stack_t before = thread.alternate;
  if (before.ss_size == 0)
    before.ss_flags = SS_DISABLE;
  else if (on_it)
    before.ss_flags |= SS_ONSTACK;
  if (stack != 0) {
    const auto wanted = read_guest_value<stack_t>(stack);
    if (!wanted) return -EFAULT;
    if (on_it) return -EPERM;
    const int mode = wanted->ss_flags & ~INT32_MIN;
    if (mode != 0 && mode != SS_ONSTACK && mode != SS_DISABLE) return -EINVAL;
    if (mode == SS_DISABLE) {
      thread.alternate = stack_t{nullptr, SS_DISABLE, 0};
    } else {
      constexpr std::size_t kSmallest = 2048;
      if (wanted->ss_size < kSmallest) return -ENOMEM;
      thread.alternate = *wanted;
      thread.alternate.ss_flags &= INT32_MIN;
    }
  }
  if (old != 0 && run_.write(old, &before, sizeof before) != sizeof before) return -EFAULT;
  return 0;
}

// Makes the kernel take `signal` where the program stands, so that a tracer and a core file see the program's registers. Comes back if that
// is not the end: then Thread::shown holds what arrived. A tracer that takes the signal away lets the program go on, which ends at
// once in SIGSEGV, since its pages are not executable.
void Runtime::let_kernel_deliver(int signal, const siginfo_t& info) {
  Thread& thread = *run_.thread;
  const std::uint64_t everything = ~std::uint64_t{0};
  std::uint64_t mask = 0;
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &everything, &mask, 8);
  const long pid = raw_syscall(SYS_getpid), tid = raw_syscall(SYS_gettid);
  // Only the first thread may send itself what the kernel or somebody else has sent.
  if (is_error(raw_syscall(SYS_rt_tgsigqueueinfo, pid, tid, signal, &info))) raw_syscall(SYS_tgkill, pid, tid, signal);

  const std::vector<std::byte> fp = saved_xstate();
  std::vector<std::byte> room(fp.size() + 63);
  std::byte* const aligned = room.data() + (-reinterpret_cast<std::uint64_t>(room.data()) & 63);
  std::memcpy(aligned, fp.data(), fp.size());
  KernelUcontext uc = saved_registers();
  stack_t ours{};
  raw_syscall(SYS_sigaltstack, nullptr, &ours);
  uc.stack = {reinterpret_cast<std::uint64_t>(ours.ss_sp), ours.ss_flags, 0, ours.ss_size};
  uc.context.fpstate = reinterpret_cast<std::uint64_t>(aligned);
  uc.mask = ~(signal_bit(signal) | signal_bit(SIGSEGV));
  std::uint64_t own_fs = 0;
  raw_syscall(SYS_arch_prctl, ARCH_GET_FS, &own_fs);
  raw_syscall(SYS_arch_prctl, ARCH_SET_GS, run_.context.gs_base);
  raw_syscall(SYS_arch_prctl, ARCH_SET_FS, run_.context.fs_base);
  zs_become_program(&uc, &thread.shown.host_rsp);
  raw_syscall(SYS_arch_prctl, ARCH_SET_FS, own_fs);
  raw_syscall(SYS_arch_prctl, ARCH_SET_GS, run_.context.fs_base);
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, nullptr, 8);
}

// Ends as the signal would have ended the program, after the recording has been told.
void Runtime::die_of(int signal, const siginfo_t& info) {
  end_all_threads();
  turns_.end(run_.thread->process->seat, run_.thread->process->pid);
  const KernelSigaction fatal;
  raw_syscall(SYS_rt_sigaction, signal, &fatal, nullptr, 8);
  let_kernel_deliver(signal, info);
  // A tracer has taken it away.
  raw_syscall(SYS_exit_group, 128 + signal);
  __builtin_unreachable();
}

}  // namespace zs::engine
