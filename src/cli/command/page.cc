#include "cli/command/page.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "cli/command/exit_status.h"
#include "cli/command/program_search.h"
#include "cli/command/say.h"

namespace zs::cli {

std::string pager_command() {
  for (const char* const name : {"ZEROSKID_PAGER", "PAGER"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr) continue;
    const std::string command = value;
    return command == "cat" ? "" : command;
  }
  std::string found;
  SearchFailure failure;
  return find_program("less", std::getenv("PATH"), found, failure) ? "less" : "";
}

void Page::start_pager() {
  started_ = true;
  const char* const terminal = std::getenv("TERM");
  if (!wants_pager_ || isatty(STDOUT_FILENO) == 0) return;
  if (terminal == nullptr || std::string_view(terminal) == "dumb") return;
  command_ = pager_command();
  int ends[2];
  if (command_.empty() || pipe2(ends, O_CLOEXEC) != 0) return;
  pager_ = fork();
  if (pager_ == 0) {
    dup2(ends[0], STDIN_FILENO);
    setenv("LESS", "FRX", 0);
    setenv("LV", "-c", 0);
    execl("/bin/sh", "sh", "-c", command_.c_str(), nullptr);
    _exit(kNotFound);
  }
  close(ends[0]);
  if (pager_ < 0) {
    close(ends[1]);
    return;
  }
  pipe_ = ends[1];
  // ^C is for the pager, which stops reading; it ends by a command, and then we do. Its end is an error of write().
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
}

void Page::print(std::string_view text) {
  if (!started_) start_pager();
  const int out = pager_ > 0 ? pipe_ : STDOUT_FILENO;
  while (ok_ && !text.empty()) {
    const ssize_t done = write(out, text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      ok_ = false;
      if (errno != EPIPE) say(std::string("stdout: cannot write: ") + std::strerror(errno));
      return;
    }
    text.remove_prefix(static_cast<std::size_t>(done));
  }
}

void Page::end() {
  started_ = true;  // what is printed from here on goes to the terminal itself
  if (pager_ <= 0) return;
  close(pipe_);
  int status = 0;
  while (waitpid(pager_, &status, 0) < 0 && errno == EINTR) {}
  pager_ = -1;
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGPIPE, SIG_DFL);
  const int exited = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  if (exited != kNotFound && exited != kNotExecutable) {
    ok_ = true;  // the reader may leave before the end
    return;
  }
  ok_ = false;
  say(Error{"pager '" + command_ + "': cannot run it", "set ZEROSKID_PAGER to another, or use --no-pager"});
}

int Page::status() {
  end();
  return ok_ ? 0 : kToolFailed;
}

}  // namespace zs::cli
