// Starts a program as the kernel's execve would: finds out what the file is (ELF or #! script), maps it and its
// interpreter, and lays out the stack with arguments, environment and auxiliary vector.
// In two steps, because where the engine may live depends on where the program must: plan_program() opens and checks
// everything and chooses the engine range; load_program() maps.
// Different from the kernel on purpose: every address is a function of the program, its rlimits, the layout and the
// seed of the placement only;
// AT_RANDOM comes from the seed; strings lie above the pointer arrays, in the order
// argv, envp, at a fixed address.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "arch/cpu_level.h"
#include "base/result.h"
#include "engine/loader/elf.h"
#include "engine/memory/guest_map.h"
#include "engine/memory/layout.h"

namespace zs::engine {

struct ProgramConfig {
  std::string path;               // file to execute, already searched in PATH
  std::string exec_name;          // what execve was called with (AT_EXECFN, script argument); "" = path
  std::vector<std::string> argv;  // argv[0] included
  std::vector<std::string> envp;
  std::uint64_t seed = 1;                           // AT_RANDOM
  std::uint64_t placement = 0;                      // of RunSettings
  arch::CpuLevel cpu_level = arch::CpuLevel::Host;  // what the auxiliary vector tells of
  bool vdso = false;                                // AT_SYSINFO_EHDR: the tool's own vdso, made visible where it is
};

/// A descriptor that closes itself; in the engine's high numbers (Config::first_private_fd), so the program's own
/// numbers are not disturbed.
class OwnedFd {
 public:
  OwnedFd() = default;
  explicit OwnedFd(int fd) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  OwnedFd& operator=(OwnedFd&& other) noexcept;
  ~OwnedFd();
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

struct OpenedImage {
  std::string path;  // as opened
  OwnedFd fd;
  ElfImage elf;
};

struct ProgramPlan {
  Layout layout;  // engine range chosen so that it does not collide with the program's fixed segments
  OpenedImage program;
  std::vector<OpenedImage> interpreter;  // none (static) or one
  std::string exec_name;
  std::vector<std::string> argv;  // scripts resolved: interpreter, its argument, script, ...
  std::vector<std::string> envp;
  std::uint64_t seed = 1;
  arch::CpuLevel cpu_level = arch::CpuLevel::Host;
  bool vdso = false;
};

struct LoadedProgram {
  std::uint64_t entry = 0;          // first instruction: of the interpreter if there is one
  std::uint64_t stack_pointer = 0;  // 16-byte aligned, points at argc
  std::uint64_t brk_start = 0;
  std::string exe_path;             // what /proc/self/exe shows: resolved, absolute
  std::string comm;                 // thread name after execve: at most 15 bytes
  std::string interpreter_path;     // "" if static
  std::uint64_t program_entry = 0;  // AT_ENTRY
  std::uint64_t program_bias = 0;   // run-time address minus address in the file; 0 for fixed programs
  std::uint64_t interpreter_bias = 0;
  std::uint64_t program_headers = 0;  // AT_PHDR
  bool executable_stack = false;
  std::vector<std::string> argv, envp;
  AddressRange arguments, environment;  // their strings, in memory; environment follows at once, at first
  std::string cmdline;                  // /proc/self/cmdline: argv, each with its NUL
  std::string environ;                  // /proc/self/environ
  std::string auxv;                     // /proc/self/auxv: bytes as on the stack
  std::vector<GuestMapping> mappings;   // everything now mapped, ascending
};

/// On failure the error is ready to be printed and `exit_status` says how to end: 127 not found, 126 not executable.
Result<ProgramPlan> plan_program(const ProgramConfig& config, int& exit_status);

/// `map` was made with plan.layout. The engine range may be reserved before or after.
/// Failing halfway leaves what was mapped; the caller is about to exit.
Result<LoadedProgram> load_program(const ProgramPlan& plan, GuestMap& map, int& exit_status);

/// Both steps, for a caller that does not care where the engine lives (native load, tests).
Result<LoadedProgram> load_program(const ProgramConfig& config, GuestMap& map, int& exit_status);

/// Runs the loaded program untranslated in this thread: registers zero, rsp = stack_pointer, jump. The map must have
/// been made with strip_exec = false.
[[noreturn]] void jump_to_entry(std::uint64_t entry, std::uint64_t stack_pointer);

}  // namespace zs::engine
