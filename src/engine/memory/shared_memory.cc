#include "engine/memory/shared_memory.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

std::shared_ptr<const MappedFile> file_of(int id, const shmid_ds& segment) {
  char name[32];
  std::snprintf(name, sizeof name, "/SYSV%08x (deleted)", static_cast<unsigned>(segment.shm_perm.__key));
  auto file = std::make_shared<MappedFile>();
  file->path = name;
  file->inode = static_cast<std::uint64_t>(static_cast<unsigned>(id));
  return file;
}

/// Its size cannot be asked for.
long refuse_unknown_size(int id) {
  const long result = raw_syscall(SYS_shmat, id, 0, SHM_RDONLY);
  if (is_error(result)) return result;
  raw_syscall(SYS_shmdt, result);  // attachable, but we may not know its size
  return -EACCES;
}

/// Attaches where the checks have found room.
long attach_at(AddressSpace& space, int id, const GuestMapping& wanted, int flags) {
  const bool replace = (flags & SHM_REMAP) != 0;
  std::vector<AddressRange> claimed;
  if (replace) {
    if (is_error(space.claim(wanted.range(), claimed))) return -EINVAL;
    space.code().will_change(wanted.range());
  }
  const int real_flags = space.real().strips_exec() ? flags & ~SHM_EXEC : flags;
  const long result = raw_syscall(SYS_shmat, id, wanted.start, real_flags);
  if (is_error(result)) {
    if (replace) space.give_up(wanted.range(), claimed);
    return result;
  }
  space.forget(wanted.range());
  space.add(wanted);
  return result;
}

}  // namespace

long attach_shared_memory(AddressSpace& space, const MapLimits& limits, int id, std::uint64_t address, int flags) {
  space.follow_grown_stacks();
  shmid_ds segment{};
  if (is_error(raw_syscall(SYS_shmctl, id, IPC_STAT, &segment)) || segment.shm_segsz == 0)
    return refuse_unknown_size(id);
  const std::uint64_t length = page_up(segment.shm_segsz);
  const int prot = (flags & SHM_RDONLY ? PROT_READ : PROT_READ | PROT_WRITE) | (flags & SHM_EXEC ? PROT_EXEC : 0);
  GuestMapping wanted{.prot = static_cast<std::uint32_t>(prot),
                      .flags = MAP_SHARED,
                      .kind = MapKind::SharedMemory,
                      .file = file_of(id, segment)};

  if (!limits.may_expand(wanted, length)) return -ENOMEM;
  if (address == 0) {
    if (flags & SHM_REMAP) return -EINVAL;
    const auto start = space.placement().place(Zone::High, length, kPageSize);
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
  space.make_way(wanted.range());
  if (space.touches_tool_memory(wanted.range())) return -EINVAL;
  if ((flags & SHM_REMAP) == 0 && !space.mappings().none_in(wanted.range())) return -EINVAL;
  return attach_at(space, id, wanted, flags);
}

long detach_shared_memory(AddressSpace& space, std::uint64_t address) {
  space.follow_grown_stacks();
  if (address % kPageSize != 0) return -EINVAL;
  // The attachment at `address`: what is left of it lies at `address` plus its offset.
  std::shared_ptr<const MappedFile> file;
  std::vector<AddressRange> attached;
  space.mappings().for_each_in({address, kTaskSize}, [&](const GuestMapping& mapping) {
    if (mapping.kind != MapKind::SharedMemory || mapping.start - address != mapping.offset) return;
    if (attached.empty()) file = mapping.file;
    if (same_file(mapping.file, file)) attached.push_back(mapping.range());
  });
  if (attached.empty()) return -EINVAL;
  for (const AddressRange range : attached) space.code().will_change(range);
  const long result = raw_syscall(SYS_shmdt, address);
  if (is_error(result)) return result;
  for (const AddressRange range : attached) space.forget(range);
  return result;
}

}  // namespace zs::engine
