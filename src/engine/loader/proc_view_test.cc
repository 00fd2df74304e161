#include "engine/loader/proc_view.h"

#include <errno.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "engine/loader/program.h"
#include "engine/memory/mappings.h"

namespace zs::engine {
namespace {

TEST(ProcView, KnowsTheProcessByItsNames) {
  for (const char* path : {"/proc/self/maps", "/proc/thread-self/maps", "/proc/123/maps", "//proc/./self//maps",
                           "/proc/self/task/7/maps", "/proc/123/task/123/maps", "/proc/self/maps/."}) {
    EXPECT_EQ(own_proc_file(path, 123), ProcFile::Maps) << path;
  }
  for (const char* path : {"/proc/124/maps", "/proc/1234/maps", "proc/self/maps", "/proc/self", "/proc/self/maps/x",
                           "/proc/self/task/maps", "/proc/self/status", "/proc/maps", "/proc/0x7b/maps", "", "/",
                           "/proc/self/task/7/task/7/maps", "/proc/99999999999999999999/maps"}) {
    EXPECT_EQ(own_proc_file(path, 123), std::nullopt) << path;
  }
}

TEST(ProcView, KnowsTheFilesThatWouldShowTheTool) {
  EXPECT_EQ(own_proc_file("/proc/self/exe", 1), ProcFile::Exe);
  EXPECT_EQ(own_proc_file("/proc/self/smaps", 1), ProcFile::Smaps);
  EXPECT_EQ(own_proc_file("/proc/self/mem", 1), ProcFile::Mem);
  EXPECT_EQ(own_proc_file("/proc/self/auxv", 1), ProcFile::Auxv);
  EXPECT_EQ(own_proc_file("/proc/self/cmdline", 1), ProcFile::Cmdline);
  EXPECT_EQ(own_proc_file("/proc/self/environ", 1), ProcFile::Environ);
}

TEST(ProcView, ShowsTheArgumentsAsTheProgramHasOverwrittenThem) {
  char area[] = "name\0arg\0A=1\0B=2";
  const auto at = reinterpret_cast<std::uint64_t>(area);
  LoadedProgram program;
  program.exe_path = "/usr/bin/name";
  program.arguments = {at, at + 9};
  program.environment = {at + 9, at + sizeof area};
  const Mappings mappings;
  const auto content = [&](const char* path) { return proc_path(path, 5, program, mappings)->text; };
  EXPECT_EQ(content("/proc/5/cmdline"), std::string("name\0arg\0", 9));
  EXPECT_EQ(content("/proc/5/environ"), std::string("A=1\0B=2\0", 8));
  std::memcpy(area, "a new title", 12);  // over the end of the arguments
  EXPECT_EQ(content("/proc/5/cmdline"), "a new title");
  EXPECT_EQ(content("/proc/5/exe"), "/usr/bin/name");
  EXPECT_EQ(proc_path("/proc/5/exe", 5, program, mappings)->kind, ProcAnswer::Kind::Path);
  EXPECT_EQ(proc_path("/proc/5/mem", 5, program, mappings)->kind, ProcAnswer::Kind::Memory);
  EXPECT_FALSE(proc_path("/proc/6/exe", 5, program, mappings));
}

TEST(ProcView, KnowsTheDescriptorThatAPathNames) {
  EXPECT_EQ(own_descriptor_file("/proc/self/fd/1003", 5), 1003);
  EXPECT_EQ(own_descriptor_file("/proc/5/task/7/fdinfo/3", 5), 3);
  EXPECT_EQ(own_descriptor_file("//proc/thread-self/fd/0/", 5), 0);
  for (const char* const other : {"/proc/self/fd", "/proc/self/fd/x", "/proc/6/fd/1", "/proc/self/maps", "/dev/fd/1"})
    EXPECT_FALSE(own_descriptor_file(other, 5)) << other;
}

TEST(ProcView, OpensContentReadOnlyAtTheLowestDescriptor) {
  const int lowest = dup(0);
  close(lowest);
  const long fd = open_content("hello", O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(fd, lowest);
  char text[16];
  EXPECT_EQ(read(static_cast<int>(fd), text, sizeof text), 5);
  EXPECT_EQ(std::string(text, 5), "hello");
  EXPECT_EQ(write(static_cast<int>(fd), "x", 1), -1);
  EXPECT_EQ(lseek(static_cast<int>(fd), 0, SEEK_SET), 0);
  EXPECT_EQ(fcntl(static_cast<int>(fd), F_GETFD), FD_CLOEXEC);
  const long second = open_content("", O_RDONLY);
  EXPECT_EQ(second, lowest + 1);
  EXPECT_EQ(fcntl(static_cast<int>(second), F_GETFD), 0);
  close(static_cast<int>(fd));
  close(static_cast<int>(second));
  EXPECT_EQ(open_content("hello", O_RDWR), -EACCES);
}

}  // namespace
}  // namespace zs::engine
