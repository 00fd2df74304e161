#include "engine/kernel/exec.h"

#include <fcntl.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "engine/kernel/calls/seccomp.h"
#include "engine/kernel/native_rest.h"
#include "engine/loader/held_environment.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

/// As execve wants them: ends with a null pointer. Holds as long as `strings` does.
std::vector<const char*> pointers_to(const std::vector<std::string>& strings) {
  std::vector<const char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& each : strings) pointers.push_back(each.c_str());
  pointers.push_back(nullptr);
  return pointers;
}

/// The runner by its name, or as what runs here: the program may have changed its root, or what is mounted.
long start_runner(const std::vector<const char*>& arguments, const std::vector<const char*>& environment) {
  const long result = raw_syscall(SYS_execve, arguments[0], arguments.data(), environment.data());
  if (result != -ENOENT && result != -EACCES && result != -ENOTDIR) return result;
  return raw_syscall(SYS_execve, "/proc/self/exe", arguments.data(), environment.data());
}

/// Whether the runner's file is what may not be executed, by a sandbox that the program has made or was put into.
bool is_refusal(long result) {
  return result == -EACCES || result == -EPERM || result == -ENOENT || result == -ENOTDIR;
}

}  // namespace

// A program that is not followed must not inherit any. returns those that another image would, as bits from the first
unsigned Exec::keep_own_descriptors() const {
  unsigned inherited = 0;
  for (int i = 0; i < kPrivateDescriptors; ++i) {
    const int fd = parts_.run.config.first_private_fd + i;
    if (raw_syscall(SYS_fcntl, fd, F_GETFD) == 0 && raw_syscall(SYS_fcntl, fd, F_SETFD, FD_CLOEXEC) == 0)
      inherited |= 1u << i;
  }
  return inherited;
}

void Exec::pass_on_own_descriptors(unsigned which) const {
  for (int i = 0; i < kPrivateDescriptors; ++i) {
    if ((which >> i & 1u) != 0) raw_syscall(SYS_fcntl, parts_.run.config.first_private_fd + i, F_SETFD, 0);
  }
}

// What the engine has kept from the kernel, a program that is not followed has to have from it.
void Exec::bind_native_image() const {
  constexpr int kSetMdwe = 65;
  bind_by_filters(*parts_.run.thread);
  if (parts_.run.thread->rdtsc_faults) raw_syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
  const std::uint64_t denied = parts_.run.map.exec_gain().inherited_bits();
  if (denied == 0) return;
  if (parts_.run.thread->process->vfork_child)  // it has the memory of its parent, which goes on
    parts_.run.observer().notice("what this program executes natively is not denied memory by PR_SET_MDWE");
  else
    raw_syscall(SYS_prctl, kSetMdwe, denied, 0, 0, 0);
}

// How the engine is called for a new image that is followed, in front of the program's own arguments.
std::vector<std::string> Exec::words_for(const ExecDecision& decision) {
  std::vector<std::string> words = parts_.run.config.exec_prefix;
  const std::vector<std::string> more = parts_.run.observer().words_for_next_image();
  words.insert(words.end(), more.begin(), more.end());
  char mask[24];
  std::snprintf(mask, sizeof mask, "%llx", static_cast<unsigned long long>(parts_.run.thread->mask));
  words.push_back("--signal-mask");
  words.push_back(mask);
  if (const std::uint64_t denied = parts_.run.map.exec_gain().inherited_bits(); denied != 0) {
    words.push_back("--mdwe");
    words.push_back(std::to_string(denied));
  }
  for (const auto& filter : parts_.run.thread->filters.set) {
    words.push_back("--call-filter");
    words.push_back(word_of(*filter));
  }
  words.push_back("--random-seed");
  words.push_back(std::to_string(parts_.clock.random()));
  if (decision.exec_name != decision.load_path) {
    words.push_back("--exec-name");
    words.push_back(decision.exec_name);
  }
  words.push_back(decision.load_path);
  return words;
}

long Exec::call(ExecRequest request) {
  Run& run = parts_.run;
  Thread& thread = *run.thread;
  request.pid = run.ids.shown(thread.process->pid);
  request.own_exe = run.program.exe_path;
  const ExecDecision decision = check_exec(request);
  if (decision.kind == ExecDecision::Kind::Fail) return decision.error;
  run.lock.let_go(thread);  // it would be inherited
  const bool traced = is_traced();
  const bool follow = decision.kind == ExecDecision::Kind::Follow && !traced && thread.process->recorded &&
                      !run.config.exec_prefix.empty() && !thread.rdtsc_faults;
  const auto say_why_not = [&](const std::string& reason) {
    run.observer().notice("not followed: " + decision.resolved_path + ": " + reason);
  };
  if (!follow)
    say_why_not(traced                ? "it is traced by another program"
                : thread.rdtsc_faults ? "RDTSC faults there (PR_SET_TSC)"
                                      : decision.reason);
  const long result = start(request, decision, follow);
  if (!follow || !is_refusal(result)) return result;
  say_why_not(std::string("what follows programs may not be executed here (") +
              std::strerror(static_cast<int>(-result)) + ")");
  return start(request, decision, false);
}

long Exec::start(const ExecRequest& request, const ExecDecision& decision, bool follow) {
  Run& run = parts_.run;
  Thread& thread = *run.thread;
  std::vector<std::string> words;
  if (follow) words = words_for(decision);
  words.insert(words.end(), decision.argv.begin(), decision.argv.end());
  std::vector<std::string> variables = decision.envp;
  if (follow) std::transform(variables.begin(), variables.end(), variables.begin(), held);
  const std::vector<const char*> arguments = pointers_to(words), environment = pointers_to(variables);

  threads_.keep_translations();
  parts_.recorded.end_all();
  parts_.gate.queue_for_next_image();
  parts_.signals.install_for_next_image(follow);
  unsigned kept = 0;
  if (!follow) {
    parts_.process_turns.end(std::exchange(thread.process->seat, 0), 0);
    raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &thread.mask, nullptr, 8);
    kept = keep_own_descriptors();
  }
  thread.process->limits.put_back();
  // A vfork child takes the lock with it into the new image unless it gives it up.
  const bool borrowed = thread.process->vfork_child;
  if (borrowed) parts_.turns.give_up();
  if (!follow) bind_native_image();
  // A program that is not followed gets what the caller gave; a tracer sees the call that was made.
  const auto* const program_path =
      decision.native_path.empty() ? reinterpret_cast<const char*>(request.path) : decision.native_path.c_str();
  const long result =
      follow ? start_runner(arguments, environment)
      : request.dirfd == AT_FDCWD && request.flags == 0
          ? raw_syscall(SYS_execve, program_path, request.argv, request.envp)
          : raw_syscall(SYS_execveat, request.dirfd, program_path, request.argv, request.envp, request.flags);
  // Still here.
  if (thread.rdtsc_faults) raw_syscall(SYS_prctl, PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
  thread.process->limits.lift();
  const std::uint64_t everything = ~std::uint64_t{0};
  if (!follow) {
    pass_on_own_descriptors(kept);
    raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &everything, nullptr, 8);
  }
  if (borrowed) parts_.turns.come_back(thread);
  parts_.signals.install_again();
  parts_.gate.let_others_take_signals();
  parts_.recorded.announce(thread);
  return result;
}

}  // namespace zs::engine
