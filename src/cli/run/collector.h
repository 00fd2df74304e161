// Receives what the processes of a profiled program send, until the program ends. The collector is the program's parent
// and nothing more: it forwards no input or output, and the program never waits for a decision of it.
#pragma once

#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "cli/run/launch.h"
#include "cli/run/own_signals.h"
#include "session/wire/wire.h"

namespace zs::cli {

/// Where a recording goes: a file, or totals.
class RecordingSink {
 public:
  virtual ~RecordingSink() = default;
  /// Messages of one process come in its order; those of several as they arrive. Event numbers have been checked.
  virtual void receive(session::Message&& message) = 0;
  /// A few times a second: a good moment to write out what is buffered.
  virtual void breathe() {}
  /// Written so far; 0: nothing is written.
  virtual std::uint64_t bytes() const { return 0; }
};

/// How far a recording has come.
struct Progress {
  double seconds = 0;
  std::uint64_t samples = 0;
  std::uint64_t instructions = 0;  // 0: no event counts them
  std::uint64_t in_detail = 0;     // of the instructions, those that were modelled for estimates; 0: there are none
  std::uint64_t bytes = 0;         // of the file
};

struct ProgramEnd {
  int wait_status = 0;
  rusage usage{};  // of the program and the children it waited for
  double elapsed_seconds = 0;
  bool ran = false;       // its first instruction was reached
  int still_running = 0;  // processes it left behind; what they do from here on is not recorded
};

/// What the threads of a program have counted together, of what each of them tells how far it has come.
class SumOfThreads {
 public:
  /// final: the thread's last word
  void told(const session::Origin& by, std::uint64_t so_far, bool final);
  std::uint64_t sum() const { return sum_; }

 private:
  std::map<std::int64_t, std::uint64_t> running_;  // by thread
  std::uint64_t sum_ = 0;
};

class Collector {
 public:
  using Now = std::function<std::chrono::steady_clock::time_point()>;
  /// config            of the recording; messages that speak of other events are refused
  /// instruction_event  index of an event that counts instructions, or -1: for the progress line
  /// quiet             the program's notices are not said
  /// watch             called a few times a second
  /// now               what time it is
  Collector(RecordingSink& sink, const session::RecordingConfig& config, int instruction_event, bool quiet,
            std::function<void(const Progress&)> watch, Now now = std::chrono::steady_clock::now);

  /// Calls `ready` whenever there is something to read, until `descriptor` says -1.
  void listen_to(std::function<int()> descriptor, std::function<void()> ready) {
    listened_to_ = std::move(descriptor);
    ready_ = std::move(ready);
  }
  /// Called before the program's first instruction.
  void when_it_begins(std::function<void()> begun) { begun_ = std::move(begun); }
  /// Until the program has ended and everything that was sent has arrived. Closes launched.socket.
  ProgramEnd run(const Launched& launched, OwnSignals& signals);

 private:
  bool receive_all(int socket, std::chrono::milliseconds longest);
  void receive_rest(int socket);
  void receive(session::Message&& message);
  bool makes_sense(const session::Message& message) const;
  void follow(const session::Message& message);
  int count_still_running() const;

  RecordingSink& sink_;
  std::size_t events_, estimated_;
  bool traces_;       // branches are asked for
  bool virtual_ids_;  // process ids are the run's, not the kernel's
  int instruction_event_;
  bool quiet_;
  std::function<void(const Progress&)> watch_;
  Now now_;
  std::function<int()> listened_to_ = [] { return -1; };
  std::function<void()> ready_, begun_ = [] {};
  std::unique_ptr<std::byte[]> buffer_;  // for a datagram; as much of it is touched as they are long
  bool complained_ = false;
  bool ran_ = false;
  Progress progress_;
  SumOfThreads instructions_, in_detail_;
  std::set<std::int32_t> processes_;
};

/// The exit status that stands for how a process ended: its own, or 128 + the signal that killed it.
int exit_status_of(int wait_status);

}  // namespace zs::cli
