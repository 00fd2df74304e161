// Under --virtual-time: process ids in system calls are those that the program is shown (process_ids.h), and the first
// process and its parent have numbers of their own (engine.h). Ids of threads are the kernel's but for a process's
// first: the kernel compares them with what lies in futexes. So mutexes with priority inheritance do not work between
// processes' first threads, and a robust mutex of one that somebody else kills stays locked.
// Not translated: ids that come with messages (SCM_CREDENTIALS, signalfd), SysV IPC's notes of who did what,
// F_SETOWN_EX, CPU clocks of other processes, what files and folders below /proc contain.

#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>

#include "engine/kernel/calls/call_commands.h"
#include "engine/kernel/calls/call_handlers.h"
#include "engine/kernel/guest_kernel.h"
#include "engine/kernel/threads/robust_list.h"
#include "engine/memory/guest_access.h"
#include "engine/raw_syscall.h"

namespace zs::engine::calls {
namespace {

// Whom a number means does not depend on how far the kernel has counted.
static_assert(ProcessIds::kKernelsEnd <= kVirtualParent && kVirtualParent < kVirtualPid &&
              kVirtualPid < ProcessIds::kFirstShown);

}  // namespace

Outcome in_shown_ids(GuestKernel& kernel, const CallArguments& made) {
  ThreadSet& threads = kernel.thread_set;
  if (!threads.ids.differ()) return kernel.calls.answer(made);
  const auto& [number, a] = made;
  const Call& call = call_of(number);
  const CallCommand command = command_of(made);
  const std::uint32_t ids = call.traits | command.traits;
  long changed[6] = {a[0], a[1], a[2], a[3], a[4], a[5]};
  for (int i = 0; i < 3; ++i) {
    if ((ids & (kId1 << i)) != 0) changed[i] = threads.ids.real(static_cast<std::int32_t>(a[i]));
  }
  const bool kills = number == SYS_kill || number == SYS_tkill || number == SYS_tgkill;
  if (kills && a[number == SYS_tgkill ? 2 : 1] == SIGKILL && changed[0] == threads.thread->process->pid)
    leave_robust_list(kernel.memory, threads, *threads.thread);  // if somebody else kills it, nobody does
  std::int32_t group = 0;
  if (number == SYS_ioctl && a[1] == TIOCSPGRP) {
    const auto given = read_guest_value<std::int32_t>(static_cast<std::uint64_t>(a[2]));
    if (!given) return {-EFAULT};
    group = threads.ids.real(*given);
    changed[2] = reinterpret_cast<long>(&group);
  }
  Outcome outcome = kernel.calls.answer({number, changed});
  if (!outcome.set_result || is_error(outcome.result)) return outcome;
  if ((ids & kIdResult) != 0) outcome.result = threads.ids.shown(static_cast<std::int32_t>(outcome.result));
  const IdInMemory& told = call.told_id.argument >= 0 ? call.told_id : command.told_id;
  const bool of_other_level = number == SYS_getsockopt && a[1] != SOL_SOCKET;
  if (told.argument < 0 || a[told.argument] == 0 || of_other_level) return outcome;
  const std::uint64_t place = made.u(told.argument) + told.offset;
  const auto real = read_guest_value<std::int32_t>(place);
  const std::int32_t shown = real ? threads.ids.shown(*real) : 0;
  if (real && shown != *real) kernel.memory.write(place, &shown, sizeof shown);
  return outcome;
}

}  // namespace zs::engine::calls
