#include "cli/run/collector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>

namespace zs::cli {
namespace {

using session::Counts;
using session::Hello;
using session::Message;
using session::Notice;
using session::Origin;
using session::Sample;
using testing::SizeIs;

constexpr Origin kMain{.pid = 1, .tid = 1, .time_ns = 0};

class SocketChannel final : public session::Channel {
 public:
  explicit SocketChannel(int fd) : fd_(fd) {}
  void send(std::span<const std::byte> datagram) override {
    (void)!::send(fd_, datagram.data(), datagram.size(), MSG_NOSIGNAL);
  }

 private:
  int fd_;
};

class Kept final : public RecordingSink {
 public:
  void receive(Message&& message) override { messages.push_back(std::move(message)); }
  std::vector<Message> messages;
};

/// A pipe on which one process waits for another.
class Gate {
 public:
  Gate() { EXPECT_EQ(pipe(ends_), 0); }
  ~Gate() {
    open();
    close(ends_[0]);
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  /// In another process: until the one that made it opens it, or is gone.
  void wait() {
    open();  // its own copy of the end that opens
    char byte;
    while (read(ends_[0], &byte, 1) > 0) {}
  }
  void open() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  int ends_[2];
};

/// A child that plays a profiled program: sends what `act` sends, and ends as `act` ends. watch: hears of all progress
struct Played {
  explicit Played(
      const std::function<void(int socket, session::MessageWriter&)>& act,
      const std::function<void(const Progress&)>& watch = [](const Progress&) {}, bool quiet = false,
      const Collector::Now& now = std::chrono::steady_clock::now) {
    session::RecordingConfig config;
    config.events.resize(1);
    int pair[2];
    testing::internal::CaptureStderr();
    {
      OwnSignals signals;
      // Behind the signals, as in launch(): their process begins with whatever is open, and closes that in its own
      // time.
      EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
      const pid_t pid = fork();
      if (pid == 0) {
        signals.restore();
        close(pair[0]);
        SocketChannel channel(pair[1]);
        session::MessageWriter out(channel, getpid());
        act(pair[1], out);
        out.flush();
        _exit(0);
      }
      close(pair[1]);
      Collector collector(sink, config, 0, quiet, watch, now);
      end = collector.run({.pid = pid, .socket = pair[0]}, signals);
    }
    said = testing::internal::GetCapturedStderr();
  }

  Kept sink;
  ProgramEnd end;
  std::string said;
};

TEST(Collector, TheExitStatusIsTheProgramsOwn) {
  const Played p([](int, session::MessageWriter&) { _exit(7); });
  EXPECT_EQ(exit_status_of(p.end.wait_status), 7);
  EXPECT_FALSE(p.end.ran);
}

TEST(Collector, AProgramKilledBySignalNExits128PlusN) {
  for (const int signal : {SIGKILL, SIGSEGV, SIGTERM, SIGINT, SIGPIPE}) {
    const Played p([signal](int, session::MessageWriter&) {
      std::signal(signal, SIG_DFL);
      raise(signal);
    });
    EXPECT_EQ(exit_status_of(p.end.wait_status), 128 + signal);
  }
}

TEST(Collector, EverythingSentBeforeTheEndArrives) {
  const Played p([](int, session::MessageWriter& out) {
    out.write(Hello{.origin = kMain});
    Sample sample;
    sample.callchain.resize(100);
    for (int i = 0; i < 5000; ++i) out.write(sample);
  });
  EXPECT_TRUE(p.end.ran);
  EXPECT_THAT(p.sink.messages, SizeIs(5001));
  EXPECT_EQ(p.said, "");
}

// An hour passes between two looks at the clock.
TEST(Collector, WhatWasSentBeforeTheEndMayTakeLongToWrite) {
  std::chrono::steady_clock::time_point time;
  const Played p(
      [](int, session::MessageWriter& out) {
        for (int i = 0; i < 40; ++i) {
          out.write(Hello{.origin = kMain});
          out.flush();
        }
      },
      [](const Progress&) {}, false, [&time] { return time += std::chrono::hours(1); });
  EXPECT_THAT(p.sink.messages, SizeIs(40));
  EXPECT_EQ(p.said, "");
}

TEST(Collector, AProcessThatIsKilledLosesOnlyWhatItHadNotSent) {
  const Played p([](int, session::MessageWriter& out) {
    out.write(Hello{.origin = kMain});
    out.flush();
    out.write(Counts{.origin = kMain, .final = false, .values = {5}});
    raise(SIGKILL);
  });
  EXPECT_THAT(p.sink.messages, SizeIs(1));
}

TEST(Collector, NoticesAreSaidAtOnce) {
  const Played p([](int, session::MessageWriter& out) { out.write(Notice{.origin = kMain, .text = "not followed"}); });
  EXPECT_EQ(p.said, "zeroskid: not followed\n");
}

TEST(Collector, QuietItSaysNoNotice) {
  const Played p([](int, session::MessageWriter& out) { out.write(Notice{.origin = kMain, .text = "not followed"}); },
                 [](const Progress&) {}, true);
  EXPECT_EQ(p.said, "");
  EXPECT_THAT(p.sink.messages, SizeIs(1));
}

TEST(Collector, WhyAProcessEndedIsSaidBeQuietOrNot) {
  for (const bool quiet : {false, true}) {
    const auto play = [](int, session::MessageWriter& out) {
      out.write(Notice{.origin = kMain, .text = "cannot run", .refusal = true});
    };
    const Played p(
        play, [](const Progress&) {}, quiet);
    EXPECT_EQ(p.said, "zeroskid: cannot run\n");
  }
}

TEST(Collector, NonsenseIsSaidOnceAndWhatMakesSenseIsKept) {
  const Played p([](int socket, session::MessageWriter& out) {
    const char nonsense[] = "this is no datagram of ours";
    for (int i = 0; i < 3; ++i) (void)!send(socket, nonsense, sizeof nonsense, 0);
    Sample of_no_event;
    of_no_event.event = 9;
    out.write(of_no_event);
    out.write(session::Units{.origin = kMain, .final = true, .sums = {1, 2, 3}});  // of one event there are more
    out.write(Hello{.origin = kMain});
  });
  EXPECT_THAT(p.sink.messages, SizeIs(1));
  EXPECT_EQ(p.said,
            "zeroskid: message from the profiled program: at byte 0: no message of zeroskid-run\n"
            "hint: the program may have overwritten the profiler's memory; what arrived before is kept\n");
}

TEST(Collector, AProcessLeftBehindDoesNotKeepTheRecordingOpen) {
  Gate over;  // opened when the recording has ended, which must not wait for it
  const Played p([&over](int, session::MessageWriter& out) {
    int sent[2];
    (void)!pipe(sent);
    if (fork() == 0) {
      const pid_t own = getpid();
      out.restart(own);
      out.write(Hello{.origin = {.pid = own, .tid = own, .time_ns = 0}});
      out.flush();
      (void)!write(sent[1], "x", 1);
      over.wait();
      _exit(0);
    }
    char byte;
    (void)!read(sent[0], &byte, 1);
  });
  EXPECT_EQ(p.end.still_running, 1);
}

TEST(Collector, ProgressCountsInstructionsOfRunningAndEndedThreadsOnce) {
  Gate told;
  std::uint64_t most = 0;
  const auto watch = [&](const Progress& now) {
    most = std::max(most, now.instructions);
    if (now.instructions >= 47) told.open();
  };
  const auto act = [&told](int, session::MessageWriter& out) {
    const Origin other{.pid = 1, .tid = 2, .time_ns = 0};
    out.write(Counts{.origin = kMain, .final = false, .values = {10}});
    out.write(Counts{.origin = other, .final = true, .values = {7}});
    out.write(Counts{.origin = kMain, .final = false, .values = {30}});
    out.write(Counts{.origin = kMain, .final = true, .values = {40}});
    out.flush();
    told.wait();
  };
  const Played p(act, watch);
  EXPECT_EQ(most, 47U);
}

TEST(Collector, SigtermToUsEndsTheProgramAndKeepsTheRecording) {
  const Played p([](int, session::MessageWriter& out) {
    out.write(Hello{.origin = kMain});
    out.flush();
    kill(getppid(), SIGTERM);
    for (;;) pause();
  });
  EXPECT_EQ(exit_status_of(p.end.wait_status), 128 + SIGTERM);
  EXPECT_THAT(p.sink.messages, SizeIs(1));
}

TEST(Collector, ASecondSignalEndsAProgramThatKeepsTheFirst) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    const Played p([signal](int, session::MessageWriter& out) {
      out.write(Hello{.origin = kMain});
      out.flush();
      static volatile sig_atomic_t told;
      told = 0;
      std::signal(signal, [](int) { told = 1; });
      kill(getppid(), signal);
      while (told == 0) usleep(1000);  // the first has come through
      kill(getppid(), signal);
      for (;;) pause();
    });
    EXPECT_EQ(exit_status_of(p.end.wait_status), 128 + SIGKILL);
    EXPECT_THAT(p.sink.messages, SizeIs(1));
  }
}

}  // namespace
}  // namespace zs::cli
