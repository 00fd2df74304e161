#include "cli/doctor/doctor_page.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "engine/memory/layout.h"

namespace zs::cli {
namespace {

host::MachineFacts vm_without_pmu() {
  host::MachineFacts facts;
  facts.kernel = "6.1.0";
  facts.cpuid = {.vendor = "GenuineIntel",
                 .brand = "Intel(R) Xeon(R) Processor",
                 .family = 6,
                 .model = 207,
                 .stepping = 2,
                 .hypervisor = true,
                 .hypervisor_signature = "KVMKVMKVM",
                 .perfmon_leaf = true,
                 .avx = true,
                 .avx512 = true,
                 .fsgsbase = true,
                 .xcr0 = 0xE7};
  facts.perf.instructions = facts.perf.precise = facts.perf.branch_stack = {ENOENT};
  facts.perf.loop_instructions = 2'000'000;
  facts.perf.paranoid = 2;
  facts.engine.window_start = 0x1000'0000;
  facts.engine.window_bytes = 0x6ff0'0000;
  facts.engine.mmap_min_addr = 65536;
  facts.engine.fsgsbase_enabled = true;
  facts.engine.descriptor_limit = 1'048'576;
  facts.stock_perf = "/usr/bin/perf";
  return facts;
}

const KeptTranslations kKept{.folder = "/home/me/.cache/zeroskid/translations", .files = 3, .bytes = 5u << 20};

std::string page_of(const host::MachineFacts& facts) { return doctor_page(facts, host::diagnose(facts), kKept); }

TEST(DoctorPage, SaysWhyNoTranslationsAreKept) {
  const host::MachineFacts facts = vm_without_pmu();
  KeptTranslations kept{.folder = "/shared", .unusable = "others may look into it"};
  EXPECT_NE(doctor_page(facts, host::diagnose(facts), kept)
                .find("translations     none   /shared: others may look into it; each run translates anew\n"),
            std::string::npos);
  const auto json = nlohmann::json::parse(doctor_json(facts, host::diagnose(facts), kept));
  EXPECT_EQ(json["translations"]["unusable"], "others may look into it");
  EXPECT_EQ(json["translations"]["files"], 0);
}

TEST(DoctorPage, OfAVmWithoutPmuIsThis) {
  EXPECT_EQ(page_of(vm_without_pmu()), R"(
hardware PMU     none   guest of KVM; CPUID leaf 0xA reports 0 counters (not a permission problem:
                        perf_event_paranoid=2 would allow user counting)
                        -> no PMU in this VM: ask the hypervisor for a vPMU; the software PMU needs
                        nothing
software PMU     ready  ptrace not needed, no privileges; AVX-512 code supported
precise events   sw     :p :pp :ppp; address and registers exact; data source and latency modelled
                        (mem record)
branch records   sw     LBR 32-deep; BTS, every branch (trace)
modelled core    sw     caches, TLBs, prefetchers, coherence, branch prediction, store buffer;
                        cycles, latencies and top-down slots estimated
                        not: wrong paths, assists, hyper-threads, other sockets, the kernel's share;
                        `zeroskid list` says it of each event, --detail how much is played
                        of haswell, icelake-server, sapphire-rapids, skylake-server, westmere, zen4
virtual PC       ready  an interpreter: needs no /dev/kvm and no privileges
stock perf       ready  /usr/bin/perf reads the recordings too
translations     ready  /home/me/.cache/zeroskid/translations: 3 files of former runs, 5 MiB
Use: zeroskid record -e instructions:ppp -- PROGRAM
)" + 1);
}

TEST(DoctorPage, OfAParanoidBareMetalMachineEndsTheHardwareLineWithTheSysctl) {
  host::MachineFacts facts = vm_without_pmu();
  facts.cpuid.hypervisor = false;
  facts.cpuid.perfmon_version = 4;
  facts.cpuid.general_counters = 8;
  facts.cpuid.fixed_counters = 3;
  facts.perf.software_event = facts.perf.instructions = {EACCES};
  facts.perf.paranoid = 3;
  facts.stock_perf.clear();
  EXPECT_EQ(page_of(facts), R"(
hardware PMU     denied CPUID leaf 0xA reports version 4, 8 general and 3 fixed counters;
                        perf_event_open gives EACCES: perf_event_paranoid=3 forbids it to users
                        without CAP_PERFMON
                        -> sysctl -w kernel.perf_event_paranoid=1
software PMU     ready  ptrace not needed, no privileges; AVX-512 code supported
precise events   sw     :p :pp :ppp; address and registers exact; data source and latency modelled
                        (mem record)
branch records   sw     LBR 32-deep; BTS, every branch (trace)
modelled core    sw     caches, TLBs, prefetchers, coherence, branch prediction, store buffer;
                        cycles, latencies and top-down slots estimated
                        not: wrong paths, assists, hyper-threads, other sockets, the kernel's share;
                        `zeroskid list` says it of each event, --detail how much is played
                        of haswell, icelake-server, sapphire-rapids, skylake-server, westmere, zen4
virtual PC       ready  an interpreter: needs no /dev/kvm and no privileges
stock perf       none   not needed; `zeroskid report` reads the recordings
translations     ready  /home/me/.cache/zeroskid/translations: 3 files of former runs, 5 MiB
Use: zeroskid record -e instructions:ppp -- PROGRAM
)" + 1);
}

TEST(DoctorPage, OffersNoCommandWhereTheSoftwarePmuCannotRun) {
  host::MachineFacts facts = vm_without_pmu();
  facts.engine.memfd = {EPERM};
  EXPECT_EQ(page_of(facts), R"(
hardware PMU     none   guest of KVM; CPUID leaf 0xA reports 0 counters (not a permission problem:
                        perf_event_paranoid=2 would allow user counting)
                        -> no PMU in this VM: ask the hypervisor for a vPMU; the software PMU needs
                        nothing
software PMU     denied memfd_create gives EPERM
                        -> allow memfd_create in the seccomp profile
precise events   no     the software PMU is not ready
branch records   no     the software PMU is not ready
modelled core    sw     caches, TLBs, prefetchers, coherence, branch prediction, store buffer;
                        cycles, latencies and top-down slots estimated
                        not: wrong paths, assists, hyper-threads, other sockets, the kernel's share;
                        `zeroskid list` says it of each event, --detail how much is played
                        of haswell, icelake-server, sapphire-rapids, skylake-server, westmere, zen4
virtual PC       ready  an interpreter: needs no /dev/kvm and no privileges
stock perf       ready  /usr/bin/perf reads the recordings too
translations     ready  /home/me/.cache/zeroskid/translations: 3 files of former runs, 5 MiB
)" + 1);
}

TEST(DoctorFacts, AskForTheWindowThatTheEngineUses) {
  const engine::AddressRange low = engine::Layout{}.low;
  EXPECT_EQ(host::kLowWindowStart, low.start);
  EXPECT_EQ(host::kLowWindowBytes, low.size());
}

TEST(DoctorJson, KeepsTheFieldsThatTheFormatPagePromises) {
  const host::MachineFacts facts = vm_without_pmu();
  const auto json = nlohmann::json::parse(doctor_json(facts, host::diagnose(facts), kKept));
  EXPECT_EQ(json.at("schema"), "zeroskid-doctor");
  EXPECT_EQ(json.at("version"), 1);
  EXPECT_EQ(json.at("backends").at("hardware").at("state"), "none");
  EXPECT_EQ(json.at("backends").at("hardware").at("remedies").size(), 1u);
  EXPECT_EQ(json.at("backends").at("software").at("state"), "ready");
  EXPECT_EQ(json.at("backends").at("virtual_pc").at("why"), "an interpreter: needs no /dev/kvm and no privileges");
  EXPECT_EQ(json.at("precise_events").at("backend"), "sw");
  EXPECT_EQ(json.at("machine").at("hypervisor"), "KVM");
  EXPECT_EQ(json.at("machine").at("cpuid_0a").at("general_counters"), 0);
  EXPECT_TRUE(json.at("machine").at("container").is_null());
  EXPECT_EQ(json.at("perf_event_open").at("instructions_error"), "ENOENT");
  EXPECT_TRUE(json.at("perf_event_open").at("software_event_error").is_null());
  EXPECT_EQ(json.at("engine").at("low_window"), "0x10000000");
}

TEST(DoctorJson, SurvivesABrandThatIsNotUtf8) {
  host::MachineFacts facts = vm_without_pmu();
  facts.cpuid.brand = "CPU \xff";
  EXPECT_TRUE(nlohmann::json::accept(doctor_json(facts, host::diagnose(facts), kKept)));
}

}  // namespace
}  // namespace zs::cli
