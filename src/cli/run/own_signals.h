// Signals while a profiled program runs. The terminal's Ctrl-C and Ctrl-\, and what somebody sends to the whole process
// group, reach the program too: they are its own to act on, and the collector lives on to finish the recording.
// SIGTERM, SIGHUP and SIGINT that somebody sends to us alone are passed on, so that ending us ends the program; the
// second one ends it by SIGKILL, whatever it does with the first. Where SIGINT was ignored when we were started, the
// program ignores it too, and is sent SIGTERM instead. Made once, before the first program, and kept until
// all is printed. A closed pipe or a file size limit must not kill the collector.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>

#include "cli/run/group_witness.h"

namespace zs::cli {

class OwnSignals {
 public:
  OwnSignals();
  ~OwnSignals();
  OwnSignals(const OwnSignals&) = delete;
  OwnSignals& operator=(const OwnSignals&) = delete;

  /// Between fork and exec: the program starts with the dispositions and the mask that we were started with.
  void restore() const;

  /// Readable when a child changed its state or a signal is to be passed on.
  int descriptor() const { return descriptor_; }
  /// Takes what has come, and sends on to `program` what somebody sent to end us alone.
  void pass_on(pid_t program);
  /// Takes what has come where there is no program to pass it to: true if we were asked to end, Ctrl-C included.
  bool take_request_to_end();
  /// From now on: when so long has passed, the program is sent SIGTERM, or we are asked to end where there is none.
  /// What was to come of an earlier call does not come any more.
  void end_after(std::uint64_t milliseconds);
  /// Whether that SIGTERM is what the program ended of.
  bool ended(int wait_status) const;
  void ask_to_end() { asked_to_end_ = true; }
  /// Somebody wants us to end: nothing more is to be started.
  bool asked_to_end() const { return asked_to_end_; }

 private:
  bool ignored_interrupts() const { return before_[0].sa_handler == SIG_IGN; }
  std::uint64_t milliseconds_since_begin() const;

  static constexpr std::chrono::milliseconds kUntilTheGroupIsTold{20};
  static constexpr int kChanged[] = {SIGINT, SIGQUIT, SIGPIPE, SIGXFSZ, SIGCHLD};
  struct sigaction before_[sizeof kChanged / sizeof kChanged[0]];
  sigset_t mask_before_;
  int descriptor_ = -1;
  GroupWitness group_;
  bool asked_to_end_ = false;
  bool passed_on_ = false;
  std::optional<int> timer_;
  std::chrono::steady_clock::time_point begin_;
  std::uint64_t end_after_ms_ = 0;
  bool timed_out_ = false;
};

}  // namespace zs::cli
