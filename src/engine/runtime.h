// The running engine: dispatcher, accounting, signals, system calls, threads. One per process.
// Everything here happens under the engine lock, on the running thread's engine stack, unless a comment says otherwise.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/account/accountant.h"
#include "engine/cache/translation_cache.h"
#include "engine/kernel/futex_waiters.h"
#include "engine/kernel/process_turns.h"
#include "engine/kernel/shared_tracing.h"
#include "engine/kernel/signal_frame.h"
#include "engine/kernel/virtual_clock.h"
#include "engine/run.h"

namespace zs::engine {

std::uint64_t dispatch_entry(Context* context);
void signal_entry(int signal, siginfo_t* info, void* ucontext);
void thread_entry(Thread* thread);
void native_signal_entry(int signal, siginfo_t* info, void* ucontext);

struct Call;

class Runtime final : public CodeSource, public CodeListener {
 public:
  Runtime(const Config& config, Observer& observer, const ProgramPlan& plan);
  /// Loads the program into this address space and runs it.
  [[noreturn]] void start(ProgramPlan plan, const MemoryLimits& limits);

  static Runtime* instance;  // for signal handlers and stubs

 private:
  friend std::uint64_t dispatch_entry(Context* context);
  friend void signal_entry(int signal, siginfo_t* info, void* ucontext);
  friend void thread_entry(Thread* thread);
  friend void native_signal_entry(int signal, siginfo_t* info, void* ucontext);

  // ---- dispatcher (dispatcher.cc)
  std::uint64_t dispatch();
  void leave_block(std::uint32_t& link_from);
  void trap_behind_step();
  std::uint32_t last_appended() const;  // the exit that translated code appended last
  std::uint32_t exit_at(std::uint64_t record_address) const;
  std::uint64_t resume(std::uint32_t link_from);
  std::uint64_t choose(std::uint32_t link_from);
  bool is_far(const Allowance& allowed) const;
  std::uint64_t turn_bytes() const;
  std::uint64_t approach(std::uint64_t distance, std::uint32_t link_from);
  std::uint64_t stretch(const Allowance& allowed);
  void allow_passes();
  std::uint64_t leave_near(const Allowance& allowed);
  void link_behind_stop(std::uint32_t& link_from);
  void leave_stop();
  void retell_stops();
  void forget_stops();
  static void give_back(const InsnMeta& meta, std::uint64_t (&gprs)[16], std::uint64_t slot_map,
                        std::uint64_t slot_far);
  void handle_exit(const Exit& exit);
  void raise_software_trap(const Exit& exit);
  /// What an instruction of Flow::Emulated encodes: without a memory operand.
  struct EmulatedForm {
    explicit EmulatedForm(const Insn& insn);
    std::uint8_t opcode;                // behind 0FH
    unsigned extension = 0;             // ModRM.reg
    Gpr reg = kRax;                     // ModRM.rm
    bool wide = false, repeat = false;  // REX.W, F3H
  };
  void emulate(const Exit& exit);
  bool emulate_segment_base(const EmulatedForm& form, std::uint64_t pc);
  void set_fs_base(std::uint64_t base);
  [[noreturn]] void refuse(std::uint64_t pc);

  // ---- memory of the program (dispatcher.cc)
  std::span<const std::uint8_t> fetch(std::uint64_t pc) override;
  Mark mark(const Insn& insn) override { return accountant_.marks.at(insn); }
  bool may_change_unseen(std::uint64_t pc) override;
  void translated(std::uint64_t page) override;
  void code_changed(std::uint64_t start, std::uint64_t end) override;
  void give_way() override;
  bool handle_code_write(std::uint64_t address);

  // ---- memory that somebody else has to give (memory_waits.cc)
  void note_awaited_memory(long number, const long (&a)[6], long result);
  bool is_awaited(std::uint64_t address) const;
  void wait_for_operands();
  void wait_for_arguments(long number, const long (&a)[6]);
  void touch_without_lock(AddressRange range, bool write);

  // ---- signals (signals.cc)
  void install_handlers();
  void install(int signal, const KernelSigaction& action);
  bool hold_signals();
  void settle_mask();
  void give_back_signal();
  void queue_signals_for_next_image();
  void let_others_take_signals();
  void on_signal(int signal, siginfo_t* info, void* ucontext);  // async-signal-safe, no TLS
  bool deliver_waiting();
  void deliver(int signal, const siginfo_t& info, const Fault* fault);
  bool push_frame(int signal, const siginfo_t& info, const KernelSigaction& action, const Fault* fault);
  void raise_fault(int signal, int code, std::uint64_t address, std::uint64_t trap, std::uint64_t error_code = 0);
  [[noreturn]] void die_of(int signal, const siginfo_t& info);
  void let_kernel_deliver(int signal, const siginfo_t& info);
  KernelUcontext saved_registers() const;
  std::vector<std::byte> saved_xstate() const;
  long sys_rt_sigaction(int signal, std::uint64_t action, std::uint64_t old, std::uint64_t size);
  long sys_rt_sigprocmask(int how, std::uint64_t set, std::uint64_t old, std::uint64_t size);
  long sys_sigaltstack(std::uint64_t stack, std::uint64_t old);
  void sys_rt_sigreturn();
  void deliver_sent();
  void map_signal_block(Thread& thread);
  bool on_alternate_stack(std::uint64_t sp) const;

  // ---- system calls (syscalls.cc)
  void handle_syscall(const Exit& exit);
  struct Outcome {
    long result = 0;
    bool set_result = true;  // false: registers are already as they must be (rt_sigreturn)
  };
  Outcome do_syscall(long number, const long (&a)[6]);
  Outcome answer(long number, const long (&a)[6]);
  long pass_on(long number, const long (&a)[6]);
  bool keeps_turn(long number, const long (&a)[6]) const;
  long sys_execve(int dirfd, std::uint64_t path, std::uint64_t argv, std::uint64_t envp, int flags);
  void close_own_descriptors_on_exec(bool close) const;
  long sys_prctl(const long (&a)[6]);
  long sys_perf_event_open(const long (&a)[6]);
  long sys_limits(long number, const long (&a)[6]);
  bool call_vsyscall(std::uint64_t pc);
  long sys_arch_prctl(const long (&a)[6]);
  void report_mapping(std::uint64_t address, std::uint64_t length);

  // ---- what would show the engine (proc_calls.cc)
  std::optional<long> proc_syscall(long number, const long (&a)[6]);
  bool is_private(long fd) const;
  std::optional<long> descriptor_syscall(long number, const long (&a)[6]);
  long sys_getdents64(const long (&a)[6]);
  void note_write_to_own_memory(long number, const long (&a)[6], long written);
  void note_shorter_file(long number, const long (&a)[6], long result);

  // ---- system calls under --virtual-time (virtual_calls.cc)
  Outcome in_virtual_time(long number, const long (&a)[6]);
  Outcome wait_in_virtual_time(const Call& call, const long (&a)[6]);
  void hide_host(long number, const long (&a)[6], long result);
  std::optional<long> virtual_syscall(long number, const long (&a)[6]);
  long write_random(std::uint64_t address, std::uint64_t size);

  // ---- turns of processes under --virtual-time (turn_calls.cc)
  long call_in_turn(Thread& thread, long number, const long (&a)[6]);
  void compute_in_turn(Thread& thread);
  long read_in_turn(Thread& thread, long number, const long (&a)[6]);
  long write_in_turn(Thread& thread, long number, const long (&a)[6]);
  long wait_for_child_in_turn(Thread& thread, long number, const long (&a)[6]);
  long poll_in_turn(Thread& thread, long number, const long (&a)[6]);
  long suspend_in_turn(Thread& thread, const long (&a)[6]);
  long call_outside(Thread& thread, long number, const long (&a)[6]);
  bool await_ready(Thread& thread, long fd, short events);
  bool idles(Thread& thread);
  static long interrupted(const Thread& thread, bool restarts);

  // ---- process ids under --virtual-time (id_calls.cc)
  Outcome in_shown_ids(long number, const long (&a)[6]);

  // ---- futexes (futex.cc)
  std::optional<long> sys_futex(const long (&a)[6]);
  long wait_at(FutexWaiters::Key key, const long (&a)[6]);
  long sleep_until_turn(Thread& thread, const long (&a)[6]);
  void end_turn();
  std::uint32_t wake_at(FutexWaiters::Key key, std::uint32_t most, std::uint32_t bits);
  void clear_thread_word(Thread& thread);
  void leave_robust_list(const Thread& thread);

  // ---- threads and processes (threads.cc)
  long sys_clone(std::uint64_t flags, std::uint64_t stack, std::uint64_t parent_tid, std::uint64_t child_tid,
                 std::uint64_t tls);
  long sys_clone3(std::uint64_t args, std::uint64_t size);
  long fork_process(std::uint64_t flags, std::uint64_t stack, std::uint64_t parent_tid, std::uint64_t child_tid,
                    std::uint64_t tls);
  [[noreturn]] void exit_thread(int status);
  [[noreturn]] void exit_process(int status);
  void end_all_threads();
  void keep_translations();  // for later processes: this image is about to end
  void announce_thread(Thread& thread);
  void forget_thread(Thread& thread);
  [[noreturn]] void run_thread();
  void prepare_to_wait();
  void give_up_lock();          // saves the Context, lets others run
  void give_up_lock_to_wait();  // the same, where nothing runs until another thread of the program says so
  void yield();                 // lets others run, and comes back
  void let_go_of_processors();
  void reclaim_stacks();
  void forget_dead_processes();
  void save_context(Thread& thread);
  void load_context(Thread& thread);

  // ---- untranslated, for the oracle (native_load.cc)
  [[noreturn]] void run_native();
  void native_signal(int signal, siginfo_t* info, void* ucontext);

  Run run_;
  Accountant accountant_{run_};
  SharedTracing tracing_{run_};
  TranslationCache cache_{run_};
  FutexWaiters waiters_;
  /// Turns that threads have ended: with --virtual-time what limits of waits at futexes are measured in.
  std::uint64_t turns_ended_ = 0;
  std::int64_t limit_of_wait_ = 0;  // nanoseconds, of the wait that is about to begin
  VirtualClock clock_;
  ProcessTurns turns_;
  struct EngineStacks {
    void* stack;
    void* signals;
    std::int32_t tid;
  };
  std::vector<AddressRange> awaited_;  // registered with a userfaultfd
  std::vector<EngineStacks> spare_stacks_;
  std::vector<std::unique_ptr<Thread>> dead_;  // killed: who waits for the lock may still look at them
  std::vector<EngineStacks> retiring_;         // of threads that may still be on them
  std::uint64_t latest_core_time_ = 0;         // of threads that gave their turn away
  bool quantum_over_ = false;
  bool translates_anew_ = false;  // what was translated must not run any more
  bool told_of_perf_events_ = false;
  bool writes_own_memory_ = false;  // it may, through a descriptor of /proc/self/mem
  /// The instruction in a block of Variant::Near behind which a sample was taken; block kNone: elsewhere.
  struct {
    std::uint32_t block = kNone;
    std::uint16_t index = 0;
    std::uint64_t pc = 0;
  } stopped_;
  std::uint64_t far_lookup_ = 0;    // cache address of a direct lookup that left its table
  std::uint64_t private_page_ = 0;  // page whose write protection is lifted for one step
  bool fetch_shared_ = false;
  AddressRange fetch_range_{};              // last executable mapping fetched from
  std::array<std::uint8_t, 16> fetched_{};  // what was fetched last
  std::atomic<bool> tripped_{false};        // the trace is unmapped so that the next append faults
  std::atomic<bool> entering_{false};       // past the last look at `pending` before translated code runs
};

}  // namespace zs::engine
