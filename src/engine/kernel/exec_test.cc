// What another image starts with, under the engine or natively, and that nothing has happened where it does not start.
// Each call is made in a child, whose shell tells what it was given.
#include "engine/kernel/exec.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "engine/kernel/kernel_parts.h"
#include "engine/kernel/signals/signal_entry.h"
#include "engine/loader/held_environment.h"
#include "engine/raw_syscall.h"
#include "engine/test_run.h"

namespace zs::engine {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class NothingResumes final : public Resumes {
 public:
  std::uint64_t resume(std::uint32_t /*link_from*/) override { return 0; }
};

class ExecTest : public RunTest {
 protected:
  using Strings = std::vector<std::string>;
  static constexpr std::uint64_t kEveryBlockableSignal = ~(signal_bit(SIGKILL) | signal_bit(SIGSTOP));
  static constexpr int kOwnFd = ReservedAddresses::kFirstPrivateFd + 1;
  static constexpr int kCheckOnly = 0x10000;  // AT_EXECVE_CHECK: a kernel that does not know it says EINVAL

  static constexpr const char* kTellWords = R"(printf '%s\n' "$@")";
  static constexpr const char* kTellEnvironment = R"(tr '\0' '\n' < /proc/$$/environ)";
  static constexpr const char* kTellStatus = "exec cat /proc/self/status";
  static constexpr const char* kTellOwnFd = "[ -e /proc/$$/fd/101 ] && echo there || echo gone";
  static_assert(kOwnFd == 101);

  void SetUp() override {
    count(0, kInstructions, kFar);
    start();
    run_.lock.hold_nobody();
    run_.thread->process->recorded = true;
    run_.thread->mask = signal_bit(SIGUSR2);
    (*run_.thread->process->actions)[SIGUSR1].handler = 0x40'2000;
    (*run_.thread->process->actions)[SIGHUP].handler = 1;
  }

  /// What a new image is run by where it is followed: a shell that does `script`.
  void follow_by(const char* script) { run_.config.exec_prefix = {"/bin/sh", "-c", script, "runner"}; }
  /// What child and image write.
  static std::string written_by(const std::function<void()>& child) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return "no pipe";
    const pid_t pid = fork();
    if (pid == 0) {
      dup2(ends[1], STDOUT_FILENO);
      alarm(60);
      child();
      _exit(0);
    }
    close(ends[1]);
    // A tracer lets it go on; it writes less than the pipe holds.
    int status = 0;
    while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) ptrace(PTRACE_CONT, pid, nullptr, nullptr);
    std::string text;
    char piece[4096];
    for (ssize_t got; (got = read(ends[0], piece, sizeof piece)) > 0;)
      text.append(piece, static_cast<std::size_t>(got));
    close(ends[0]);
    return text;
  }
  /// The program's call, in a child; the gate is closed.
  long call(const char* path, const Strings& words, const Strings& variables = {}, int dirfd = AT_FDCWD,
            int flags = 0) {
    Thread& thread = be_this_thread();
    run_.lock.holder_is(thread);
    parts_.gate.hold();
    dup2(STDOUT_FILENO, kOwnFd);
    const std::vector<const char*> argv = pointers(words), envp = pointers(variables);
    return exec_.call({.dirfd = dirfd,
                       .path = reinterpret_cast<std::uint64_t>(path),
                       .argv = reinterpret_cast<std::uint64_t>(argv.data()),
                       .envp = reinterpret_cast<std::uint64_t>(envp.data()),
                       .flags = flags});
  }
  static std::vector<const char*> pointers(const Strings& strings) {
    std::vector<const char*> all;
    for (const std::string& each : strings) all.push_back(each.c_str());
    all.push_back(nullptr);
    return all;
  }
  std::string lines_of(const char* path, const Strings& words, const Strings& variables = {}, int dirfd = AT_FDCWD) {
    return written_by([&] { dprintf(STDOUT_FILENO, "came back: %ld\n", call(path, words, variables, dirfd)); });
  }
  /// The same where the program's own words are a shell's.
  std::string lines_of_shell(const char* script) { return lines_of("/bin/sh", {"sh", "-c", script}); }
  static Strings split(const std::string& text) {
    Strings lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }

  KernelParts parts_{run_, accountant_};
  NothingResumes resumes_;
  Threads threads_{parts_, resumes_};
  Exec exec_{parts_, threads_};
};

TEST_F(ExecTest, AFollowedImageStartsUnderTheRunnerWhichIsToldMaskSeedPathAndWords) {
  follow_by(kTellWords);
  heard_.for_next_image = {"--of-the-recording"};
  VirtualClock clock = parts_.clock;
  EXPECT_THAT(split(lines_of("/bin/true", {"name", "a b", ""})),
              ElementsAre("--of-the-recording", "--signal-mask", "800", "--random-seed", std::to_string(clock.random()),
                          "/bin/true", "name", "a b", ""));
}

TEST_F(ExecTest, TheRunnerIsToldTheNameWhereThatIsNotThePath) {
  follow_by(kTellWords);
  const int folder = open("/bin", O_PATH | O_DIRECTORY);
  const std::string text = lines_of("true", {"name"}, {}, folder);
  EXPECT_THAT(text, HasSubstr("\n--exec-name\n/dev/fd/" + std::to_string(folder) + "/true\n/"));
  EXPECT_THAT(text, HasSubstr("/true\nname\n"));
  close(folder);
}

TEST_F(ExecTest, WhatRunsHereIsTheRunnerWhereItsNameLeadsNowhere) {
  run_.config.exec_prefix = {"/no/such/runner", "--gtest_list_tests",
                             "--gtest_filter=ExecTest.WhatRunsHereIsTheRunnerWhereItsNameLeadsNowhere"};
  EXPECT_THAT(lines_of("/bin/true", {"name"}),
              HasSubstr("ExecTest.\n  WhatRunsHereIsTheRunnerWhereItsNameLeadsNowhere\n"));
}

TEST_F(ExecTest, VariablesThatTheRunnerWouldObeyAreHeldFromIt) {
  follow_by(kTellEnvironment);
  const Strings variables{"PATH=/usr/bin:/bin", "LD_BIND_NOW=1", "HOME=/nowhere"};
  EXPECT_THAT(split(lines_of("/bin/true", {"name"}, variables)),
              ElementsAre(variables[0], held(variables[1]), variables[2]));
}

TEST_F(ExecTest, AFollowedImageTakesOverTheEnginesDescriptorsAndItsClosedGate) {
  follow_by(kTellOwnFd);
  EXPECT_EQ(lines_of("/bin/true", {"name"}), "there\n");
  follow_by(kTellStatus);
  EXPECT_THAT(lines_of("/bin/true", {"name"}), HasSubstr("\nSigBlk:\tfffffffffffbfeff\n"));
}

TEST_F(ExecTest, AnImageThatIsNotFollowedGetsWhatTheProgramGaveAndNothingOfTheEngines) {
  const Strings variables{"PATH=/usr/bin:/bin", "LD_BIND_NOW=1"};
  EXPECT_EQ(lines_of("/bin/sh", {"sh", "-c", kTellEnvironment}, variables), variables[0] + "\n" + variables[1] + "\n");
  EXPECT_EQ(lines_of_shell(kTellOwnFd), "gone\n");
}

TEST_F(ExecTest, AnImageThatIsNotFollowedHasTheProgramsSignalsAndLimits) {
  const std::string status = lines_of_shell(kTellStatus);
  EXPECT_THAT(status, HasSubstr("\nSigBlk:\t0000000000000800\n"));
  EXPECT_THAT(status, HasSubstr("\nSigIgn:\t0000000000000001\n"));
  const rlimit four_gigabytes{.rlim_cur = std::uint64_t{4} << 30, .rlim_max = RLIM_INFINITY};
  ASSERT_EQ(run_.thread->process->limits.set(RLIMIT_AS, four_gigabytes), 0);
  EXPECT_EQ(lines_of_shell("ulimit -v"), "4194304\n");
}

TEST_F(ExecTest, WhatAnUnrecordedProcessOrATracedOneStartsIsNotFollowed) {
  follow_by("echo followed");
  EXPECT_EQ(lines_of_shell("echo native"), "followed\n");
  run_.thread->process->recorded = false;
  EXPECT_EQ(lines_of_shell("echo native"), "native\n");
  run_.thread->process->recorded = true;
  EXPECT_EQ(written_by([this] {
              if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0) call("/bin/sh", {"sh", "-c", "echo native"});
            }),
            "native\n");
}

TEST_F(ExecTest, ACallThatFailsAtOnceIsNotHeardOf) {
  follow_by("echo followed");
  const auto told = [this] {
    dprintf(STDOUT_FILENO, "%ld, ", call("/no/such/program", {"name"}));
    dprintf(STDOUT_FILENO, "threads %d - %d, notices %zu\n", heard_.started, heard_.exited, heard_.notices.size());
  };
  run_.thread->announced = true;
  EXPECT_EQ(written_by(told), std::to_string(-ENOENT) + ", threads 0 - 0, notices 0\n");
}

/// A sandbox that executes the system's programs alone (Landlock). returns whether the kernel has it
bool confine() {
  constexpr std::uint64_t kExecute = 1;
  constexpr int kPathBeneath = 1;
  const long rules = raw_syscall(SYS_landlock_create_ruleset, &kExecute, sizeof kExecute, 0);
  if (is_error(rules)) return false;
  for (const char* folder : {"/usr", "/bin", "/lib", "/lib64"}) {
    struct [[gnu::packed]] {
      std::uint64_t allowed;
      std::int32_t parent;
    } const rule{kExecute, open(folder, O_PATH | O_CLOEXEC)};
    raw_syscall(SYS_landlock_add_rule, rules, kPathBeneath, &rule, 0);
  }
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  return raw_syscall(SYS_landlock_restrict_self, rules, 0) == 0;
}

TEST_F(ExecTest, WhereTheRunnerMayNotBeExecutedTheProgramRunsNativelyAndANoticeSaysSo) {
  run_.config.exec_prefix = {"/nonexistent/runner"};  // and then this program, which is none of the system's
  const auto ran = [&](const char* path) {
    return written_by([&] {
      if (!confine()) return (void)dprintf(STDOUT_FILENO, "no Landlock\n");
      const long result = call(path, {"sh", "-c", "echo ran"});
      dprintf(STDOUT_FILENO, "%ld, %s\n", result, heard_.notices.empty() ? "" : heard_.notices.back().c_str());
    });
  };
  const std::string native = ran("/bin/sh");
  if (native == "no Landlock\n") GTEST_SKIP() << "no Landlock here";
  EXPECT_EQ(native, "ran\n");
  EXPECT_THAT(ran("/proc/self/exe"),
              AllOf(HasSubstr("-13, not followed: "),
                    HasSubstr("what follows programs may not be executed here (Permission denied)")));
}

/// The kernel refuses.
class RefusedExecTest : public ExecTest, public testing::WithParamInterface<bool> {
 protected:
  /// Of a followed image it refuses the runner, which is no program; of another one it is only asked.
  long call_in_vain() {
    if (!GetParam()) return call("/bin/true", {"name"}, {}, AT_FDCWD, kCheckOnly);
    run_.config.exec_prefix = {no_program_};
    return call("/bin/true", {"name"});
  }
  void SetUp() override {
    ExecTest::SetUp();
    std::ofstream(no_program_) << "neither ELF nor script";
    chmod(no_program_.c_str(), 0755);
  }
  void TearDown() override {
    unlink(no_program_.c_str());
    ExecTest::TearDown();
  }

  const std::string no_program_ = "/tmp/zs_exec_" + std::to_string(getpid());
};

TEST_P(RefusedExecTest, LeavesEverythingAsItWas) {
  run_.thread->announced = true;
  const auto told = [this] {
    const long result = call_in_vain();
    struct {
      std::uint64_t handler, flags, restorer, mask;
    } installed{};
    raw_syscall(SYS_rt_sigaction, SIGUSR1, nullptr, &installed, sizeof installed.mask);
    std::uint64_t mask = 0;
    raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, nullptr, &mask, sizeof mask);
    const bool refused = GetParam() ? result == -ENOEXEC : result == 0 || result == -EINVAL;
    dprintf(STDOUT_FILENO, "%s\n", refused ? "refused" : "another result");
    dprintf(STDOUT_FILENO, "descriptors %d\n", fcntl(kOwnFd, F_GETFD));
    dprintf(STDOUT_FILENO, "gate %s\n", mask == kEveryBlockableSignal ? "closed" : "open");
    const bool ours = installed.handler == reinterpret_cast<std::uint64_t>(&signal_entry);
    dprintf(STDOUT_FILENO, "handler %s\n", ours ? "ours" : "none");
    dprintf(STDOUT_FILENO, "threads %d - %d\n", heard_.started, heard_.exited);
    dprintf(STDOUT_FILENO, "lock %s\n", run_.lock.owner() == run_.thread ? "held" : "lost");
  };
  EXPECT_THAT(split(written_by(told)),
              ElementsAre("refused", "descriptors 0", "gate closed", "handler ours", "threads 1 - 1", "lock held"));
}

// Its parent would never get it back.
TEST_P(RefusedExecTest, OnlyAVforkChildGivesItsTurnAwayForIt) {
  for (const bool vfork_child : {true, false}) {
    run_.thread->process->vfork_child = vfork_child;
    const auto told = [this] {
      Thread parent;
      parent.process = run_.thread->process;
      bool ran = false;
      std::thread waits([&] {
        run_.lock.acquire(parent);
        ran = true;
        run_.lock.release();
      });
      run_.lock.give_place(parent);
      call_in_vain();
      dprintf(STDOUT_FILENO, "%s\n", ran ? "parent ran" : "parent waits");
      _exit(0);
    };
    EXPECT_EQ(written_by(told), vfork_child ? "parent ran\n" : "parent waits\n");
  }
}

INSTANTIATE_TEST_SUITE_P(FollowedOrNot, RefusedExecTest, testing::Bool(),
                         [](const auto& row) { return row.param ? "Followed" : "Native"; });

}  // namespace
}  // namespace zs::engine
