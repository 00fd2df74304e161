// prctl(PR_SET_MM): a process says where its arguments, environment, code and heap are, by which others see it in
// /proc. The kernel is told the same, but for the heap: to it that is the tool's, to the program the engine's answer.

#include <linux/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <cerrno>
#include <string>

#include "engine/kernel/calls/call_handlers.h"
#include "engine/kernel/guest_kernel.h"
#include "engine/loader/shown_process.h"
#include "engine/raw_syscall.h"

namespace zs::engine::calls {
namespace {

long prctl_mm(long field, std::uint64_t value, std::uint64_t size = 0) {
  return raw_syscall(SYS_prctl, PR_SET_MM, field, value, size, 0);
}

void read_auxiliary_vector(Run& run, std::uint64_t at, std::uint64_t size) {
  std::string vector(size, '\0');
  if (run.read(at, vector.data(), size) == size) run.program.auxv = std::move(vector);
}

/// As the kernel checks it. data: bytes of the program's data segment
bool can_be_heap(const Run& run, AddressRange heap, std::uint64_t data) {
  constexpr std::uint64_t kLowest = 0x10000;  // vm.mmap_min_addr as every distribution sets it
  const std::uint64_t limit = run.thread->process->limits.of(RLIMIT_DATA).rlim_cur;
  return heap.start >= kLowest && heap.end < kTaskSize && heap.start <= heap.end &&
         (limit == RLIM_INFINITY || heap.size() + data <= limit);
}

long set_heap_field(Run& run, const CallArguments& made) {
  const AddressRange tools = own_heap();
  const bool start = made.u(1) == PR_SET_MM_START_BRK;
  // Whether it may, which the kernel says of what is so already.
  if (made.u(3) != 0 || made.u(4) != 0) return -EINVAL;
  if (const long result = prctl_mm(made.a[1], start ? tools.start : tools.end); is_error(result)) return result;
  const AddressRange heap{start ? made.u(2) : run.map.brk_start(), start ? run.map.brk_end() : made.u(2)};
  if (!can_be_heap(run, heap, 0)) return -EINVAL;
  run.map.set_brk(heap);
  return 0;
}

long set_all_fields(Run& run, const CallArguments& made) {
  prctl_mm_map wanted{};
  if (made.u(3) != sizeof wanted || made.u(4) != 0) return -EINVAL;
  if (run.read(made.u(2), &wanted, sizeof wanted) != sizeof wanted) return -EFAULT;
  const AddressRange tools = own_heap();
  // Where the heap begins a program can only know from /proc/self/stat, which is the kernel's.
  const std::uint64_t start = wanted.start_brk == tools.start ? run.map.brk_start() : wanted.start_brk;
  const AddressRange heap{start, wanted.brk};
  if (!can_be_heap(run, heap, wanted.end_data - wanted.start_data)) return -EINVAL;
  prctl_mm_map shown = wanted;
  shown.start_brk = tools.start;
  shown.brk = tools.end;
  if (const long result = prctl_mm(PR_SET_MM_MAP, reinterpret_cast<std::uint64_t>(&shown), sizeof shown);
      is_error(result))
    return result;
  run.program.arguments = {wanted.arg_start, wanted.arg_end};
  run.program.environment = {wanted.env_start, wanted.env_end};
  if (wanted.auxv_size != 0) read_auxiliary_vector(run, reinterpret_cast<std::uint64_t>(wanted.auxv), wanted.auxv_size);
  run.map.set_brk(heap);
  return 0;
}

}  // namespace

// Another executable (PR_SET_MM_EXE_FILE) the kernel refuses as long as the one that runs is mapped, and ours is.
Outcome set_mm(GuestKernel& kernel, const CallArguments& made) {
  Run& run = kernel.run;
  LoadedProgram& program = run.program;
  switch (made.i32(1)) {
    case PR_SET_MM_MAP: return {set_all_fields(run, made)};
    case PR_SET_MM_START_BRK:
    case PR_SET_MM_BRK: return {set_heap_field(run, made)};
    default: break;
  }
  const long result = kernel.host.call(made);
  if (is_error(result)) return {result};
  switch (made.i32(1)) {
    case PR_SET_MM_ARG_START: program.arguments.start = made.u(2); break;
    case PR_SET_MM_ARG_END: program.arguments.end = made.u(2); break;
    case PR_SET_MM_ENV_START: program.environment.start = made.u(2); break;
    case PR_SET_MM_ENV_END: program.environment.end = made.u(2); break;
    case PR_SET_MM_AUXV: read_auxiliary_vector(run, made.u(2), made.u(3)); break;
    default: break;
  }
  return {result};
}

}  // namespace zs::engine::calls
