// Memory that is not there until another thread of the program puts it there (userfaultfd). Who touches it sleeps in the kernel, in the
// middle of translated code and with the lock, which the other thread needs. Those who wait for the lock see that, and a signal brings the
// sleeper to the dispatcher, in front of its instruction (EngineLock::look_for_waits_of_memory). There it touches what the instruction is about to
// use once more, without the lock, and when that is there the instruction runs. So the fault is reported and answered as natively.
//
// Not done: elements of gathers and scatters but by the same sleep again; frames of signals on such memory, and what the engine reads behind
// pointers in such memory, wait with the lock.

#include <linux/userfaultfd.h>
#include <sys/ioctl.h>

#include <algorithm>

#include "engine/memory/copy_code.h"
#include "engine/memory/guest_access.h"
#include "engine/raw_syscall.h"
#include "engine/runtime.h"

namespace zs::engine {

void Runtime::note_awaited_memory(long number, const long (&a)[6], long result) {
  if (number != SYS_ioctl || result != 0 || static_cast<unsigned>(a[1]) != UFFDIO_REGISTER) return;
  const auto given = read_guest_value<uffdio_register>(static_cast<std::uint64_t>(a[2]));
  if (!given) return;
  awaited_.push_back({given->range.start, given->range.start + given->range.len});
  run_.lock.look_for_waits_of_memory();
}

bool Runtime::is_awaited(std::uint64_t address) const {
  return std::ranges::any_of(awaited_, [&](const AddressRange& range) { return range.contains(address); });
}

/// Back here when it is there, when a signal waits, or when touching it is a fault, which the instruction will have then.
void Runtime::touch_without_lock(AddressRange range, bool write) {
  Thread& thread = *run_.thread;
  give_up_lock();
  // This thread's own variables only, until the lock is back.
  for (std::uint64_t at = range.start; at < range.end && thread.pending.load() == 0; at = page_down(at) + kPageSize)
    zs_touch(at, write);
  run_.lock.acquire(thread);
  load_context(thread);
}

void Runtime::wait_for_operands() {
  const auto insn = isa::decode(run_.thread->pc, fetch(run_.thread->pc), false);
  if (!insn) return;
  AddressRange ranges[2] = {};
  for (unsigned i = 0; i < insn->memory_count; ++i) {
    const std::uint64_t at = accountant_.steps.effective_address(insn->memory[i], insn->next());
    ranges[i] = {at, at + std::max<std::uint32_t>(insn->memory[i].bytes, 1)};
  }
  for (unsigned i = 0; i < insn->memory_count; ++i) {
    if (is_awaited(ranges[i].start) || is_awaited(ranges[i].end - 1))
      touch_without_lock(ranges[i], insn->memory[i].write);
  }
}

// What the engine reads itself, for a call that it answers.
void Runtime::wait_for_arguments(long number, const long (&a)[6]) {
  if (awaited_.empty()) return;
  switch (number) {  // an address there is none to read from
    case SYS_mmap:
    case SYS_munmap:
    case SYS_mremap:
    case SYS_mprotect:
    case SYS_pkey_mprotect:
    case SYS_madvise:
    case SYS_brk:
    case SYS_ioctl: return;
    default: break;
  }
  for (const long argument : a) {
    const auto at = static_cast<std::uint64_t>(argument);
    if (is_awaited(at)) touch_without_lock({at, at + 1}, false);
  }
}

}  // namespace zs::engine
