// What the virtual CPU asks of the PC around it: a bus, an interrupt controller, model-specific registers, CPUID, and
// someone who watches instructions retire. The CPU knows nothing else; the PMU reaches it only through these.
//
// Calls happen on the thread of Vcpu::run, at the moment of the access. Before any call that can look at time or
// counters (ports, MMIO, MSRs, RDPMC, RDTSC, an acknowledged interrupt) the CPU has reported everything that retired
// before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "arch/retired.h"

namespace zs::machine {

class Vcpu;

/// The physical address space and the port space.
class Bus {
 public:
  /// A 4 KiB page of plain memory. `bytes` must stay valid and in place until Vcpu::memory_map_changed().
  struct Page {
    std::byte* bytes = nullptr;  // nullptr: not plain memory, every access goes through read() and write()
    bool writable = false;       // false (ROM, or a page someone wants to see written): stores go through write()
  };
  virtual ~Bus() = default;
  /// `physical` is a multiple of 4096, below 2^52.
  virtual Page page(std::uint64_t physical) = 0;
  /// Accesses that no page() covers: `bytes` is 1, 2, 4 or 8, never across a page. What nobody answers reads as ones.
  virtual std::uint64_t read(std::uint64_t physical, unsigned bytes) = 0;
  virtual void write(std::uint64_t physical, unsigned bytes, std::uint64_t value) = 0;
  /// IN and OUT: `bytes` is 1, 2 or 4.
  virtual std::uint32_t in(std::uint16_t port, unsigned bytes) = 0;
  virtual void out(std::uint16_t port, unsigned bytes, std::uint32_t value) = 0;
};

/// The interrupt controller as the CPU's pins see it. Its INTR line is Vcpu::set_interrupt_line.
class InterruptSource {
 public:
  virtual ~InterruptSource() = default;
  /// The CPU takes an interrupt: INTR is up, IF is set, nothing blocks. returns its vector, or nothing if the request
  /// went away. The source calls set_interrupt_line() if the line changes by it.
  virtual std::optional<std::uint8_t> acknowledge() = 0;
  /// CR8, bits 7..4 of the local APIC's task priority. Values are 0..15.
  virtual std::uint8_t task_priority() = 0;
  virtual void set_task_priority(std::uint8_t priority) = 0;
};

/// MSRs that are not the CPU's own. The CPU itself keeps EFER, STAR, LSTAR, CSTAR, FMASK, FS_BASE, GS_BASE,
/// KERNEL_GS_BASE, SYSENTER_CS/ESP/EIP and TSC_AUX; everything else comes here. IA32_TIME_STAMP_COUNTER (10H) too, and
/// that is what RDTSC and RDTSCP read.
class MsrFile {
 public:
  virtual ~MsrFile() = default;
  /// returns false where the processor raises #GP(0). A write to IA32_DEBUGCTL is also told to Vcpu::set_debugctl.
  virtual bool rdmsr(std::uint32_t msr, std::uint64_t& value) = 0;
  virtual bool wrmsr(std::uint32_t msr, std::uint64_t value) = 0;
  /// CPL and CR4.PCE have been checked.
  virtual bool rdpmc(std::uint32_t ecx, std::uint64_t& value) = 0;
};

struct CpuidResult {
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

class Cpuid {
 public:
  virtual ~Cpuid() = default;
  /// The CPU itself fills in what depends on its state (OSXSAVE stays clear: there is no XSAVE).
  virtual CpuidResult cpuid(std::uint32_t leaf, std::uint32_t subleaf) = 0;
};

/// Real-mode code reached one of the addresses of Monitor::set_service_range: the BIOS. Runs before the instruction
/// that lies there, which then executes (an IRET, as a rule). May change registers, flags and memory, but not CS:IP.
class ServiceHook {
 public:
  virtual ~ServiceHook() = default;
  virtual void service(Vcpu& cpu, unsigned number) = 0;
};

/// One architectural memory access of an instruction.
struct MemoryAccess {
  std::uint64_t linear = 0;
  std::uint32_t bytes = 0;
  bool write = false;
};

using TransferCause = arch::TransferCause;

/// How much the observer wants to see of the instructions that come.
struct Watch {
  enum class Retirements : std::uint8_t {
    Count,  // only how many
    Tally,  // how many of which kind, in bulk: tallied()
    Each,   // every one, with registers and accesses: retired()
  };
  Retirements retirements = Retirements::Count;
  bool accesses = false;                      // with Each: accessed() for every load and store
  bool branches = false;                      // transferred() for instructions; interrupts and exceptions always come
  std::uint64_t horizon = ~std::uint64_t{0};  // Count, Tally: after at most so many instructions watch() is asked again
};

/// How often one kind of instruction retired. `kind` has taken, cpl, load_count and store_count filled in, no
/// addresses.
/// REP string instructions are never tallied: they come one by one through retired().
struct Tally {
  arch::Retired kind;
  std::uint64_t times = 0;
};

/// No event of arch/events counts more often than this in one tallied instruction.
inline constexpr unsigned kMaxEventsPerTalliedInstruction = 4;

/// Who watches retirement: the PMU, the clock, a trace. Per instruction, in this order: transferred() if it moved
/// control (a branch that nobody watches is left out), then counted(), tallied() (both in bulk, late) or retired(). An
/// instruction that faults reports nothing but the transfer to the handler, with TransferCause::Exception.
class RetirementObserver {
 public:
  virtual ~RetirementObserver() = default;
  /// Asked at the start of run(), when the horizon is reached, when CPL changed, after WRMSR and interrupts, and after
  /// Vcpu::watch_changed(). `cpl` is that of the instructions to come.
  virtual Watch watch(unsigned cpl) = 0;
  /// So many instructions retired since the last report (REP string instructions included), whatever the mode was.
  /// Comes after the tallied() and retired() calls for the same instructions.
  virtual void counted(std::uint64_t instructions) = 0;
  virtual void tallied(std::span<const Tally> tallies) = 0;
  /// `after`: registers after the instruction, ip = the one that runs next.
  virtual void retired(const arch::Retired& retired, const arch::RegisterFile& after,
                       std::span<const MemoryAccess> accesses) = 0;
  /// A load or store touched the line of 64 bytes at `physical`; before the retired() of its instruction.
  virtual void accessed(std::uint64_t physical) { (void)physical; }
  /// CLFLUSH of the line at `physical`; INVD and WBINVD.
  virtual void line_flushed(std::uint64_t physical) { (void)physical; }
  virtual void caches_flushed() {}
  virtual void transferred(const arch::TakenBranch& branch, TransferCause cause) = 0;
  /// A #DB is about to be delivered: LBR, BTF and TR are cleared before its handler runs.
  virtual void debug_exception() = 0;
  /// System-management mode is entered (true) or left (false).
  virtual void smm(bool entered) = 0;
  /// INIT, or a machine check, reached the CPU.
  virtual void init() = 0;
  virtual void machine_check() = 0;
};

/// Why run() returned.
enum class StopKind : std::uint8_t {
  Limit,         // the instruction limit
  Halted,        // HLT executed: nothing happens before an interrupt, NMI, SMI or INIT. `interrupts_enabled` tells IF
  JumpToItself,  // an unconditional branch to itself retired; running on is possible
  TripleFault,   // shutdown; `detail` names the chain of exceptions
  Breakpoint,    // the monitor's, before the instruction
  Watchpoint,    // the monitor's, after the instruction; `address` is what was accessed
  Requested,     // Vcpu::stop()
  Unsupported,   // the guest did what this CPU does not offer; `detail` names it. State is that before the instruction
};

/// What a guest used that this CPU has not, as CPUID says: #UD was delivered.
struct NotOffered {
  const char* name = "";     // mnemonic of the first
  const char* set = "";      // what it belongs to: AVX, SSE3, ...
  std::uint64_t linear = 0;  // where the first is
  std::uint64_t times = 0;   // of all such instructions
};

struct Stop {
  StopKind kind = StopKind::Limit;
  bool interrupts_enabled = false;
  std::uint64_t address = 0;  // linear
  const char* detail = "";    // static text
};

}  // namespace zs::machine
