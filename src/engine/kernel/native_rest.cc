#include "engine/kernel/native_rest.h"

#include <sys/syscall.h>
#include <time.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "engine/kernel/guest_kernel.h"
#include "engine/kernel/threads/restartable_sequences.h"
#include "engine/loader/shown_process.h"
#include "engine/memory/real_maps.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

/// What /proc/PID/status says behind `name`, "State:\t" say; "": nothing.
std::string status_of(const std::string& pid, const char* name) {
  const std::string status = read_whole_file(("/proc/" + pid + "/status").c_str());
  const std::size_t at = status.find(name);
  return at == std::string::npos ? "" : status.substr(at + std::strlen(name));
}

}  // namespace

bool is_traced() { return std::atoi(status_of("self", "TracerPid:\t").c_str()) != 0; }

bool NativeRest::is_translated(std::int32_t tid) const {
  return shown_executable("/proc/" + std::to_string(tid) + "/exe", kernel_.run.config.executable_fd()).has_value();
}

void NativeRest::want() {
  Process& process = *kernel_.run.thread->process;
  const bool by_program = is_translated(process.parent_pid) || is_traced();
  process.leaves = by_program && !process.vfork_child && kernel_.run.threads.size() == 1;
}

// It answers by no longer having what only translated processes have, and by the mask of the program: the engine holds
// all signals back until rt_sigreturn has put the program's registers where a tracer looks. A call in which it slept is
// made anew behind that, and is where the tracer finds it.
bool NativeRest::ask(std::int32_t tid) {
  const std::string pid = std::to_string(tid);
  const std::string state = status_of(pid, "State:\t");
  if (!is_translated(tid) || state.starts_with('T')) return true;
  const bool slept = state.starts_with('S');
  const auto on_its_way = [&] {
    return is_translated(tid) || std::strtoull(status_of(pid, "SigBlk:\t").c_str(), nullptr, 16) == ~kNeverBlocked ||
           (slept && status_of(pid, "State:\t").starts_with('R'));
  };
  if (std::atoi(status_of(pid, "Threads:\t").c_str()) == 1) {  // a call of others would be interrupted for nothing
    siginfo_t request{};
    request.si_signo = SIGTRAP;
    request.si_code = kAsksToRunNatively;
    if (is_error(raw_syscall(SYS_rt_sigqueueinfo, tid, SIGTRAP, &request))) return true;  // so the kernel says why not
    constexpr timespec kShort{.tv_sec = 0, .tv_nsec = 50'000};
    for (int i = 0; i < 5000 && on_its_way(); ++i) raw_syscall(SYS_nanosleep, &kShort, nullptr);
    if (!is_translated(tid)) return true;
  }
  kernel_.run.observer().notice(
      "a translated process with several threads, or in the memory of another one, cannot be "
      "traced: the program's ptrace was answered EPERM");
  return false;
}

void NativeRest::begin_if_asked() {
  Run& run = kernel_.run;
  Thread& thread = *run.thread;
  Process& process = *thread.process;
  if (!process.leaves) return;
  if (process.vfork_child || run.threads.size() != 1 || thread.dispatch.on) {
    process.leaves = false;
    return;
  }
  if (!kernel_.gate.hold()) return;
  run.observer().notice("process " + std::to_string(run.ids.shown(process.pid)) +
                        " is traced by another program: it runs natively from here on, and is not counted");
  kernel_.threads.keep_translations();
  kernel_.recorded.forget(thread);
  kernel_.process_turns.end(std::exchange(process.seat, 0), process.pid);
  kernel_.turns.let_go_of_processors();
  kernel_.gate.give_back_sent();
  forget_sequences(run);
  run.map.become_native();
  process.limits.put_back();
  kernel_.exec.bind_native_image();
  raw_syscall(SYS_close_range, run.config.first_private_fd, run.config.executable_fd(), 0);
  kernel_.signals.go_on_natively();
}

}  // namespace zs::engine
