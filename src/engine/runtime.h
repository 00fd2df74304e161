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

#include "engine/account/core_paths.h"
#include "engine/account/stepped_insns.h"
#include "engine/kernel/engine_lock.h"
#include "engine/kernel/futex_waiters.h"
#include "engine/kernel/process_ids.h"
#include "engine/kernel/process_turns.h"
#include "engine/kernel/signal_frame.h"
#include "engine/kernel/virtual_clock.h"
#include "engine/loader/program.h"
#include "engine/memory/guest_map.h"
#include "engine/observer.h"
#include "engine/thread.h"
#include "engine/translate/code_bound.h"
#include "engine/translate/code_cache.h"
#include "engine/translate/code_marks.h"
#include "engine/translate/lanes.h"
#include "engine/translate/stubs.h"
#include "engine/translate/translator.h"

namespace zs::engine {

/// Descriptors [Config::first_private_fd, +8) are the tool's.
inline constexpr int kPrivateDescriptors = 8;

std::uint64_t dispatch_entry(Context* context);
void signal_entry(int signal, siginfo_t* info, void* ucontext);
void thread_entry(Thread* thread);
void native_signal_entry(int signal, siginfo_t* info, void* ucontext);

/// A block of Variant::Logged, to go through again: how each instruction changes the registers.
struct LoggedBlock {
  struct LoggedInsn {
    std::uint64_t pc;
    std::int64_t delta;  // InsnSlots
    arch::InsnFacts facts;
    std::int8_t target, source;  // likewise
    std::uint8_t flags;          // likewise
    std::uint8_t stores;
    bool taken;  // on the block's way
  };
  std::vector<LoggedInsn> insns;
  std::vector<InsnSlots::Store> stores;  // of one instruction behind those of the other
  std::uint32_t first_path = 0;  // of those that its instructions are alone (Runtime::step_through); 0: none yet
};

/// One execution of such a block, or of its beginning.
struct LoggedPath {
  const LoggedBlock& block;
  std::uint32_t index = kNone;  // of the block
  unsigned instructions = 0;
  bool leaves = false, leaves_taken = false;  // by its last instruction, a branch that the block follows the other way
  const std::uint64_t* slots = nullptr;
  std::uint64_t next = 0;  // where the program went on

  bool taken(std::size_t at) const { return at + 1 == instructions && leaves ? leaves_taken : block.insns[at].taken; }
  std::uint64_t next_of(std::size_t at) const { return at + 1 == instructions ? next : block.insns[at + 1].pc; }
};

/// What was drained of the trace: the exits that its records name, oldest first.
struct Records {
  std::span<std::uint32_t> stored;
  std::optional<std::uint32_t> extra;  // behind them, of TraceForm::Records: one that was not stored

  std::size_t size() const { return stored.size() + (extra ? 1 : 0); }
  std::uint32_t operator[](std::size_t at) const { return at < stored.size() ? stored[at] : *extra; }
};

struct WaitingCall;

class Runtime final : public CodeSource, public CodeListener {
 public:
  Runtime(const Config& config, Observer& observer, const ProgramPlan& plan);
  /// Loads the program into this address space and runs it.
  [[noreturn]] void start(ProgramPlan plan);

  static Runtime* instance;  // for signal handlers and stubs

 private:
  friend std::uint64_t dispatch_entry(Context* context);
  friend void signal_entry(int signal, siginfo_t* info, void* ucontext);
  friend void thread_entry(Thread* thread);
  friend void native_signal_entry(int signal, siginfo_t* info, void* ucontext);

  /// Whom to tell about the running thread: the recording, or nobody.
  Observer& observer() const;

  struct Allowance {
    std::uint64_t records = UINT64_MAX;       // TraceForm::Records, Spaced: words of trace
    std::uint64_t instructions = UINT64_MAX;  // instructions that may run unobserved
    std::uint64_t budget = UINT64_MAX;        // TraceForm::Budget: events before the pointer must hit the guard
  };

  // ---- dispatcher (dispatcher.cc)
  std::uint64_t dispatch();
  void leave_block(std::uint32_t& link_from);
  std::uint32_t last_appended() const;  // the exit that translated code appended last
  std::uint32_t exit_at(std::uint64_t record_address) const;
  std::uint64_t resume(std::uint32_t link_from);
  std::uint64_t choose(std::uint32_t link_from);
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
  std::uint64_t& gpr(Gpr reg) { return context_.gpr[reg]; }
  arch::RegisterFile registers() const { return register_file(context_.gpr, context_.flags, thread_->pc); }
  static arch::RegisterFile register_file(const std::uint64_t (&gprs)[16], std::uint64_t flags, std::uint64_t ip);

  // ---- the way to an overflow, interpreted (interpreted.cc)
  /// Whether that has not been done often from there, or `distance` is 0: the next instruction overflows. Counts it.
  bool is_worth_interpreting(std::uint64_t pc, std::uint64_t distance);
  /// Runs instructions: `distance` of them up to the overflow, that one and what is recorded of it, and those up to where a translation
  /// begins. returns whether it has run any
  bool run_interpreted(std::uint64_t distance);

  // ---- accounting (accounting.cc)
  void adopt_lanes(const VirtualCpu& cpu);
  Allowance allowance() const;
  bool is_far(const Allowance& allowed) const;
  void drain(std::optional<std::uint32_t> extra_exit);
  Records recorded(std::uint64_t start, std::uint64_t end, std::optional<std::uint32_t> extra);
  void drain_elements();
  void count(std::span<const std::uint64_t> events);
  void enter_branches(const Records& records, std::size_t from, std::size_t to);
  void enter_branch(const arch::TakenBranch& branch);
  void begin_step(bool tell_core);
  void retire_step(bool taken);
  void count_up_to_overflow();
  void retire_alone(const Insn& insn, bool taken, std::uint64_t next, const std::uint64_t (&gprs)[16],
                    std::uint64_t flags);
  void retire_behind(std::uint64_t pc, std::uint64_t next, const std::uint64_t (&gprs)[16], std::uint64_t flags);
  void retire_branch(std::uint64_t pc, const std::uint64_t (&gprs)[16], std::uint64_t flags);
  const Insn& insn_alone(std::uint64_t pc);
  static arch::Retired retired_alone(const Insn& insn);
  void tell_pmus(const arch::Retired& retired, const arch::RegisterFile& after);
  void take_pmi(const arch::RegisterFile& after);
  std::uint64_t effective_address(const MemoryOperand& operand, std::uint64_t next_pc) const;

  // ---- a core model that runs along (core_feeding.cc)
  arch::SlotValues slot_values(const std::uint64_t* slots) const;
  CorePaths::Path core_path(std::uint32_t exit_id);
  /// Tells the core of runs. Returns whether it has.
  using PlayRuns = std::function<bool(std::span<const arch::PathRun> runs, const arch::SlotValues& values)>;
  void begin_runs(std::size_t most);
  void note_run(std::size_t at, std::uint32_t exit, std::uint32_t slots);
  bool run_core(std::size_t records, std::size_t from, std::size_t to, const PlayRuns& play);
  void run_core_into(const Block& block, unsigned instructions, std::uint64_t next);
  void settle_if_asked();
  void count_modelled(std::span<const std::uint32_t> ids, std::size_t from, std::size_t to);
  void add_signals(std::span<std::uint64_t> sums);
  void count_signals();
  void settle_core(Thread& thread);
  static std::uint64_t core_time_of(const Thread& thread);
  Thread* next_by_core_time();
  void runs_after_this(Thread& woken);
  void begin_core_step(StepInProgress& step);
  void run_core_step(bool taken, std::uint64_t next);
  void tell_of_core(arch::Retired& retired) const;
  std::uint64_t element_address(const MemoryOperand& operand, std::uint64_t index) const;
  void list_lines(const Access& access, StepInProgress& step) const;
  void list_elements(const ElementList& list, const Access& access, StepInProgress& step) const;
  void forget_flushed_paths();
  void bound_memory(CorePaths::Path path);
  void advance_time() { advance_time(thread_->cpu.core->signals()); }
  void advance_time(const arch::CoreSignals& now);
  void take_time_pmi();
  static void tell_wishes(const VirtualCpu& cpu);
  void tell_core_unmapped(std::uint64_t address, std::uint64_t length);

  // ---- marks in the program's code (marks.cc)
  Mark mark(const Insn& insn) override;
  MarkTime marker(const Insn& insn);
  void adopt_marks();
  void reached(std::uint64_t pc, const arch::RegisterFile* registers);
  bool stop_counting_elements();
  void count_records(const Records& records);
  void count_with_visits(const Records& records);
  void sum_records(std::span<const std::uint32_t> ids, std::optional<std::uint32_t> more);
  void count_between_marks(const Records& records);
  void count_budget(std::uint64_t start, std::uint64_t end, std::span<const MarkNote> notes);
  std::size_t next_mark(std::span<const std::uint32_t> ids, std::size_t from) const;
  std::size_t sum_up_to_mark(std::span<const std::uint32_t> ids, std::size_t from,
                             std::span<std::uint32_t> running) const;
  template <typename Tell>
  void find_marks(const Records& records, Tell tell);

  // ---- overflows inside a trace of a core model (logged.cc)
  const LoggedBlock& logged_block(std::uint32_t index);
  class LogReader;
  class LogWatcher;
  void step_through(const LoggedPath& path);
  LoggedPath logged_path(std::span<const std::uint32_t> ids, std::size_t at);
  bool watch(std::span<const std::uint32_t> ids, std::size_t from, std::size_t to, const arch::SignalSet& watched);
  void count_logged_into(std::uint32_t block, unsigned instructions, std::uint64_t next);
  std::size_t seldom_up_to(std::span<const std::uint32_t> ids, std::size_t at);
  void count_logged(std::span<std::uint32_t> ids);
  /// Not where threads run side by side: what one of them meets depends on the others' turns, which are short then.
  bool may_log() const { return logs_ && !marks_in_traces_ && threads_.size() == 1; }
  std::uint64_t enter_logged(std::uint32_t link_from);

  // ---- overflows inside a trace (cuts.cc)
  void look_at_room();
  void count_and_cut(std::span<const std::uint32_t> ids);
  bool adds_up(std::span<const std::uint64_t> more);
  void add_path(std::span<const std::uint16_t> sums);
  void cut();
  void count_and_cut_instructions(std::uint64_t instructions);

  // ---- memory of the program (dispatcher.cc)
  std::span<const std::uint8_t> fetch(std::uint64_t pc) override;
  bool may_change_unseen(std::uint64_t pc) override;
  void translated(std::uint64_t page) override;
  void code_changed(std::uint64_t start, std::uint64_t end) override;
  bool handle_code_write(std::uint64_t address);

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
  long sys_getdents64(const long (&a)[6]);
  long sys_arch_prctl(const long (&a)[6]);
  std::optional<long> proc_syscall(long number, const long (&a)[6]);
  std::optional<long> descriptor_syscall(long number, const long (&a)[6]);
  void report_mapping(std::uint64_t address, std::uint64_t length);

  // ---- system calls under --virtual-time (virtual_calls.cc)
  Outcome in_virtual_time(long number, const long (&a)[6]);
  Outcome wait_in_virtual_time(const WaitingCall& call, const long (&a)[6]);
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
  std::int32_t real_id(std::int32_t id) const;
  std::int32_t shown_id(std::int32_t id) const;
  siginfo_t shown_info(int signal, siginfo_t info) const;
  std::optional<std::string> real_proc_path(const std::string& path) const;
  ThreadIdentity shown(
      ThreadIdentity id) const;  // as the recording has it, which gives ids of its own to other processes

  // ---- futexes (futex.cc)
  std::optional<long> sys_futex(const long (&a)[6]);
  long wait_at(FutexWaiters::Key key, const long (&a)[6]);
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
  void announce_thread(Thread& thread);
  void forget_thread(Thread& thread);
  [[noreturn]] void run_thread();
  void prepare_to_wait();
  void give_up_lock();          // saves the Context, lets others run
  void give_up_lock_to_wait();  // the same, where nothing runs until another thread of the program says so
  void yield();                 // lets others run, and comes back
  void let_go_of_processors();
  void reclaim_stacks();
  void save_context(Thread& thread);
  void load_context(Thread& thread);

  // ---- untranslated, for the oracle (native_load.cc)
  [[noreturn]] void run_native();
  void native_signal(int signal, siginfo_t* info, void* ucontext);

  Config config_;
  Observer& observer_;  // see observer()
  Window window_;
  Context& context_;
  GuestMap map_;
  LoadedProgram program_;
  Stubs stubs_;
  std::unique_ptr<LaneSet> lanes_;
  std::unique_ptr<Translator> translator_;
  EngineLock lock_;
  FutexWaiters waiters_;
  VirtualClock clock_;

  std::int32_t first_pid_ = 0;     // real id of the process that shows kVirtualPid; 0 none
  std::int32_t first_parent_ = 0;  // of the one that shows kVirtualParent
  ProcessIds process_ids_;         // of the others
  ProcessTurns turns_;
  Thread* thread_ = nullptr;  // who is in the Context
  std::vector<std::unique_ptr<Thread>> threads_;
  struct EngineStacks {
    void* stack;
    void* signals;
    std::int32_t tid;
  };
  std::vector<EngineStacks> spare_stacks_;
  std::vector<EngineStacks> retiring_;          // of threads that may still be on them
  std::uint64_t trace_start_ = 0;               // first byte of the records not drained yet
  std::vector<std::uint64_t> totals_;           // scratch of drain()
  bool cuts_ = false;                           // overflows are found in the trace, not waited for
  std::vector<std::uint64_t> room_, more_;      // by lane; scratch of count_and_cut() and count_logged()
  std::vector<std::size_t> near_lanes_;         // of room_: what may overflow within a trace
  std::vector<MarkVisit> visits_;               // scratch of count_with_visits()
  std::vector<std::uint32_t> uncounted_;        // of each visit, then the running sums
  std::vector<std::uint32_t> per_instruction_;  // per lane, most occurrences in one instruction
  std::vector<std::uint32_t> units_;            // per lane, as CountTable has them
  std::vector<std::uint32_t> ids_;              // scratch of drain()
  CorePaths core_paths_;
  // scratch of drain(), with a core model:
  std::vector<arch::PathRun> runs_;       // with ids_, what each record means to the model
  std::vector<arch::PathRun> told_runs_;  // those of which something is to be told, where that is not all
  bool any_empty_run_ = false;
  std::uint64_t behind_run_ = 0;  // where the run behind the one that is noted next begins
  bool models_ = false;           // threads have a core model
  bool at_once_ = false;  // and some counter may overflow, so what it is told is played before the thread goes on
  std::uint64_t latest_core_time_ = 0;  // of threads that gave their turn away
  bool logs_ = false;    // overflows of modelled events are found in the trace, in blocks of Variant::Logged
  bool logged_ = false;  // the trace is of such blocks
  // Bytes of the next such trace: twice those of the one before, if nothing else ran in between. chosen: at first there is one miss in
  // programs that miss much; at most, with its slots, it stays in the second-level cache until it is read.
  static constexpr std::uint64_t kFewestLogged = 512, kMostLogged = 64 << 10;
  std::uint64_t log_bytes_ = kFewestLogged;
  std::unordered_map<std::uint32_t, LoggedBlock> logged_blocks_;  // by block
  std::uint64_t logged_of_flush_ = 0;                             // Translator::flushes() when they were begun
  CodeBound code_bound_;
  std::size_t logged_bytes_ = 0;      // of logged_blocks_, roughly
  std::uint64_t paths_of_flush_ = 0;  // Translator::flushes() when core_paths_ was begun
  // Signals whose changes alone may overflow a modelled lane in such blocks; none: others may, or more is asked of the trace.
  arch::SignalSet seldom_;
  bool others_are_near_ = false;       // a lane that is not modelled may overflow too
  std::uint8_t risks_ = 0;             // TranslationOptions
  bool time_is_near_ = false;          // some counter of time may overflow
  std::uint64_t indirect_target_ = 0;  // of the last record drained, if it ends in an indirect branch
  bool wants_indirect_entry_ = false;  // the next block was reached by an indirect branch
  bool quantum_over_ = false;
  std::uint64_t ran_ = 0;  // bytes of trace since the lock was last given away
  /// The instruction in a block of Variant::Near behind which a sample was taken; block kNone: elsewhere.
  struct {
    std::uint32_t block = kNone;
    std::uint16_t index = 0;
    std::uint64_t pc = 0;
  } stopped_;
  std::uint64_t far_lookup_ = 0;  // cache address of a direct lookup that left its table
  bool count_elements_ = false;
  SteppedInsns stepped_insns_;
  // By pc: how often a way to an overflow was interpreted from there; and from how many such places one was.
  static constexpr unsigned kInterpretedBits = 13;  // chosen
  std::array<std::uint8_t, std::size_t{1} << kInterpretedBits> interpreted_{};
  std::uint32_t interpreted_from_ = 0;
  CodeMarks marks_;
  std::unordered_map<std::uint64_t, MarkTime> markers_;  // marks of the source, by pc; of code as it is now
  bool any_marks_ = false;                               // in code that has been translated
  bool marks_in_traces_ = false;                         // and one that is not stepped, so that records tell of it
  std::uint64_t private_page_ = 0;                       // page whose write protection is lifted for one step
  bool fetch_shared_ = false;
  AddressRange fetch_range_{};  // last executable mapping fetched from
  TraceForm form_ = TraceForm::Records;
  std::atomic<bool> tripped_{false};   // the trace is unmapped so that the next append faults
  std::atomic<bool> entering_{false};  // past the last look at `pending` before translated code runs
};

}  // namespace zs::engine
