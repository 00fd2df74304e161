#include "cli/run/own_signals.h"

#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <ctime>
#include <initializer_list>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"

namespace zs::cli {

OwnSignals::OwnSignals() {
  sigset_t watched;
  sigemptyset(&watched);
  for (const int signal : {SIGCHLD, SIGTERM, SIGHUP, SIGINT}) sigaddset(&watched, signal);
  sigprocmask(SIG_BLOCK, &watched, &mask_before_);
  for (std::size_t i = 0; i < sizeof kChanged / sizeof kChanged[0]; ++i) {
    struct sigaction action {};
    // SIGCHLD may have been ignored when we were started, and then there would be no child to wait for. What is ignored
    // never reaches the descriptor; SIGINT is blocked and taken from there.
    action.sa_handler = kChanged[i] == SIGCHLD || kChanged[i] == SIGINT ? SIG_DFL : SIG_IGN;
    sigaction(kChanged[i], &action, &before_[i]);
  }
  descriptor_ = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
}

OwnSignals::~OwnSignals() {
  if (timer_) syscall(SYS_timer_delete, *timer_);
  signalfd_siginfo late;  // Ctrl-C while a page was printed is not for us to die of
  while (descriptor_ >= 0 && read(descriptor_, &late, sizeof late) == static_cast<ssize_t>(sizeof late)) {}
  if (descriptor_ >= 0) close(descriptor_);
  restore();
}

void OwnSignals::restore() const {
  for (std::size_t i = 0; i < sizeof kChanged / sizeof kChanged[0]; ++i) sigaction(kChanged[i], &before_[i], nullptr);
  sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
}

void OwnSignals::pass_on(pid_t program) {
  signalfd_siginfo info;
  std::vector<int> came;
  bool group_was_told = false;
  while (read(descriptor_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) continue;
    if (info.ssi_code == SI_TIMER) {  // unless it is of a run before this one
      if (milliseconds_since_begin() < end_after_ms_) continue;
      timed_out_ = true;
      kill(program, SIGTERM);
      continue;
    }
    if (signal == SIGINT && info.ssi_code == SI_KERNEL)
      group_was_told = true;  // Ctrl-C
    else
      came.push_back(signal);
  }
  if (!came.empty()) std::this_thread::sleep_for(kUntilTheGroupIsTold);
  for (int signal : came) {
    asked_to_end_ = true;
    // A shell starts its background jobs with SIGINT ignored, and so it is for the program.
    if (signal == SIGINT && ignored_interrupts()) signal = SIGTERM;
    if (group_.saw(signal))
      group_was_told = true;
    else
      kill(program, std::exchange(passed_on_, true) ? SIGKILL : signal);
  }
  if (group_was_told) group_.begin_anew();
}

void OwnSignals::end_after(std::uint64_t milliseconds) {
  constexpr std::uint64_t kMsPerSecond = 1000, kNsPerMs = 1'000'000;
  if (!timer_) {
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGTERM;
    int made = 0;  // not by the C library, whose way of making one does not go into a static program
    CHECK(syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &made) == 0);
    timer_ = made;
  }
  timed_out_ = false;
  end_after_ms_ = milliseconds;
  begin_ = std::chrono::steady_clock::now();
  itimerspec once{};
  once.it_value.tv_sec = static_cast<std::time_t>(milliseconds / kMsPerSecond);
  once.it_value.tv_nsec = static_cast<long>(milliseconds % kMsPerSecond * kNsPerMs);
  CHECK(syscall(SYS_timer_settime, *timer_, 0, &once, nullptr) == 0);
}

bool OwnSignals::ended(int wait_status) const {
  return timed_out_ && WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGTERM;
}

std::uint64_t OwnSignals::milliseconds_since_begin() const {
  const auto passed = std::chrono::steady_clock::now() - begin_;
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(passed).count());
}

bool OwnSignals::take_request_to_end() {
  signalfd_siginfo info;
  while (read(descriptor_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    if (info.ssi_signo != SIGCHLD) asked_to_end_ = true;
  }
  return asked_to_end_;
}

}  // namespace zs::cli
