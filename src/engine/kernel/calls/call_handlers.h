// What the engine does for a system call that the kernel cannot answer as it is: Call::handler of its row in
// call_table.cc.
#pragma once

#include <optional>

#include "engine/call.h"
#include "engine/memory/layout.h"

namespace zs::engine {
namespace calls {

// ---- memory_calls.cc
HandlesCall mmap, munmap, mremap, pkey_alloc, pkey_free, madvise, msync, brk, shmat, shmdt, remap_file_pages, mlockall,
    munlockall;
HandlesCall mprotect;  // and pkey_mprotect
HandlesCall limits;    // getrlimit, setrlimit, prlimit64
/// Tells who wants to know what is mapped: the recording, the code cache, the translations that are kept.
void report_mappings(GuestKernel& kernel, AddressRange range);

// ---- signal_calls.cc
HandlesCall rt_sigaction, rt_sigprocmask, rt_sigreturn, rt_sigpending, rt_sigtimedwait, sigaltstack;
HandlesCall send_signal;  // kill, tkill, tgkill and the two that queue
HandlesCall masked_wait;  // ppoll and its kin: Call::mask of their rows

// ---- process_calls.cc
HandlesCall clone, clone3, fork, vfork, execve, execveat, exit, exit_group, set_tid_address, sched_affinity,
    sched_yield, rseq, ptrace;
HandlesCall futex;      // and those that came later
HandlesCall nanosleep;  // and clock_nanosleep
HandlesCall wait;       // wait4, waitid

// ---- clock_calls.cc
HandlesCall clock_gettime, gettimeofday, time, times, getcpu;

// ---- random_calls.cc
HandlesCall getrandom;
HandlesCall read;  // and readv, pread64

// ---- mapping_queries.cc
HandlesCall ioctl;

// ---- attribute_calls.cc
HandlesCall attribute;  // prctl, arch_prctl and seccomp, by their rows
HandlesCall landlock_restrict_self, mseal, map_shadow_stack;
HandlesCall set_tsc;       // PR_SET_TSC
HandlesCall set_mm;        // PR_SET_MM: memory_fields.cc
HandlesCall set_dispatch;  // PR_SET_SYSCALL_USER_DISPATCH: call_dispatch.cc
HandlesCall set_seccomp;   // filters, and strict mode: seccomp.cc

// ---- proc_calls.cc
HandlesCall getdents64, close_range;
/// Any call on a path below /proc that shows something else than the program; none: it does not.
std::optional<long> on_proc_path(GuestKernel& kernel, const CallArguments& made);

// ---- perf_calls.cc
HandlesCall perf_event_open;

// ---- fixed_machine.cc
HandlesCall uname, fixed_affinity;

// ---- Any call, on its way to its handler: virtual_calls.cc, id_calls.cc
HandlesCall in_virtual_time, in_shown_ids;

}  // namespace calls
}  // namespace zs::engine
