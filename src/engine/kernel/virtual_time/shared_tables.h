// What the processes of a recording know of one another under --virtual-time: memory that all of them share, also
// across execve.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>

#include "engine/kernel/virtual_time/process_turns.h"
#include "engine/raw_syscall.h"
#include "engine/run/process_ids.h"

namespace zs::engine {

struct SharedTables {
  ProcessIds::Table ids;
  TurnsTable turns;

  /// A descriptor of new tables, none below `first`, inherited across execve; or -errno.
  static long make(int first) {
    const long fd = raw_syscall(SYS_memfd_create, "zeroskid-processes", 0);
    if (is_error(fd)) return fd;
    const long sized = raw_syscall(SYS_ftruncate, fd, sizeof(SharedTables));
    const long kept = is_error(sized) ? sized : raw_syscall(SYS_fcntl, fd, F_DUPFD, first);
    raw_syscall(SYS_close, fd);
    return kept;
  }
  /// Those behind `fd`; null if there are none, or no room for them.
  static SharedTables* map(int fd) {
    if (fd < 0) return nullptr;
    const long at = raw_syscall(SYS_mmap, nullptr, sizeof(SharedTables), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return is_error(at) ? nullptr : reinterpret_cast<SharedTables*>(at);
  }
};

}  // namespace zs::engine
