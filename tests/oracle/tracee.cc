#include "tracee.h"

#include <elf.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <utility>

namespace zs::oracle {
namespace {

constexpr std::uint64_t kTrapFlag = 1U << 8;
constexpr int kSyscallStop = SIGTRAP | 0x80;  // PTRACE_O_TRACESYSGOOD
constexpr int kUserDispatch = 2;              // SYS_USER_DISPATCH, which glibc 2.36 does not name

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  result.reserve(words.size() + 1);
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

Error system_error(const std::string& what) { return Error{what + ": " + std::strerror(errno), ""}; }

/// Both processes on one processor: each step is two switches, and a wake-up across processors costs ten times as much.
/// returns the processors there were to run on; the program must not notice (Tracee::show_all_processors)
cpu_set_t share_one_processor() {
  cpu_set_t all, one;
  CPU_ZERO(&all);
  CPU_ZERO(&one);
  const int here = sched_getcpu();
  if (here < 0 || sched_getaffinity(0, sizeof all, &all) != 0) return all;
  CPU_SET(static_cast<unsigned>(here), &one);
  sched_setaffinity(0, sizeof one, &one);
  return all;
}

/// In the child: become the program, stopped at its first instruction.
[[noreturn]] void become(std::vector<std::string> words, bool randomize) {
  if (!randomize) personality(ADDR_NO_RANDOMIZE);
  ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
  const std::vector<char*> argv = pointers(words);
  execvp(argv[0], argv.data());
  _exit(errno == ENOENT ? 127 : 126);
}

/// A fault on these is the runner's doing: it makes them a function of the run.
bool may_be_emulated(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_RDTSC:
    case ZYDIS_MNEMONIC_RDTSCP:
    case ZYDIS_MNEMONIC_CPUID:
    case ZYDIS_MNEMONIC_RDPID:
    case ZYDIS_MNEMONIC_RDRAND:
    case ZYDIS_MNEMONIC_RDSEED: return true;
    default: return false;
  }
}

bool reads_clock(ZydisMnemonic mnemonic) {
  return mnemonic == ZYDIS_MNEMONIC_RDTSC || mnemonic == ZYDIS_MNEMONIC_RDTSCP;
}

/// Whether RDTSC faults after PR_SET_TSC. Some hypervisors (PVM) let it through, though the call succeeds.
bool clock_can_fault() {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGSEGV, [](int) { _exit(1); });
    prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
    [[maybe_unused]] const volatile std::uint64_t now = __rdtsc();
    _exit(0);
  }
  int status = 0;
  return child < 0 || waitpid(child, &status, 0) != child || WEXITSTATUS(status) == 1;
}

bool is_canonical(std::uint64_t address) {
  constexpr int unused = 16;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(address << unused) >> unused) == address;
}

bool wants_restart(std::uint64_t rax) {
  const auto code = static_cast<std::int64_t>(rax);
  return code == -512 || code == -513 || code == -514 || code == -516;  // ERESTARTSYS and its kin
}

}  // namespace

Tracee::Tracee(Tracee&& other) noexcept
    : pid_(other.pid_),
      process_id_(other.process_id_),
      memory_(other.memory_),
      has_runner_(other.has_runner_),
      hardware_steps_(other.hardware_steps_),
      clock_needs_fault_(other.clock_needs_fault_),
      pending_signal_(other.pending_signal_),
      status_(other.status_),
      restarted_calls_(other.restarted_calls_),
      processors_(other.processors_),
      registers_(other.registers_) {
  other.pid_ = -1;
  other.memory_ = -1;
}

Tracee::~Tracee() {
  if (memory_ >= 0) close(memory_);
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
}

Result<Tracee> Tracee::start(const Launch& launch) {
  std::vector<std::string> words = launch.runner;
  words.insert(words.end(), launch.command.begin(), launch.command.end());
  static const cpu_set_t processors = share_one_processor();
  const pid_t pid = fork();
  if (pid < 0) return system_error("fork");
  if (pid == 0) become(std::move(words), launch.randomize_addresses);

  Tracee tracee(pid, launch);
  tracee.processors_ = processors;
  int status = 0;
  if (waitpid(pid, &status, 0) != pid) return system_error("waitpid");
  if (!WIFSTOPPED(status)) {
    tracee.pid_ = -1;
    const std::string& name = launch.runner.empty() ? launch.command[0] : launch.runner[0];
    return Error{name + ": cannot be executed", "name an x86-64 program"};
  }
  if (ptrace(PTRACE_SETOPTIONS, pid, nullptr, PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC) != 0) {
    return system_error("PTRACE_SETOPTIONS");
  }
  tracee.fetch_registers();
  if (tracee.has_runner_) {
    if (auto result = tracee.run_to_entry(); !result) return result.error();
  } else if (auto result = tracee.open_memory(); !result) {
    return result.error();
  }
  return tracee;
}

bool Tracee::resume_and_wait(int request, int signal) {
  if (ptrace(static_cast<__ptrace_request>(request), pid_, nullptr, static_cast<long>(signal)) != 0) {
    // Killed from outside between two stops: the wait below tells.
    if (errno != ESRCH) return false;
  }
  if (waitpid(pid_, &status_, __WALL) != pid_) return false;
  if (WIFSTOPPED(status_))
    fetch_registers();
  else
    pid_ = -1;
  return true;
}

std::vector<std::byte> Tracee::extended_state() const {
  constexpr std::size_t kLargest = 16384;
  std::vector<std::byte> area(kLargest);
  iovec part{.iov_base = area.data(), .iov_len = area.size()};
  ptrace(PTRACE_GETREGSET, pid_, reinterpret_cast<void*>(NT_X86_XSTATE), &part);
  area.resize(part.iov_len);
  return area;
}

void Tracee::fetch_registers() { ptrace(PTRACE_GETREGS, pid_, nullptr, &registers_); }

/// sched_getaffinity answers as it would without the oracle.
void Tracee::show_all_processors(const Registers& before) {
  const auto bytes = static_cast<std::int64_t>(registers_.rax);
  if (before.rax != SYS_sched_getaffinity || bytes <= 0 || CPU_COUNT(&processors_) == 0) return;
  const std::size_t known = std::min(static_cast<std::size_t>(bytes), sizeof processors_);
  [[maybe_unused]] const ssize_t written = pwrite(memory_, &processors_, known, static_cast<off_t>(before.rdx));
}

/// Of the present image: an execve makes the descriptor useless.
Result<void> Tracee::open_memory() {
  const std::string path = "/proc/" + std::to_string(pid_) + "/mem";
  memory_ = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (memory_ < 0) return system_error(path);
  return {};
}

Result<void> Tracee::run_to_entry() {
  const auto ended = [] {
    return Error{"the runner ended before it reached the program's entry",
                 "a runner executes INT3 with rax = 5A45524F534B4944H, then jumps to the entry"};
  };
  int signal = 0;
  for (;;) {
    if (!resume_and_wait(PTRACE_CONT, signal)) return system_error("ptrace");
    if (!WIFSTOPPED(status_)) return ended();
    signal = WSTOPSIG(status_);
    if ((status_ >> 16) != 0) signal = 0;  // the runner executed itself anew
    if (signal == SIGTRAP && registers_.rax == kRunnerMagic) break;
  }
  if (auto result = open_memory(); !result) return result;
  const Decoder decoder;
  for (;;) {
    std::array<std::byte, 15> code{};
    const std::size_t readable = read_code(code);
    const auto next = decoder.decode({code.data(), readable});
    if (!step_by_trap_flag(next ? &*next : nullptr, 0)) return system_error("ptrace");
    if (!WIFSTOPPED(status_)) return ended();
    const int stop = WSTOPSIG(status_);
    if (stop == SIGSYS || stop == SIGSEGV) {  // its own calls are emulated already
      if (auto result = run_emulation(stop); !result) return result;
      continue;
    }
    if (next && next->facts.branch == arch::BranchKind::IndirectJump) break;
  }
  forget_the_trap_flag();  // the runner may have used POPF
  find_who_faults_on_clock();
  return {};
}

/// A runner that catches SIGSEGV when the program begins does so for RDTSC.
void Tracee::find_who_faults_on_clock() {
  static const bool can_fault = clock_can_fault();
  if (can_fault) return;
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  for (std::string word; status >> word;) {
    if (word != "SigCgt:") continue;
    std::uint64_t caught = 0;
    status >> std::hex >> caught;
    clock_needs_fault_ = (caught >> (SIGSEGV - 1) & 1) != 0;
    return;
  }
}

std::size_t Tracee::read_code(std::span<std::byte> into) const {
  const ssize_t n = pread(memory_, into.data(), into.size(), static_cast<off_t>(registers_.rip));
  return n < 0 ? 0 : static_cast<std::size_t>(n);
}

Result<void> Tracee::refuse(const std::string& what) const {
  return Error{what, "the oracle follows one thread of one program image"};
}

Result<void> Tracee::check_call(const Registers& before) const {
  constexpr std::uint64_t thread = CLONE_THREAD;
  if (before.rax == SYS_clone && (before.rdi & thread) != 0) return refuse("the program starts a thread (clone)");
  if (before.rax == SYS_clone3) {
    std::uint64_t flags = 0;
    if (pread(memory_, &flags, sizeof flags, static_cast<off_t>(before.rdi)) == sizeof flags && (flags & thread) != 0) {
      return refuse("the program starts a thread (clone3)");
    }
  }
  return {};
}

/// Where `next` leads, if that is certain, in this process, and no byte that `next` reads or writes.
std::optional<std::uint64_t> Tracee::successor(const Meaning& next) const {
  using arch::BranchKind;
  const std::uint64_t fall_through = registers_.rip + next.length;
  std::uint64_t target = fall_through;
  const auto read_target = [&](std::uint64_t address) {
    return pread(memory_, &target, sizeof target, static_cast<off_t>(address)) == sizeof target;
  };
  switch (next.facts.branch) {
    case BranchKind::None: break;
    case BranchKind::Far: return std::nullopt;
    case BranchKind::Conditional:
      if (condition_holds(next, registers_)) target += static_cast<std::uint64_t>(next.relative_target);
      break;
    case BranchKind::RelativeJump:
    case BranchKind::RelativeCall: target += static_cast<std::uint64_t>(next.relative_target); break;
    case BranchKind::IndirectJump:
    case BranchKind::IndirectCall:
      if (next.target_register != ZYDIS_REGISTER_NONE)
        target = register_value(next.target_register, registers_);
      else if (!read_target(address_of(next, next.operand[0], registers_).value_or(0)))
        return std::nullopt;
      break;
    case BranchKind::Return:
      if (!read_target(registers_.rsp)) return std::nullopt;
      break;
  }
  if (next.facts.branch != BranchKind::None && next.has_66_prefix) return std::nullopt;
  switch (next.mnemonic) {
    case ZYDIS_MNEMONIC_XBEGIN:
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_ENTER: return std::nullopt;
    default: break;
  }
  for (std::size_t i = 0; i < next.operands; ++i) {
    const MemoryOperand& operand = next.operand[i];
    const auto address = address_of(next, operand, registers_);
    if (!address) return std::nullopt;
    std::uint64_t reach = operand.bytes;    // both ways: a REP string instruction may go down
    if (operand.bytes > 64) reach = 16384;  // what xsave covers is known at run time only
    if (next.facts.rep_string) reach *= registers_.rcx;
    const std::uint64_t distance = *address > target ? *address - target : target - *address;
    if (distance < reach || reach > (std::uint64_t{1} << 40)) return std::nullopt;
  }
  return target == registers_.rip ? std::nullopt : std::optional(target);
}

/// PTRACE_SINGLESTEP over POPF or IRET makes the kernel take the trap flag for the program's own, and it would stay.
/// One stop by INT3 with the flag cleared, before the next instruction, makes it forget.
void Tracee::forget_the_trap_flag() {
  constexpr std::uint8_t int3 = 0xCC;
  std::uint8_t original = 0;
  const std::uint64_t here = registers_.rip;
  const auto at = static_cast<off_t>(here);
  if (pread(memory_, &original, 1, at) != 1 || pwrite(memory_, &int3, 1, at) != 1) return;
  registers_.eflags &= ~kTrapFlag;
  ptrace(PTRACE_SETREGS, pid_, nullptr, &registers_);
  if (!resume_and_wait(PTRACE_CONT, 0) || !WIFSTOPPED(status_)) return;
  [[maybe_unused]] const ssize_t restored = pwrite(memory_, &original, 1, at);
  if (WSTOPSIG(status_) != SIGTRAP) pending_signal_ = WSTOPSIG(status_);
  registers_.rip = here;
  ptrace(PTRACE_POKEUSER, pid_, offsetof(user_regs_struct, rip), here);
}

/// Some hypervisors (PVM) cannot resume a program whose rsp is not canonical: SIGSEGV. Nor is there a need to: the
/// instructions since rsp was, if they can be repeated, run again and end in the INT3 behind `next`.
/// returns whether the next resume begins there; registers() do not change
bool Tracee::rewind_to_canonical_stack(const Meaning* next) {
  const bool can_be_repeated = next != nullptr && next->mnemonic == ZYDIS_MNEMONIC_BSWAP;
  if (is_canonical(registers_.rsp)) {
    last_canonical_ = registers_;
    is_rewindable_ = can_be_repeated;
    return false;
  }
  const bool rewinds = std::exchange(is_rewindable_, is_rewindable_ && can_be_repeated) && next != nullptr &&
                       pending_signal_ == 0 && successor(*next);
  if (rewinds) ptrace(PTRACE_SETREGS, pid_, nullptr, &last_canonical_);
  return rewinds;
}

/// returns whether the whole instruction ran; if not, nothing has happened that step() could not take over from
bool Tracee::step_by_int3(const Meaning& next) {
  constexpr std::uint8_t int3 = 0xCC;
  const auto target = successor(next);
  std::uint8_t original = 0;
  if (!target || pread(memory_, &original, 1, static_cast<off_t>(*target)) != 1) return false;
  if (pwrite(memory_, &int3, 1, static_cast<off_t>(*target)) != 1) return false;
  const bool waited = resume_and_wait(PTRACE_CONT, 0);
  if (!waited || !WIFSTOPPED(status_)) return true;
  [[maybe_unused]] const ssize_t restored = pwrite(memory_, &original, 1, static_cast<off_t>(*target));
  if (WSTOPSIG(status_) == SIGTRAP && registers_.rip == *target + 1) {
    registers_.rip = *target;
    ptrace(PTRACE_POKEUSER, pid_, offsetof(user_regs_struct, rip), registers_.rip);
    return true;
  }
  pending_signal_ = WSTOPSIG(status_);  // a fault, or a signal from outside; step() passes it on
  return false;
}

/// PTRACE_SINGLESTEP, delivering `signal` before. Some hypervisors that emulate CPUID (PVM, a virtual machine in
/// another one, does) move the instruction pointer over it without raising the trap that the trap flag asks for: it
/// comes one instruction too late. So an INT3 waits behind CPUID. Where the trap is not lost, and where a signal or a
/// fault comes instead, the INT3 is never reached, and the stop is the one that it would have been without.
/// RDTSC, RDTSCP, XGETBV, RDRAND, RDPID, SGDT and SMSW keep their trap there.
bool Tracee::step_by_trap_flag(const Meaning* next, int signal) {
  constexpr std::uint8_t int3 = 0xCC;
  std::uint8_t original = 0;
  const bool may_lose_trap = next != nullptr && next->mnemonic == ZYDIS_MNEMONIC_CPUID;
  const std::uint64_t behind = may_lose_trap ? registers_.rip + next->length : 0;
  const auto at = static_cast<off_t>(behind);
  const bool guarded = may_lose_trap && pread(memory_, &original, 1, at) == 1 && pwrite(memory_, &int3, 1, at) == 1;
  if (!resume_and_wait(PTRACE_SINGLESTEP, signal)) return false;
  if (!guarded || !WIFSTOPPED(status_)) return true;
  [[maybe_unused]] const ssize_t restored = pwrite(memory_, &original, 1, at);
  if (WSTOPSIG(status_) == SIGTRAP && registers_.rip == behind + 1) {
    registers_.rip = behind;
    ptrace(PTRACE_POKEUSER, pid_, offsetof(user_regs_struct, rip), behind);
  }
  return true;
}

/// Runs the runner's handler of `signal` to the end of its rt_sigreturn.
Result<void> Tracee::run_emulation(int signal) {
  int deliver = signal;
  bool returning = false;
  for (;;) {
    if (!resume_and_wait(PTRACE_SYSCALL, deliver)) return system_error("ptrace");
    if (!WIFSTOPPED(status_)) return {};
    deliver = 0;
    const int stop = WSTOPSIG(status_);
    if (stop != kSyscallStop) {
      if ((status_ >> 16) == 0 && stop != SIGTRAP) deliver = stop;
      continue;
    }
    if (returning) return {};
    returning = registers_.orig_rax == SYS_rt_sigreturn;
  }
}

void Tracee::hide_the_trap_flag(const Meaning& executed) {
  switch (executed.mnemonic) {
    case ZYDIS_MNEMONIC_PUSHF:
    case ZYDIS_MNEMONIC_PUSHFD:
    case ZYDIS_MNEMONIC_PUSHFQ: {
      std::uint16_t image = 0;
      const auto at = static_cast<off_t>(registers_.rsp);
      if (pread(memory_, &image, sizeof image, at) != sizeof image || (image & kTrapFlag) == 0) return;
      image = static_cast<std::uint16_t>(image & ~kTrapFlag);
      [[maybe_unused]] const ssize_t written = pwrite(memory_, &image, sizeof image, at);
      return;
    }
    case ZYDIS_MNEMONIC_SYSCALL:
      if ((registers_.r11 & kTrapFlag) == 0) return;
      registers_.r11 &= ~kTrapFlag;
      ptrace(PTRACE_SETREGS, pid_, nullptr, &registers_);
      return;
    case ZYDIS_MNEMONIC_POPF:
    case ZYDIS_MNEMONIC_POPFQ:
    case ZYDIS_MNEMONIC_IRETQ: forget_the_trap_flag(); return;
    default: return;
  }
}

/// CPUID names the processor it runs on, as the engine does not: which one it is changes from run to run.
void Tracee::hide_the_processor(const Registers& before) {
  const auto leaf = static_cast<std::uint32_t>(before.rax);
  if (leaf == 1) registers_.rbx &= 0x00FF'FFFF;
  if (leaf == 0xB || leaf == 0x1F) registers_.rdx = 0;
  ptrace(PTRACE_SETREGS, pid_, nullptr, &registers_);
}

Result<Tracee::Outcome> Tracee::step(const Meaning* next) {
  const Registers before = registers_;
  const bool is_call = next != nullptr && next->mnemonic == ZYDIS_MNEMONIC_SYSCALL;
  if (is_call) {
    if (auto allowed = check_call(before); !allowed) return allowed.error();
  }
  if (clock_needs_fault_ && next != nullptr && reads_clock(next->mnemonic)) {
    if (auto result = run_emulation(SIGSEGV); !result) return result.error();
    return WIFSTOPPED(status_) ? Outcome::Executed : Outcome::Ended;
  }
  const bool rewinds = rewind_to_canonical_stack(next);
  const bool may_use_int3 = next != nullptr && (!hardware_steps_ || rewinds) && pending_signal_ == 0 &&
                            !(has_runner_ && may_be_emulated(next->mnemonic));
  const bool names_processor = next != nullptr && next->mnemonic == ZYDIS_MNEMONIC_CPUID;
  if (may_use_int3 && step_by_int3(*next)) {
    if (!WIFSTOPPED(status_)) return Outcome::Ended;
    if (names_processor) hide_the_processor(before);
    return Outcome::Executed;
  }
  for (;;) {
    const int signal = std::exchange(pending_signal_, 0);
    if (!step_by_trap_flag(next, signal)) return system_error("ptrace");
    if (!WIFSTOPPED(status_)) return Outcome::Ended;
    if ((status_ >> 16) == PTRACE_EVENT_EXEC) {
      if (auto refused = refuse("the program executes another one"); !refused) return refused.error();
    }
    const int stop = WSTOPSIG(status_);
    siginfo_t info{};
    ptrace(PTRACE_GETSIGINFO, pid_, nullptr, &info);

    if (stop == SIGTRAP && info.si_code == SIGTRAP) return Outcome::HandlerEntered;
    const bool ran_into_int3 = next != nullptr && next->mnemonic == ZYDIS_MNEMONIC_CPUID && info.si_code == SI_KERNEL;
    const bool stepped = stop == SIGTRAP && (info.si_code == TRAP_TRACE || info.si_code == TRAP_BRKPT || ran_into_int3);
    if (stepped) {
      if (next != nullptr) hide_the_trap_flag(*next);
      if (names_processor) hide_the_processor(before);
      if (is_call && wants_restart(registers_.rax)) ++restarted_calls_;
      if (is_call) show_all_processors(before);
      return Outcome::Executed;
    }
    const bool emulated = has_runner_ && next != nullptr &&
                          ((stop == SIGSYS && is_call && info.si_code == kUserDispatch) ||
                           (stop == SIGSEGV && may_be_emulated(next->mnemonic)));
    if (emulated) {
      if (auto result = run_emulation(stop); !result) return result.error();
      if (!WIFSTOPPED(status_)) return Outcome::Ended;
      hide_the_trap_flag(*next);
      if (is_call) show_all_processors(before);
      return Outcome::Executed;
    }
    // The program's own signal: pass it on with the next resume. A trap instruction has retired, and a system call that
    // sends SIGTRAP hides the report of its own step.
    pending_signal_ = stop;
    if (stop == SIGTRAP && registers_.rip != before.rip) return Outcome::Executed;
  }
}

}  // namespace zs::oracle
