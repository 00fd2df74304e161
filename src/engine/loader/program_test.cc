// Programs are loaded and run untranslated in a forked child; output and exit status must be what the kernel's execve
// gives. The programs are built here with the system's compiler.
#include "engine/loader/program.h"

#include <elf.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <set>

#include "base/bytes.h"
#include "engine/memory/guest_map.h"
#include "engine/memory/proc_maps.h"

namespace zs::engine {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

struct Outcome {
  std::string output;
  int status = 0;  // as waitpid gives it
  bool operator==(const Outcome&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
  return out << "status " << outcome.status << ", output:\n" << outcome.output;
}

/// stdout and stderr of `body`, which should not return.
Outcome outcome_of(const std::function<void()>& body) {
  int ends[2];
  if (pipe(ends) != 0) return {"no pipe", -1};
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 1);
    dup2(ends[1], 2);
    close(ends[0]);
    close(ends[1]);
    body();
    _exit(99);
  }
  close(ends[1]);
  Outcome outcome;
  char piece[4096];
  for (ssize_t got; (got = read(ends[0], piece, sizeof piece)) > 0;) {
    outcome.output.append(piece, static_cast<std::size_t>(got));
  }
  close(ends[0]);
  waitpid(child, &outcome.status, 0);
  return outcome;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& each : strings) result.push_back(each.data());
  result.push_back(nullptr);
  return result;
}

Outcome native_run(std::vector<std::string> argv, std::vector<std::string> envp) {
  return outcome_of([&] { execve(argv[0].c_str(), pointers(argv).data(), pointers(envp).data()); });
}

Outcome loaded_run(const std::vector<std::string>& argv, const std::vector<std::string>& envp) {
  return outcome_of([&] {
    int exit_status = 0;
    auto plan = plan_program({.path = argv[0], .argv = argv, .envp = envp}, exit_status);
    if (!plan) {
      dprintf(2, "%s\n", plan.error().message.c_str());
      _exit(exit_status);
    }
    GuestMap map(plan->layout, false);
    const auto program = load_program(*plan, map, exit_status);
    if (!program) {
      dprintf(2, "%s\n", program.error().message.c_str());
      _exit(exit_status);
    }
    jump_to_entry(program->entry, program->stack_pointer);
  });
}

const std::vector<std::string> kEnvironment{"PATH=/usr/bin:/bin", "LANG=C", "HOME=/nonexistent"};

class Program : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    char name[] = "/tmp/zs_program_XXXXXX";
    folder = mkdtemp(name);
  }
  static void TearDownTestSuite() { [[maybe_unused]] const int status = system(("rm -rf " + folder).c_str()); }

  static std::string file(const std::string& name, const std::string& content, mode_t mode = 0755) {
    std::string path = folder + "/" + name;
    std::ofstream(path, std::ios::binary) << content;
    chmod(path.c_str(), mode);
    return path;
  }
  /// Builds `source`; "" if the compiler cannot.
  static std::string build(const std::string& name, const std::string& source, const std::string& options) {
    const std::string input = file(name + ".c", source, 0644), path = folder + "/" + name;
    const std::string command = "cc -O1 -w " + options + " -o " + path + " " + input + " 2>/dev/null";
    return system(command.c_str()) == 0 ? path : "";
  }
  static void expect_as_native(const std::vector<std::string>& argv,
                               const std::vector<std::string>& envp = kEnvironment) {
    EXPECT_EQ(native_run(argv, envp), loaded_run(argv, envp)) << argv[0];
  }
  static Error refusal(const std::string& path, int& exit_status) {
    const auto plan = plan_program({.path = path, .argv = {path}}, exit_status);
    return plan ? Error{"accepted", ""} : plan.error();
  }

  static std::string folder;
};
std::string Program::folder;

/// Prints what a program can see of how it was started, but for addresses.
constexpr const char* kReport = R"(
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <errno.h>
extern char **environ;
static char bss[100000];
static int data = 42;
_Thread_local int thread_local_value = 7;
int main(int argc, char **argv) {
  for (int i = 0; i < argc; ++i) printf("argv %s\n", argv[i]);
  if (argv[argc]) printf("no end\n");
  for (char **e = environ; *e; ++e) printf("env %s\n", *e);
  for (int i = 0; i < (int)sizeof bss; ++i) if (bss[i]) { printf("bss not zero\n"); break; }
  printf("%d %d\n", data, thread_local_value);
  unsigned long same[] = {AT_PAGESZ, AT_CLKTCK, AT_PHENT, AT_PHNUM, AT_FLAGS, AT_UID, AT_EUID, AT_GID, AT_EGID,
                          AT_SECURE, AT_HWCAP, AT_HWCAP2, 51};
  for (int i = 0; i < (int)(sizeof same / sizeof *same); ++i) printf("aux %lu %lu\n", same[i], getauxval(same[i]));
  printf("platform %s execfn %s\n", (char *)getauxval(AT_PLATFORM), (char *)getauxval(AT_EXECFN));
  printf("base %d phdr %d entry %d random %d\n", getauxval(AT_BASE) != 0, getauxval(AT_PHDR) != 0,
         getauxval(AT_ENTRY) != 0, getauxval(AT_RANDOM) != 0);
  char *many[200];
  for (int i = 0; i < 200; ++i) memset(many[i] = malloc(1000 * i + 1), i, 1000 * i + 1);
  for (int i = 0; i < 200; ++i) free(many[i]);
  volatile char deep[4 << 20];
  for (unsigned long i = 0; i < sizeof deep; i += 4096) deep[i] = 1;
  fprintf(stderr, "done %s\n", strerror(ENOENT));
  return 23;
}
)";

TEST_F(Program, RunsAStaticProgramAsExecveDoes) {
  const std::string path = build("static", kReport, "-static");
  if (path.empty()) GTEST_SKIP() << "needs a compiler and the static C library";
  expect_as_native({path, "one", "", "three words here"});
}

TEST_F(Program, RunsAStaticPieAsExecveDoes) {
  const std::string path = build("static_pie", kReport, "-static-pie");
  if (path.empty()) GTEST_SKIP() << "needs a compiler and the static C library";
  expect_as_native({path, "one"});
}

TEST_F(Program, RunsDynamicProgramsAsExecveDoes) {
  for (const char* options : {"-pie", "-no-pie"}) {
    const std::string path = build(std::string("dynamic") + options, kReport, options);
    ASSERT_NE(path, "");
    expect_as_native({path, "one", "two"});
    expect_as_native({path}, {});
  }
}

TEST_F(Program, RunsInstalledProgramsAsExecveDoes) {
  expect_as_native({"/bin/true"});
  expect_as_native({"/bin/false"});
  expect_as_native({"/bin/echo", "some", "words", ""});
  expect_as_native({"/bin/sh", "-c", "echo $0 $HOME; kill -9 $$"});
  expect_as_native({"/bin/ls", "/", "/nonexistent"});
  expect_as_native({"/lib64/ld-linux-x86-64.so.2", "/bin/echo", "by ld.so"});
}

TEST_F(Program, RunsAProgramWithoutAnyLibrary) {
  const std::string path = build("bare",
                                 "void _start(void) { __asm__ volatile(\"mov %rsp, %rdi; and $15, %edi; add $40, %edi;"
                                 "or %rbx, %rdi; or %rdx, %rdi; or %rbp, %rdi; mov $60, %eax; syscall\"); }",
                                 "-static -nostdlib -nostartfiles");
  ASSERT_NE(path, "");
  expect_as_native({path});
}

TEST_F(Program, RunsScriptsAsExecveDoes) {
  const std::string echo = file("echo.sh", "#!/bin/echo  an  argument \n");
  expect_as_native({echo, "one", "two"});
  expect_as_native({file("plain", "#! /bin/sh\necho $0 $#; exit 5\n"), "a", "b"});
  expect_as_native({file("no_newline", "#!/bin/echo last")});
  std::string inner = echo;
  for (int depth = 2; depth <= 6; ++depth) {
    inner = file("level" + std::to_string(depth), "#!" + inner + " x\n");
    if (depth <= 5) expect_as_native({inner, "end"});
  }
  int exit_status = 0;
  EXPECT_THAT(refusal(inner, exit_status).message, HasSubstr("for more than 5 levels, needed a program"));
  EXPECT_EQ(native_run({inner}, {}).status, 99 << 8);  // ELOOP there, too
}

TEST_F(Program, RunsProgramsAtFixedAddressesThatCollideWithTheEngineRange) {
  for (const char* address : {"0x10000000", "0x30000000", "0x60000000", "0x70000000", "0x7f000000"}) {
    const std::string path = build("fixed", kReport, std::string("-static -no-pie -Wl,-Ttext-segment=") + address);
    if (path.empty()) GTEST_SKIP() << "needs a compiler and the static C library";
    expect_as_native({path, address});
  }
}

TEST_F(Program, GivesAnExecutableStackWhereTheFileAsksForOne) {
  const char* source =
      "int main(void) { volatile unsigned char code[] = {0xb8, 42, 0, 0, 0, 0xc3}; return ((int (*)(void))code)(); }";
  for (const char* options : {"-z execstack", "-z noexecstack"}) {
    const std::string path = build(std::string("stack") + (options + 3), source, options);
    ASSERT_NE(path, "");
    expect_as_native({path});
  }
}

TEST_F(Program, ZeroesTheLastFilePageBehindTheData) {
  const std::string path = build("tail",
                                 "char data[5000] = {1}; char bss[3]; int main(void) { unsigned long at = (unsigned "
                                 "long)(bss + 3); while (at % 4096) if (*(char *)at++) return 1; return 0; }",
                                 "");
  ASSERT_NE(path, "");
  expect_as_native({path});
}

// --- What is on the stack, and where ---------------------------------------------------------------------------------

/// Loads in a child and hands back a textual answer.
std::string ask(const ProgramConfig& config,
                const std::function<std::string(const LoadedProgram&, GuestMap&)>& question) {
  return outcome_of([&] {
           int exit_status = 0;
           GuestMap map{Layout{}};
           const auto program = load_program(config, map, exit_status);
           const std::string text = program ? question(*program, map) : program.error().message;
           [[maybe_unused]] const ssize_t written = write(1, text.data(), text.size());
           _exit(0);
         })
      .output;
}

std::string addresses(const LoadedProgram& program, GuestMap& map) {
  std::string text = std::to_string(program.entry) + " " + std::to_string(program.stack_pointer) + " " +
                     std::to_string(map.brk(0)) + "\n";
  const std::string maps = proc_maps(map.mappings());
  return text + maps + std::string(program.auxv.begin(), program.auxv.end());
}

TEST_F(Program, IsLoadedTheSameWhateverTheEnvironmentAndTheKernelsRandomisation) {
  const ProgramConfig small{.path = "/bin/true", .argv = {"/bin/true"}, .envp = {"A=1"}};
  ProgramConfig large = small;
  large.envp = {"A=" + std::string(100000, 'x')};
  const std::string first = ask(small, addresses);
  EXPECT_THAT(first, HasSubstr("[stack]"));
  EXPECT_EQ(first, ask(small, addresses));
  EXPECT_EQ(first, ask(large, addresses));
}

TEST_F(Program, APlacementMovesStackStringsHeapAndDataMappings) {
  ProgramConfig config{.path = "/bin/true", .argv = {"/bin/true"}};
  const auto layout = [&] {
    int exit_status = 0;
    return plan_program(config, exit_status).value().layout;
  };
  std::set<std::string> seen;
  for (config.placement = 0; config.placement <= 20; ++config.placement) {
    const Layout here = layout(), again = layout();
    EXPECT_EQ(here.stack_shift, again.stack_shift);
    EXPECT_EQ(here.heap, again.heap);
    EXPECT_EQ(here.initial_stack_pointer() % 16, 0U);
    EXPECT_EQ((here.heap.start | here.high.start) % kPageSize, 0U);
    EXPECT_LT(here.stack_shift, kPageSize);
    if (config.placement == 0) {
      EXPECT_EQ(here.initial_stack_pointer(), Layout{}.initial_stack_pointer());
      EXPECT_EQ(here.heap, Layout{}.heap);
      EXPECT_EQ(here.high, Layout{}.high);
    }
    seen.insert(hex(here.argument_strings()) + hex(here.initial_stack_pointer()) + hex(here.heap.start));
  }
  EXPECT_EQ(seen.size(), 21U);
}

TEST_F(Program, RandomBytesComeFromTheSeed) {
  const auto random_bytes = [](const LoadedProgram& program, GuestMap&) {
    const auto* entries = reinterpret_cast<const std::uint64_t*>(program.auxv.data());
    for (; *entries != AT_NULL; entries += 2) {
      if (*entries == AT_RANDOM) return std::string(reinterpret_cast<const char*>(entries[1]), 16);
    }
    return std::string("none");
  };
  ProgramConfig config{.path = "/bin/true", .argv = {"/bin/true"}};
  const std::string one = ask(config, random_bytes);
  EXPECT_EQ(one.size(), 16u);
  EXPECT_EQ(one, ask(config, random_bytes));
  config.seed = 2;
  EXPECT_NE(one, ask(config, random_bytes));
}

TEST_F(Program, SeesTheVdsoOnlyWhenAskedFor) {
  const auto vdso = [](const LoadedProgram& program, GuestMap& map) {
    const auto* entries = reinterpret_cast<const std::uint64_t*>(program.auxv.data());
    for (; *entries != AT_NULL; entries += 2) {
      if (*entries == AT_SYSINFO_EHDR) return map.mappings().find(entries[1])->name();
    }
    return proc_maps(map.mappings()).find("[vdso]") == std::string::npos ? std::string("none") : std::string("mapped");
  };
  ProgramConfig config{.path = "/bin/true", .argv = {"/bin/true"}};
  EXPECT_EQ(ask(config, vdso), "none");
  config.vdso = true;
  EXPECT_EQ(ask(config, vdso), "[vdso]");
}

TEST_F(Program, SaysWhichPlaceIsTaken) {
  const std::string path = build("on_the_stack", "void _start(void) { for (;;); }",
                                 "-static -no-pie -nostdlib -mcmodel=large -Wl,-Ttext-segment=0x29fffeff0000");
  ASSERT_NE(path, "");
  const std::string answer =
      ask({.path = path, .argv = {path}}, [](const auto&, auto&) { return std::string("loaded"); });
  EXPECT_THAT(answer, StartsWith(path + ": cannot map its stack of "));
  EXPECT_THAT(answer, HasSubstr(" bytes below 0x29ffff000000: "));
}

TEST_F(Program, HasAStackOfTheLimitsSize) {
  const auto stack = [](const LoadedProgram& program, GuestMap& map) {
    const GuestMapping* mapping = map.mappings().find(program.stack_pointer);
    return mapping->name() + " " + std::to_string((map.layout().stack_top() - mapping->start) >> 20);
  };
  const ProgramConfig config{.path = "/bin/true", .argv = {"/bin/true"}};
  const auto with_limit = [&](rlim_t limit) {
    rlimit old;
    getrlimit(RLIMIT_STACK, &old);
    const rlimit changed{limit, old.rlim_max};
    setrlimit(RLIMIT_STACK, &changed);
    const std::string answer = ask(config, stack);
    setrlimit(RLIMIT_STACK, &old);
    return answer;
  };
  EXPECT_EQ(with_limit(rlim_t{8} << 20), "[stack] 8");
  EXPECT_EQ(with_limit(rlim_t{64} << 20), "[stack] 64");
  EXPECT_EQ(with_limit(RLIM_INFINITY), "[stack] 1024");
}

TEST_F(Program, TellsWhatItLoaded) {
  const std::string script = file("told", "#!/bin/sh -x\n");
  const std::string answer =
      ask({.path = script, .argv = {"name", "arg"}, .envp = {"K=V"}}, [](const LoadedProgram& program, GuestMap& map) {
        std::string text = program.exe_path + " " + program.comm + " " + program.interpreter_path + " ";
        for (const std::string& each : program.argv) text += each + ",";
        text += std::string(reinterpret_cast<const char*>(program.arguments.start), program.arguments.size()) ==
                        program.cmdline
                    ? " cmdline"
                    : " no cmdline";
        text += program.mappings.size() == map.mappings().size() ? " all" : " some";
        text += program.program_bias % kPageSize == 0 && program.entry < 0x80000000u ? " low" : " elsewhere";
        return text;
      });
  EXPECT_THAT(answer, AllOf(StartsWith("/usr/bin/dash told /lib64/ld-linux-x86-64.so.2 /bin/sh,-x," + script + ",arg,"),
                            HasSubstr(" cmdline all low")));
}

// --- Refusals, word for word -----------------------------------------------------------------------------------------

TEST_F(Program, SaysWhyAProgramCannotBeStarted) {
  int status = 0;
  EXPECT_EQ(refusal("/nonexistent/program", status).message, "/nonexistent/program: No such file or directory");
  EXPECT_EQ(status, 127);
  EXPECT_EQ(refusal("/etc/passwd/program", status).message, "/etc/passwd/program: Not a directory");
  EXPECT_EQ(status, 127);
  EXPECT_EQ(refusal("/tmp", status).message, "/tmp: is a directory, needed a program");
  EXPECT_EQ(status, 126);
  EXPECT_EQ(refusal("/dev/null", status).message, "/dev/null: is not a regular file, needed a program");
  EXPECT_EQ(status, 126);
  const std::string plain = file("not_executable", "#!/bin/sh\n", 0644);
  EXPECT_EQ(refusal(plain, status).message, plain + ": has no permission to be executed");
  EXPECT_EQ(status, 126);
  const std::string garbage = file("garbage", "hello there\n");
  EXPECT_EQ(refusal(garbage, status).message,
            garbage + ": at 0x0: found 68 65 6c 6c, needed 7f 45 4c 46 (ELF) or 23 21 (#!)");
  const std::string empty = file("empty", "");
  EXPECT_EQ(refusal(empty, status).message,
            empty + ": at 0x0: the file is empty, needed an ELF program or a #! script");
  EXPECT_EQ(status, 126);
  const std::string nobody = file("nobody", "#!  \n");
  EXPECT_EQ(refusal(nobody, status).message,
            nobody + ": at 0x2: found no interpreter in the first 256 bytes, needed its path after #!");
  const std::string missing = file("missing", "#!/nonexistent/interpreter\n");
  EXPECT_EQ(refusal(missing, status).message,
            "/nonexistent/interpreter: (interpreter of " + missing + ") No such file or directory");
  EXPECT_EQ(status, 127);
  const std::string lost = build("lost", "int main(void) { return 0; }", "-Wl,--dynamic-linker=/nonexistent/ld.so");
  EXPECT_EQ(refusal(lost, status).message,
            "/nonexistent/ld.so: (interpreter of " + lost + ") No such file or directory");
  EXPECT_EQ(status, 127);
}

TEST_F(Program, RefusesAProgramThatLeavesNoPlaceForTheEngine) {
  const std::string path =
      build("huge", "char a[0x78000000]; int main(void) { return a[argc()]; } int argc(void) { return 0; }",
            "-static -no-pie -mcmodel=large -nostdlib -Wl,-e,main");
  ASSERT_NE(path, "");
  int status = 0;
  EXPECT_EQ(refusal(path, status).message,
            path + ": its fixed addresses leave no 351 MiB free below 2 GiB, which the translated code needs");
  EXPECT_EQ(status, 126);
}

}  // namespace
}  // namespace zs::engine
