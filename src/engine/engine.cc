#include "engine/engine.h"

#include <sys/mman.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/check.h"
#include "base/own_image.h"
#include "base/room_for_descriptors.h"
#include "engine/account/accountant.h"
#include "engine/dispatcher.h"
#include "engine/host_stack.h"
#include "engine/kernel/calls/call_handlers.h"
#include "engine/kernel/calls/native_load.h"
#include "engine/kernel/calls/seccomp.h"
#include "engine/kernel/guest_kernel.h"
#include "engine/kernel/threads/thread_stacks.h"
#include "engine/kernel/virtual_time/shared_tables.h"
#include "engine/loader/shown_process.h"
#include "engine/memory/guest_access.h"
#include "engine/memory/populate.h"
#include "engine/memory/store_key.h"
#include "engine/raw_syscall.h"
#include "engine/run.h"

namespace zs::engine {
namespace {

// The running engine. One per process. Everything here happens under the engine lock, on the running thread's engine
// stack, unless a comment says otherwise.

class Runtime {
 public:
  Runtime(const Config& config, Observer& observer, const ProgramPlan& plan);
  /// Loads the program into this address space and runs it, with the limit on descriptors that was there before
  /// `descriptors`.
  [[noreturn]] void start(ProgramPlan plan, const MemoryLimits& limits, RoomForDescriptors& descriptors);

 private:
  void load(ProgramPlan plan);
  void keep_off_poison();
  void begin_first_thread(const MemoryLimits& limits);
  void begin_context();

  Run run_;
  Accountant accountant_{run_};
  GuestKernel kernel_;
  Dispatcher dispatcher_;
  NativeLoad native_{kernel_};
};

constexpr std::size_t kMainStackBytes = 1 << 20;
[[noreturn]] void give_up(const Error& error, int status) {
  std::fprintf(stderr, "zeroskid: %s\n", error.message.c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "hint: %s\n", error.hint.c_str());
  raw_syscall(SYS_exit_group, status);
  __builtin_unreachable();
}

/// Whether the translated code may be where it has to be, and the program's.
Result<void> check_room(const ElfImage& program, AddressRange range) {
  const long at = raw_syscall(SYS_mmap, range.start, range.size(), PROT_READ | PROT_WRITE | PROT_EXEC,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);
  if (!is_error(at)) raw_syscall(SYS_munmap, at, range.size());
  const bool is_this_one =
      !program.position_independent && program.extent.contains(reinterpret_cast<std::uint64_t>(&__ehdr_start));
  if (at == -EEXIST || is_this_one) {
    return Error{.message = "the addresses that translated code needs are taken: zeroskid does not run inside itself",
                 .hint = "record what the inner zeroskid runs, without it"};
  }
  if (at == -EACCES || at == -EPERM) {
    return Error{
        .message = "memory that is both written and executed is denied here (" +
                   std::string(std::strerror(static_cast<int>(-at))) + "), and translated code needs it",
        .hint = "PR_SET_MDWE (systemd: MemoryDenyWriteExecute), a seccomp filter or SELinux's execmem does so"};
  }
  if (at != -ENOMEM) return {};
  return Error{.message = "the limits on memory (ulimit -v or -d) leave no room for translated code: it needs " +
                          std::to_string(range.size() >> 10) + " KiB of addresses besides the program's",
               .hint = "set the limit as a soft one (ulimit -S -v): it applies to the program alone"};
}

ProgramConfig program_config(const Config& config) {
  ProgramConfig wanted;
  wanted.path = config.program;
  wanted.exec_name = config.exec_name;
  wanted.argv = config.argv;
  wanted.envp = config.envp;
  wanted.seed = config.seed;
  wanted.cpu_level = config.cpu_level;
  wanted.placement = config.placement;
  wanted.vdso = config.vdso;
  return wanted;
}

}  // namespace

Runtime::Runtime(const Config& config, Observer& observer, const ProgramPlan& plan)
    : run_(config, observer, plan), kernel_(run_, accountant_, dispatcher_), dispatcher_(run_, accountant_, kernel_) {
  run_.code = &kernel_.code;
}

void Runtime::load(ProgramPlan plan) {
  int status = 126;
  run_.map.publish(shown_code());
  keep_off_poison();
  auto loaded = load_program(plan, run_.map, status);
  if (!loaded) give_up(loaded.error(), status);
  run_.program = std::move(*loaded);
  show_process(run_.program, plan.program, run_.config.executable_fd());
  { const ProgramPlan done = std::move(plan); }  // closes its descriptors
  AddressRange fixed_code{};
  for (const GuestMapping& mapping : run_.program.mappings) {
    if (mapping.start >= run_.map.layout().low.start || (mapping.prot & PROT_EXEC) == 0) continue;
    fixed_code = fixed_code.empty()
                     ? mapping.range()
                     : AddressRange{std::min(fixed_code.start, mapping.start), std::max(fixed_code.end, mapping.end)};
  }
  DirectTable& table = run_.code_cache->direct_table();
  if (const AddressRange part = table.map(fixed_code, run_.map.layout().engine.start); !part.empty())
    run_.map.reserve(part);
  if (table.bias() != 0) keep_off_poison();
  run_.map.reserve_until_wanted(table.range());
  keep_guest_access_from_tool(run_.map);
}

// Neither the program nor the entries of its code in the direct table.
void Runtime::keep_off_poison() {
  for (const std::uint64_t address : kPoison) {
    run_.map.avoid(run_.code_cache->direct_table().code_of(address));
    run_.map.avoid({page_down(address), page_down(address) + kPageSize});
  }
  // What is left between those lies behind the entries that a call can ask the host for ahead of its return.
  if (run_.code_cache->direct_table().bias() == 0) run_.map.avoid({0x1bad'0000, 0x2002'0000});
}

void Runtime::begin_first_thread(const MemoryLimits& limits) {
  run_.threads.push_back(std::make_unique<Thread>());
  Thread& thread = *run_.threads.back();
  run_.thread = &thread;
  thread.id.pid = static_cast<std::int32_t>(raw_syscall(SYS_getpid));
  thread.id.tid = static_cast<std::int32_t>(raw_syscall(SYS_gettid));
  thread.id.parent_pid = static_cast<std::int32_t>(raw_syscall(SYS_getppid));
  thread.id.parent_tid = thread.id.parent_pid;
  if (run_.config.virtual_ids) {
    const std::int32_t first = run_.config.first_pid != 0 ? run_.config.first_pid : thread.id.pid;
    run_.ids.begin(first, first == thread.id.pid ? thread.id.parent_pid : 0);
  }
  if (SharedTables* const shared = SharedTables::map(run_.config.shared_tables); shared != nullptr) {
    run_.ids.others().attach(&shared->ids);
    if (run_.config.inherit) kernel_.process_turns.attach(&shared->turns);
  }
  thread.process = std::make_shared<Process>();
  thread.process->pid = thread.id.pid;
  thread.process->parent_pid = thread.id.parent_pid;
  thread.process->limits = limits;
  thread.process->seat = kernel_.process_turns.sit(thread.id.pid);
  for (const std::string& word : run_.config.call_filters)
    thread.filters.set.push_back(std::make_shared<const CallFilter>(filter_of(word)));
  thread.pc = run_.program.entry;
  run_.lock.acquire(thread);
}

void Runtime::begin_context() {
  std::memset(&run_.context, 0, sizeof run_.context);
  CHECK(kXsaveOffset + xsave_bytes() <= kPassedOffset, xsave_bytes());
  run_.context.waits = run_.lock.first_waiting();
  run_.context.flags = 0x202;
  run_.context.probe_note = run_.trace().notes_begin();
  run_.context.gpr[kRsp] = run_.program.stack_pointer;
  constexpr std::uint32_t kDefaultMxcsr = 0x1F80;
  run_.context.host_mxcsr = kDefaultMxcsr;
  begin_state(reinterpret_cast<std::byte*>(&run_.context) + kXsaveOffset);
}

void Runtime::start(ProgramPlan plan, const MemoryLimits& limits, RoomForDescriptors& descriptors) {
  run_.recording.copies_by([this](std::uint64_t from, std::span<std::byte> into) {
    return run_.copy(from, into.data(), from, into.size());
  });
  load(std::move(plan));
  begin_first_thread(limits);
  if (run_.config.native_load) {
    descriptors.lower();
    native_.run();
  }
  Thread& thread = *run_.thread;
  kernel_.recorded.announce(thread);
  run_.observer().renamed(run_.ids.shown(thread.id), run_.program.comm, true);
  for (const GuestMapping& mapping : run_.program.mappings) calls::report_mappings(kernel_, mapping.range());
  accountant_.phases.begin([](const CodeCache& of) { return generate_stubs(of, &dispatch_entry); });
  accountant_.core.begin(thread);
  run_.map.code().listen(&kernel_.code);
  kernel_.cache.begin();
  for (const GuestMapping& mapping : run_.program.mappings) kernel_.cache.mapped(mapping.range());
  accountant_.probes.drop_probed();

  begin_context();
  std::byte* const stack = map_host_stack(kMainStackBytes);
  CHECK(stack != nullptr);
  thread.host_rsp = reinterpret_cast<std::uint64_t>(stack) + kMainStackBytes - 64;
  constexpr std::uint64_t kUsedSoon = 4 * kPageSize;
  populate({thread.host_rsp - kUsedSoon, thread.host_rsp}, Populate::ForWriting);
  map_signal_block(thread);
  // No signal may find the handlers installed and the thread not ready for them; run_thread() lets them in.
  const std::uint64_t everything = ~std::uint64_t{0};
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &everything, &thread.mask, 8);
  if (run_.config.signal_mask) thread.mask = *run_.config.signal_mask;
  kernel_.signals.install_handlers();
  occupy_descriptors(run_.config.first_private_fd, run_.config.executable_fd(), run_.config.executable_fd());
  descriptors.lower();
  kernel_.threads.run_thread();
}

void run(const Config& config, Observer& observer) {
  int status = 126;
  RoomForDescriptors descriptors;
  auto plan = plan_program(program_config(config), status);
  if (!plan) give_up(plan.error(), status);
  MemoryLimits limits;
  limits.lift();
  if (auto room = check_room(
          plan->program.elf,
          {plan->layout.engine.start, plan->layout.code_cache() + CodeCache::bytes_needed(config.code_cache_bytes)});
      !room)
    give_up(room.error(), kToolFailed);
  auto* runtime = new Runtime(config, observer, *plan);  // lives as long as the process
  runtime->start(std::move(*plan), limits, descriptors);
}

}  // namespace zs::engine
