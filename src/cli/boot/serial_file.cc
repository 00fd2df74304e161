#include "cli/boot/serial_file.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace zs::cli {

Result<std::unique_ptr<SerialFile>> SerialFile::open(const std::string& path) {
  Descriptor file(path == "-" ? dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return Error{path + ": cannot be read: " + std::strerror(errno), "check the path and its permissions"};
  return std::make_unique<SerialFile>(std::move(file));
}

std::optional<std::uint8_t> SerialFile::next() {
  if (waits_) return std::nullopt;
  constexpr int kPatienceMs = 1;
  pollfd ready{.fd = file_.get(), .events = POLLIN, .revents = 0};
  if (poll(&ready, 1, kPatienceMs) <= 0) return std::nullopt;
  std::uint8_t byte = 0;
  const ssize_t got = read(file_.get(), &byte, 1);
  if (got < 0 && errno == EINTR) return std::nullopt;
  ended_ = got <= 0;
  return ended_ ? last_ : std::optional(byte);
}

}  // namespace zs::cli
