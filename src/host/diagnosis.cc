#include "host/diagnosis.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace zs::host {
namespace {

/// source: the hypervisors' own documentation, as collected by Linux (hypervisor detection) and systemd-detect-virt.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kHypervisors{{
    {"KVMKVMKVM", "KVM"},
    {"Microsoft Hv", "Hyper-V"},
    {"VMwareVMware", "VMware"},
    {"XenVMMXenVMM", "Xen"},
    {"TCGTCGTCGTCG", "QEMU without KVM"},
    {"VBoxVBoxVBox", "VirtualBox"},
    {"bhyve bhyve ", "bhyve"},
    {"prl hyperv  ", "Parallels"},
    {" lrpepyh  vr", "Parallels"},
    {"ACRNACRNACRN", "ACRN"},
    {"QNXQVMBSQG", "QNX"},
    {"VirtualApple", "Rosetta"},
}};

constexpr const char* kAskForVpmu = "no PMU in this VM: ask the hypervisor for a vPMU; the software PMU needs nothing";

std::string counters_of(const CpuidFacts& cpuid) {
  return fmt::format("version {}, {} general and {} fixed counters", cpuid.perfmon_version, cpuid.general_counters,
                     cpuid.fixed_counters);
}

bool cpuid_shows_no_counters(const CpuidFacts& cpuid) {
  return cpuid.perfmon_leaf && (cpuid.perfmon_version == 0 || cpuid.general_counters == 0);
}

/// "guest of KVM; " or "" on bare metal.
std::string where(const CpuidFacts& cpuid) {
  return cpuid.hypervisor ? "guest of " + hypervisor_name(cpuid) + "; " : "";
}

bool paranoid_forbids(const PerfFacts& perf) {
  return !perf.may_bypass_paranoid && perf.paranoid.has_value() && *perf.paranoid > 2;
}

/// What permission would say if there were a PMU; for the reader who was about to ask for it.
std::string permission_clause(const PerfFacts& perf) {
  if (perf.software_event.worked()) {
    if (perf.paranoid && !perf.may_bypass_paranoid)
      return fmt::format("not a permission problem: perf_event_paranoid={} would allow user counting", *perf.paranoid);
    return "not a permission problem: this user may open events";
  }
  if (paranoid_forbids(perf))
    return fmt::format("perf_event_paranoid={} forbids perf_event_open too, but lifting that would not help",
                       *perf.paranoid);
  return fmt::format("perf_event_open is refused too ({}), but allowing it would not help",
                     errno_name(perf.software_event.error));
}

Finding without_pmu(const MachineFacts& facts) {
  const CpuidFacts& cpuid = facts.cpuid;
  const std::string seen =
      cpuid_shows_no_counters(cpuid) ? "CPUID leaf 0xA reports 0 counters"
      : cpuid.perfmon_leaf ? fmt::format("CPUID leaf 0xA reports {}, yet the kernel found no PMU", counters_of(cpuid))
                           : "the kernel found no PMU";
  return {
      State::None,
      where(cpuid) + seen + " (" + permission_clause(facts.perf) + ")",
      {cpuid.hypervisor
           ? kAskForVpmu
           : "dmesg | grep 'Performance Events' says why the kernel has no PMU driver here (firmware, kernel build)"}};
}

Finding opened(const MachineFacts& facts) {
  const PerfFacts& perf = facts.perf;
  if (perf.counted == 0) {
    std::string why = fmt::format("{}the instructions event opens but counted 0 over a loop of {}", where(facts.cpuid),
                                  perf.loop_instructions);
    if (facts.cpuid.hypervisor) return {State::Broken, why, {kAskForVpmu}};
    return {State::Broken, why, {"another program may hold every counter: stop other profilers and ask again"}};
  }
  std::string why = where(facts.cpuid) + "perf_event_open counts instructions";
  if (facts.cpuid.perfmon_leaf) why += "; " + counters_of(facts.cpuid);
  why += perf.precise.worked() ? "; PEBS yes" : "; PEBS no (" + errno_name(perf.precise.error) + ")";
  why += perf.branch_stack.worked() ? "; LBR yes" : "; LBR no (" + errno_name(perf.branch_stack.error) + ")";
  why += "; this version records with the software PMU, stock perf can use this one";
  return {State::Ready, why, {}};
}

/// perf_event_open itself is refused, and CPUID does not rule a PMU out.
Finding refused(const MachineFacts& facts) {
  const PerfFacts& perf = facts.perf;
  const int error = perf.instructions.error;
  Finding finding{State::Denied, where(facts.cpuid), {}};
  if (facts.cpuid.perfmon_leaf) finding.why += fmt::format("CPUID leaf 0xA reports {}; ", counters_of(facts.cpuid));

  const bool filtered = facts.seccomp_mode == 2 && (error == EPERM || error == ENOSYS);
  if (filtered) {
    finding.why += fmt::format("perf_event_open gives {}: a seccomp filter{} refuses it", errno_name(error),
                               facts.container.empty() ? "" : " of this container (" + facts.container + ")");
    finding.remedies.push_back(
        "start the container with --cap-add=PERFMON, or with a seccomp profile that allows perf_event_open");
    if (perf.paranoid && *perf.paranoid > 2)
      finding.remedies.push_back("and on the host: sysctl -w kernel.perf_event_paranoid=1");
    return finding;
  }
  if (error == ENOSYS) {
    finding.state = State::None;
    finding.why += "perf_event_open gives ENOSYS: this kernel is built without CONFIG_PERF_EVENTS";
    return finding;
  }
  if (paranoid_forbids(perf)) {
    finding.why +=
        fmt::format("perf_event_open gives {}: perf_event_paranoid={} forbids it to users without CAP_PERFMON",
                    errno_name(error), *perf.paranoid);
    if (!facts.container.empty()) finding.why += fmt::format(" (container: {})", facts.container);
    finding.remedies.push_back(facts.container.empty() ? "sysctl -w kernel.perf_event_paranoid=1"
                                                       : "on the host: sysctl -w kernel.perf_event_paranoid=1");
    return finding;
  }
  finding.why += fmt::format(
      "perf_event_open gives {} although perf_event_paranoid={} allows user counting: a security "
      "module or a sandbox refuses it",
      errno_name(error), perf.paranoid ? std::to_string(*perf.paranoid) : "(unreadable)");
  finding.remedies.push_back(
      "look for the refusal in the audit log: SELinux, AppArmor, Landlock or a sandbox like gVisor");
  return finding;
}

Finding judge_hardware(const MachineFacts& facts) {
  const int error = facts.perf.instructions.error;
  switch (error) {
    case 0: return opened(facts);
    case ENOENT:      // no PMU claims PERF_TYPE_HARDWARE
    case EOPNOTSUPP:  // one does, without this event or without its interrupt
    case ENODEV:      // gVisor's answer
    case ENXIO: return without_pmu(facts);
    case EACCES:
    case EPERM:
    case ENOSYS: return cpuid_shows_no_counters(facts.cpuid) ? without_pmu(facts) : refused(facts);
    default:
      return {State::Broken, fmt::format("{}perf_event_open gives {}", where(facts.cpuid), errno_name(error)), {}};
  }
}

Finding judge_software(const MachineFacts& facts) {
  const EngineFacts& engine = facts.engine;
  Finding finding{State::Ready, "", {}};
  const auto lacks = [&](State state, std::string why, const char* remedy) {
    finding.state = state;
    finding.why += (finding.why.empty() ? "" : "; ") + std::move(why);
    finding.remedies.emplace_back(remedy);
  };
  if (!engine.low_window.worked())
    lacks(State::Denied,
          fmt::format("the {} MiB of addresses at {:#x} cannot be reserved ({})", engine.window_bytes >> 20,
                      engine.window_start, errno_name(engine.low_window.error)),
          engine.low_window.error == ENOMEM ? "lift the address-space limit: ulimit -v unlimited"
                                            : "run zeroskid outside the sandbox that holds these addresses");
  if (!engine.memfd.worked())
    lacks(State::Denied, fmt::format("memfd_create gives {}", errno_name(engine.memfd.error)),
          "allow memfd_create in the seccomp profile");
  if (!engine.writable_code.worked())
    lacks(State::Denied,
          fmt::format("memory cannot be writable and executable ({})", errno_name(engine.writable_code.error)),
          "allow it for zeroskid: SELinux deny_execmem, systemd MemoryDenyWriteExecute= and PR_SET_MDWE forbid it");
  if (engine.descriptor_limit < kDescriptorsNeeded)
    lacks(State::Denied,
          fmt::format("the hard limit of open files is {}, and {} are needed", engine.descriptor_limit,
                      kDescriptorsNeeded),
          "raise the hard limit of open files: ulimit -Hn 4096");
  if (finding.state != State::Ready) return finding;

  constexpr std::uint64_t kAvxState = 0x6, kAvx512State = 0xE6;  // XCR0: SSE, AVX; and opmask, ZMM halves, ZMM16-31
  const bool avx512 = facts.cpuid.avx512 && (facts.cpuid.xcr0 & kAvx512State) == kAvx512State;
  const bool avx = facts.cpuid.avx && (facts.cpuid.xcr0 & kAvxState) == kAvxState;
  finding.why = "ptrace not needed, no privileges; ";
  finding.why += avx512 ? "AVX-512 code supported"
                 : avx  ? "AVX code supported, this CPU has no AVX-512"
                        : "SSE code supported, this CPU has no AVX";
  if (!engine.fsgsbase_enabled) finding.why += "; slower thread switches: no fsgsbase";
  return finding;
}

}  // namespace

const char* name_of(State state) {
  static constexpr const char* kNames[] = {"ready", "none", "denied", "broken"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string hypervisor_name(const CpuidFacts& cpuid) {
  for (const auto& [signature, name] : kHypervisors)
    if (cpuid.hypervisor_signature == signature) return std::string(name);
  return cpuid.hypervisor_signature.empty() ? "an unnamed hypervisor" : '"' + cpuid.hypervisor_signature + '"';
}

std::string errno_name(int error) {
  const char* name = strerrorname_np(error);
  return name != nullptr ? name : fmt::format("errno {}", error);
}

Diagnosis diagnose(const MachineFacts& facts) {
  Diagnosis diagnosis;
  diagnosis.hardware = judge_hardware(facts);
  diagnosis.software = judge_software(facts);
  diagnosis.virtual_pc = {State::Ready, "an interpreter: needs no /dev/kvm and no privileges", {}};
  if (diagnosis.software.state == State::Ready) {
    diagnosis.precise_events = "sw";
    diagnosis.precise_why = ":p :pp :ppp; address and registers exact; data source and latency modelled (mem record)";
    diagnosis.branch_records = "sw";
    diagnosis.branch_why = "LBR 32-deep; BTS, every branch (trace)";
  } else {
    diagnosis.precise_events = diagnosis.branch_records = "no";
    diagnosis.precise_why = diagnosis.branch_why = "the software PMU is not ready";
  }
  return diagnosis;
}

}  // namespace zs::host
