// GuestMap: System V shared memory (ipc/shm.c).
#include <errno.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include <algorithm>
#include <cstdio>

#include "engine/memory/guest_map.h"
#include "engine/raw_syscall.h"

namespace zs::engine {

long GuestMap::shmat(int id, std::uint64_t address, int flags) {
  follow_grown_stacks();
  shmid_ds segment{};
  if (is_error(raw_syscall(SYS_shmctl, id, IPC_STAT, &segment)) || segment.shm_segsz == 0) {
    const long result = raw_syscall(SYS_shmat, id, 0, SHM_RDONLY);
    if (is_error(result)) return result;
    raw_syscall(SYS_shmdt, result);  // attachable, but we may not know its size
    return -EACCES;
  }
  const std::uint64_t length = page_up(segment.shm_segsz);
  char name[32];
  std::snprintf(name, sizeof name, "/SYSV%08x (deleted)", static_cast<unsigned>(segment.shm_perm.__key));
  MappedFile file;
  file.path = name;
  file.inode = static_cast<std::uint64_t>(static_cast<unsigned>(id));
  const int prot = (flags & SHM_RDONLY ? PROT_READ : PROT_READ | PROT_WRITE) | (flags & SHM_EXEC ? PROT_EXEC : 0);
  const int real_flags = strip_exec_ ? flags & ~SHM_EXEC : flags;
  GuestMapping wanted{.prot = static_cast<std::uint32_t>(prot),
                      .flags = MAP_SHARED,
                      .kind = MapKind::SharedMemory,
                      .file = std::make_shared<const MappedFile>(std::move(file))};

  if (!may_expand(wanted, length)) return -ENOMEM;
  if (address == 0) {
    if (flags & SHM_REMAP) return -EINVAL;
    const auto start = place(Zone::High, length, kPageSize);
    if (!start) return -ENOMEM;
    address = *start;
  } else if (address % kPageSize != 0) {
    if ((flags & SHM_RND) == 0) return -EINVAL;
    address = page_down(address);
    if (address == 0 && (flags & SHM_REMAP)) return -EINVAL;
  }
  if (address > kTaskSize - length) return -EINVAL;
  wanted.start = address;
  wanted.end = address + length;
  make_way(wanted.range());
  const bool replace = (flags & SHM_REMAP) != 0;
  if (touches_tool_memory(wanted.range())) return -EINVAL;
  if (!replace && !untouched(wanted.range())) return -EINVAL;
  std::vector<AddressRange> claimed;
  if (replace) {
    if (is_error(claim(wanted.range(), claimed))) return -EINVAL;
    code_will_change(wanted.range());
  }
  const long result = raw_syscall(SYS_shmat, id, address, real_flags);
  if (is_error(result)) {
    for (const AddressRange each : claimed) raw_syscall(SYS_munmap, each.start, each.size());
    if (replace) resync(wanted.range());
    return result;
  }
  erase(wanted.range());
  add(wanted);
  return result;
}

long GuestMap::shmdt(std::uint64_t address) {
  follow_grown_stacks();
  if (address % kPageSize != 0) return -EINVAL;
  // The attachment at `address`: what is left of it lies at `address` plus its offset.
  const auto belongs = [address](const GuestMapping& mapping) {
    return mapping.kind == MapKind::SharedMemory && mapping.start - address == mapping.offset;
  };
  const auto first =
      std::find_if(at_or_after(address), mappings_.end(), [&](const auto& entry) { return belongs(entry.second); });
  if (first == mappings_.end()) return -EINVAL;
  const auto file = first->second.file;
  std::vector<AddressRange> attached;
  for (auto each = first; each != mappings_.end(); ++each) {
    if (belongs(each->second) && same_file(each->second.file, file)) attached.push_back(each->second.range());
  }
  for (const AddressRange range : attached) code_will_change(range);
  const long result = raw_syscall(SYS_shmdt, address);
  if (is_error(result)) return result;
  for (const AddressRange range : attached) erase(range);
  return result;
}

}  // namespace zs::engine
