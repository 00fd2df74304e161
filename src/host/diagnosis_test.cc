#include "host/diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace zs::host {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Bare metal, a PMU, permission: every test takes something away.
MachineFacts bare_metal() {
  MachineFacts facts;
  facts.kernel = "6.1.0-18-amd64";
  facts.cpuid = {.vendor = "GenuineIntel",
                 .brand = "Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz",
                 .family = 6,
                 .model = 0x55,
                 .stepping = 4,
                 .hypervisor_signature = "",
                 .perfmon_leaf = true,
                 .perfmon_version = 4,
                 .general_counters = 4,
                 .general_bits = 48,
                 .fixed_counters = 3,
                 .debug_store = true,
                 .avx = true,
                 .avx512 = true,
                 .fsgsbase = true,
                 .xcr0 = 0xE7};
  facts.perf.counted = 2'000'019;
  facts.perf.loop_instructions = 2'000'000;
  facts.perf.paranoid = 2;
  facts.engine.window_start = kLowWindowStart;
  facts.engine.window_bytes = kLowWindowBytes;
  facts.engine.mmap_min_addr = 65536;
  facts.engine.fsgsbase_enabled = true;
  facts.engine.descriptor_limit = 4096;
  return facts;
}

void refuse_every_event(MachineFacts& facts, int error) {
  facts.perf.software_event = facts.perf.instructions = facts.perf.precise = facts.perf.branch_stack = {error};
  facts.perf.counted = 0;
}

void take_the_pmu_away(MachineFacts& facts) {
  facts.perf.instructions = facts.perf.precise = facts.perf.branch_stack = {ENOENT};
  facts.perf.counted = 0;
}

void put_in_a_vm(MachineFacts& facts, const char* signature) {
  facts.cpuid.hypervisor = true;
  facts.cpuid.hypervisor_signature = signature;
}

void hide_the_counters(MachineFacts& facts) {
  facts.cpuid.perfmon_version = facts.cpuid.general_counters = facts.cpuid.general_bits = facts.cpuid.fixed_counters =
      0;
}

constexpr const char* kNoPmuInThisVm =
    "no PMU in this VM: ask the hypervisor for a vPMU; the software PMU needs nothing";

TEST(HardwareDiagnosis, IsReadyOnBareMetalWithPermission) {
  const Finding finding = diagnose(bare_metal()).hardware;
  EXPECT_EQ(finding.state, State::Ready);
  EXPECT_EQ(finding.why,
            "perf_event_open counts instructions; version 4, 4 general and 3 fixed counters; PEBS yes; LBR yes; "
            "this version records with the software PMU, stock perf can use this one");
  EXPECT_THAT(finding.remedies, IsEmpty());
}

TEST(HardwareDiagnosis, BlamesTheHypervisorAndNotThePermissionWhereAVmShowsNoCounters) {
  MachineFacts facts = bare_metal();
  put_in_a_vm(facts, "KVMKVMKVM");
  hide_the_counters(facts);
  take_the_pmu_away(facts);
  const Finding finding = diagnose(facts).hardware;
  EXPECT_EQ(finding.state, State::None);
  EXPECT_EQ(finding.why,
            "guest of KVM; CPUID leaf 0xA reports 0 counters (not a permission problem: perf_event_paranoid=2 would "
            "allow user counting)");
  EXPECT_THAT(finding.remedies, ElementsAre(kNoPmuInThisVm));
}

TEST(HardwareDiagnosis, DoesNotSendAnyoneToSysctlWhereAVmShowsNoCountersAndParanoidForbidsToo) {
  MachineFacts facts = bare_metal();
  put_in_a_vm(facts, "Microsoft Hv");
  hide_the_counters(facts);
  facts.perf.paranoid = 4;
  refuse_every_event(facts, EACCES);
  const Finding finding = diagnose(facts).hardware;
  EXPECT_EQ(finding.state, State::None);
  EXPECT_EQ(
      finding.why,
      "guest of Hyper-V; CPUID leaf 0xA reports 0 counters (perf_event_paranoid=4 forbids perf_event_open too, but "
      "lifting that would not help)");
  EXPECT_THAT(finding.remedies, ElementsAre(kNoPmuInThisVm));
}

TEST(HardwareDiagnosis, DoesNotBlameTheContainerWhereItsVmShowsNoCounters) {
  MachineFacts facts = bare_metal();
  put_in_a_vm(facts, "KVMKVMKVM");
  hide_the_counters(facts);
  facts.container = "/.dockerenv";
  facts.seccomp_mode = 2;
  refuse_every_event(facts, EPERM);
  const Finding finding = diagnose(facts).hardware;
  EXPECT_EQ(finding.state, State::None);
  EXPECT_EQ(finding.why,
            "guest of KVM; CPUID leaf 0xA reports 0 counters (perf_event_open is refused too (EPERM), but allowing it "
            "would not help)");
  EXPECT_THAT(finding.remedies, ElementsAre(kNoPmuInThisVm));
}

TEST(HardwareDiagnosis, NamesTheSysctlWhereOnlyParanoidForbids) {
  MachineFacts facts = bare_metal();
  facts.perf.paranoid = 3;
  refuse_every_event(facts, EACCES);
  const Finding finding = diagnose(facts).hardware;
  EXPECT_EQ(finding.state, State::Denied);
  EXPECT_EQ(finding.why,
            "CPUID leaf 0xA reports version 4, 4 general and 3 fixed counters; perf_event_open gives EACCES: "
            "perf_event_paranoid=3 forbids it to users without CAP_PERFMON");
  EXPECT_THAT(finding.remedies, ElementsAre("sysctl -w kernel.perf_event_paranoid=1"));
}

TEST(HardwareDiagnosis, NamesTheContainersFilterWhereSeccompRefuses) {
  MachineFacts facts = bare_metal();
  facts.container = "/.dockerenv";
  facts.seccomp_mode = 2;
  refuse_every_event(facts, EPERM);
  const Finding finding = diagnose(facts).hardware;
  EXPECT_EQ(finding.state, State::Denied);
  EXPECT_EQ(finding.why,
            "CPUID leaf 0xA reports version 4, 4 general and 3 fixed counters; perf_event_open gives EPERM: a seccomp "
            "filter of this container (/.dockerenv) refuses it");
  EXPECT_THAT(finding.remedies,
              ElementsAre("start the container with --cap-add=PERFMON, or with a seccomp profile that "
                          "allows perf_event_open"));
}

TEST(HardwareDiagnosis, NamesBothObstaclesOfAContainerOnAParanoidHost) {
  MachineFacts facts = bare_metal();
  facts.container = "/run/.containerenv";
  facts.seccomp_mode = 2;
  facts.perf.paranoid = 4;
  refuse_every_event(facts, ENOSYS);
  const Finding finding = diagnose(facts).hardware;
  EXPECT_EQ(finding.state, State::Denied);
  EXPECT_THAT(finding.remedies,
              ElementsAre("start the container with --cap-add=PERFMON, or with a seccomp profile that "
                          "allows perf_event_open",
                          "and on the host: sysctl -w kernel.perf_event_paranoid=1"));
}

TEST(HardwareDiagnosis, KnowsAKernelWithoutPerfEventsFromAFilter) {
  MachineFacts facts = bare_metal();
  facts.perf.paranoid = std::nullopt;
  refuse_every_event(facts, ENOSYS);
  const Finding finding = diagnose(facts).hardware;
  EXPECT_EQ(finding.state, State::None);
  EXPECT_EQ(
      finding.why,
      "CPUID leaf 0xA reports version 4, 4 general and 3 fixed counters; perf_event_open gives ENOSYS: this kernel "
      "is built without CONFIG_PERF_EVENTS");
  EXPECT_THAT(finding.remedies, IsEmpty());
}

TEST(HardwareDiagnosis, SuspectsASecurityModuleWhereParanoidWouldAllow) {
  MachineFacts facts = bare_metal();
  refuse_every_event(facts, EACCES);
  const Finding finding = diagnose(facts).hardware;
  EXPECT_EQ(finding.state, State::Denied);
  EXPECT_EQ(finding.why,
            "CPUID leaf 0xA reports version 4, 4 general and 3 fixed counters; perf_event_open gives EACCES although "
            "perf_event_paranoid=2 allows user counting: a security module or a sandbox refuses it");
}

TEST(HardwareDiagnosis, CallsAVirtualPmuBrokenThatOpensAndNeverCounts) {
  MachineFacts facts = bare_metal();
  put_in_a_vm(facts, "VMwareVMware");
  facts.perf.counted = 0;
  const Finding finding = diagnose(facts).hardware;
  EXPECT_EQ(finding.state, State::Broken);
  EXPECT_EQ(finding.why, "guest of VMware; the instructions event opens but counted 0 over a loop of 2000000");
}

TEST(HardwareDiagnosis, SaysWhatAVirtualPmuLacks) {
  MachineFacts facts = bare_metal();
  put_in_a_vm(facts, "KVMKVMKVM");
  facts.cpuid.perfmon_version = 2;
  facts.perf.precise = facts.perf.branch_stack = {EOPNOTSUPP};
  const Finding finding = diagnose(facts).hardware;
  EXPECT_EQ(finding.state, State::Ready);
  EXPECT_EQ(
      finding.why,
      "guest of KVM; perf_event_open counts instructions; version 2, 4 general and 3 fixed counters; PEBS no "
      "(EOPNOTSUPP); LBR no (EOPNOTSUPP); this version records with the software PMU, stock perf can use this one");
}

TEST(HardwareDiagnosis, DoesNotAskAnAmdGuestForLeaf0A) {
  MachineFacts facts = bare_metal();
  put_in_a_vm(facts, "KVMKVMKVM");
  facts.cpuid.vendor = "AuthenticAMD";
  facts.cpuid.perfmon_leaf = false;
  hide_the_counters(facts);
  take_the_pmu_away(facts);
  EXPECT_EQ(diagnose(facts).hardware.why,
            "guest of KVM; the kernel found no PMU (not a permission problem: perf_event_paranoid=2 would allow user "
            "counting)");
}

TEST(HardwareDiagnosis, SendsBareMetalWithoutADriverToTheKernelLog) {
  MachineFacts facts = bare_metal();
  take_the_pmu_away(facts);
  const Finding finding = diagnose(facts).hardware;
  EXPECT_EQ(finding.state, State::None);
  EXPECT_EQ(finding.why,
            "CPUID leaf 0xA reports version 4, 4 general and 3 fixed counters, yet the kernel found no PMU (not a "
            "permission problem: perf_event_paranoid=2 would allow user counting)");
  EXPECT_THAT(finding.remedies, ElementsAre("dmesg | grep 'Performance Events' says why the kernel has no PMU driver "
                                            "here (firmware, kernel build)"));
}

TEST(SoftwareDiagnosis, NeedsNoPermissionAtAll) {
  MachineFacts facts = bare_metal();
  put_in_a_vm(facts, "KVMKVMKVM");
  hide_the_counters(facts);
  facts.perf.paranoid = 4;
  refuse_every_event(facts, EACCES);
  const Diagnosis diagnosis = diagnose(facts);
  EXPECT_EQ(diagnosis.software.state, State::Ready);
  EXPECT_EQ(diagnosis.software.why, "ptrace not needed, no privileges; AVX-512 code supported");
  EXPECT_EQ(diagnosis.precise_events, "sw");
  EXPECT_EQ(diagnosis.branch_records, "sw");
}

TEST(SoftwareDiagnosis, NamesAnAddressSpaceLimit) {
  MachineFacts facts = bare_metal();
  facts.engine.low_window = {ENOMEM};
  const Diagnosis diagnosis = diagnose(facts);
  EXPECT_EQ(diagnosis.software.state, State::Denied);
  EXPECT_EQ(diagnosis.software.why, "the 1791 MiB of addresses at 0x10000000 cannot be reserved (ENOMEM)");
  EXPECT_THAT(diagnosis.software.remedies, ElementsAre("lift the address-space limit: ulimit -v unlimited"));
  EXPECT_EQ(diagnosis.precise_events, "no");
}

TEST(SoftwareDiagnosis, NamesEveryObstacleWithItsRemedy) {
  MachineFacts facts = bare_metal();
  facts.engine.writable_code = {EACCES};
  facts.engine.descriptor_limit = 256;
  const Finding finding = diagnose(facts).software;
  EXPECT_EQ(
      finding.why,
      "memory cannot be writable and executable (EACCES); the hard limit of open files is 256, and 1024 are needed");
  EXPECT_THAT(
      finding.remedies,
      ElementsAre(
          "allow it for zeroskid: SELinux deny_execmem, systemd MemoryDenyWriteExecute= and PR_SET_MDWE forbid it",
          "raise the hard limit of open files: ulimit -Hn 4096"));
}

TEST(SoftwareDiagnosis, DoesNotPromiseAvx512WhereTheKernelKeepsNoStateForIt) {
  MachineFacts facts = bare_metal();
  facts.cpuid.xcr0 = 0x7;
  EXPECT_EQ(diagnose(facts).software.why,
            "ptrace not needed, no privileges; AVX code supported, this CPU has no AVX-512");
}

TEST(Hypervisor, IsNamedByItsSignature) {
  CpuidFacts cpuid;
  cpuid.hypervisor = true;
  cpuid.hypervisor_signature = "XenVMMXenVMM";
  EXPECT_EQ(hypervisor_name(cpuid), "Xen");
  cpuid.hypervisor_signature = "NewOneNewOne";
  EXPECT_EQ(hypervisor_name(cpuid), "\"NewOneNewOne\"");
  cpuid.hypervisor_signature = "";
  EXPECT_EQ(hypervisor_name(cpuid), "an unnamed hypervisor");
}

TEST(MachineFacts, OfThisMachineAgreeWithThemselves) {
  const MachineFacts facts = ask_this_machine();
  EXPECT_FALSE(facts.kernel.empty());
  EXPECT_FALSE(facts.cpuid.vendor.empty());
  EXPECT_TRUE(facts.perf.instructions.worked() || facts.perf.counted == 0);
  EXPECT_TRUE(facts.perf.instructions.worked() || !facts.perf.precise.worked());
  EXPECT_FALSE(diagnose(facts).hardware.why.empty());
}

}  // namespace
}  // namespace zs::host
