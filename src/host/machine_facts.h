// What this machine says about itself, asked once and without judgement: CPUID, perf_event_open, the few kernel
// facilities that the software PMU stands on. `diagnosis.h` draws the conclusions, so that each case (no PMU in a VM,
// a paranoid kernel, a container's filter, bare metal) is a value that a test can write down.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace zs::host {

/// One try at a kernel facility: 0 where it worked, else the errno it gave.
struct Attempt {
  int error = 0;
  bool worked() const { return error == 0; }
};

/// CPUID, as this processor or its hypervisor answers it.
/// source: SDM vol. 2A, "CPUID"; leaf 4000_0000H is the convention of the hypervisors, reserved to them by both
/// vendors.
struct CpuidFacts {
  std::string vendor;  // leaf 0: "GenuineIntel"
  std::string brand;   // leaves 8000_0002H to 8000_0004H, blanks trimmed
  std::uint32_t family = 0, model = 0, stepping = 0;
  bool hypervisor = false;             // leaf 1, ECX bit 31
  std::string hypervisor_signature;    // leaf 4000_0000H, EBX ECX EDX, zero bytes trimmed: "KVMKVMKVM"
  bool perfmon_leaf = false;           // leaf 0AH exists (an Intel processor's; AMD has none)
  std::uint32_t perfmon_version = 0;   // leaf 0AH: EAX 7..0
  std::uint32_t general_counters = 0;  // EAX 15..8
  std::uint32_t general_bits = 0;      // EAX 23..16
  std::uint32_t fixed_counters = 0;    // EDX 4..0
  bool debug_store = false;            // leaf 1, EDX bit 21: BTS and PEBS have somewhere to write
  bool avx = false, avx512 = false;    // leaf 1 ECX bit 28, leaf 7 EBX bit 16
  bool fsgsbase = false;               // leaf 7, EBX bit 0
  std::uint64_t xcr0 = 0;              // XGETBV(0); 0 where OSXSAVE is off
};

/// Tries of perf_event_open(2), each on this thread, disabled, and with ring 0 and the hypervisor excluded.
struct PerfFacts {
  Attempt software_event;     // task-clock: tells a forbidden system call from a missing PMU
  Attempt instructions;       // the generic hardware event
  Attempt precise;            // the same, precise_ip = 2
  Attempt branch_stack;       // the same, with PERF_SAMPLE_BRANCH_STACK
  std::uint64_t counted = 0;  // instructions counted over a loop of `loop_instructions`, if it opened
  std::uint64_t loop_instructions = 0;
  std::optional<int> paranoid;       // /proc/sys/kernel/perf_event_paranoid
  bool may_bypass_paranoid = false;  // CAP_PERFMON or CAP_SYS_ADMIN is effective
};

/// What the software PMU needs of the kernel.
struct EngineFacts {
  Attempt low_window;  // reserving addresses below 2 GiB, where the code cache must lie
  std::uint64_t window_start = 0, window_bytes = 0;
  std::optional<std::uint64_t> mmap_min_addr;
  Attempt memfd;                       // memfd_create, and a writable shared view of it
  Attempt writable_code;               // memory that is writable and executable, and code that ran from it
  bool fsgsbase_enabled = false;       // AT_HWCAP2: the kernel lets programs use WRFSBASE
  std::uint64_t descriptor_limit = 0;  // the hard limit of RLIMIT_NOFILE; UINT64_MAX for unlimited
};

struct MachineFacts {
  std::string kernel;  // uname -r
  CpuidFacts cpuid;
  PerfFacts perf;
  EngineFacts engine;
  int seccomp_mode = 0;    // /proc/self/status: 0 off, 1 strict, 2 filter
  std::string container;   // what shows that this is one ("/.dockerenv"), or ""
  std::string stock_perf;  // path of `perf` in PATH, or ""
};

/// CPUID alone.
CpuidFacts ask_cpuid();

/// Asks this machine. Changes nothing that outlives the call; takes a few milliseconds at most.
MachineFacts ask_this_machine();

/// Where the engine puts translated code and the program's own (engine/memory/layout.h has the same numbers; a test of
/// `cli`, which sees both layers, compares them).
inline constexpr std::uint64_t kLowWindowStart = 0x1000'0000;
inline constexpr std::uint64_t kLowWindowBytes = 0x6ff0'0000;
inline constexpr std::uint64_t kDescriptorsNeeded = 1024;

}  // namespace zs::host
