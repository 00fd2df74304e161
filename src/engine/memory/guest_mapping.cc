#include "engine/memory/guest_mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <time.h>

#include <algorithm>
#include <cstdio>

#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

std::int64_t in_ns(const timespec& time) { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

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
  constexpr std::int64_t kLongestTickNs = 10'000'000;
  if (file.seen_ns - std::max(file.changed_ns, file.status_changed_ns) <= kLongestTickNs) return false;
  struct stat now;
  if (is_error(raw_syscall(SYS_stat, file.path.c_str(), &now))) return false;
  return major(now.st_dev) == file.device_major && minor(now.st_dev) == file.device_minor && now.st_ino == file.inode &&
         static_cast<std::uint64_t>(now.st_size) == file.size && in_ns(now.st_mtim) == file.changed_ns &&
         in_ns(now.st_ctim) == file.status_changed_ns;
}

std::shared_ptr<const MappedFile> describe_file(int fd) {
  constexpr long kHugetlbfsMagic = 0x958458f6;
  constexpr long kNoExec = 8;  // ST_NOEXEC
  struct stat status;
  if (is_error(raw_syscall(SYS_fstat, fd, &status))) return nullptr;
  auto file = std::make_shared<MappedFile>();
  file->device_major = static_cast<std::uint32_t>(major(status.st_dev));
  file->device_minor = static_cast<std::uint32_t>(minor(status.st_dev));
  file->inode = status.st_ino;
  file->size = static_cast<std::uint64_t>(status.st_size);
  file->changed_ns = in_ns(status.st_mtim);
  file->status_changed_ns = in_ns(status.st_ctim);
  timespec now{};
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  file->seen_ns = in_ns(now);
  struct statfs system;
  if (!is_error(raw_syscall(SYS_fstatfs, fd, &system))) {
    file->may_execute = (system.f_flags & kNoExec) == 0;
    if (system.f_type == kHugetlbfsMagic) file->page_size = static_cast<std::uint64_t>(system.f_bsize);
  }
  char link[64];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  char path[kPageSize];
  const long length = raw_syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path);
  if (length > 0) file->path.assign(path, static_cast<std::size_t>(length));
  return file;
}

}  // namespace zs::engine
