// check_exec() against execveat: what it calls a failure must be the kernel's errno, what it would follow must start.
#include "engine/loader/exec_check.h"

#include <errno.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

namespace zs::engine {
namespace {

using testing::HasSubstr;
using Kind = ExecDecision::Kind;

std::uint64_t pointer(const void* address) { return reinterpret_cast<std::uint64_t>(address); }

class ExecCheck : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    char name[] = "/tmp/zs_exec_XXXXXX";
    folder = mkdtemp(name);
  }
  static void TearDownTestSuite() { [[maybe_unused]] const int status = system(("rm -rf " + folder).c_str()); }

  static std::string file(const std::string& name, const std::string& content, mode_t mode = 0755) {
    std::string path = folder + "/" + name;
    std::ofstream(path, std::ios::binary) << content;
    chmod(path.c_str(), mode);
    return path;
  }

  static ExecDecision decide(int dirfd, const char* path, int flags = 0) {
    const std::uint64_t argv[] = {pointer("name"), pointer("arg"), 0};
    const std::uint64_t envp[] = {pointer("A=1"), 0};
    return check_exec(
        {.dirfd = dirfd, .path = pointer(path), .argv = pointer(argv), .envp = pointer(envp), .flags = flags});
  }

  /// 0 if the kernel starts it, else -errno.
  static long kernel(int dirfd, const char* path, int flags) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return -1;
    const pid_t child = fork();
    if (child == 0) {
      char* argv[] = {const_cast<char*>("name"), const_cast<char*>("arg"), nullptr};
      char* envp[] = {const_cast<char*>("A=1"), nullptr};
      dup2(open("/dev/null", O_RDWR), 1);
      dup2(1, 2);
      syscall(SYS_execveat, dirfd, path, argv, envp, flags);
      const int error = errno;
      [[maybe_unused]] const ssize_t written = write(ends[1], &error, sizeof error);
      _exit(0);
    }
    close(ends[1]);
    int error = 0;
    const bool failed = read(ends[0], &error, sizeof error) == sizeof error;
    close(ends[0]);
    waitpid(child, nullptr, 0);
    return failed ? -error : 0;
  }

  static void expect_as_kernel(int dirfd, const char* path, int flags = 0) {
    const ExecDecision decision = decide(dirfd, path, flags);
    EXPECT_EQ(decision.kind == Kind::Fail ? decision.error : 0, kernel(dirfd, path, flags)) << path << " " << flags;
    EXPECT_NE(decision.kind, Kind::Native) << path << ": " << decision.reason;
  }

  static std::string folder;
};
std::string ExecCheck::folder;

TEST_F(ExecCheck, FailsAsTheKernelDoes) {
  expect_as_kernel(AT_FDCWD, "/bin/true");
  expect_as_kernel(AT_FDCWD, "/nonexistent");
  expect_as_kernel(AT_FDCWD, "");
  expect_as_kernel(AT_FDCWD, "/bin/true/");
  expect_as_kernel(AT_FDCWD, "/etc/passwd/x");
  expect_as_kernel(AT_FDCWD, "/tmp");
  expect_as_kernel(AT_FDCWD, "/dev/null");
  expect_as_kernel(AT_FDCWD, ("/" + std::string(5000, 'x')).c_str());
  expect_as_kernel(AT_FDCWD, ("/" + std::string(300, 'x')).c_str());
  expect_as_kernel(AT_FDCWD, file("not_executable", "#!/bin/sh\n", 0644).c_str());
  expect_as_kernel(AT_FDCWD, file("garbage", "hello\n").c_str());
  expect_as_kernel(AT_FDCWD, file("empty", "").c_str());
  expect_as_kernel(AT_FDCWD, file("blank", "#!\n").c_str());
  expect_as_kernel(AT_FDCWD, file("lost", "#!/nonexistent\n").c_str());
  expect_as_kernel(AT_FDCWD, file("folder", "#!/tmp\n").c_str());
  expect_as_kernel(AT_FDCWD, file("plain", "#!/etc/passwd\n").c_str());
  const std::string link = folder + "/link", loop = folder + "/loop";
  ASSERT_EQ(symlink("/bin/true", link.c_str()), 0);
  ASSERT_EQ(symlink(loop.c_str(), loop.c_str()), 0);
  expect_as_kernel(AT_FDCWD, link.c_str());
  expect_as_kernel(AT_FDCWD, link.c_str(), AT_SYMLINK_NOFOLLOW);
  expect_as_kernel(AT_FDCWD, loop.c_str());
  expect_as_kernel(-1, "true");
  expect_as_kernel(-1, "/bin/true");
  expect_as_kernel(AT_FDCWD, "/bin/true", 1);
}

TEST_F(ExecCheck, FollowsScriptsFiveLevelsDeepAsTheKernelDoes) {
  std::string inner = "/bin/true";
  for (int level = 1; level <= 7; ++level) {
    inner = file("level" + std::to_string(level), "#!" + inner + "\n");
    expect_as_kernel(AT_FDCWD, inner.c_str());
  }
}

TEST_F(ExecCheck, FollowsDescriptorsAsTheKernelDoes) {
  const int bin = open("/bin", O_RDONLY | O_DIRECTORY);
  const int program = open("/bin/true", O_RDONLY);
  const int script = open(file("script", "#!/bin/true\n").c_str(), O_RDONLY);
  const int closing = open((folder + "/script").c_str(), O_RDONLY | O_CLOEXEC);
  expect_as_kernel(bin, "true");
  expect_as_kernel(bin, "");
  expect_as_kernel(bin, "", AT_EMPTY_PATH);
  expect_as_kernel(program, "", AT_EMPTY_PATH);
  expect_as_kernel(program, "true");
  expect_as_kernel(script, "", AT_EMPTY_PATH);
  expect_as_kernel(closing, "", AT_EMPTY_PATH);
  EXPECT_EQ(decide(bin, "true").exec_name, "/dev/fd/" + std::to_string(bin) + "/true");
  EXPECT_EQ(decide(program, "", AT_EMPTY_PATH).exec_name, "/dev/fd/" + std::to_string(program));
  EXPECT_EQ(decide(program, "", AT_EMPTY_PATH).load_path, "/usr/bin/true");
  const std::string alias = "/proc/self/fd/" + std::to_string(program);
  EXPECT_EQ(decide(AT_FDCWD, alias.c_str()).load_path, "/usr/bin/true");
  for (const int fd : {bin, program, script, closing}) close(fd);
}

TEST_F(ExecCheck, ReadsArgumentsWithoutFaulting) {
  char* page = static_cast<char*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(page + 4096, 4096, PROT_NONE);
  const std::uint64_t good[] = {pointer("name"), 0}, bad[] = {pointer("name"), 16, 0};
  const auto error = [](std::uint64_t path, std::uint64_t argv, std::uint64_t envp) {
    return check_exec({.path = path, .argv = argv, .envp = envp}).error;
  };
  const std::uint64_t program = pointer("/bin/true");
  EXPECT_EQ(error(program, pointer(good), 0), 0);
  EXPECT_EQ(error(program, 0, 0), 0);
  EXPECT_EQ(error(8, pointer(good), 0), -EFAULT);
  EXPECT_EQ(error(program, pointer(bad), 0), -EFAULT);
  EXPECT_EQ(error(program, pointer(good), pointer(bad)), -EFAULT);
  EXPECT_EQ(error(program, pointer(page + 4096), 0), -EFAULT);
  EXPECT_EQ(error(program, pointer(page + 4092), 0), -EFAULT);
  const std::string long_argument(200000, 'x');
  const std::uint64_t too_long[] = {pointer(long_argument.c_str()), 0};
  EXPECT_EQ(error(program, pointer(too_long), 0), -E2BIG);
  munmap(page, 8192);
}

TEST_F(ExecCheck, LeavesToTheKernelWhatOnlyItCanRun) {
  std::ifstream input("/bin/true", std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(input)), {});
  bytes[18] = 3;  // e_machine: i386
  EXPECT_EQ(decide(AT_FDCWD, file("i386", bytes).c_str()).reason, "it: at 0x4: 32-bit programs are not supported");
  EXPECT_EQ(decide(AT_FDCWD, file("i386", bytes).c_str()).kind, Kind::Native);
  const int memory = memfd_create("program", 0);
  bytes[18] = 62;
  ASSERT_EQ(write(memory, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  EXPECT_EQ(decide(memory, "", AT_EMPTY_PATH).reason, "a file without a name");
  close(memory);
  if (geteuid() != 0) GTEST_SKIP() << "needs root to make a set-user-ID program of another user";
  const std::string other = file("set_uid", bytes);
  ASSERT_EQ(chown(other.c_str(), 1, 1), 0);
  chmod(other.c_str(), 04755);
  EXPECT_EQ(decide(AT_FDCWD, other.c_str()).reason, "a set-user-ID program");
  chmod(other.c_str(), 02755);
  EXPECT_EQ(decide(AT_FDCWD, other.c_str()).reason, "a set-group-ID program");
  chmod(other.c_str(), 02745);
  EXPECT_EQ(decide(AT_FDCWD, other.c_str()).kind, Kind::Follow);
}

TEST_F(ExecCheck, TakesTheProgramsOwnExeForTheProgramAndNotForTheTool) {
  const auto decision = check_exec({.path = pointer("/proc/self/exe"), .pid = getpid(), .own_exe = "/bin/true"});
  EXPECT_EQ(decision.kind, Kind::Follow);
  EXPECT_EQ(decision.resolved_path, "/usr/bin/true");
  EXPECT_EQ(decision.load_path, "/usr/bin/true");
  EXPECT_EQ(decision.exec_name, "/proc/self/exe");
}

}  // namespace
}  // namespace zs::engine
