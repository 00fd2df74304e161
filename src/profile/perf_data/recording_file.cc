#include "profile/perf_data/recording_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace zs::profile {

RecordingFile::~RecordingFile() { (void)close(); }

std::optional<RecordingFile::Failure> RecordingFile::create() {
  struct stat status {};
  if (lstat(path_.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    const std::string old = path_ + ".old";
    if (rename(path_.c_str(), old.c_str()) != 0) return Failure{"cannot keep the old recording as " + old, errno};
  }
  fd_ = open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0600);
  if (fd_ < 0) return Failure{"cannot create", errno == ENXIO ? ESPIPE : errno};
  if (fstat(fd_, &status) == 0) {
    regular_ = S_ISREG(status.st_mode);
    if (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)) return Failure{"cannot create", ESPIPE};
  }
  return std::nullopt;
}

int RecordingFile::write_at(std::uint64_t offset, Bytes bytes, std::size_t& done) const {
  done = 0;
  while (done < bytes.size()) {
    const ssize_t wrote = ::pwrite(fd_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return errno;
    if (wrote == 0) return ENOSPC;
    done += static_cast<std::size_t>(wrote);
  }
  return 0;
}

void RecordingFile::cut_to(std::uint64_t size) const {
  if (regular_) (void)!ftruncate(fd_, static_cast<off_t>(size));
}

bool RecordingFile::is_reachable() const {
  struct stat ours {
  }, named{};
  return !regular_ || (fstat(fd_, &ours) == 0 && stat(path_.c_str(), &named) == 0 && ours.st_dev == named.st_dev &&
                       ours.st_ino == named.st_ino);
}

int RecordingFile::close() {
  const int fd = std::exchange(fd_, -1);
  return fd >= 0 && ::close(fd) != 0 ? errno : 0;
}

std::string remedy_of(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT: return "make room, or choose another file system with -o FILE";
    case EFBIG: return "a limit on file sizes is set (ulimit -f): raise it, or record less";
    case EACCES:
    case EPERM:
    case EROFS: return "choose a place that can be written with -o FILE";
    case ENOENT:
    case ENOTDIR: return "create the directory first, or choose another with -o FILE";
    case EISDIR: return "name a file, not a directory, with -o FILE";
    case ESPIPE: return "a recording is written at several places of its file: a pipe will not do";
    default: return "";
  }
}

}  // namespace zs::profile
