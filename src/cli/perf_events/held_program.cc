#include "cli/perf_events/held_program.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "cli/command/words.h"

namespace zs::cli {
namespace {

/// In the child: nothing but system calls.
[[noreturn]] void wait_and_execute(const char* path, char* const* argv, const OwnSignals& signals, int go, int report) {
  signals.restore();
  char word = 0;
  if (read(go, &word, 1) != 1) _exit(127);  // whoever started us has gone
  execve(path, argv, environ);
  const int reason = errno;
  (void)!write(report, &reason, sizeof reason);
  _exit(127);
}

}  // namespace

Result<HeldProgram> HeldProgram::start(const std::string& path, const std::vector<std::string>& argv,
                                       const OwnSignals& signals) {
  std::vector<std::string> words = argv;
  const std::vector<char*> arguments = pointers_to(words);
  int go[2], report[2];
  if (pipe2(go, O_CLOEXEC) != 0) return Error{std::string("cannot make a pipe: ") + std::strerror(errno), ""};
  Descriptor go_read(go[0]), go_write(go[1]);
  if (pipe2(report, O_CLOEXEC) != 0) return Error{std::string("cannot make a pipe: ") + std::strerror(errno), ""};
  Descriptor report_read(report[0]);
  const Descriptor report_write(report[1]);
  const pid_t pid = fork();
  if (pid < 0) return Error{std::string("cannot start a process: ") + std::strerror(errno), ""};
  if (pid == 0) {
    close(go_write.get());
    wait_and_execute(path.c_str(), arguments.data(), signals, go_read.get(), report_write.get());
  }
  return HeldProgram(path, pid, std::move(go_write), std::move(report_read));
}

HeldProgram::HeldProgram(HeldProgram&& other) noexcept
    : path_(std::move(other.path_)),
      pid_(std::exchange(other.pid_, -1)),
      go_(std::move(other.go_)),
      report_(std::move(other.report_)) {}

HeldProgram::~HeldProgram() {
  if (pid_ <= 0 || !go_) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

Result<void> HeldProgram::let_go() {
  const char word = 1;
  (void)!write(go_.get(), &word, 1);
  go_ = Descriptor();
  int reason = 0;
  if (read(report_.get(), &reason, sizeof reason) != static_cast<ssize_t>(sizeof reason)) return {};
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
  return Error{path_ + ": cannot be executed: " + std::strerror(reason), ""};
}

}  // namespace zs::cli
