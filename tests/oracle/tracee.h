// One single-threaded process under PTRACE_SINGLESTEP, from the first instruction of its program.
//
// Two ways to start it. Natively: fork, PTRACE_TRACEME, execve. Or through a runner, a program that loads another one
// into its own address space and jumps to it, so that stack, auxiliary vector and addresses are those the runner gives.
// What a runner must do (protocol_runner.S is the smallest one, and the test of this paragraph):
//   1. load the program, make its initial stack, then execute INT3 with rax = 5A45524F534B4944H;
//   2. go to the entry: everything up to and including the first indirect JMP after the INT3 belongs to the runner, and
//      what that lands on is the program's first instruction. Registers are then what the program may see.
//   3. Optionally make the program's system calls its own, by PR_SET_SYSCALL_USER_DISPATCH, and RDTSC and CPUID by
//      PR_SET_TSC and ARCH_CPUID: the SIGSYS or SIGSEGV handler runs untraced up to its rt_sigreturn, and the whole is
//      one step of the program.
//
// Two ways to step. The hardware's trap flag: one trap per instruction, per iteration for REP; in a virtual machine
// each leaves the guest, 15 to 25 us. Or INT3 at the next instruction, which is computed from the registers, 7 us; used
// where the next instruction is certain and neither read nor written by this one, and never for system calls. Both give
// identical traces (a test compares them); Launch::hardware_steps forces the first. Where a hypervisor emulates CPUID
// and loses its trap, the first way borrows an INT3 for it (Tracee::step_by_trap_flag).
//
// Both processes share one processor, which the program does not see: sched_getaffinity is answered with the others.
// What the trap flag would change in the program is undone: TF in the image that PUSHF stores and in r11 after SYSCALL.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "meaning.h"

namespace zs::oracle {

inline constexpr std::uint64_t kRunnerMagic = 0x5A45'524F'534B'4944;

struct Launch {
  std::vector<std::string> command{};  // program and arguments
  std::vector<std::string> runner{};   // put before them; empty: start natively
  bool randomize_addresses = false;    // leave ASLR on
  bool hardware_steps = false;         // never step by INT3
};

class Tracee {
 public:
  enum class Outcome : std::uint8_t {
    Executed,        // one instruction, or one or more iterations of a REP string instruction
    HandlerEntered,  // no instruction ran: the kernel built a signal frame
    Ended,           // exited or killed; status() tells
  };

  static Result<Tracee> start(const Launch& launch);
  Tracee(Tracee&& other) noexcept;
  Tracee& operator=(Tracee&&) = delete;
  ~Tracee();

  const Registers& registers() const { return registers_; }
  /// Up to into.size() bytes at the instruction pointer. returns how many were readable
  std::size_t read_code(std::span<std::byte> into) const;
  /// The XSAVE area of the standard form, as PTRACE_GETREGSET gives it.
  std::vector<std::byte> extended_state() const;
  /// Executes `next`, the instruction at registers().rip.
  Result<Outcome> step(const Meaning* next);
  pid_t process_id() const { return process_id_; }
  /// As waitpid gives it; valid after Outcome::Ended.
  int status() const { return status_; }
  /// System calls that came back to be restarted by the kernel: the processor retires them twice.
  std::uint64_t restarted_calls() const { return restarted_calls_; }

 private:
  Tracee(pid_t pid, const Launch& launch)
      : pid_(pid), process_id_(pid), has_runner_(!launch.runner.empty()), hardware_steps_(launch.hardware_steps) {}
  Result<void> open_memory();
  Result<void> run_to_entry();
  Result<void> run_emulation(int signal);
  std::optional<std::uint64_t> successor(const Meaning& next) const;
  bool step_by_int3(const Meaning& next);
  void find_who_faults_on_clock();
  bool rewind_to_canonical_stack(const Meaning* next);
  bool step_by_trap_flag(const Meaning* next, int signal);
  Result<void> refuse(const std::string& what) const;
  Result<void> check_call(const Registers& before) const;
  void show_all_processors(const Registers& before);
  void forget_the_trap_flag();
  void hide_the_trap_flag(const Meaning& executed);
  void hide_the_processor(const Registers& before);
  bool resume_and_wait(int request, int signal);
  void fetch_registers();

  pid_t pid_ = -1;  // -1 once it has ended
  pid_t process_id_ = -1;
  int memory_ = -1;  // /proc/PID/mem
  bool has_runner_ = false;
  bool hardware_steps_ = false;
  bool clock_needs_fault_ = false;  // the runner waits for RDTSC to fault, and this host does not let it
  bool is_rewindable_ = false;      // from the present instruction to that of last_canonical_
  int pending_signal_ = 0;          // to pass on with the next resume
  int status_ = 0;
  std::uint64_t restarted_calls_ = 0;
  cpu_set_t processors_{};  // that the program may run on without the oracle
  Registers registers_{};
  Registers last_canonical_{};  // before the last instruction that began with a canonical rsp
};

}  // namespace zs::oracle
