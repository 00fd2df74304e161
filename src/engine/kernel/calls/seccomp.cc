#include "engine/kernel/calls/seccomp.h"

#include <sys/prctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>

#include "engine/kernel/calls/call_handlers.h"
#include "engine/kernel/guest_kernel.h"
#include "engine/kernel/threads/syscall_window.h"
#include "engine/raw_syscall.h"

// Of the linker: where code of the engine lies.
extern "C" {
extern const char __executable_start;  // NOLINT(bugprone-reserved-identifier,readability-identifier-naming)
extern const char etext;               // NOLINT(readability-identifier-naming)
}

namespace zs::engine {
namespace {

constexpr sock_filter kAllow{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};

/// In front of a filter: calls that the engine makes are allowed.
std::array<sock_filter, 7> engine_allowed() {
  constexpr std::uint32_t kLow = offsetof(seccomp_data, instruction_pointer), kHigh = kLow + 4;
  const auto begin = reinterpret_cast<std::uint64_t>(&__executable_start),
             end = reinterpret_cast<std::uint64_t>(&etext);
  const auto high = [](std::uint64_t address) { return static_cast<std::uint32_t>(address >> 32); };
  return {{{BPF_LD | BPF_W | BPF_ABS, 0, 0, kLow},
           {BPF_ALU | BPF_SUB | BPF_K, 0, 0, static_cast<std::uint32_t>(begin)},
           {BPF_JMP | BPF_JGT | BPF_K, 4, 0, static_cast<std::uint32_t>(end - begin)},
           {BPF_LD | BPF_W | BPF_ABS, 0, 0, kHigh},
           {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, high(begin)},
           {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, high(end)},
           kAllow}};
}

long set_filter(std::uint64_t flags, CallFilter filter, bool readable) {
  const sock_fprog program{static_cast<unsigned short>(filter.size()), readable ? filter.data() : nullptr};
  return raw_syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

std::uint32_t computed(unsigned operation, std::uint32_t a, std::uint32_t operand) {
  switch (operation) {
    case BPF_ADD: return a + operand;
    case BPF_SUB: return a - operand;
    case BPF_MUL: return a * operand;
    case BPF_DIV: return a / operand;
    case BPF_AND: return a & operand;
    case BPF_OR: return a | operand;
    case BPF_XOR: return a ^ operand;
    case BPF_LSH: return a << (operand & 31);
    case BPF_RSH: return a >> (operand & 31);
    default: return -a;  // BPF_NEG
  }
}

bool holds(unsigned comparison, std::uint32_t a, std::uint32_t operand) {
  switch (comparison) {
    case BPF_JEQ: return a == operand;
    case BPF_JGT: return a > operand;
    case BPF_JGE: return a >= operand;
    default: return (a & operand) != 0;  // BPF_JSET
  }
}

std::uint32_t loaded(const sock_filter& insn, const std::uint32_t* memory, const seccomp_data& data) {
  std::uint32_t word = insn.k;
  switch (BPF_MODE(insn.code)) {
    case BPF_ABS: std::memcpy(&word, reinterpret_cast<const std::byte*>(&data) + insn.k, sizeof word); return word;
    case BPF_LEN: return sizeof data;
    case BPF_MEM: return memory[insn.k];
    default: return word;  // BPF_IMM
  }
}

/// Of the running thread: of its process, if it has no other, with a core.
Outcome end_caller(GuestKernel& kernel, const siginfo_t& info, const std::function<void()>& retire) {
  const Process* const process = kernel.run.thread->process.get();
  const auto of_process = [&](const auto& thread) { return thread->process.get() == process; };
  const bool alone = std::ranges::count_if(kernel.run.threads, of_process) == 1;
  if (!alone && !kernel.gate.hold()) return {kInterruptedBeforeStart};
  retire();
  if (alone) kernel.signals.die_of(info.si_signo, info);
  kernel.threads.exit_thread(info.si_signo);
}

}  // namespace

// source: Linux, kernel/seccomp.c: seccomp_check_filter(); net/core/filter.c: bpf_convert_filter()
std::uint32_t run_filter(const CallFilter& filter, const seccomp_data& data) {
  std::uint32_t a = 0, x = 0, memory[BPF_MEMWORDS] = {};
  for (std::size_t at = 0;; ++at) {
    const sock_filter& insn = filter[at];
    const std::uint32_t operand = BPF_SRC(insn.code) == BPF_X ? x : insn.k;
    switch (BPF_CLASS(insn.code)) {
      case BPF_LD: a = loaded(insn, memory, data); break;
      case BPF_LDX: x = loaded(insn, memory, data); break;
      case BPF_ST: memory[insn.k] = a; break;
      case BPF_STX: memory[insn.k] = x; break;
      case BPF_ALU:
        if (BPF_OP(insn.code) == BPF_DIV && operand == 0) return 0;
        a = computed(BPF_OP(insn.code), a, operand);
        break;
      case BPF_JMP:
        if (BPF_OP(insn.code) == BPF_JA)
          at += insn.k;
        else
          at += holds(BPF_OP(insn.code), a, operand) ? insn.jt : insn.jf;
        break;
      case BPF_RET: return BPF_RVAL(insn.code) == BPF_A ? a : insn.k;
      default: (BPF_MISCOP(insn.code) == BPF_TAX ? x : a) = BPF_MISCOP(insn.code) == BPF_TAX ? a : x; break;
    }
  }
}

// source: Linux, kernel/seccomp.c: __secure_computing_strict(), seccomp_run_filters(), __seccomp_filter()
std::optional<Outcome> refused_by_filters(GuestKernel& kernel, long number, const seccomp_data& data,
                                          const std::function<void()>& retire) {
  const CallFilters& filters = kernel.run.thread->filters;
  if (filters.strict) {
    constexpr long kAllowed[] = {SYS_read, SYS_write, SYS_exit, SYS_rt_sigreturn};
    if (std::ranges::find(kAllowed, number) != std::end(kAllowed)) return std::nullopt;
    siginfo_t killed{};
    killed.si_signo = SIGKILL;
    return end_caller(kernel, killed, retire);
  }
  const auto rank = [](std::uint32_t answer) { return static_cast<std::int32_t>(answer & SECCOMP_RET_ACTION_FULL); };
  std::uint32_t chosen = SECCOMP_RET_ALLOW;
  for (const auto& filter : filters.set) {  // of equal ones, the last one's
    const std::uint32_t answer = run_filter(*filter, data);
    if (rank(answer) <= rank(chosen)) chosen = answer;
  }
  constexpr std::uint32_t kLargestError = 4095;
  constexpr int kBySeccomp = 1;
  siginfo_t info = told_of_call(data, kBySeccomp);
  info.si_errno = static_cast<int>(chosen & SECCOMP_RET_DATA);
  switch (chosen & SECCOMP_RET_ACTION_FULL) {
    case SECCOMP_RET_ALLOW:
    case SECCOMP_RET_LOG: return std::nullopt;
    case SECCOMP_RET_ERRNO:  // also one that the kernel itself uses for calls to be made again
      kernel.run.gpr(kRax) =
          static_cast<std::uint64_t>(-static_cast<long>(std::min(chosen & SECCOMP_RET_DATA, kLargestError)));
      return Outcome{0, false};
    case SECCOMP_RET_TRACE:
    case SECCOMP_RET_USER_NOTIF: return Outcome{-ENOSYS};  // nobody listens
    case SECCOMP_RET_TRAP: kernel.signals.force(SIGSYS, info); return Outcome{0, false};
    case SECCOMP_RET_KILL_THREAD: return end_caller(kernel, info, retire);
    default: retire(); kernel.signals.die_of(SIGSYS, info);
  }
}

siginfo_t told_of_call(const seccomp_data& call, int code) {
  siginfo_t info{};
  info.si_signo = SIGSYS;
  info.si_code = code;
  info.si_call_addr = reinterpret_cast<void*>(call.instruction_pointer);
  info.si_syscall = call.nr;
  info.si_arch = call.arch;
  return info;
}

void bind_by_filters(const Thread& thread) {
  const auto allowed = engine_allowed();
  for (const auto& filter : thread.filters.set) {
    CallFilter whole(allowed.begin(), allowed.end());
    whole.insert(whole.end(), filter->begin(), filter->end());
    set_filter(0, std::move(whole), true);
  }
}

std::string word_of(const CallFilter& filter) {
  std::string word;
  for (const sock_filter& insn : filter) {
    char text[17];
    std::snprintf(text, sizeof text, "%04x%02x%02x%08x", insn.code, insn.jt, insn.jf, insn.k);
    word += text;
  }
  return word;
}

CallFilter filter_of(const std::string& word) {
  constexpr std::size_t kDigits = 16;
  CallFilter filter;
  for (std::size_t at = 0; at + kDigits <= word.size(); at += kDigits) {
    const std::uint64_t insn = std::strtoull(word.substr(at, kDigits).c_str(), nullptr, 16);
    filter.push_back({static_cast<__u16>(insn >> 48), static_cast<__u8>(insn >> 40), static_cast<__u8>(insn >> 32),
                      static_cast<__u32>(insn)});
  }
  return filter;
}

namespace calls {

// By prctl or by seccomp, whose operations are one less than the modes, and which has flags.
Outcome set_seccomp(GuestKernel& kernel, const CallArguments& made) {
  Run& run = kernel.run;
  Thread& thread = *run.thread;
  const bool by_prctl = made.number == SYS_prctl;
  const std::uint64_t mode = by_prctl ? made.u(1) : (made.u(0) & UINT32_MAX) + 1;
  const std::uint64_t flags = by_prctl ? 0 : made.u(1) & UINT32_MAX;
  if (mode == SECCOMP_MODE_STRICT) {
    if (!by_prctl && (flags != 0 || made.u(2) != 0)) return {-EINVAL};
    if (raw_syscall(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0) != 0) return {-EINVAL};
    thread.filters.strict = true;
    constexpr long kFault[6] = {PR_SET_TSC, PR_TSC_SIGSEGV};
    return set_tsc(kernel, {SYS_prctl, kFault});
  }
  if (mode != SECCOMP_MODE_FILTER) return {-EINVAL};
  sock_fprog asked{};
  if (run.read(made.u(2), &asked, sizeof asked) != sizeof asked)
    return {raw_syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, nullptr)};
  // Libraries ask without a program whether the kernel knows these flags.
  const bool too_long = asked.len > BPF_MAXINSNS - engine_allowed().size() && asked.len <= BPF_MAXINSNS;
  if (too_long || (flags & SECCOMP_FILTER_FLAG_NEW_LISTENER) != 0) {
    const std::string what =
        too_long ? "a seccomp filter of more than 4089 instructions" : "seccomp's user notification";
    run.observer().notice(what + " is not supported under translation: the program's was answered EINVAL");
    return {-EINVAL};
  }
  CallFilter filter(asked.len);
  const std::size_t bytes = filter.size() * sizeof filter[0];
  const bool readable = run.read(reinterpret_cast<std::uint64_t>(asked.filter), filter.data(), bytes) == bytes;
  CallFilter to_check = filter;
  if (!filter.empty()) to_check.insert(to_check.begin(), kAllow);
  const long result = set_filter(flags, std::move(to_check), readable);
  if (result != 0) return {result};
  thread.filters.set.push_back(std::make_shared<const CallFilter>(std::move(filter)));
  for (const auto& other : run.threads) {
    if ((flags & SECCOMP_FILTER_FLAG_TSYNC) != 0 && other->process == thread.process) other->filters = thread.filters;
  }
  return {0};
}

}  // namespace calls
}  // namespace zs::engine
