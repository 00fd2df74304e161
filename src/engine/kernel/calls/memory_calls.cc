#include <errno.h>
#include <linux/mman.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "engine/kernel/calls/call_handlers.h"
#include "engine/kernel/guest_kernel.h"
#include "engine/memory/guest_access.h"
#include "engine/memory/store_key.h"
#include "engine/raw_syscall.h"

namespace zs::engine::calls {

namespace {

/// What a call has done to the program's mappings, if it went well, beside what it took away.
struct Changes {
  AddressRange seen = {};   // what is mapped there is new, or may be executed now
  AddressRange sized = {};  // shall have large pages, or none
  bool large = false;
};

constexpr AddressRange range_at(std::uint64_t start, std::uint64_t size) { return {start, start + size}; }

/// Protection keys are of no level.
bool has_no_keys(const GuestKernel& kernel) { return kernel.run.config.cpu_level != arch::CpuLevel::Host; }

/// The result of such a call, of which all hear that know the program's memory by address.
Outcome changed(GuestKernel& kernel, long result, const Changes& changes) {
  kernel.code.forget_mapping();
  CoreFeeder& core = kernel.accountant.core;
  for (const AddressRange& gone : kernel.memory.map.take_gone()) core.unmapped(gone.start, gone.size());
  if (is_error(result)) return {result};
  if (!changes.sized.empty()) core.large_pages(changes.sized.start, changes.sized.size(), changes.large);
  if (!changes.seen.empty()) report_mappings(kernel, changes.seen);
  return {result};
}

}  // namespace

void report_mappings(GuestKernel& kernel, AddressRange range) {
  Run& run = kernel.run;
  for (std::uint64_t address = range.start; address < range.end;) {
    const GuestMapping* found = run.map.mappings().find(address);
    if (found == nullptr) {
      address = run.map.mappings().next_boundary(address);
      continue;
    }
    if ((found->prot & PROT_EXEC) != 0) {
      run.code_cache->direct_table().expect_code(found->range());
      if (!found->file || !kernel.written_files.may_be_written(*found->file)) kernel.cache.mapped(found->range());
    }
    Mapping mapping{.start = found->start,
                    .length = found->end - found->start,
                    .file_offset = found->offset,
                    .protection = found->prot,
                    .flags = found->flags,
                    .path = found->name()};
    if (mapping.path.empty()) mapping.path = "//anon";
    if (found->file) {
      mapping.device_major = found->file->device_major;
      mapping.device_minor = found->file->device_minor;
      mapping.inode = found->file->inode;
    }
    run.observer().mapped(run.shown(), mapping);
    kernel.accountant.probes.adopt();
    address = found->end;
  }
}

Outcome mmap(GuestKernel& kernel, const CallArguments& made) {
  const long result = kernel.memory.map.mmap(made.u(0), made.u(1), made.i32(2), made.i32(3), made.i32(4), made.u(5));
  const AddressRange mapped = range_at(static_cast<std::uint64_t>(result), made.u(1));
  const bool large = (made.i32(3) & MAP_HUGETLB) != 0;
  return changed(kernel, result, {.seen = mapped, .sized = large ? mapped : AddressRange{}, .large = large});
}

Outcome munmap(GuestKernel& kernel, const CallArguments& made) {
  return changed(kernel, kernel.memory.map.munmap(made.u(0), made.u(1)), {});
}

Outcome mremap(GuestKernel& kernel, const CallArguments& made) {
  const long result = kernel.memory.map.mremap(made.u(0), made.u(1), made.u(2), made.i32(3), made.u(4));
  return changed(kernel, result, {.seen = range_at(static_cast<std::uint64_t>(result), made.u(2))});
}

Outcome mprotect(GuestKernel& kernel, const CallArguments& made) {
  GuestMap& map = kernel.memory.map;
  if (made.number == SYS_pkey_mprotect && made.i32(3) != -1 && has_no_keys(kernel)) return {-EINVAL};
  const long result = made.number == SYS_mprotect ? map.mprotect(made.u(0), made.u(1), made.i32(2))
                                                  : map.pkey_mprotect(made.u(0), made.u(1), made.i32(2), made.i32(3));
  const bool executes = (made.i32(2) & PROT_EXEC) != 0;
  return changed(kernel, result, {.seen = executes ? range_at(made.u(0), made.u(1)) : AddressRange{}});
}

Outcome pkey_alloc(GuestKernel& kernel, const CallArguments& made) {
  if (has_no_keys(kernel)) return {-EINVAL};
  StoreKey::instance().leave_others();
  const long key = kernel.host.call(made);
  auto* const area = reinterpret_cast<std::byte*>(&kernel.run.context) + kXsaveOffset;
  if (!is_error(key)) StoreKey::instance().give_in(area, key, made.u(1));
  return {key};
}

Outcome pkey_free(GuestKernel& kernel, const CallArguments& made) {
  if (has_no_keys(kernel)) return {-EINVAL};
  StoreKey::instance().leave_others();
  return {StoreKey::instance().is(made.i32(0)) ? -EINVAL : kernel.host.call(made)};
}

Outcome madvise(GuestKernel& kernel, const CallArguments& made) {
  const long result = kernel.memory.map.madvise(made.u(0), made.u(1), made.i32(2));
  const bool large = made.i32(2) == MADV_HUGEPAGE;
  if (!large && made.i32(2) != MADV_NOHUGEPAGE) return {result};
  return changed(kernel, result, {.sized = range_at(made.u(0), made.u(1)), .large = large});
}

Outcome msync(GuestKernel& kernel, const CallArguments& made) {
  return {kernel.memory.map.msync(made.u(0), made.u(1), made.i32(2))};
}

Outcome brk(GuestKernel& kernel, const CallArguments& made) {
  GuestMap& map = kernel.memory.map;
  const std::uint64_t before = map.brk_end();
  const long result = map.brk(made.u(0));
  // The kernel tells perf of new pages, too.
  return changed(kernel, result, {.seen = {page_up(before), map.brk_end()}});
}

Outcome shmat(GuestKernel& kernel, const CallArguments& made) {
  const long result = kernel.memory.map.shmat(made.i32(0), made.u(1), made.i32(2));
  const GuestMapping* const attached = kernel.memory.map.mappings().find(static_cast<std::uint64_t>(result));
  return changed(kernel, result, {.seen = attached != nullptr ? attached->range() : AddressRange{}});
}

Outcome shmdt(GuestKernel& kernel, const CallArguments& made) {
  return changed(kernel, kernel.memory.map.shmdt(made.u(0)), {});
}

Outcome remap_file_pages(GuestKernel& kernel, const CallArguments& made) {
  return changed(kernel, kernel.memory.map.remap_file_pages(made.u(0), made.u(1), made.i32(2), made.u(3), made.i32(4)),
                 {});
}

Outcome mlockall(GuestKernel& kernel, const CallArguments& made) { return {kernel.memory.map.mlockall(made.i32(0))}; }

Outcome munlockall(GuestKernel& kernel, const CallArguments&) { return {kernel.memory.map.munlockall()}; }

// Of the limits on memory the program has its own (MemoryLimits). That of its stack is the kernel's, too.
Outcome limits(GuestKernel& kernel, const CallArguments& made) {
  Process& caller = *kernel.thread_set.thread->process;
  const bool by_id = made.number == SYS_prlimit64;
  const bool own = !by_id || made.a[0] == 0 || made.a[0] == caller.pid;
  const int resource = made.i32(by_id ? 1 : 0);
  const std::uint64_t given = made.u(by_id ? 2 : 1), old = made.u(by_id ? 3 : 1);
  const bool sets = by_id ? given != 0 : made.number == SYS_setrlimit;
  const bool tells = by_id ? old != 0 : made.number == SYS_getrlimit;
  if (!own || !MemoryLimits::covers(resource)) {
    const long result = kernel.host.call(made);
    if (result == 0 && own && resource == RLIMIT_STACK && sets) {
      if (const auto limit = read_guest_value<std::uint64_t>(given)) kernel.memory.map.set_stack_limit(*limit);
    }
    return {result};
  }
  MemoryLimits& limits = caller.limits;
  const rlimit before = limits.of(resource);
  if (sets) {
    const auto wanted = read_guest_value<rlimit>(given);
    if (!wanted) return {-EFAULT};
    if (const long result = limits.set(resource, *wanted); result != 0) return {result};
  }
  return {!tells || kernel.memory.write(old, &before, sizeof before) == sizeof before ? 0 : -EFAULT};
}

}  // namespace zs::engine::calls
