// What the engine is asked for (Config), and to whom it reports what the program does (Observer).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "arch/core_feed.h"
#include "engine/settings.h"
#include "pmu/pmu.h"

namespace zs::engine {

/// How a program is to be run. Everything that may change what is counted is here.
struct Config : RunSettings {
  std::string program;            // path to execute, already searched in PATH
  std::string exec_name;          // what execve was called with (AT_EXECFN); "" = program
  std::vector<std::string> argv;  // argv[0] included
  std::vector<std::string> envp;
  bool virtual_ids =
      false;  // the first process shows itself and is recorded as pid and tid kVirtualPid, others by process_ids
  std::int32_t first_pid = 0;  // under virtual_ids, the real id of the first process; 0: this one
  int shared_tables = -1;      // of SharedTables, under virtual_ids; -1: there are none
  /// Signals that the program blocks at its start, while the kernel blocks all for it until the engine is ready.
  /// Without: those that are blocked now.
  std::optional<std::uint64_t> signal_mask;
  /// Of PR_SET_MDWE, which the program has inherited.
  std::uint64_t mdwe = 0;
  /// Of seccomp, which the program has inherited (kernel/calls/seccomp.h: word_of()).
  std::vector<std::string> call_filters;
  /// Where the stream of random numbers begins, by which getrandom and its kin are answered; none: as `seed` says.
  std::optional<std::uint64_t> random_seed;
  /// execve of a followed program becomes execve of this, with {"--signal-mask", hexadecimal, ["--exec-name", name,]
  /// path, argv...} appended.
  std::vector<std::string> exec_prefix;
};

/// What the program and its recording see as the first process's ids under Config::virtual_ids. Above every number that
/// a kernel gives, as those of its children (ProcessIds), so that none of them can be taken for it.
inline constexpr std::int32_t kVirtualPid = 5'000'001;
/// The same for its parent, which is zeroskid.
inline constexpr std::int32_t kVirtualParent = 5'000'000;

/// Exit status of the process when the engine itself fails, or refuses an instruction.
inline constexpr int kToolFailed = 125;

struct ThreadIdentity {
  std::int32_t pid = 0, tid = 0;
  std::int32_t parent_pid = 0, parent_tid = 0;
};

/// A mapping that became visible to the program. `path` is a file, "[stack]", "[heap]", "//anon" or "[vdso]".
struct Mapping {
  std::uint64_t start = 0, length = 0, file_offset = 0;
  std::uint32_t protection = 0;  // PROT_*
  std::uint32_t flags = 0;       // MAP_*
  std::uint32_t device_major = 0, device_minor = 0;
  std::uint64_t inode = 0;
  std::string path;
};

/// What a run does in which the core model sees only samples of the program, the units.
/// source of the terms: Wunderlich et al., "SMARTS" (ISCA 2003).
enum class Phase : std::uint8_t {
  FastForward,  // between units: nothing is modelled, and the model's state stays as it was
  WarmUp,       // in front of a unit: the core model runs along, and the counters hear nothing of it
  Unit,         // the counters hear of it
};

/// One thread's virtual CPU, owned by the observer. `pmus`: one register-exact PMU per eight or so events ("banks");
/// every PMU is told of every instruction.
struct VirtualCpu {
  std::span<pmu::Pmu* const> pmus;
  const bool* pmi_requested = nullptr;  // some PMU has requested its PMI; Observer::pmi makes it false again
  arch::CoreFeed* core = nullptr;       // wants to be told of all that the thread does; null: nothing is modelled
  /// Interrupts need no registers, only that counting stops at the overflow: Observer::pmi may come later than the
  /// instruction, its registers are those of some later moment, and the counters hold what they held at the overflow.
  /// Not with PEBS.
  bool late_interrupts = false;
  /// Observer::pmi looks at the program's memory, or brings another counter near its overflow, so that of a modelled
  /// event has to stop the thread there.
  bool stops_at_pmi = false;
  /// Observer::pmi, or a record of a PMU, shows the program's general registers or its branches. Otherwise those that
  /// it is given may be zeros, but for the instruction pointer, and it may be called when the thread has gone on; its
  /// core keeps outcomes (arch::CoreFeed::keep_outcomes).
  bool wants_registers = true;
  bool probes = false;        // there may be probes: the trace has to say where the thread has been
  bool counts_paths = false;  // Observer::ran is to hear of the thread
  /// Whether it is to hear of what the thread does now; null: of all. Observer::reached may change it, and others do
  /// while the thread is in a system call.
  const bool* paths_wanted = nullptr;
  /// With a core: what the whole run does now. Observer::pmi may change it, and it holds from the instruction behind
  /// that. null: Unit, always
  const Phase* phase = nullptr;
  /// It is over: one of `pmus`, which counts the instructions of all threads, has asked for its PMI. Observer::pmi
  /// makes it false again.
  const bool* phase_over = nullptr;
};

/// An instruction of the program at which the observer wants to be told that the thread has got there. It is told when
/// the instruction retires, and not of attempts that fault.
enum class ProbeTime : std::uint8_t {
  None,
  Before,  // counts are those without the instruction
  After,   // and with it; only of an instruction that goes straight on
};
struct CodeProbe {
  std::uint64_t pc = 0;
  ProbeTime time = ProbeTime::None;
  bool with_registers = false;  // those before the instruction; costs a step each time
  bool operator==(const CodeProbe&) const = default;
};

/// A thread got to the probed instruction at `pc`.
struct ProbeVisit {
  std::uint64_t pc = 0;
  /// What had retired before it and is not yet told to the PMUs: occurrences by accumulator, the accumulators of each
  /// of VirtualCpu::pmus in their order, one PMU behind the other. Empty: the PMUs have counted everything up to there.
  std::span<const std::uint32_t> uncounted;
};

/// Copies from the program's memory what can be copied without a system call. Less than was asked for does not mean
/// that the rest is not there: the kernel may be able to copy it. returns how many bytes
using CopyOfProgram = std::function<std::size_t(std::uint64_t from, std::span<std::byte> into)>;

/// What a recording wants to hear. Calls come one at a time (under the engine's lock), on an engine stack, and may
/// use the C++ library freely.
class Observer {
 public:
  virtual ~Observer() = default;

  /// For the calls below. Called once, before them.
  virtual void copies_by([[maybe_unused]] const CopyOfProgram& copy) {}

  /// A thread of the program is about to execute its first instruction (also the only thread after fork, with its new
  /// identity). The returned PMUs are already programmed and stay valid until thread_exited.
  virtual VirtualCpu thread_started(const ThreadIdentity& who) = 0;
  /// The thread has ended (exit, exit_group, fatal signal, or execve of another image). Drain its Debug Store here.
  virtual void thread_exited(const ThreadIdentity& who) = 0;
  /// Called after an instruction for which a PMU requested its PMI; `registers` is the thread's state then.
  virtual void pmi(const ThreadIdentity& who, const arch::RegisterFile& registers) = 0;
  /// The same where VirtualCpu::late_interrupts and its core has perhaps not played yet what retired up to the
  /// overflow: counters of what is modelled hold less. returns whether signals_counted() is to be called when they hold
  /// what is due up to there, before any of them counts more; once for each such call, in their order
  virtual bool pmi_ahead(const ThreadIdentity& who, const arch::RegisterFile& registers) {
    pmi(who, registers);
    return false;
  }
  virtual void signals_counted([[maybe_unused]] const ThreadIdentity& who) {}

  /// What the PMUs are told from here on happened when the host's time-stamp counter read `host_ticks`: not before what
  /// they were told last, and not after now. 0: it happens now, as is the rule.
  virtual void reported_late([[maybe_unused]] std::uint64_t host_ticks) {}

  /// The thread is in a system call of which its PMUs hear only when it is over: what is told meanwhile comes behind
  /// that instruction.
  virtual void in_call([[maybe_unused]] const ThreadIdentity& who, [[maybe_unused]] bool in) {}

  /// Of VirtualCpu::counts_paths: what the thread did beside what was told before; an instruction or a branch may come
  /// more than once. Mappings are those that were reported last. All of a thread is told before thread_exited.
  virtual void ran([[maybe_unused]] const ThreadIdentity& who,
                   [[maybe_unused]] std::span<const arch::PathCount> counts) {}
  /// Of the same, with RunSettings::contexts: instructions from there to the end of a stretch of the function.
  /// callers  return addresses on the stack meanwhile, innermost first
  virtual void ran_in_context([[maybe_unused]] const ThreadIdentity& who,
                              [[maybe_unused]] std::span<const arch::PathCount> counts,
                              [[maybe_unused]] std::span<const std::uint64_t> callers) {}

  virtual void forked(const ThreadIdentity& child, bool thread) = 0;  // in the parent, before the child runs
  virtual void in_forked_child() = 0;  // in a new process: forget buffered output that the parent still owns
  virtual void renamed(const ThreadIdentity& who, const std::string& comm, bool exec) = 0;
  virtual void mapped(const ThreadIdentity& who, const Mapping& mapping) = 0;
  /// A good moment to write out what is known of the running thread: it is about to wait, and may be killed there, or
  /// to end, or has run for a while.
  virtual void flush(const ThreadIdentity& who) = 0;
  /// Something the user should know (a refused feature, an unfollowed program). One line, no newline.
  virtual void notice(const std::string& text) = 0;
  /// Why the process ends here: its code asks for what the engine does not do. Said even if notices are not wanted.
  virtual void refused(const std::string& text) = 0;

  /// What is to stand behind Config::exec_prefix on the command line that another image of the process starts with.
  virtual std::vector<std::string> words_for_next_image() { return {}; }

  /// Probes that the observer has thought of since the last call; asked for after mapped() and reached().
  virtual std::vector<CodeProbe> new_probes() { return {}; }
  /// Code with `nop dword [rip + d]` at `pc` is about to be translated; it speaks of `operand`. returns when to tell of
  /// it
  virtual ProbeTime marker([[maybe_unused]] std::uint64_t pc, [[maybe_unused]] std::uint64_t operand) {
    return ProbeTime::None;
  }
  /// The thread has got to probes, oldest first. The PMUs count nothing between the visits of one call.
  /// registers  of a probe that asked for them, which comes alone; otherwise null
  virtual void reached([[maybe_unused]] const ThreadIdentity& who, [[maybe_unused]] std::span<const ProbeVisit> visits,
                       [[maybe_unused]] const arch::RegisterFile* registers) {}
};

}  // namespace zs::engine
