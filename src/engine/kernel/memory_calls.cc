#include <errno.h>
#include <linux/mman.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "engine/kernel/call_handlers.h"
#include "engine/kernel/guest_kernel.h"
#include "engine/memory/guest_access.h"
#include "engine/memory/store_key.h"
#include "engine/raw_syscall.h"

namespace zs::engine::calls {

Outcome mmap(GuestKernel& kernel, const CallArguments& made) {
  const long result = kernel.run.map.mmap(made.u(0), made.u(1), made.i32(2), made.i32(3), made.i32(4), made.u(5));
  kernel.code.forget_mapping();
  if (is_error(result)) return {result};
  if ((made.i32(3) & MAP_FIXED) != 0) kernel.accountant.core.unmapped(made.u(0), made.u(1));
  if ((made.i32(3) & MAP_HUGETLB) != 0)
    kernel.accountant.core.large_pages(static_cast<std::uint64_t>(result), made.u(1), true);
  kernel.mappings.report(static_cast<std::uint64_t>(result), made.u(1));
  return {result};
}

Outcome munmap(GuestKernel& kernel, const CallArguments& made) {
  kernel.code.forget_mapping();
  const long result = kernel.run.map.munmap(made.u(0), made.u(1));
  if (result == 0) kernel.accountant.core.unmapped(made.u(0), made.u(1));
  return {result};
}

Outcome mremap(GuestKernel& kernel, const CallArguments& made) {
  const std::uint64_t at = made.u(0), size = made.u(1), new_size = made.u(2);
  const long result = kernel.run.map.mremap(at, size, new_size, made.i32(3), made.u(4));
  kernel.code.forget_mapping();
  if (is_error(result)) return {result};
  CoreFeeder& core = kernel.accountant.core;
  const auto moved_to = static_cast<std::uint64_t>(result);
  if (moved_to != at)
    core.unmapped(at, size);
  else if (new_size < size)
    core.unmapped(at + new_size, size - new_size);
  if ((made.i32(3) & MREMAP_FIXED) != 0) core.unmapped(moved_to, new_size);
  kernel.mappings.report(moved_to, new_size);
  return {result};
}

Outcome mprotect(GuestKernel& kernel, const CallArguments& made) {
  const long result = made.number == SYS_mprotect
                          ? kernel.run.map.mprotect(made.u(0), made.u(1), made.i32(2))
                          : kernel.run.map.pkey_mprotect(made.u(0), made.u(1), made.i32(2), made.i32(3));
  kernel.code.forget_mapping();
  if (result == 0 && (made.i32(2) & PROT_EXEC) != 0) kernel.mappings.report(made.u(0), made.u(1));
  return {result};
}

Outcome pkey_alloc(GuestKernel& kernel, const CallArguments& made) {
  StoreKey::instance().leave_others();
  const long key = kernel.host.call(made);
  auto* const area = reinterpret_cast<std::byte*>(&kernel.run.context) + kXsaveOffset;
  if (!is_error(key)) StoreKey::instance().give_in(area, key, made.u(1));
  return {key};
}

Outcome pkey_free(GuestKernel& kernel, const CallArguments& made) {
  StoreKey::instance().leave_others();
  return {StoreKey::instance().is(made.i32(0)) ? -EINVAL : kernel.host.call(made)};
}

Outcome madvise(GuestKernel& kernel, const CallArguments& made) {
  const long result = kernel.run.map.madvise(made.u(0), made.u(1), made.i32(2));
  const bool large = made.i32(2) == MADV_HUGEPAGE;
  if (result == 0 && (large || made.i32(2) == MADV_NOHUGEPAGE))
    kernel.accountant.core.large_pages(made.u(0), made.u(1), large);
  return {result};
}

Outcome msync(GuestKernel& kernel, const CallArguments& made) {
  return {kernel.run.map.msync(made.u(0), made.u(1), made.i32(2))};
}

Outcome brk(GuestKernel& kernel, const CallArguments& made) {
  GuestMap& map = kernel.run.map;
  const std::uint64_t before = map.brk_end();
  const long result = map.brk(made.u(0));
  if (map.brk_end() < before) kernel.accountant.core.unmapped(map.brk_end(), before - map.brk_end());
  const std::uint64_t grown = page_up(before);  // the kernel tells perf of new pages, too
  if (map.brk_end() > grown) kernel.mappings.report(grown, map.brk_end() - grown);
  return {result};
}

Outcome shmat(GuestKernel& kernel, const CallArguments& made) {
  return {kernel.run.map.shmat(made.i32(0), made.u(1), made.i32(2))};
}

Outcome shmdt(GuestKernel& kernel, const CallArguments& made) {
  const GuestMapping* const attached = kernel.run.map.mappings().find(made.u(0));
  const AddressRange range = attached == nullptr ? AddressRange{} : attached->range();
  const long result = kernel.run.map.shmdt(made.u(0));
  if (result == 0) kernel.accountant.core.unmapped(range.start, range.size());
  return {result};
}

Outcome remap_file_pages(GuestKernel& kernel, const CallArguments& made) {
  const long result = kernel.run.map.remap_file_pages(made.u(0), made.u(1), made.i32(2), made.u(3), made.i32(4));
  kernel.code.forget_mapping();
  if (result == 0) kernel.accountant.core.unmapped(made.u(0), made.u(1));
  return {result};
}

Outcome mlockall(GuestKernel& kernel, const CallArguments& made) { return {kernel.run.map.mlockall(made.i32(0))}; }

Outcome munlockall(GuestKernel& kernel, const CallArguments&) { return {kernel.run.map.munlockall()}; }

// Of the limits on memory the program has its own (MemoryLimits). That of its stack is the kernel's, too.
Outcome limits(GuestKernel& kernel, const CallArguments& made) {
  Run& run = kernel.run;
  const bool by_id = made.number == SYS_prlimit64;
  const bool own = !by_id || made.a[0] == 0 || made.a[0] == run.thread->process->pid;
  const int resource = made.i32(by_id ? 1 : 0);
  const std::uint64_t given = made.u(by_id ? 2 : 1), old = made.u(by_id ? 3 : 1);
  const bool sets = by_id ? given != 0 : made.number == SYS_setrlimit;
  const bool tells = by_id ? old != 0 : made.number == SYS_getrlimit;
  if (!own || !MemoryLimits::covers(resource)) {
    const long result = kernel.host.call(made);
    if (result == 0 && own && resource == RLIMIT_STACK && sets) {
      if (const auto limit = read_guest_value<std::uint64_t>(given)) run.map.set_stack_limit(*limit);
    }
    return {result};
  }
  MemoryLimits& limits = run.thread->process->limits;
  const rlimit before = limits.of(resource);
  if (sets) {
    const auto wanted = read_guest_value<rlimit>(given);
    if (!wanted) return {-EFAULT};
    if (const long result = limits.set(resource, *wanted); result != 0) return {result};
  }
  return {!tells || run.write(old, &before, sizeof before) == sizeof before ? 0 : -EFAULT};
}

}  // namespace zs::engine::calls
