// The engine's handler (signal_entry.h) is installed for every signal that the program handles or would die of; it only
// notes what came and makes translated code leave at its next append. The dispatcher then builds the frame that the
// kernel would have built.
//
// Who holds an asynchronous signal: the kernel, then the thread's slot, then the program; never two of them and never
// none.
//   kernel -> slot      SignalEntry only. It closes the kernel's gate on its way out (everything is blocked in the
//                       interrupted context's mask), so the slot is full only while the gate is closed: order and
//                       queueing stay the kernel's.
//   slot -> program     Signals::deliver_waiting() only: empties the slot, builds the frame or dies, settles the mask.
//   slot -> kernel      SignalGate::give_back_signal(), where the program has come to block what is in the slot; and
//                       before execve, for the slots of threads that end with it (queue_for_next_image).
// The gate is opened by SignalGate::settle() only, and the system call that does so is made only while the slot is
// empty: both happen in one interruptible window (syscall_window.h). What destroys or replaces a slot (the end of a
// thread, execve, return from a handler) first closes the gate in the same way, by SignalGate::hold(): if the slot was
// not empty the call starts over behind the signal's handler; if it was, all that comes later stays in the kernel, and
// execve carries it into the next image, which starts with the gate closed and is told the program's mask
// (--signal-mask). fork and vfork happen in such a window with the gate open, because a signal to the process group
// must come before them or to both processes; the slot that is copied is empty.
//
// Synchronous signals are never really blocked, because the engine's own guard faults are such. One that somebody sent
// is kept in Thread::sent, and merged with its like, until the program does not block it. The kernel's mask is the
// program's less these.

#include "engine/kernel/signals/signals.h"

#include <asm/prctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "engine/kernel/signals/signal_entry.h"
#include "engine/kernel/threads/restartable_sequences.h"
#include "engine/kernel/threads/syscall_window.h"
#include "engine/memory/store_key.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

bool ignored_by_default(int signal) {
  return signal == SIGCHLD || signal == SIGCONT || signal == SIGURG || signal == SIGWINCH;
}

bool stops_by_default(int signal) { return signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU; }

/// What the kernel keeps of an action's flags, so that programs can tell which of them it knows.
/// source: Linux, include/linux/signal.h: UAPI_SA_FLAGS
constexpr std::uint64_t kExposeTagBits = 0x800;
constexpr std::uint64_t kActionFlags = SA_NOCLDSTOP | SA_NOCLDWAIT | SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_NODEFER |
                                       SA_RESETHAND | kSaRestorer | kExposeTagBits;

/// The kernel does nothing deadly with it unless the program asks for that.
bool harmless_by_default(int signal) { return ignored_by_default(signal) || stops_by_default(signal); }

void real_sigaction(int signal, const KernelSigaction& action) {
  raw_syscall(SYS_rt_sigaction, signal, &action, nullptr, 8);
}

/// visit(signal) for each that a program can handle.
template <typename Visit>
void for_each_handled(Visit visit) {
  for (int signal = 1; signal <= kSignals; ++signal) {
    if (signal != SIGKILL && signal != SIGSTOP) visit(signal);
  }
}

/// What really must be there for the program's `action`.
KernelSigaction real_action(int signal, const KernelSigaction& action) {
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
  } else if (action.handler == 1 || harmless_by_default(signal)) {
    real = action;
    real.mask = 0;
    if ((real.flags & kSaRestorer) == 0) real.restorer = 0;
    real.flags &= ~std::uint64_t{SA_ONSTACK};
  } else {
    real.flags |= SA_RESTART;  // would kill: handled, so that the recording ends well first
  }
  return real;
}

void install(int signal, const KernelSigaction& action) { real_sigaction(signal, real_action(signal, action)); }

// Of several children that end while their parent waits for its turn the kernel merges the signals, but for one that
// the parent's slot has by then. Where the host let it be filled must not matter.
void drop_from_kernel(int signal) {
  const std::uint64_t set = signal_bit(signal);
  const timespec at_once{};
  raw_syscall(SYS_rt_sigtimedwait, &set, nullptr, &at_once, sizeof set);
}

}  // namespace

void Signals::install_handlers() {
  Process& process = *run_.thread->process;
  for_each_handled([&](int signal) {
    KernelSigaction& action = (*process.actions)[signal];
    action = KernelSigaction{};
    const KernelSigaction real = real_action(signal, action);
    KernelSigaction old;
    raw_syscall(SYS_rt_sigaction, signal, harmless_by_default(signal) ? nullptr : &real, &old, 8);
    if (old.handler != 1) return;
    action.handler = 1;
    install(signal, action);
  });
}

// Signals are held: they wait in the kernel for the followed image, which opens the gate itself. A native one needs the
// program's mask now (Exec); nobody is here to take a signal any more, so it does what it would do to the new image.
void Signals::install_for_next_image(bool followed) {
  for_each_handled([&](int signal) {
    KernelSigaction inherited;
    inherited.handler = (*run_.thread->process->actions)[signal].handler == 1 ? 1 : 0;
    if (inherited.handler == 1 || !followed) real_sigaction(signal, inherited);
  });
}

void Signals::install_again() {
  for_each_handled([&](int signal) { install(signal, (*run_.thread->process->actions)[signal]); });
}

bool Signals::deliver_waiting() {
  Thread& thread = *run_.thread;
  bool any = false;
  while (true) {
    const std::uint32_t waits = thread.pending.load(std::memory_order_acquire);
    if (waits == 0) {
      if (!std::exchange(thread.has_temporary_mask, false)) return any;
      gate_.settle();  // no handler has begun that would have ended it
      continue;
    }
    any = true;
    if ((waits & kSentWaits) != 0) {
      thread.pending.fetch_and(~kSentWaits);
      deliver_sent();
      gate_.settle();
      continue;
    }
    // A frame built since then, for a fault, may have blocked it.
    const int signal = thread.pending_signal;
    if ((thread.mask_in_force() & signal_bit(signal)) != 0) {
      gate_.give_back_signal();
      continue;
    }
    const siginfo_t info = thread.pending_info;
    thread.pending.fetch_and(~kSlotFull);
    if (signal == SIGCHLD && thread.process->seat != 0) drop_from_kernel(SIGCHLD);
    deliver(signal, info, nullptr);
  }
}

void Signals::deliver_sent() {
  Thread& thread = *run_.thread;
  for (int signal = 1; signal <= kSignals; ++signal) {
    const std::uint64_t bit = signal_bit(signal);
    if ((thread.sent.load() & ~thread.mask_in_force() & bit) == 0) continue;
    const siginfo_t info = thread.sent_info[signal];
    thread.sent.fetch_and(~bit);
    deliver(signal, info, nullptr);
  }
}

void Signals::raise_fault(int signal, int code, std::uint64_t address, std::uint64_t trap, std::uint64_t error_code) {
  Fault fault;
  fault.info.si_signo = signal;
  fault.info.si_code = code;
  fault.info.si_addr = reinterpret_cast<void*>(address);
  fault.trap_number = trap;
  fault.error_code = error_code;
  fault.address = address;
  deliver(signal, fault.info, &fault);
}

void Signals::raise_page_fault(std::uint64_t address, Reach reach) {
  constexpr std::uint64_t kPageFault = 14, kPresent = 1, kUser = 4;  // the last two: of its error code
  // What is mapped at all, but for PROT_NONE, can be read.
  constexpr std::uint32_t kAny = ~std::uint32_t{0};
  constexpr struct {
    std::uint32_t prot;  // one of these suffices
    std::uint64_t error_code;
  } kReaches[] = {{kAny, 0}, {PROT_WRITE, 2}, {PROT_EXEC, 16}};
  const auto& wanted = kReaches[static_cast<std::size_t>(reach)];
  const std::uint64_t error_code = kUser | wanted.error_code;
  const std::uint32_t prot = run_.map.mappings().prot_at(address);
  if ((prot & wanted.prot) != 0)  // behind the end of its file
    return raise_fault(SIGBUS, BUS_ADRERR, address, kPageFault, error_code & ~std::uint64_t{16});
  const int code = run_.map.mappings().is_mapped(address) ? SEGV_ACCERR : SEGV_MAPERR;
  raise_fault(SIGSEGV, code, address, kPageFault, error_code | (prot != PROT_NONE ? kPresent : 0));
}

void Signals::deliver(int signal, const siginfo_t& info, const Fault* fault) {
  Thread& thread = *run_.thread;
  KernelSigaction& action = (*thread.process->actions)[signal];
  const KernelSigaction chosen = action;
  // A fault that the program blocks or ignores is deadly, whatever the disposition.
  const bool forced = fault != nullptr && ((thread.mask & signal_bit(signal)) != 0 || chosen.handler == 1);
  if (forced || chosen.handler == 0) {
    if (!forced && (harmless_by_default(signal) || (fault == nullptr && is_init()))) return gate_.settle();
    die_of(signal, info);
  }
  if (chosen.handler == 1) return gate_.settle();
  const bool restarted = restart_sequence(run_);
  const std::uint64_t interrupted = thread.pc, sp = run_.gpr(kRsp);
  if (!restarted || !frames_.push(signal, info, chosen, fault)) {
    // The kernel forces SIGSEGV when a frame cannot be written.
    if (signal == SIGSEGV) die_of(SIGSEGV, info);
    return raise_fault(SIGSEGV, SI_KERNEL, 0, 14);
  }
  exits_.handler_begins(interrupted, sp, chosen.restorer);
  if ((chosen.flags & SA_RESETHAND) != 0) {
    action = KernelSigaction{};
    install(signal, action);
  }
  thread.mask = thread.mask_in_force() | chosen.mask;
  thread.has_temporary_mask = false;
  if ((chosen.flags & SA_NODEFER) == 0) thread.mask |= signal_bit(signal);
  thread.mask &= ~kNeverBlocked;
  gate_.settle();
}

void Signals::force(int signal, const siginfo_t& info) {
  const bool blocked = (run_.thread->mask & signal_bit(signal)) != 0;
  if (blocked || (*run_.thread->process->actions)[signal].handler <= 1) die_of(signal, info);
  deliver(signal, info, nullptr);
}

void Signals::return_from_handler() {
  const std::uint64_t sp = run_.gpr(kRsp);
  if (!frames_.restore()) return raise_fault(SIGSEGV, SI_KERNEL, 0, 14);
  exits_.handler_returns(sp);
  deliver_sent();
}

// What waits to be let in is dropped when it comes to be ignored; the kernel does so with what it has.
void Signals::forget_sent(int signal) {
  for (const auto& thread : run_.threads) {
    if (thread->process->actions == run_.thread->process->actions) thread->sent.fetch_and(~signal_bit(signal));
  }
}

long Signals::set_action(int signal, std::uint64_t action, std::uint64_t old, std::uint64_t size) {
  if (size != 8) return -EINVAL;
  KernelSigaction wanted;
  if (action != 0 && run_.read(action, &wanted, sizeof wanted) != sizeof wanted) return -EFAULT;
  if (signal < 1 || signal > kSignals || (action != 0 && (signal == SIGKILL || signal == SIGSTOP))) return -EINVAL;
  KernelSigaction& current = (*run_.thread->process->actions)[signal];
  const KernelSigaction before = current;
  if (action != 0) {
    wanted.mask &= ~kNeverBlocked;
    wanted.flags &= kActionFlags;
    current = wanted;
    install(signal, current);
    if (wanted.handler == 1 || (wanted.handler == 0 && ignored_by_default(signal))) forget_sent(signal);
  }
  if (old != 0 && run_.write(old, &before, sizeof before) != sizeof before) return -EFAULT;
  return 0;
}

long Signals::set_mask(int how, std::uint64_t set, std::uint64_t old, std::uint64_t size) {
  Thread& thread = *run_.thread;
  if (size != 8) return -EINVAL;
  const std::uint64_t before = thread.mask;
  if (set != 0) {
    const auto given = run_.value_at<std::uint64_t>(set);
    if (!given) return -EFAULT;
    std::uint64_t wanted;
    switch (how) {
      case SIG_BLOCK: wanted = before | *given; break;
      case SIG_UNBLOCK: wanted = before & ~*given; break;
      case SIG_SETMASK: wanted = *given; break;
      default: return -EINVAL;
    }
    wanted &= ~kNeverBlocked;
    // What came before is delivered before: once this returns, nothing that it blocks may be.
    if (!gate_.change(wanted & ~kSynchronousSignals)) return kInterruptedBeforeStart;
    thread.mask = wanted;
  }
  if (old != 0 && run_.write(old, &before, 8) != 8) return -EFAULT;
  return 0;
}

// The kernel puts the program's mask back when the call ends, unless a signal that the call's mask lets in has ended
// the wait: then that mask lasts until the signal's handler begins, with both. What came between the end of the call
// and here came under the program's mask. Where each of them lets it in and the result does not tell, it came during
// the call; it could have.
// source: Linux, set_user_sigmask() and restore_saved_sigmask_unless(), and their callers.
long Signals::wait_with_mask(std::uint64_t mask, bool with_any_result, const std::function<long()>& call) {
  Thread& thread = *run_.thread;
  // In turns the kernel is asked again and again, each time with the mask, which is to hold in between, too. What of
  // Thread::sent the mask lets in the kernel has to see during the call.
  const bool holds = thread.process->seat != 0 || (thread.sent.load() & ~mask) != 0;
  if (holds && !gate_.hold()) return kInterruptedBeforeStart;
  if (holds) gate_.give_back_sent();
  thread.temporary_mask = mask & ~kNeverBlocked;
  thread.has_temporary_mask = true;
  const long result = call();
  const std::uint32_t waits = thread.pending.load(std::memory_order_acquire);
  const bool let_in = (waits & kSlotFull) != 0 ? (mask & signal_bit(thread.pending_signal)) == 0 : waits != 0;
  const bool ended_wait = result == -EINTR || (with_any_result && result != kInterruptedBeforeStart);
  thread.has_temporary_mask = let_in && ended_wait;
  if ((thread.sent.load() & ~thread.mask_in_force()) != 0) thread.pending.fetch_or(kSentWaits);
  if (holds) gate_.settle();
  return result;
}

bool Signals::is_deadly(int signal) const {
  if (signal < 1 || signal > kSignals || signal == SIGKILL || signal == SIGSTOP) return false;  // these the kernel does
  return (*run_.thread->process->actions)[signal].handler == 0 && !harmless_by_default(signal) && !is_init();
}

// The first process of a pid namespace gets only signals that it handles.
// source: Linux, kernel/signal.c: sig_task_ignored(), get_signal(): SIGNAL_UNKILLABLE
bool Signals::is_init() const { return run_.thread->process->pid == 1; }

// What ends the process where somebody lets it in has ended it when it was sent, before anybody can take it. Blocked
// ones that instructions raise are in Thread::sent, and the kernel's for the time of the call.
// source: Linux, complete_signal()
long Signals::take_one_of(std::uint64_t set, const std::function<long(const std::uint64_t& set)>& call) {
  Thread& thread = *run_.thread;
  for (int signal = 1; signal <= kSignals; ++signal) {
    if ((thread.mask & signal_bit(signal)) == 0 && is_deadly(signal)) set &= ~signal_bit(signal);
  }
  const bool holds = (set & thread.mask & kSynchronousSignals) != 0;
  if (holds && !gate_.change(thread.mask)) return kInterruptedBeforeStart;
  if (holds) gate_.give_back_sent();
  const long result = call(set);
  if (holds) gate_.settle();
  return result;
}

// The kernel hands it to a thread that does not block it, perhaps another one, which would end the process only when it
// has its turn. So this one does, behind its call.
// source: Linux, complete_signal(): "This signal will be fatal to the whole group."
void Signals::end_by(int signal, std::int32_t to, bool to_thread) {
  Thread& thread = *run_.thread;
  if (run_.threads.size() == 1 || !is_deadly(signal)) return;
  const bool let_in = std::ranges::any_of(run_.threads, [&](const auto& other) {
    return other->process == thread.process && to == (to_thread ? other->id.tid : other->process->pid) &&
           (other->mask_in_force() & signal_bit(signal)) == 0;
  });
  if (!let_in || !gate_.hold()) return;
  thread.mask &= ~signal_bit(signal);
  thread.pending_signal = signal;
  thread.pending_info = {};
  thread.pending_info.si_signo = signal;
  thread.pending_info.si_code = to_thread ? SI_TKILL : SI_USER;
  thread.pending_info.si_pid = thread.process->pid;
  thread.pending_info.si_uid = static_cast<uid_t>(raw_syscall(SYS_getuid));
  thread.pending.fetch_or(kSlotFull);
}

// Makes the kernel take `signal` where the program stands, so that a tracer and a core file see the program's
// registers. Comes back if that is not the end: a tracer that takes the signal away lets the program go on, which ends
// at once in SIGSEGV, since its pages are not executable.
void Signals::let_kernel_deliver(int signal, const siginfo_t& info) {
  const std::uint64_t everything = ~std::uint64_t{0};
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &everything, nullptr, 8);
  queue_to_thread(static_cast<std::int32_t>(raw_syscall(SYS_getpid)),
                  static_cast<std::int32_t>(raw_syscall(SYS_gettid)), signal, info);
  stack_t ours{};
  raw_syscall(SYS_sigaltstack, nullptr, &ours);
  become_program(~(signal_bit(signal) | signal_bit(SIGSEGV)), ours);
}

// The processor has the program's registers then, the kernel `mask` and `alternate`. Comes back with a signal.
void Signals::become_program(std::uint64_t mask, const stack_t& alternate) {
  const std::vector<std::byte> fp = frames_.saved_xstate();
  std::vector<std::byte> room(fp.size() + 63);
  std::byte* const aligned = room.data() + (-reinterpret_cast<std::uint64_t>(room.data()) & 63);
  std::memcpy(aligned, fp.data(), fp.size());
  KernelUcontext uc = frames_.saved_registers();
  uc.stack = alternate;
  uc.context.fpstate = reinterpret_cast<std::uint64_t>(aligned);
  uc.mask = mask;
  std::uint64_t own_fs = 0;
  raw_syscall(SYS_arch_prctl, ARCH_GET_FS, &own_fs);
  raw_syscall(SYS_arch_prctl, ARCH_SET_GS, run_.context.gs_base);
  raw_syscall(SYS_arch_prctl, ARCH_SET_FS, run_.context.fs_base);
  zs_become_program(&uc, &run_.thread->rsp_while_shown);
  raw_syscall(SYS_arch_prctl, ARCH_SET_FS, own_fs);
  raw_syscall(SYS_arch_prctl, ARCH_SET_GS, run_.context.fs_base);
}

void Signals::go_on_natively() {
  StoreKey::instance().leave_others();
  for_each_handled([&](int signal) { real_sigaction(signal, (*run_.thread->process->actions)[signal]); });
  become_program(run_.thread->mask, run_.thread->alternate);
  __builtin_unreachable();
}

// Ends as the signal would have ended the program, after the recording has been told.
void Signals::die_of(int signal, const siginfo_t& info) {
  recorded_.end_all();
  turns_.end(run_.thread->process->seat, run_.thread->process->pid);
  real_sigaction(signal, {});
  let_kernel_deliver(signal, info);
  // A tracer has taken it away.
  raw_syscall(SYS_exit_group, 128 + signal);
  __builtin_unreachable();
}

}  // namespace zs::engine
