#include "cli/run/launch.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace zs::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// A script in zeroskid-run's place writes down what it was started with.
class Launch : public testing::Test {
 protected:
  Launch() {
    fs::create_directories(folder_);
    getrlimit(RLIMIT_NOFILE, &limit_);
  }
  ~Launch() override {
    setrlimit(RLIMIT_NOFILE, &limit_);
    fs::remove_all(folder_);
  }

  std::string script(const std::string& body) {
    const fs::path path = folder_ / "zeroskid-run";
    std::ofstream(path) << "#!/bin/sh\nexec >" << (folder_ / "said").string() << "\n" << body << "\n";
    chmod(path.c_str(), 0755);
    return path;
  }

  std::string python(const std::string& body) {
    const fs::path path = folder_ / "zeroskid-run";
    std::ofstream(path) << "#!/usr/bin/python3\nimport sys\nsys.stdout = open('" << (folder_ / "said").string()
                        << "', 'w')\n"
                        << body << "\n";
    chmod(path.c_str(), 0755);
    return path;
  }

  /// What the script said; the launch error if there was none to say it.
  std::string run(const std::string& runner, const std::vector<std::string>& argv = {"ls", "-l", "a b"}) {
    const OwnSignals signals;
    const auto launched = launch(session::RecordingConfig{}, runner, "/bin/ls", argv, signals);
    if (!launched) return launched.error().message;
    waitpid(launched->pid, nullptr, 0);
    close(launched->socket);
    std::stringstream said;
    said << std::ifstream(folder_ / "said").rdbuf();
    return said.str();
  }

  /// The test runs with this soft limit on descriptors. Returns false where the hard one is lower than the tests need.
  bool limit_descriptors(rlim_t soft) {
    constexpr rlim_t kNeeded = 4096;
    if (limit_.rlim_max < kNeeded) return false;
    const rlimit wanted{.rlim_cur = soft, .rlim_max = limit_.rlim_max};
    return setrlimit(RLIMIT_NOFILE, &wanted) == 0;
  }

  const fs::path folder_ = fs::path(testing::TempDir()) / ("launch_" + std::to_string(getpid()));
  rlimit limit_{};
};

TEST_F(Launch, TheRunnerGetsTwoDescriptorsThePathAndTheWordsAsTheyAre) {
  if (!limit_descriptors(1024)) GTEST_SKIP() << "the hard limit on descriptors is " << limit_.rlim_max;
  EXPECT_EQ(run(script("for word; do echo \"$word\"; done")),
            "--session-fd\n2040\n--config-fd\n2041\n/bin/ls\nls\n-l\na b\n");
}

TEST_F(Launch, NothingElseOfOursIsInherited) {
  if (!limit_descriptors(1024)) GTEST_SKIP() << "the hard limit on descriptors is " << limit_.rlim_max;
  std::string ours;  // what the test was started with, and would hand on by itself
  for (int fd = 3; fd < 2040; ++fd) {
    if (const int flags = fcntl(fd, F_GETFD); flags >= 0 && (flags & FD_CLOEXEC) == 0) ours += std::to_string(fd) + " ";
  }
  const std::string listed = run(python(R"(
import os
def is_open(fd):
    try: os.fstat(fd)
    except OSError: return False
    return True
print(*[fd for fd in range(3, 2140) if is_open(fd) and os.get_inheritable(fd)], "")
)"));
  EXPECT_EQ(listed, ours + "2040 2041 \n");
}

TEST_F(Launch, SignalsAreAsWeWereStartedWith) {
  const auto masks = [](std::istream& status) {
    std::string found;
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("SigBlk:") || line.starts_with("SigIgn:")) found += line + "\n";
    }
    return found;
  };
  std::signal(SIGUSR1, SIG_IGN);
  std::ifstream own("/proc/self/status");
  const std::string before = masks(own);  // the test runner may have handed on ignored signals of its own
  std::istringstream shown(run(python("print(open('/proc/self/status').read())")));
  std::signal(SIGUSR1, SIG_DFL);
  std::string seen = masks(shown);
  // Python ignores SIGPIPE and SIGXFSZ for itself.
  const auto without_pythons = [](const std::string& text) {
    constexpr std::uint64_t kPythons = (1u << (SIGPIPE - 1)) | (1u << (SIGXFSZ - 1));
    return std::stoull(text.substr(text.find("SigIgn:") + 7), nullptr, 16) & ~kPythons;
  };
  EXPECT_THAT(seen, HasSubstr("SigBlk:\t0000000000000000"));
  EXPECT_NE(without_pythons(seen) & (1u << (SIGUSR1 - 1)), 0u);
  EXPECT_EQ(without_pythons(seen), without_pythons(before));  // and nothing of ours
}

TEST_F(Launch, AnIgnoredSigchldStaysIgnoredForTheProgramOnly) {
  std::signal(SIGCHLD, SIG_IGN);
  // Not the shell: it takes SIGCHLD for itself.
  const std::string status = run(python("print(open('/proc/self/status').read())"));
  std::signal(SIGCHLD, SIG_DFL);
  EXPECT_THAT(status, testing::ContainsRegex("SigIgn:\t[0-9a-f]*1[0-9a-f]{4}\n"));
}

TEST_F(Launch, OurDescriptorsAreAboveWhatTheProgramMayHave) {
  if (!limit_descriptors(64)) GTEST_SKIP() << "the hard limit on descriptors is " << limit_.rlim_max;
  EXPECT_EQ(run(script("echo $2 $4; ulimit -Sn")), "2040 2041\n64\n");
  limit_descriptors(3000);
  EXPECT_EQ(run(script("echo $2 $4; ulimit -Sn")), "3000 3001\n3000\n");
  if (!limit_descriptors(10'000)) GTEST_SKIP() << "the hard limit on descriptors is " << limit_.rlim_max;
  EXPECT_EQ(run(script("echo $2 $4; ulimit -Sn")), "10000 10001\n10000\n");
}

TEST_F(Launch, ARunnerThatCannotBeStartedIsNamed) {
  EXPECT_EQ(run("/no/such/zeroskid-run"), "cannot start /no/such/zeroskid-run: No such file or directory");
}

TEST_F(Launch, TheConfigurationArrivesWholeAndCannotBeChanged) {
  const OwnSignals signals;
  session::RecordingConfig config;
  config.seed = 77;
  const std::string copy = (folder_ / "config").string();
  const std::string runner =
      script("cat /proc/self/fd/$4 >" + copy + "\n { echo x >/proc/self/fd/$4; } 2>/dev/null || echo sealed");
  const auto launched = launch(config, runner, "/bin/ls", {"ls"}, signals);
  ASSERT_TRUE(launched) << launched.error().message;
  waitpid(launched->pid, nullptr, 0);
  close(launched->socket);
  std::stringstream bytes;
  bytes << std::ifstream(copy, std::ios::binary).rdbuf();
  const std::string text = bytes.str();
  const auto back = session::decode_config(std::as_bytes(std::span(text)));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->seed, 77U);
  std::stringstream said;
  said << std::ifstream(folder_ / "said").rdbuf();
  EXPECT_EQ(said.str(), "sealed\n");
}

TEST(FindRunner, AnUnusableNameInTheEnvironmentIsToldAndNotPassedOver) {
  setenv("ZEROSKID_RUN", "/no/such/file", 1);
  const auto runner = find_runner();
  unsetenv("ZEROSKID_RUN");
  ASSERT_FALSE(runner);
  EXPECT_EQ(runner.error().message, "$ZEROSKID_RUN is /no/such/file: No such file or directory");
}

}  // namespace
}  // namespace zs::cli
