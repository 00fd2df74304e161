// One thread of the program, and what threads share per process (a vfork child shares memory but not these).
#pragma once

#include <linux/filter.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "engine/isa_names.h"
#include "engine/memory/memory_limits.h"
#include "engine/observer.h"
#include "engine/one_processor.h"
#include "engine/run/deferred_batches.h"
#include "engine/translate/address_slots.h"
#include "engine/translate/code_probes.h"
#include "isa/decode.h"

namespace zs::engine {

/// sigaction as the kernel keeps it.
/// source: Linux, asm/signal.h, struct sigaction of x86-64.
struct KernelSigaction {
  std::uint64_t handler = 0;  // SIG_DFL 0, SIG_IGN 1
  std::uint64_t flags = 0;
  std::uint64_t restorer = 0;
  std::uint64_t mask = 0;
};

inline constexpr int kSignals = 64;
constexpr std::uint64_t signal_bit(int signal) { return std::uint64_t{1} << (signal - 1); }
/// Raised by instructions; never really blocked, because the engine needs its own faults.
inline constexpr std::uint64_t kSynchronousSignals =
    signal_bit(SIGSEGV) | signal_bit(SIGBUS) | signal_bit(SIGFPE) | signal_bit(SIGILL) | signal_bit(SIGTRAP);
/// What no mask keeps.
inline constexpr std::uint64_t kNeverBlocked = signal_bit(SIGKILL) | signal_bit(SIGSTOP);
constexpr bool is_synchronous(int signal) { return (signal_bit(signal) & kSynchronousSignals) != 0; }

/// By number, from 1 on. Processes made with CLONE_SIGHAND share them.
using SignalActions = std::array<KernelSigaction, kSignals + 1>;

/// One process of the program that lives in this address space: the program itself, or a child that shares its memory.
struct Process {
  std::int32_t pid = 0, parent_pid = 0;
  std::uint32_t children = 0;  // ProcessIds::next_child
  int seat = 0;                // ProcessTurns
  std::uint32_t calls = 0;     // since it gave it away
  std::uint32_t turns = 0;     // of a thread, since the last call
  std::shared_ptr<SignalActions> actions = std::make_shared<SignalActions>();
  MemoryLimits limits;
  bool vfork_child = false;
  bool recorded = true;  // false: a child under Config::inherit == false; nothing is counted or told
  bool traced =
      false;  // it asked for a tracer, who would see each of our own faults: it runs in steps, which have none
  bool leaves = false;  // it is to run natively from here on (kernel/native_rest.h)
  /// The thread in execve, past which no signal may be taken from the kernel; 0 none. Read in signal handlers.
  std::int32_t exec_tid = 0;
};

/// Bits of Thread::pending.
inline constexpr std::uint32_t kSlotFull = 1, kSentWaits = 2;

/// Fault::info.si_signo of no signal: the instruction can go on when its memory is there, which somebody else has to
/// see to.
inline constexpr int kWaitsForMemory = 0;

/// A fault of an instruction, in the program's terms.
struct Fault {
  /// As it is told to who finds nothing mapped there. source: Linux, arch/x86/include/asm/trap_pf.h
  void find_nothing_mapped() {
    constexpr std::uint64_t kProtection = 1, kProtectionKey = 1 << 5;
    info.si_code = SEGV_MAPERR;
    info.si_pkey = 0;
    error_code &= ~(kProtection | kProtectionKey);
  }

  bool present = false;
  siginfo_t info{};
  std::uint64_t error_code = 0, trap_number = 0, address = 0;
  std::uint64_t cache_pc = 0;
};

/// The instruction that runs alone, as Variant::Step.
struct StepInProgress {
  bool active = false;
  Insn insn;
  std::uint64_t rcx_before = 0, sp_before = 0;
  std::uint64_t addresses[2] = {};
  Probe probe;
  arch::RegisterFile before;  // of a probe that wants them

  // With a core model:
  std::uint32_t first_exit = 0;  // of the translation
  bool reported_to_core = false;
  Effects effects;
  InsnSlots slots;
  std::uint64_t values[8] = {};       // of the slots
  std::vector<std::uint64_t> listed;  // words of AccessForm::Listed
  arch::CoreSignals signals;          // what the instruction added
  arch::AccessOutcome load, store, fetch;
  bool mispredicted = false;
  std::uint64_t branch_cycle = 0;  // arch::CoreFeed::cycle_of_branch
};

/// What a thread has told of its restartable sequences (kernel/threads/restartable_sequences.h).
struct RegisteredSequences {
  std::uint64_t area = 0;  // 0: nothing
  std::uint32_t size = 0, signature = 0;
  std::uint32_t processor = ~std::uint32_t{0};  // on which it is, as it was told
};

/// EFLAGS.TF.
inline constexpr std::uint64_t kTrapFlag = 0x100;

/// Instructions of a filter of system calls (kernel/calls/seccomp.h).
using CallFilter = std::vector<sock_filter>;

struct CallFilters {
  bool strict = false;                                 // SECCOMP_MODE_STRICT
  std::vector<std::shared_ptr<const CallFilter>> set;  // the first one first
  bool any() const { return strict || !set.empty(); }
};

/// Which of its calls a thread is told of instead (kernel/calls/call_dispatch.h).
struct CallDispatch {
  bool on = false;
  std::uint64_t from = 0, size = 0;  // not those in front of an address in there
  std::uint64_t selector = 0;        // address of the byte that says so; 0: all others
};

struct Thread {
  ThreadIdentity id;
  std::int32_t shown_pid = 0;  // of a vfork child that has not begun yet: to be bound to its id (ProcessIds)
  std::shared_ptr<Process> process;
  VirtualCpu cpu;                                    // without its core while nothing is modelled (Phase::FastForward)
  arch::CoreFeed* core = nullptr;                    // that it has nevertheless
  arch::CoreSignals time_reported;                   // signals of its core when its PMUs were last told of time
  std::vector<std::uint64_t> accumulators_reported;  // and what its modelled accumulators had counted
  std::deque<arch::CoreSignals> signals_at_splits;   // of its core, at overflows found in the trace; not counted yet
  DeferredBatches deferred;                          // what it did that is not counted yet
  std::uint64_t core_time = 0;                       // cycle before which nothing of it happens, while it has no core
  bool announced = false;

  // State while another thread is in the Context.
  std::uint64_t gpr[16] = {};
  std::uint64_t flags = 0x202;
  std::uint64_t fs_base = 0, gs_base = 0;
  std::uint16_t fs_selector = 0, gs_selector = 0;
  std::vector<std::byte> xsave;

  std::uint64_t pc = 0;             // where the program goes on, while in C++
  std::int64_t limit_of_wait = -1;  // --virtual-time: nanoseconds, of the wait that is about to begin; -1: it has none
  std::uint64_t host_rsp = 0;
  StepInProgress step;
  /// The program's trap flag, which is never in the processor for longer than POPF needs: each instruction runs as a
  /// step, and behind it the program gets its SIGTRAP.
  bool traps = false;
  bool step_traps = false;  // behind the step that runs now

  // Signals: who holds one at which moment is told in signals.cc.
  std::uint64_t mask = 0;           // as the program set it
  bool has_temporary_mask = false;  // sigsuspend and its kin: what a handler's mask builds on
  std::uint64_t temporary_mask = 0;
  std::uint64_t mask_in_force() const { return has_temporary_mask ? temporary_mask : mask; }
  std::atomic<std::uint32_t> pending{0};  // kSlotFull, kSentWaits; not 0: the dispatcher must look before going on
  int pending_signal = 0;                 // the slot: one asynchronous signal
  siginfo_t pending_info{};
  std::atomic<std::uint64_t> sent{0};  // synchronous signals that somebody sent, delivered or blocked by the program
  siginfo_t sent_info[kSignals + 1]{};
  Fault fault;
  stack_t alternate{};  // the program's sigaltstack
  /// The engine's stack pointer while the kernel takes a deadly signal in the program's registers; 0: it does not.
  std::uint64_t rsp_while_shown = 0;

  bool takes_faults =
      false;  // the kernel lets SIGSEGV and its kin in: the engine answers for its own faults in the program's memory

  Thread* vfork_child =
      nullptr;  // being started; until it has its own signal block, signals find it through this one's

  RegisteredSequences sequences;
  CallFilters filters;
  CallDispatch dispatch;
  bool rdtsc_faults = false;  // PR_SET_TSC
  bool interrupted = false;   // others have run, or may have, since it was told where it is

  // Engine resources.
  void* stack_block = nullptr;   // host stack and alternate signal stack of a created thread
  void* signal_block = nullptr;  // start holds a pointer to this Thread

  std::uint64_t clear_at =
      0;  // word that the kernel clears when the thread ends, and where others wait for that; 0 none

  /// Of a thread that another process in this memory traces (SharedTracing).
  struct Traced {
    std::int32_t by = 0;               // that process; 0: nobody
    std::atomic<bool> stopped{false};  // it gets no turn
    std::uint32_t status = 0;          // of the stop, as wait4 gives it
    bool waited_for = false;
  } traced;

  // Run queue (EngineLock).
  Thread* next_waiting = nullptr;
  bool has_place = false;  // in the queue, or at its head and not aware of it yet
  std::atomic<std::uint32_t> may_run{0};
  HeldTo held_to;  // while it takes turns
};

}  // namespace zs::engine
