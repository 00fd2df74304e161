// What the engine does for a system call that the kernel cannot answer as it is: Call::handler of its row in
// call_table.cc.
#pragma once

#include "engine/kernel/call.h"

namespace zs::engine {

struct GuestKernel;

namespace calls {

// ---- memory_calls.cc
Outcome mmap(GuestKernel& kernel, const CallArguments& made);
Outcome munmap(GuestKernel& kernel, const CallArguments& made);
Outcome mremap(GuestKernel& kernel, const CallArguments& made);
Outcome mprotect(GuestKernel& kernel, const CallArguments& made);  // and pkey_mprotect
Outcome pkey_alloc(GuestKernel& kernel, const CallArguments& made);
Outcome pkey_free(GuestKernel& kernel, const CallArguments& made);
Outcome madvise(GuestKernel& kernel, const CallArguments& made);
Outcome msync(GuestKernel& kernel, const CallArguments& made);
Outcome brk(GuestKernel& kernel, const CallArguments& made);
Outcome shmat(GuestKernel& kernel, const CallArguments& made);
Outcome shmdt(GuestKernel& kernel, const CallArguments& made);
Outcome remap_file_pages(GuestKernel& kernel, const CallArguments& made);
Outcome mlockall(GuestKernel& kernel, const CallArguments& made);
Outcome munlockall(GuestKernel& kernel, const CallArguments& made);
Outcome limits(GuestKernel& kernel, const CallArguments& made);  // getrlimit, setrlimit, prlimit64

// ---- signal_calls.cc
Outcome rt_sigaction(GuestKernel& kernel, const CallArguments& made);
Outcome rt_sigprocmask(GuestKernel& kernel, const CallArguments& made);
Outcome rt_sigreturn(GuestKernel& kernel, const CallArguments& made);
Outcome rt_sigpending(GuestKernel& kernel, const CallArguments& made);
Outcome rt_sigtimedwait(GuestKernel& kernel, const CallArguments& made);
Outcome send_signal(GuestKernel& kernel, const CallArguments& made);  // kill, tkill, tgkill and the two that queue
Outcome sigaltstack(GuestKernel& kernel, const CallArguments& made);
Outcome masked_wait(GuestKernel& kernel, const CallArguments& made);  // ppoll and its kin: Call::mask of their rows

// ---- process_calls.cc
Outcome clone(GuestKernel& kernel, const CallArguments& made);
Outcome clone3(GuestKernel& kernel, const CallArguments& made);
Outcome fork(GuestKernel& kernel, const CallArguments& made);
Outcome vfork(GuestKernel& kernel, const CallArguments& made);
Outcome execve(GuestKernel& kernel, const CallArguments& made);
Outcome execveat(GuestKernel& kernel, const CallArguments& made);
Outcome exit(GuestKernel& kernel, const CallArguments& made);
Outcome exit_group(GuestKernel& kernel, const CallArguments& made);
Outcome set_tid_address(GuestKernel& kernel, const CallArguments& made);
Outcome futex(GuestKernel& kernel, const CallArguments& made);
Outcome later_futex(GuestKernel& kernel, const CallArguments& made);  // futex_wake, futex_wait, futex_requeue
Outcome futex_waitv(GuestKernel& kernel, const CallArguments& made);
Outcome nanosleep(GuestKernel& kernel, const CallArguments& made);  // and clock_nanosleep
Outcome sched_affinity(GuestKernel& kernel, const CallArguments& made);
Outcome sched_yield(GuestKernel& kernel, const CallArguments& made);
Outcome rseq(GuestKernel& kernel, const CallArguments& made);
Outcome ptrace(GuestKernel& kernel, const CallArguments& made);
Outcome wait(GuestKernel& kernel, const CallArguments& made);  // wait4, waitid

// ---- mapping_queries.cc
Outcome ioctl(GuestKernel& kernel, const CallArguments& made);

// ---- attribute_calls.cc
/// prctl, arch_prctl and seccomp, by their rows in process_attributes.cc; the handlers of their kinds follow.
Outcome attribute(GuestKernel& kernel, const CallArguments& made);
Outcome set_name(GuestKernel& kernel, const CallArguments& made);
Outcome set_base(GuestKernel& kernel, const CallArguments& made);
Outcome get_base(GuestKernel& kernel, const CallArguments& made);
Outcome set_tsc(GuestKernel& kernel, const CallArguments& made);
Outcome get_tsc(GuestKernel& kernel, const CallArguments& made);
Outcome set_mdwe(GuestKernel& kernel, const CallArguments& made);
Outcome get_mdwe(GuestKernel& kernel, const CallArguments& made);
Outcome set_mm(GuestKernel& kernel, const CallArguments& made);  // memory_fields.cc
Outcome landlock_restrict_self(GuestKernel& kernel, const CallArguments& made);
Outcome mseal(GuestKernel& kernel, const CallArguments& made);
Outcome map_shadow_stack(GuestKernel& kernel, const CallArguments& made);

// ---- call_dispatch.cc
Outcome set_dispatch(GuestKernel& kernel, const CallArguments& made);

// ---- seccomp.cc
Outcome set_seccomp(GuestKernel& kernel, const CallArguments& made);  // and strict mode

// ---- refused_calls.cc: in part or as a whole
Outcome perf_event_open(GuestKernel& kernel, const CallArguments& made);
Outcome getdents64(GuestKernel& kernel, const CallArguments& made);
Outcome getrandom(GuestKernel& kernel, const CallArguments& made);

}  // namespace calls
}  // namespace zs::engine
