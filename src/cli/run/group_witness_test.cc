#include "cli/run/group_witness.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/descriptor.h"

namespace zs::cli {
namespace {

/// The only child of this process, or 0.
pid_t only_child() {
  std::ifstream children("/proc/self/task/" + std::to_string(getpid()) + "/children");
  pid_t child = 0;
  children >> child;
  return child;
}

bool has_descriptors(pid_t process) { return !std::filesystem::is_empty("/proc/" + std::to_string(process) + "/fd"); }

// If it shared our table of descriptors, the kernel would wait for 10 to 20 ms in every launch of a program; if it had
// a copy, a pipe would stay open after we have closed it.
TEST(GroupWitness, HoldsNoDescriptorOfOurs) {
  const Descriptor ours(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const GroupWitness witness;
  const pid_t process = only_child();
  ASSERT_GT(process, 0);
  constexpr int kTries = 1000;
  for (int tries = 0; has_descriptors(process) && tries < kTries; ++tries) usleep(1000);
  EXPECT_FALSE(has_descriptors(process));
  EXPECT_NE(fcntl(ours.get(), F_GETFD), -1) << "the table of descriptors is shared: ours was closed";
}

TEST(GroupWitness, TellsASignalOfTheGroupFromOneOfOurs) {
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    signal(SIGHUP, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    const GroupWitness witness;
    kill(getpid(), SIGHUP);
    kill(0, SIGTERM);
    _exit(witness.saw(SIGTERM) && !witness.saw(SIGHUP) ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace zs::cli
