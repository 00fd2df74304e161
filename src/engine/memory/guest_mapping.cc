#include "engine/memory/guest_mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <time.h>

#include <algorithm>
#include <iterator>

#include "engine/memory/real_maps.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

std::int64_t in_ns(const timespec& time) { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

/// Another write would have left other times.
bool had_settled(const MappedFile& file) {
  constexpr std::int64_t kLongestTickNs = 10'000'000;
  return file.seen_ns - std::max(file.changed_ns, file.status_changed_ns) > kLongestTickNs;
}

bool is_as_it_was(const MappedFile& file, const struct stat& now) {
  return major(now.st_dev) == file.device_major && minor(now.st_dev) == file.device_minor && now.st_ino == file.inode &&
         static_cast<std::uint64_t>(now.st_size) == file.size && in_ns(now.st_mtim) == file.changed_ns &&
         in_ns(now.st_ctim) == file.status_changed_ns;
}

/// File systems whose files keep the time of each change: ext2 to ext4, XFS, Btrfs, F2FS, ZFS, bcachefs, overlays of
/// such, and those that cannot be written. In memory (tmpfs) a mapping is written to without a time.
/// source: linux/magic.h, and statfs(2)
constexpr long kKeepTimes[] = {0xEF53,     0x58465342, 0x9123683E, 0xF2F52010, 0x2FC12FC1,
                               0xCA451A4E, 0x794C7630, 0x73717368, 0xE0F5E1E2, 0x9660};

}  // namespace

bool GuestMapping::shared() const { return (flags & MAP_SHARED) != 0; }

std::string GuestMapping::name() const {
  switch (kind) {
    case MapKind::Heap: return "[heap]";
    case MapKind::Stack: return "[stack]";
    case MapKind::Vdso: return "[vdso]";
    case MapKind::Vvar: return "[vvar]";
    case MapKind::Anonymous:
    case MapKind::File:
    case MapKind::Arguments:
    case MapKind::SharedMemory: break;
  }
  return file ? file->path : std::string();
}

void GuestMapping::charge_if_writable() {
  if (kind == MapKind::File && (prot & PROT_WRITE) && !(flags & (MAP_SHARED | MAP_NORESERVE))) charged = true;
}

bool same_file(const std::shared_ptr<const MappedFile>& a, const std::shared_ptr<const MappedFile>& b) {
  if (a == b) return true;
  return a && b && a->inode != 0 && a->inode == b->inode && a->device_major == b->device_major &&
         a->device_minor == b->device_minor && a->path == b->path && a->may_execute == b->may_execute;
}

bool mergeable(const GuestMapping& left, const GuestMapping& right) {
  return left.end == right.start && left.prot == right.prot && left.flags == right.flags && left.kind == right.kind &&
         left.inherited == right.inherited && left.wiped == right.wiped && left.charged == right.charged &&
         same_file(left.file, right.file) && (!left.file || left.offset + left.range().size() == right.offset);
}

bool is_unchanged(const MappedFile& file) {
  if (!had_settled(file)) return false;
  struct stat now;
  if (is_error(raw_syscall(SYS_stat, file.path.c_str(), &now))) return false;
  return is_as_it_was(file, now);
}

std::shared_ptr<const MappedFile> describe_file(int fd, const GuestMapping* beside) {
  constexpr long kHugetlbfsMagic = 0x958458f6;
  constexpr long kNoExec = 8;  // ST_NOEXEC
  struct stat status;
  if (is_error(raw_syscall(SYS_fstat, fd, &status))) return nullptr;
  if (beside != nullptr && beside->file && beside->file->has_one_name && is_as_it_was(*beside->file, status))
    return beside->file;
  auto file = std::make_shared<MappedFile>();
  file->device_major = static_cast<std::uint32_t>(major(status.st_dev));
  file->device_minor = static_cast<std::uint32_t>(minor(status.st_dev));
  file->inode = status.st_ino;
  file->has_one_name = status.st_nlink == 1;
  file->size = static_cast<std::uint64_t>(status.st_size);
  file->changed_ns = in_ns(status.st_mtim);
  file->status_changed_ns = in_ns(status.st_ctim);
  timespec now{};
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  file->seen_ns = in_ns(now);
  struct statfs system;
  if (!is_error(raw_syscall(SYS_fstatfs, fd, &system))) {
    file->may_execute = (system.f_flags & kNoExec) == 0;
    file->tells_changes =
        had_settled(*file) && std::ranges::find(kKeepTimes, static_cast<long>(system.f_type)) != std::end(kKeepTimes);
    if (system.f_type == kHugetlbfsMagic) file->page_size = static_cast<std::uint64_t>(system.f_bsize);
  }
  file->path = path_of_descriptor(fd);
  return file;
}

}  // namespace zs::engine
