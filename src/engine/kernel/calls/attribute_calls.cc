// Calls by which a process changes or binds itself: prctl and its kin, row by row of process_attributes.h; Landlock;
// seals of memory.

#include <asm/prctl.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <string>

#include "engine/kernel/calls/call_handlers.h"
#include "engine/kernel/calls/process_attributes.h"
#include "engine/kernel/guest_kernel.h"
#include "engine/memory/guest_access.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

Outcome set_name(GuestKernel& kernel, const CallArguments& made) {
  const long result = kernel.host.call(made);
  char name[17] = "";
  read_guest(made.u(1), name, 16);
  name[15] = 0;
  if (result == 0) kernel.run.observer().renamed(kernel.run.shown(), name, false);
  return {result};
}

Outcome set_base(GuestKernel& kernel, const CallArguments& made) {
  Run& run = kernel.run;
  const std::uint64_t base = made.u(1);
  if (base >= kTaskSize) return {-EPERM};
  if (made.i32(0) == ARCH_SET_FS) {
    run.set_fs_base(base);
    run.context.fs_selector = 0;
  } else {
    run.context.gs_base = base;
    run.context.gs_selector = 0;
  }
  return {0};
}

Outcome get_base(GuestKernel& kernel, const CallArguments& made) {
  Run& run = kernel.run;
  const std::uint64_t& base = made.i32(0) == ARCH_GET_FS ? run.context.fs_base : run.context.gs_base;
  return {run.write(made.u(1), &base, sizeof base) == sizeof base ? 0 : -EFAULT};
}

Outcome get_tsc(GuestKernel& kernel, const CallArguments& made) {
  const int mode = kernel.run.thread->rdtsc_faults ? PR_TSC_SIGSEGV : PR_TSC_ENABLE;
  return {kernel.run.write(made.u(1), &mode, sizeof mode) == sizeof mode ? 0 : -EFAULT};
}

Outcome set_mdwe(GuestKernel& kernel, const CallArguments& made) {
  constexpr int kGetMdwe = 66;
  // Where the kernel does not know it, it says so.
  if (const long known = raw_syscall(SYS_prctl, kGetMdwe, 0, 0, 0, 0); is_error(known)) return {kernel.host.call(made)};
  if (made.u(2) != 0 || made.u(3) != 0 || made.u(4) != 0) return {-EINVAL};
  return {kernel.run.map.exec_gain().set(made.u(1))};
}

Outcome get_mdwe(GuestKernel& kernel, const CallArguments& made) {
  const long known = kernel.host.call(made);
  return {is_error(known) ? known : known | static_cast<long>(kernel.run.map.exec_gain().bits())};
}

/// What runs the programs that this one executes has to start in the sandbox, too: its own file, and no other.
/// source: Linux, uapi/linux/landlock.h
void allow_runner(long ruleset) {
  constexpr std::uint64_t kExecute = 1, kReadFile = 4;
  constexpr int kPathBeneath = 1;
  const long runner = raw_syscall(SYS_open, "/proc/self/exe", O_PATH | O_CLOEXEC);
  if (is_error(runner)) return;
  // One at a time, since a right that the ruleset does not handle is an error.
  for (const std::uint64_t right : {kExecute, kReadFile}) {
    struct [[gnu::packed]] {
      std::uint64_t allowed;
      std::int32_t parent;
    } const rule{right, static_cast<std::int32_t>(runner)};
    raw_syscall(SYS_landlock_add_rule, ruleset, kPathBeneath, &rule, 0);
  }
  raw_syscall(SYS_close, runner);
}

constexpr auto always = [](std::uint64_t) { return true; };
constexpr auto if_zero = [](std::uint64_t argument) { return argument == 0; };

// Numbers, because no libc's headers have all of them.
// source: Linux 6.18, uapi/linux/prctl.h, uapi/asm/prctl.h, uapi/linux/seccomp.h
// clang-format off
constexpr ProcessAttribute kAttributes[] = {
    {SYS_prctl, 15, "PR_SET_NAME", set_name},
    {SYS_prctl, 22, "PR_SET_SECCOMP", calls::set_seccomp},
    // The engine itself asks the processor for the time.
    {SYS_prctl, 25, "PR_GET_TSC", get_tsc},
    {SYS_prctl, 26, "PR_SET_TSC", calls::set_tsc},
    {SYS_prctl, 35, "PR_SET_MM", calls::set_mm},
    {SYS_prctl, 59, "PR_SET_SYSCALL_USER_DISPATCH", calls::set_dispatch},
    // The engine's memory has to be written and executed, here and in what this process executes.
    {SYS_prctl, 65, "PR_SET_MDWE", set_mdwe},
    {SYS_prctl, 66, "PR_GET_MDWE", get_mdwe},
    {SYS_arch_prctl, ARCH_SET_GS, "ARCH_SET_GS", set_base},
    {SYS_arch_prctl, ARCH_SET_FS, "ARCH_SET_FS", set_base},
    {SYS_arch_prctl, ARCH_GET_FS, "ARCH_GET_FS", get_base},
    {SYS_arch_prctl, ARCH_GET_GS, "ARCH_GET_GS", get_base},
    // As where the processor cannot do it: the engine itself asks what the processor is.
    {SYS_arch_prctl, 0x1012, "ARCH_SET_CPUID", nullptr, if_zero, -ENODEV, "CPUID that faults"},
    // Addresses with something else in their upper bits: where the processor knows them, the engine does not.
    {SYS_arch_prctl, 0x4002, "ARCH_ENABLE_TAGGED_ADDR", nullptr, always, -ENODEV, "linear address masking"},
    // The engine's own returns would be compared with it. As on a processor without it.
    {SYS_arch_prctl, 0x5001, "ARCH_SHSTK_ENABLE", nullptr, always, -EOPNOTSUPP},
    {SYS_seccomp, 0, "SECCOMP_SET_MODE_STRICT", calls::set_seccomp},
    {SYS_seccomp, 1, "SECCOMP_SET_MODE_FILTER", calls::set_seccomp},
};
// clang-format on

}  // namespace

const ProcessAttribute* process_attribute(long call, int kind) {
  const auto* const found = std::ranges::find_if(
      kAttributes, [&](const ProcessAttribute& each) { return each.call == call && each.kind == kind; });
  return found != std::end(kAttributes) ? found : nullptr;
}

namespace calls {

Outcome attribute(GuestKernel& kernel, const CallArguments& made) {
  const ProcessAttribute* const row = process_attribute(made.number, made.i32(0));
  if (row == nullptr) return {kernel.host.call(made)};
  if (row->answer != nullptr) return row->answer(kernel, made);
  if (!row->refused(made.u(1))) return {kernel.host.call(made)};
  if (row->what[0] != '\0') {
    kernel.run.observer().notice(std::string(row->what) + " is not supported under translation: the program's " +
                                 call_of(made.number).name + "(" + row->name + ") was answered " +
                                 strerrorname_np(static_cast<int>(-row->error)));
  }
  return {row->error};
}

Outcome set_tsc(GuestKernel& kernel, const CallArguments& made) {
  const int mode = made.i32(1);
  if (mode != PR_TSC_ENABLE && mode != PR_TSC_SIGSEGV) return {-EINVAL};
  kernel.run.thread->rdtsc_faults = mode == PR_TSC_SIGSEGV;
  if (mode == PR_TSC_SIGSEGV) {
    kernel.code.step_rdtsc();
    kernel.cache.stop();  // others run it at full speed
  }
  return {0};
}

Outcome landlock_restrict_self(GuestKernel& kernel, const CallArguments& made) {
  allow_runner(made.a[0]);
  return {kernel.host.call(made)};
}

// The protection of pages that are both written and executed changes with their translations.
Outcome mseal(GuestKernel& kernel, const CallArguments& made) {
  constexpr std::uint32_t kBoth = PROT_WRITE | PROT_EXEC;
  const AddressRange range{made.u(0), made.u(0) + page_up(made.u(1))};
  if (range.empty() || range.end > kTaskSize) return {kernel.host.call(made)};
  for (const GuestMapping& each : kernel.run.map.mappings().pieces(range)) {
    if ((each.prot & kBoth) != kBoth) continue;
    kernel.run.observer().notice(
        "seals of memory that is both written and executed are not supported under translation: the program's mseal "
        "was answered ENOSYS");
    return {-ENOSYS};
  }
  return {kernel.host.call(made)};
}

// Its returns would be compared with a stack that the engine does not keep. As on a processor without it.
Outcome map_shadow_stack(GuestKernel&, const CallArguments&) { return {-EOPNOTSUPP}; }

}  // namespace calls
}  // namespace zs::engine
