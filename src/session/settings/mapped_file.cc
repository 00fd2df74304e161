#include "session/settings/mapped_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace zs::session {

bool read_mapped_file(const char* path, std::uint64_t inode, const std::function<void(const ReadAt&)>& use) {
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (file < 0) return false;
  struct stat status {};
  const bool is_it = fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_ino == inode;
  if (is_it) {
    use([file](std::uint64_t offset, std::span<std::byte> into) {
      while (!into.empty()) {
        const ssize_t got = pread(file, into.data(), into.size(), static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        offset += static_cast<std::uint64_t>(got);
        into = into.subspan(static_cast<std::size_t>(got));
      }
      return true;
    });
  }
  close(file);
  return is_it;
}

}  // namespace zs::session
