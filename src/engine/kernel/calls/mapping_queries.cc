// PROCMAP_QUERY (Linux 6.11): a program asks an open /proc/self/maps for the mapping at an address. What it has open is
// our view of its mappings; the kernel is asked for what only it knows of the file (build-id, and where it lies now).
// source: Linux, fs/proc/task_mmu.c: do_procmap_query(), query_matching_vma(); uapi/linux/fs.h

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "engine/kernel/calls/call_handlers.h"
#include "engine/kernel/guest_kernel.h"
#include "engine/loader/proc_view.h"
#include "engine/memory/real_maps.h"
#include "engine/raw_syscall.h"

namespace zs::engine::calls {
namespace {

constexpr std::uint32_t kQuery = 0xC068'6611;  // PROCMAP_QUERY
constexpr std::uint64_t kReadable = 1, kWritable = 2, kExecutable = 4, kShared = 8, kOrNext = 16, kOfFile = 32;

struct MappingQuery {
  std::uint64_t size, flags, address;
  std::uint64_t start, end, mapping_flags, page_size, offset, inode;
  std::uint32_t device_major, device_minor, name_size, build_id_size;
  std::uint64_t name_at, build_id_at;

  bool has_known_form() const {
    return (flags & ~std::uint64_t{63}) == 0 && (name_size == 0) == (name_at == 0) &&
           (build_id_size == 0) == (build_id_at == 0);
  }
};
static_assert(sizeof(MappingQuery) == 104);

/// 0, or what is wrong with it.
long read_query(const GuestMemory& memory, std::uint64_t at, MappingQuery& query) {
  constexpr std::uint64_t kSmallest = 24;
  const auto size = memory.value_at<std::uint64_t>(at);
  if (!size) return -EFAULT;
  if (*size > kPageSize) return -E2BIG;
  if (*size < kSmallest) return -EINVAL;
  std::array<std::uint8_t, kPageSize> bytes{};
  if (memory.read(at, bytes.data(), *size) != *size) return -EFAULT;
  if (std::any_of(bytes.begin() + sizeof query, bytes.end(), [](std::uint8_t byte) { return byte != 0; }))
    return -E2BIG;
  std::memcpy(&query, bytes.data(), sizeof query);
  return query.has_known_form() ? 0 : -EINVAL;
}

std::uint64_t flags_of(const GuestMapping& mapping) {
  return ((mapping.prot & PROT_READ) != 0 ? kReadable : 0) | ((mapping.prot & PROT_WRITE) != 0 ? kWritable : 0) |
         ((mapping.prot & PROT_EXEC) != 0 ? kExecutable : 0) | (mapping.shared() ? kShared : 0);
}

const GuestMapping* matching(const Mappings& mappings, const MappingQuery& query) {
  constexpr std::uint64_t kPermissions = kReadable | kWritable | kExecutable | kShared;
  for (std::uint64_t at = query.address;;) {
    const GuestMapping* const found = mappings.at_or_after(at);
    if (found == nullptr) return nullptr;
    const std::uint64_t wanted = query.flags & kPermissions;
    const bool fits = ((query.flags & kOfFile) == 0 || found->file) && (flags_of(*found) & wanted) == wanted;
    const bool or_next = (query.flags & kOrNext) != 0;
    if (fits && (or_next || found->start <= query.address)) return found;
    if (!or_next) return nullptr;
    at = found->end;
  }
}

/// What the kernel says of an address. name, build_id: buffers
long ask_kernel(std::uint64_t address, MappingQuery& query, std::string& name, std::string& build_id) {
  query = {.size = sizeof query,
           .address = address,
           .name_size = static_cast<std::uint32_t>(name.size()),
           .build_id_size = static_cast<std::uint32_t>(build_id.size()),
           .name_at = reinterpret_cast<std::uint64_t>(name.data()),
           .build_id_at = reinterpret_cast<std::uint64_t>(build_id.data())};
  const long maps = raw_syscall(SYS_open, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (is_error(maps)) return maps;
  const long result = raw_syscall(SYS_ioctl, maps, kQuery, &query);
  raw_syscall(SYS_close, maps);
  name.resize(is_error(result) || query.name_size == 0 ? 0 : query.name_size - 1);
  build_id.resize(is_error(result) ? 0 : query.build_id_size);
  return result;
}

/// Into a buffer of `room` bytes, which then says how many of them are used.
long put(GuestMemory& memory, std::uint64_t at, std::uint32_t& room, const char* bytes, std::size_t size) {
  if (room == 0) return 0;
  if (size > room) return -ENAMETOOLONG;
  room = static_cast<std::uint32_t>(size);
  return memory.write(at, bytes, size) == size ? 0 : -EFAULT;
}

long answer_query(GuestMemory& memory, std::uint64_t at) {
  MappingQuery query{}, real{};
  if (const long error = read_query(memory, at, query); error != 0) return error;
  const GuestMapping* const found = matching(memory.map.mappings(), query);
  if (found == nullptr) return -ENOENT;
  std::string name(kPageSize, '\0'), build_id(64, '\0');
  if (const long error = ask_kernel(found->start, real, name, build_id); error == -ENOTTY) return error;
  if (!found->file || !name.starts_with('/')) {
    name = found->name();
    real.inode = found->file ? found->file->inode : 0;
    real.device_major = found->file ? found->file->device_major : 0;
    real.device_minor = found->file ? found->file->device_minor : 0;
  }
  query.start = found->start;
  query.end = found->end;
  query.mapping_flags = flags_of(*found);
  query.page_size = found->file ? found->file->page_size : kPageSize;
  query.offset = found->offset;
  query.inode = real.inode;
  query.device_major = real.device_major;
  query.device_minor = real.device_minor;
  if (const long error = put(memory, query.build_id_at, query.build_id_size, build_id.data(), build_id.size());
      error != 0)
    return error;
  const std::size_t name_bytes = name.empty() ? 0 : name.size() + 1;
  if (const long error = put(memory, query.name_at, query.name_size, name.c_str(), name_bytes); error != 0)
    return error;
  const std::size_t size = std::min<std::uint64_t>(query.size, sizeof query);
  return memory.write(at, &query, size) == size ? 0 : -EFAULT;
}

}  // namespace

Outcome ioctl(GuestKernel& kernel, const CallArguments& made) {
  const bool asks = static_cast<std::uint32_t>(made.u(1)) == kQuery &&
                    path_of_descriptor(made.i32(0)).find(kMapsContent) != std::string::npos;
  if (!asks) return {kernel.host.call(made)};
  return {answer_query(kernel.memory, made.u(2))};
}

}  // namespace zs::engine::calls
