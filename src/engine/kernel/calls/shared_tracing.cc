#include "engine/kernel/calls/shared_tracing.h"

#include <elf.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <vector>

#include "engine/memory/guest_access.h"
#include "engine/raw_syscall.h"
#include "engine/translate/stubs.h"

namespace zs::engine {
namespace {

constexpr std::uint32_t kStopped = 0x7F;  // the low byte of a status: stopped, the signal above
constexpr std::uint32_t kStoppedBy = 8;   // bits
constexpr std::uint32_t kByAttach = kStopped | SIGSTOP << kStoppedBy;
constexpr std::uint32_t kByInterrupt = kStopped | SIGTRAP << kStoppedBy | PTRACE_EVENT_STOP << 16;

user_regs_struct registers_of(const Thread& thread) {
  user_regs_struct regs{};
  // As they lie in it, but for the stack pointer.
  constexpr Gpr kOrder[] = {kR15, kR14, kR13, kR12, kRbp, kRbx, kR11, kR10, kR9, kR8, kRax, kRcx, kRdx, kRsi, kRdi};
  static_assert(offsetof(user_regs_struct, orig_rax) == std::size(kOrder) * sizeof regs.rdi);
  for (unsigned long long* to = &regs.r15; const Gpr reg : kOrder) *to++ = thread.gpr[reg];
  regs.rsp = thread.gpr[kRsp];
  regs.orig_rax = ~0ULL;
  regs.rip = thread.pc;
  regs.eflags = thread.flags;
  regs.cs = 0x33;
  regs.ss = 0x2B;
  regs.fs = thread.fs_selector;
  regs.gs = thread.gs_selector;
  regs.fs_base = thread.fs_base;
  regs.gs_base = thread.gs_base;
  return regs;
}

/// As the kernel shows it: what the processor left out, because it is in its initial state, reads as zero.
std::vector<std::byte> vector_state_of(const Thread& thread) {
  constexpr struct {
    unsigned component;
    std::size_t at, size;
  } kParts[] = {{1, 160, 256}, {2, 576, 256}};  // SSE, AVX: layout of the standard format
  constexpr std::size_t kPresentAt = 512, kSoftwareAt = 464;
  std::vector<std::byte> state = thread.xsave;
  std::uint64_t present = 0;
  std::memcpy(&present, &state[kPresentAt], sizeof present);
  for (const auto& part : kParts) {
    if ((present >> part.component & 1) == 0 && state.size() >= part.at + part.size)
      std::memset(&state[part.at], 0, part.size);
  }
  const std::uint64_t enabled = xsave_mask();
  std::memcpy(&state[kSoftwareAt], &enabled, sizeof enabled);
  return state;
}

}  // namespace

Thread* SharedTracing::find(std::int32_t tid) const {
  const auto found = std::ranges::find(threads_.threads, tid, [](const auto& thread) { return thread->id.tid; });
  return found == threads_.threads.end() || (*found)->process == threads_.thread->process ? nullptr : found->get();
}

/// Of a process here, but no thread of the program: it is just beginning or ending.
bool SharedTracing::shares_memory(std::int32_t tid) const {
  return std::ranges::any_of(threads_.threads, [&](const auto& thread) {
    return thread->process != threads_.thread->process && raw_syscall(SYS_tgkill, thread->process->pid, tid, 0) == 0;
  });
}

long SharedTracing::put(std::uint64_t address, const void* data, std::size_t size) {
  return memory_.write(address, data, size) == size ? 0 : -EFAULT;
}

std::optional<long> SharedTracing::ptrace(const long (&a)[6]) {
  const auto tid = static_cast<std::int32_t>(a[1]);
  if (a[0] == PTRACE_TRACEME || tid <= 0) return std::nullopt;
  Thread* const thread = find(tid);
  if (thread == nullptr) return shares_memory(tid) ? std::optional<long>(-ESRCH) : std::nullopt;
  switch (a[0]) {
    case PTRACE_ATTACH: return attach(*thread, kByAttach);
    case PTRACE_SEIZE: return attach(*thread, 0);
    default: break;
  }
  Thread::Traced& traced = thread->traced;
  if (traced.by != threads_.thread->process->pid) return -ESRCH;
  if (a[0] == PTRACE_INTERRUPT) {
    if (traced.stopped.exchange(true)) return 0;
    traced.status = kByInterrupt;
    traced.waited_for = false;
    return 0;
  }
  return traced.stopped.load() ? of_stopped(*thread, a) : -ESRCH;
}

long SharedTracing::attach(Thread& thread, std::uint32_t status) {
  Thread::Traced& traced = thread.traced;
  if (traced.by != 0) return -EPERM;
  traced.by = threads_.thread->process->pid;
  traced.status = status;
  traced.waited_for = false;
  traced.stopped.store(status != 0);
  return 0;
}

long SharedTracing::let_go(Thread& thread) {
  thread.traced.by = 0;
  thread.traced.stopped.store(false);
  return 0;
}

long SharedTracing::of_stopped(Thread& thread, const long (&a)[6]) {
  const auto address = static_cast<std::uint64_t>(a[2]), data = static_cast<std::uint64_t>(a[3]);
  switch (a[0]) {
    case PTRACE_DETACH: return let_go(thread);
    case PTRACE_CONT:
    case PTRACE_LISTEN: thread.traced.stopped.store(false); return 0;
    case PTRACE_KILL: return raw_syscall(SYS_kill, thread.process->pid, SIGKILL);
    case PTRACE_SETOPTIONS: return 0;
    case PTRACE_PEEKTEXT:
    case PTRACE_PEEKDATA: {
      const auto word = read_guest_value<std::uint64_t>(address);
      return word ? put(data, &*word, sizeof *word) : -EIO;
    }
    case PTRACE_POKETEXT:
    case PTRACE_POKEDATA: return memory_.write(address, &data, sizeof data) == sizeof data ? 0 : -EIO;
    case PTRACE_GETREGS: {
      const user_regs_struct regs = registers_of(thread);
      return put(data, &regs, sizeof regs);
    }
    case PTRACE_GETFPREGS: return put(data, vector_state_of(thread).data(), sizeof(user_fpregs_struct));
    case PTRACE_GETREGSET: return read_set(thread, address, data);
    default: break;
  }
  if (!std::exchange(told_, true)) {
    threads_.observer().notice("ptrace request " + std::to_string(a[0]) +
                               " between processes that share their memory is not supported: it was answered EIO");
  }
  return -EIO;
}

long SharedTracing::read_set(const Thread& thread, std::uint64_t type, std::uint64_t iovec_at) {
  auto room = read_guest_value<iovec>(iovec_at);
  if (!room) return -EFAULT;
  const user_regs_struct regs = registers_of(thread);
  const std::vector<std::byte> vectors = vector_state_of(thread);
  const void* set = &regs;
  std::size_t size = sizeof regs;
  if (type == NT_PRFPREG || type == NT_X86_XSTATE) {
    set = vectors.data();
    size = type == NT_PRFPREG ? sizeof(user_fpregs_struct) : vectors.size();
  } else if (type != NT_PRSTATUS) {
    return -EINVAL;
  }
  room->iov_len = std::min(room->iov_len, size);
  if (const long result = put(reinterpret_cast<std::uint64_t>(room->iov_base), set, room->iov_len); result != 0)
    return result;
  return put(iovec_at, &*room, sizeof *room);
}

std::optional<long> SharedTracing::wait(long number, const long (&a)[6]) {
  const bool by_id = number == SYS_waitid;
  if (by_id && a[0] != P_PID && a[0] != P_ALL) return std::nullopt;
  const auto wanted = static_cast<std::int32_t>(by_id ? (a[0] == P_ALL ? -1 : a[1]) : a[0]);
  const std::int32_t tracer = threads_.thread->process->pid;
  for (const auto& thread : threads_.threads) {
    Thread::Traced& traced = thread->traced;
    if (traced.by != tracer || (wanted != -1 && wanted != thread->id.tid)) continue;
    if (!traced.stopped.load() || traced.waited_for) continue;
    traced.waited_for = true;
    if (by_id) {
      siginfo_t info{};
      info.si_signo = SIGCHLD;
      info.si_code = CLD_TRAPPED;
      info.si_pid = thread->id.tid;
      info.si_status = static_cast<int>(traced.status >> kStoppedBy);
      const long result = a[2] == 0 ? 0 : put(static_cast<std::uint64_t>(a[2]), &info, sizeof info);
      return result;
    }
    const long result = a[1] == 0 ? 0 : put(static_cast<std::uint64_t>(a[1]), &traced.status, sizeof traced.status);
    return result == 0 ? thread->id.tid : result;
  }
  return std::nullopt;
}

void SharedTracing::tracer_ends(std::int32_t tracer) {
  for (const auto& thread : threads_.threads) {
    if (thread->traced.by == tracer) let_go(*thread);
  }
}

}  // namespace zs::engine
