#include "engine/engine.h"

#include <sys/mman.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/check.h"
#include "engine/host_stack.h"
#include "engine/kernel/shared_tables.h"
#include "engine/raw_syscall.h"
#include "engine/runtime.h"

namespace zs::engine {
namespace {

constexpr std::size_t kMainStackBytes = 1 << 20;
[[noreturn]] void give_up(const Error& error, int status) {
  std::fprintf(stderr, "zeroskid: %s\n", error.message.c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "hint: %s\n", error.hint.c_str());
  raw_syscall(SYS_exit_group, status);
  __builtin_unreachable();
}

ProgramConfig program_config(const Config& config) {
  ProgramConfig wanted;
  wanted.path = config.program;
  wanted.exec_name = config.exec_name;
  wanted.argv = config.argv;
  wanted.envp = config.envp;
  wanted.seed = config.seed;
  wanted.vdso = config.vdso;
  return wanted;
}

}  // namespace

Runtime::Runtime(const Config& config, Observer& observer, const ProgramPlan& plan)
    : config_(config),
      observer_(observer),
      window_(plan.layout.engine.start, config.code_cache_bytes, config.first_private_fd),
      context_(window_.context()),
      map_(plan.layout, !config.native_load),
      clock_(config.random_seed.value_or(config.seed)) {
  CHECK(Window::bytes_needed(config.code_cache_bytes) <= plan.layout.engine.size());
  instance = this;
}

void Runtime::start(ProgramPlan plan) {
  int status = 126;
  auto loaded = load_program(plan, map_, status);
  if (!loaded) give_up(loaded.error(), status);
  program_ = std::move(*loaded);
  { const ProgramPlan done = std::move(plan); }  // closes its descriptors
  AddressRange fixed_code{};
  for (const GuestMapping& mapping : program_.mappings) {
    if (mapping.start >= map_.layout().low.start || (mapping.prot & PROT_EXEC) == 0) continue;
    fixed_code = fixed_code.empty()
                     ? mapping.range()
                     : AddressRange{std::min(fixed_code.start, mapping.start), std::max(fixed_code.end, mapping.end)};
  }
  if (const AddressRange table = window_.map_direct_table(fixed_code); !table.empty()) map_.reserve(table);

  threads_.push_back(std::make_unique<Thread>());
  Thread& thread = *threads_.back();
  thread_ = &thread;
  thread.id.pid = static_cast<std::int32_t>(raw_syscall(SYS_getpid));
  thread.id.tid = static_cast<std::int32_t>(raw_syscall(SYS_gettid));
  thread.id.parent_pid = static_cast<std::int32_t>(raw_syscall(SYS_getppid));
  thread.id.parent_tid = thread.id.parent_pid;
  if (config_.virtual_ids) first_pid_ = config_.first_pid != 0 ? config_.first_pid : thread.id.pid;
  if (SharedTables* const shared = SharedTables::map(config_.shared_tables); shared != nullptr) {
    process_ids_.attach(&shared->ids);
    if (config_.inherit) turns_.attach(&shared->turns);
  }
  if (first_pid_ == thread.id.pid) first_parent_ = thread.id.parent_pid;
  thread.process = std::make_shared<Process>();
  thread.process->pid = thread.id.pid;
  thread.process->parent_pid = thread.id.parent_pid;
  thread.process->seat = turns_.sit(thread.id.pid);
  thread.pc = program_.entry;
  lock_.acquire(thread);
  raw_syscall(SYS_prctl, PR_SET_NAME, program_.comm.c_str());

  if (config_.native_load) run_native();
  announce_thread(thread);
  observer().renamed(shown(thread.id), program_.comm, true);
  for (const GuestMapping& mapping : program_.mappings) report_mapping(mapping.start, mapping.end - mapping.start);
  adopt_lanes(thread.cpu);
  TranslationOptions options;
  options.max_instructions = config_.max_block_instructions;
  options.virtual_time = config_.virtual_time;
  options.form = form_;
  options.count_elements = count_elements_;
  options.addresses = models_;
  options.risks = risks_;
  options.wants_retirements = cuts_ && form_ != TraceForm::Budget;
  options.logs = logs_;
  options.brakes = has_lahf() &&
                   (risks_ != 0 || std::ranges::any_of(units_, [](std::uint32_t unit) { return unit != 0; })) &&
                   (form_ != TraceForm::Budget || config_.max_block_instructions <= TranslationOptions::kMostBraked);
  if (form_ == TraceForm::Budget && options.brakes) window_.bias_pointer();
  stubs_ = generate_stubs(window_, &dispatch_entry);
  if (form_ == TraceForm::Budget) window_.use_budget_view();
  translator_ = std::make_unique<Translator>(window_, stubs_, *this, *lanes_, units_, options);
  map_.listen(this);

  std::memset(&context_, 0, sizeof context_);
  CHECK(kXsaveOffset + xsave_bytes() <= kPassedOffset, xsave_bytes());
  context_.waits = lock_.first_waiting();
  context_.flags = 0x202;
  context_.mark_note = window_.notes_begin();
  context_.gpr[kRsp] = program_.stack_pointer;
  constexpr std::uint32_t kDefaultMxcsr = 0x1F80;
  context_.host_mxcsr = kDefaultMxcsr;
  auto* area = reinterpret_cast<std::byte*>(&context_) + kXsaveOffset;
  std::memcpy(area + 24, &kDefaultMxcsr, 4);
  std::byte* const stack = map_host_stack(kMainStackBytes);
  CHECK(stack != nullptr);
  thread.host_rsp = reinterpret_cast<std::uint64_t>(stack) + kMainStackBytes - 64;
  map_signal_block(thread);
  // No signal may find the handlers installed and the thread not ready for them; run_thread() lets them in.
  const std::uint64_t everything = ~std::uint64_t{0};
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &everything, &thread.mask, 8);
  if (config_.signal_mask) thread.mask = *config_.signal_mask;
  install_handlers();
  run_thread();
}

void run(const Config& config, Observer& observer) {
  int status = 126;
  auto plan = plan_program(program_config(config), status);
  if (!plan) give_up(plan.error(), status);
  auto* runtime = new Runtime(config, observer, *plan);  // lives as long as the process
  runtime->start(std::move(*plan));
}

}  // namespace zs::engine
