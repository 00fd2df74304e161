#include "engine/cache/cache_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/room_for_descriptors.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

constexpr int kFileMode = 0600, kOthers = 077;
/// What a writer leaves behind who was killed, older than this, belongs to nobody.
constexpr std::int64_t kAbandonedAfterS = 600;
/// A file's time of use is told again after this.
constexpr std::int64_t kUseIsToldAfterS = 3600;
constexpr char kUnfinished[] = ".unfinished-";

bool is_ours_alone(const struct stat& status, unsigned type) {
  return (status.st_mode & S_IFMT) == type && status.st_uid == static_cast<uid_t>(raw_syscall(SYS_geteuid)) &&
         (status.st_mode & kOthers) == 0;
}

OwnedFd at_least(int first, long fd) {
  if (is_error(fd)) return {};
  const RoomForDescriptors room;
  const long high = raw_syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, first);
  raw_syscall(SYS_close, fd);
  return is_error(high) ? OwnedFd() : OwnedFd(static_cast<int>(high));
}

std::int64_t now_s() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return now.tv_sec;
}

struct Entry {
  std::string name;
  std::uint64_t bytes;
  std::int64_t used_s;
};

/// The files in a folder.
std::vector<Entry> entries_of(int folder) {
  struct Head {  // source: getdents(2)
    std::uint64_t inode, offset;
    std::uint16_t size;
    std::uint8_t type;
  };
  constexpr std::size_t kNameAt = 19;
  std::vector<Entry> entries;
  raw_syscall(SYS_lseek, folder, 0, SEEK_SET);
  alignas(8) char buffer[4096];
  while (true) {
    const long filled = raw_syscall(SYS_getdents64, folder, buffer, sizeof buffer);
    if (is_error(filled) || filled == 0) return entries;
    for (long at = 0; at < filled;) {
      Head head;
      std::memcpy(&head, buffer + at, sizeof head);
      const char* const name = buffer + at + kNameAt;
      at += head.size;
      struct stat status;
      if (is_error(raw_syscall(SYS_newfstatat, folder, name, &status, AT_SYMLINK_NOFOLLOW))) continue;
      if (!S_ISREG(status.st_mode)) continue;
      entries.push_back({name, static_cast<std::uint64_t>(status.st_size), status.st_mtim.tv_sec});
    }
  }
}

}  // namespace

CacheDirectory::CacheDirectory(const std::string& path, std::uint64_t most_bytes, int first_private_fd)
    : most_bytes_(most_bytes) {
  if (path.empty() || raw_syscall(SYS_getuid) != raw_syscall(SYS_geteuid)) return;
  OwnedFd folder = at_least(first_private_fd,
                            raw_syscall(SYS_open, path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0));
  struct stat status;
  if (folder && !is_error(raw_syscall(SYS_fstat, folder.get(), &status)) && is_ours_alone(status, S_IFDIR))
    folder_ = std::move(folder);
}

OwnedFd CacheDirectory::open(const std::string& name) const {
  if (!folder_) return {};
  OwnedFd file = at_least(folder_.get(), raw_syscall(SYS_openat, folder_.get(), name.c_str(),
                                                     O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0));
  struct stat status;
  if (!file || is_error(raw_syscall(SYS_fstat, file.get(), &status)) || !is_ours_alone(status, S_IFREG)) return {};
  if (now_s() - status.st_mtim.tv_sec > kUseIsToldAfterS) raw_syscall(SYS_utimensat, file.get(), nullptr, nullptr, 0);
  return file;
}

OwnedFd CacheDirectory::keep_off(long fd) const { return at_least(folder_.get(), fd); }

CacheDirectory::Version CacheDirectory::version(const std::string& name) const {
  struct stat status;
  if (is_error(raw_syscall(SYS_newfstatat, folder_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW))) return {};
  return {.inode = status.st_ino, .bytes = static_cast<std::uint64_t>(status.st_size)};
}

bool CacheDirectory::replace(const std::string& name, const SnapshotWriter& file) const {
  const std::uint64_t bytes = file.bytes();
  rlimit largest{};  // a longer file would be a signal to the program
  if (!folder_ || bytes > most_bytes_ || is_error(raw_syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, nullptr, &largest)) ||
      bytes > largest.rlim_cur)
    return false;
  const std::string draft = kUnfinished + std::to_string(raw_syscall(SYS_getpid)) + "-" + name;
  raw_syscall(SYS_unlinkat, folder_.get(), draft.c_str(), 0);  // of a process that had this one's id
  const OwnedFd out =
      at_least(folder_.get(), raw_syscall(SYS_openat, folder_.get(), draft.c_str(),
                                          O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode));
  if (!out) return false;
  make_room(bytes, draft);
  const bool is_there = !is_error(raw_syscall(SYS_fchmod, out.get(), kFileMode)) && file.write(out.get()) &&
                        !is_error(raw_syscall(SYS_renameat, folder_.get(), draft.c_str(), folder_.get(), name.c_str()));
  if (!is_there) raw_syscall(SYS_unlinkat, folder_.get(), draft.c_str(), 0);
  return is_there;
}

void CacheDirectory::make_room(std::uint64_t bytes, const std::string& but) const {
  std::vector<Entry> entries = entries_of(folder_.get());
  std::uint64_t sum = bytes;
  for (const Entry& entry : entries) sum += entry.bytes;
  std::ranges::sort(entries, {}, [](const Entry& entry) { return std::pair(entry.used_s, entry.name); });
  const std::int64_t now = now_s();
  for (const Entry& entry : entries) {
    if (entry.name == but) continue;
    const bool unfinished = entry.name.starts_with(kUnfinished);
    const bool abandoned = unfinished && now - entry.used_s > kAbandonedAfterS;
    if (!abandoned && (sum <= most_bytes_ || unfinished)) continue;
    if (!is_error(raw_syscall(SYS_unlinkat, folder_.get(), entry.name.c_str(), 0))) sum -= entry.bytes;
  }
}

}  // namespace zs::engine
