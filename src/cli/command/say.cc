#include "cli/command/say.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/command/terminal.h"
#include "report/text/fit.h"

namespace zs::cli {
namespace {

int stdout_error = 0;  // errno of the first failure

}  // namespace

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t done = write(descriptor, text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0 && errno == EAGAIN) {
      pollfd room{.fd = descriptor, .events = POLLOUT, .revents = 0};
      poll(&room, 1, -1);
      continue;
    }
    if (done <= 0) {
      if (descriptor == STDOUT_FILENO && stdout_error == 0) stdout_error = errno;
      return false;
    }
    text.remove_prefix(static_cast<std::size_t>(done));
  }
  return true;
}

int status_with_stdout(int status) {
  if (stdout_error == 0 || stdout_error == EPIPE) return status;  // a reader that has seen enough
  say(std::string("stdout: cannot write: ") + std::strerror(stdout_error));
  return status == 0 ? kToolFailed : status;
}

bool write_prose(int descriptor, std::string_view text) {
  return write_all(descriptor, report::folded(text, terminal_width(descriptor)));
}

void say(std::string_view text) { write_prose(STDERR_FILENO, "zeroskid: " + std::string(text) + "\n"); }

bool say(const Error& error) {
  std::string text = "zeroskid: " + error.message + "\n";
  if (!error.hint.empty()) text += "hint: " + error.hint + "\n";
  return write_prose(STDERR_FILENO, text);
}

int failed(const Error& error, int status) {
  say(error);
  return status;
}

int refused(const Error& error) { return failed(error, kUsage); }

std::string byte_size(std::uint64_t bytes) {
  constexpr std::array<const char*, 4> kUnits = {"kB", "MB", "GB", "TB"};
  if (bytes < 1000) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  for (; value >= 999.95 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %s", value, kUnits[unit]);
  return text;
}

}  // namespace zs::cli
