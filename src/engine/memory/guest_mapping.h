// One mapping of the program: what it asked for, and the file behind it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/memory/layout.h"

namespace zs::engine {

enum class MapKind : std::uint8_t { Anonymous, File, Heap, Stack, Arguments, SharedMemory, Vdso, Vvar };

/// The file behind a mapping, as it was named when it was mapped.
struct MappedFile {
  std::string path;
  std::uint32_t device_major = 0, device_minor = 0;
  std::uint64_t inode = 0;
  bool has_one_name = false;
  bool may_execute = true;              // false: the file system is mounted noexec
  std::uint64_t page_size = kPageSize;  // larger on hugetlbfs
  bool tells_changes = false;           // other contents of it have other times, to the next tick
  /// As it was when it was mapped: another version of the file differs in one of these, unless it was written within
  /// the same tick.
  std::uint64_t size = 0;
  std::int64_t changed_ns = 0, status_changed_ns = 0;
  std::int64_t seen_ns = 0;  // the time of day then, in whole ticks of the kernel
};

struct GuestMapping {
  std::uint64_t start = 0, end = 0;
  std::uint32_t prot = 0;    // PROT_READ|WRITE|EXEC, as the program asked
  std::uint32_t flags = 0;   // MAP_SHARED or MAP_PRIVATE, and MAP_ANONYMOUS|GROWSDOWN|NORESERVE|LOCKED|HUGETLB
  std::uint64_t offset = 0;  // in the file, of `start`; 0 for anonymous memory
  MapKind kind = MapKind::Anonymous;
  bool inherited = true;  // false: madvise(MADV_DONTFORK)
  bool wiped = false;     // in a child: madvise(MADV_WIPEONFORK)
  bool charged = false;   // a private file mapping that was ever writable: the kernel keeps such apart (VM_ACCOUNT)
  std::shared_ptr<const MappedFile> file;  // null for private anonymous memory

  AddressRange range() const { return {start, end}; }
  bool shared() const;
  /// "[heap]", "[stack]", "[vdso]", the file's path, or "".
  std::string name() const;
  /// Mapped by the tool and only shown to the program (the vdso): never really changed for it.
  bool shown_only() const { return kind == MapKind::Vdso || kind == MapKind::Vvar; }
  /// To be called when `prot` may have gained PROT_WRITE.
  void charge_if_writable();
};

/// Whether the kernel would make one mapping of two neighbours.
bool mergeable(const GuestMapping& left, const GuestMapping& right);
bool same_file(const std::shared_ptr<const MappedFile>& a, const std::shared_ptr<const MappedFile>& b);
/// Whether the file is still there and has not been written since it was mapped. False where that cannot be told.
bool is_unchanged(const MappedFile& file);
/// beside  what lies where the file is to be mapped, or before that place: a loader's other mapping of the same file
/// perhaps, which is then asked for nothing twice
/// Null if `fd` is no open descriptor.
std::shared_ptr<const MappedFile> describe_file(int fd, const GuestMapping* beside);

}  // namespace zs::engine
