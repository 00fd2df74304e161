#include "host/machine_facts.h"

#include <elf.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "arch/this_processor.h"
#include "base/auxiliary_vector.h"
#include "base/descriptor.h"
#include "base/items.h"

namespace zs::host {
namespace {

/// The first 4 KiB of a file; "" where it cannot be read. Enough for everything asked here.
std::string small_file(const char* path) {
  const Descriptor file(::open(path, O_RDONLY | O_CLOEXEC));
  if (!file) return {};
  std::array<char, 4096> bytes;
  const ssize_t got = read(file.get(), bytes.data(), bytes.size());
  return got > 0 ? std::string(bytes.data(), static_cast<std::size_t>(got)) : std::string{};
}

std::optional<long long> number_in(const char* path) {
  const std::string text = small_file(path);
  if (text.empty()) return std::nullopt;
  return std::strtoll(text.c_str(), nullptr, 10);
}

/// The value of "Name:\tvalue" in /proc/self/status.
std::string status_field(std::string_view status, std::string_view name) {
  const std::size_t at = status.find("\n" + std::string(name) + ":");
  if (at == std::string_view::npos) return {};
  const std::size_t start = status.find_first_not_of(" \t", at + name.size() + 2);
  return std::string(status.substr(start, status.find('\n', start) - start));
}

// ---- CPUID

using arch::CpuidLeaf, arch::cpuid_here;

constexpr std::uint32_t bits(std::uint32_t value, int high, int low) {
  return (value >> low) & ((2U << (high - low)) - 1U);
}

std::string text_of(std::initializer_list<std::uint32_t> words) {
  std::string text;
  for (const std::uint32_t word : words) text.append(reinterpret_cast<const char*>(&word), sizeof word);
  text.resize(std::strlen(text.c_str()));
  return text;
}

/// A hypervisor may offer another's interface at 4000_0000H and its own at 4000_0100H (KVM playing Hyper-V does).
std::string hypervisor_signature() {
  const auto signature_at = [](std::uint32_t leaf) {
    const CpuidLeaf r = cpuid_here(leaf);
    return text_of({r.ebx, r.ecx, r.edx});
  };
  const std::string second = signature_at(0x4000'0100);
  return second == "KVMKVMKVM" || second == "XenVMMXenVMM" ? second : signature_at(0x4000'0000);
}

}  // namespace

CpuidFacts ask_cpuid() {
  CpuidFacts facts;
  const CpuidLeaf r0 = cpuid_here(0), r1 = cpuid_here(1);
  facts.vendor = text_of({r0.ebx, r0.edx, r0.ecx});
  facts.stepping = bits(r1.eax, 3, 0);
  facts.family = bits(r1.eax, 11, 8) + (bits(r1.eax, 11, 8) == 15 ? bits(r1.eax, 27, 20) : 0);
  facts.model = bits(r1.eax, 7, 4) | bits(r1.eax, 19, 16) << 4;
  facts.debug_store = bits(r1.edx, 21, 21) != 0;
  facts.avx = bits(r1.ecx, 28, 28) != 0;
  facts.xcr0 = arch::xcr0_here();
  facts.hypervisor = bits(r1.ecx, 31, 31) != 0;
  if (facts.hypervisor) facts.hypervisor_signature = hypervisor_signature();

  if (r0.eax >= 7) {
    const CpuidLeaf r7 = cpuid_here(7);
    facts.fsgsbase = bits(r7.ebx, 0, 0) != 0;
    facts.avx512 = bits(r7.ebx, 16, 16) != 0;
  }
  if (r0.eax >= 0xA && facts.vendor != "AuthenticAMD" && facts.vendor != "HygonGenuine") {
    const CpuidLeaf ra = cpuid_here(0xA);
    facts.perfmon_leaf = true;
    facts.perfmon_version = bits(ra.eax, 7, 0);
    facts.general_counters = bits(ra.eax, 15, 8);
    facts.general_bits = bits(ra.eax, 23, 16);
    facts.fixed_counters = bits(ra.edx, 4, 0);
  }
  if (cpuid_here(0x8000'0000).eax >= 0x8000'0004) {
    for (std::uint32_t leaf = 0x8000'0002; leaf <= 0x8000'0004; ++leaf) {
      const CpuidLeaf r = cpuid_here(leaf);
      facts.brand += text_of({r.eax, r.ebx, r.ecx, r.edx});
    }
    facts.brand.erase(0, facts.brand.find_first_not_of(' '));
    facts.brand.erase(facts.brand.find_last_not_of(' ') + 1);
  }
  return facts;
}

namespace {

// ---- perf_event_open

perf_event_attr user_event(std::uint32_t type, std::uint64_t config) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = type;
  attr.config = config;
  attr.disabled = 1;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  return attr;
}

int open_event(perf_event_attr attr) {
  return static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

Attempt try_event(const perf_event_attr& attr) {
  const Descriptor event(open_event(attr));
  return {event ? 0 : errno};
}

constexpr std::uint64_t kLoopInstructions = 2'000'000;

/// Some virtual PMUs open and then never count: only a loop of known length tells.
std::uint64_t instructions_counted(int event) {
  ioctl(event, PERF_EVENT_IOC_ENABLE, 0);
  std::uint64_t left = kLoopInstructions / 2;
  asm volatile("1: sub $1, %0\n\tjnz 1b" : "+r"(left) : : "cc");
  ioctl(event, PERF_EVENT_IOC_DISABLE, 0);
  std::uint64_t value = 0;
  return read(event, &value, sizeof value) == static_cast<ssize_t>(sizeof value) ? value : 0;
}

PerfFacts ask_perf(std::string_view status) {
  constexpr std::uint64_t kInstructions = PERF_COUNT_HW_INSTRUCTIONS;
  PerfFacts facts;
  facts.software_event = try_event(user_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK));
  {
    const Descriptor event(open_event(user_event(PERF_TYPE_HARDWARE, kInstructions)));
    facts.instructions = {event ? 0 : errno};
    facts.loop_instructions = kLoopInstructions;
    if (event) facts.counted = instructions_counted(event.get());
  }
  perf_event_attr sampling = user_event(PERF_TYPE_HARDWARE, kInstructions);
  sampling.sample_period = 1'000'003;
  sampling.sample_type = PERF_SAMPLE_IP;
  sampling.precise_ip = 2;
  facts.precise = try_event(sampling);
  sampling.precise_ip = 0;
  sampling.sample_type |= PERF_SAMPLE_BRANCH_STACK;
  sampling.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
  facts.branch_stack = try_event(sampling);

  if (const auto paranoid = number_in("/proc/sys/kernel/perf_event_paranoid"))
    facts.paranoid = static_cast<int>(*paranoid);
  constexpr int kCapSysAdmin = 21, kCapPerfmon = 38;
  const std::uint64_t effective = std::strtoull(status_field(status, "CapEff").c_str(), nullptr, 16);
  facts.may_bypass_paranoid = ((effective >> kCapSysAdmin) & 1) != 0 || ((effective >> kCapPerfmon) & 1) != 0;
  return facts;
}

// ---- what the software PMU needs

/// Reserves the range without touching it, and lets it go.
Attempt try_low_window() {
  void* const wanted = reinterpret_cast<void*>(kLowWindowStart);
  void* const got = mmap(wanted, kLowWindowBytes, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == MAP_FAILED) return {errno};
  munmap(got, kLowWindowBytes);
  return {got == wanted ? 0 : EEXIST};  // a kernel older than 4.17 takes the address as a hint
}

Attempt try_memfd() {
  constexpr std::size_t kPage = 4096;
  const Descriptor memfd(memfd_create("zeroskid doctor", MFD_CLOEXEC));
  if (!memfd || ftruncate(memfd.get(), kPage) != 0) return {errno};
  void* const view = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, memfd.get(), 0);
  if (view == MAP_FAILED) return {errno};
  munmap(view, kPage);
  return {};
}

/// Writes `mov eax, 42; ret` and calls it.
Attempt try_writable_code() {
  constexpr std::array<unsigned char, 6> code{0xB8, 42, 0, 0, 0, 0xC3};
  constexpr std::size_t kPage = 4096;
  void* const page = mmap(nullptr, kPage, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return {errno};
  std::memcpy(page, code.data(), code.size());
  const bool ran = reinterpret_cast<int (*)()>(page)() == 42;
  munmap(page, kPage);
  return {ran ? 0 : EFAULT};
}

EngineFacts ask_engine_needs() {
  EngineFacts facts;
  facts.window_start = kLowWindowStart;
  facts.window_bytes = kLowWindowBytes;
  facts.low_window = try_low_window();
  if (const auto lowest = number_in("/proc/sys/vm/mmap_min_addr"))
    facts.mmap_min_addr = static_cast<std::uint64_t>(*lowest);
  facts.memfd = try_memfd();
  facts.writable_code = try_writable_code();
  constexpr unsigned long kHwcap2Fsgsbase = 2;  // arch/x86: HWCAP2_FSGSBASE
  facts.fsgsbase_enabled = (auxiliary_here(AT_HWCAP2).value_or(0) & kHwcap2Fsgsbase) != 0;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) facts.descriptor_limit = limit.rlim_max;
  return facts;
}

std::string container_sign() {
  for (const char* sign : {"/.dockerenv", "/run/.containerenv"})
    if (access(sign, F_OK) == 0) return sign;
  if (const char* name = std::getenv("container"); name != nullptr && *name != '\0')
    return "container=" + std::string(name);
  if (std::getenv("KUBERNETES_SERVICE_HOST") != nullptr) return "KUBERNETES_SERVICE_HOST";
  return {};
}

std::string found_in_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  for (const std::string_view folder : pieces_of(path == nullptr ? "/usr/bin:/bin" : path, ':')) {
    std::string candidate = std::string(folder) + "/" + program;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

}  // namespace

MachineFacts ask_this_machine() {
  const std::string status = small_file("/proc/self/status");
  MachineFacts facts;
  if (utsname name{}; uname(&name) == 0) facts.kernel = name.release;
  facts.cpuid = ask_cpuid();
  facts.perf = ask_perf(status);
  facts.engine = ask_engine_needs();
  facts.seccomp_mode = std::atoi(status_field(status, "Seccomp").c_str());
  facts.container = container_sign();
  facts.stock_perf = found_in_path("perf");
  return facts;
}

}  // namespace zs::host
