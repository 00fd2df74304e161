#include "cli/record/record_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/command/exit_status.h"
#include "profile/perf_data/perf_data.h"

namespace zs::cli {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

struct Parsed {
  RecordOptions options;
  std::optional<int> status;
  std::string said;
};

Parsed parse(std::vector<std::string> words, RecordKind kind = RecordKind::Plain) {
  words.insert(words.begin(), "record");
  Parsed out;
  testing::internal::CaptureStderr();
  out.status = parse_record_options({words}, out.options, kind);
  out.said = testing::internal::GetCapturedStderr();
  return out;
}

std::string refused(const std::vector<std::string>& words) {
  const Parsed p = parse(words);
  EXPECT_EQ(p.status, kUsage) << p.said;
  return p.said;
}

TEST(RecordOptions, TheFirstWordThatIsNoOptionBeginsTheProgram) {
  const Parsed p = parse({"-c", "100", "ls", "-c", "7", "--help"});
  ASSERT_FALSE(p.status) << p.said;
  EXPECT_THAT(p.options.program, ElementsAre("ls", "-c", "7", "--help"));
}

TEST(RecordOptions, TwoDashesEndTheOptions) {
  EXPECT_THAT(parse({"--", "-odd-name", "--"}).options.program, ElementsAre("-odd-name", "--"));
}

TEST(RecordOptions, WithoutAnythingItSamplesInstructionsPreciselyAtPerfsRate) {
  const Parsed p = parse({"ls"});
  ASSERT_FALSE(p.status) << p.said;
  ASSERT_THAT(p.options.config.events, SizeIs(1));
  const session::EventSpec& event = p.options.config.events[0];
  EXPECT_EQ(event.name, "instructions:ppp");
  EXPECT_EQ(event.precise, 3);
  EXPECT_TRUE(event.precise_distribution);
  EXPECT_EQ(event.frequency, 4000U);
  EXPECT_TRUE(p.options.description.events[0].frequency);
  EXPECT_EQ(p.options.output, "perf.data");
}

TEST(RecordOptions, APeriodInTheEventWinsOverC) {
  const Parsed p = parse({"-e", "cpu/event=0xc0,period=77/pp,branches:pp", "-c", "1000", "ls"});
  ASSERT_FALSE(p.status) << p.said;
  ASSERT_THAT(p.options.config.events, SizeIs(2));
  EXPECT_EQ(p.options.config.events[0].period, 77U);
  EXPECT_EQ(p.options.config.events[1].period, 1000U);
}

TEST(RecordOptions, EventsOfSeveralListsAndGroupsKeepTheirPlaces) {
  const Parsed p = parse({"-e", "branches:pp", "-e", "{instructions:pp,branches:pp}", "-c", "9", "ls"});
  ASSERT_FALSE(p.status) << p.said;
  ASSERT_THAT(p.options.description.groups, SizeIs(1));
  EXPECT_EQ(p.options.description.groups[0].leader, 1U);
  EXPECT_EQ(p.options.description.groups[0].members, 2U);
  EXPECT_EQ(p.options.config.events[2].leader, 1U);
}

TEST(RecordOptions, ATraceOfBranchesIsRecordedAloneAndOnIntelsModels) {
  const Parsed p = parse({"-e", "intel_bts//u", "ls"});
  ASSERT_FALSE(p.status) << p.said;
  EXPECT_TRUE(p.options.config.traces_branches());
  EXPECT_FALSE(p.options.config.samples());
  ASSERT_THAT(p.options.description.events, SizeIs(1));
  EXPECT_EQ(p.options.description.events[0].type, profile::perf::kBranchTraceType);
  EXPECT_EQ(p.options.description.events[0].period, 1U);
  EXPECT_THAT(refused({"-e", "intel_bts//u,branches", "ls"}), testing::HasSubstr("is recorded alone"));
  EXPECT_THAT(refused({"--model", "zen4", "-e", "intel_bts//u", "ls"}),
              testing::HasSubstr("zen4@1 has no Branch Trace Store"));
}

TEST(RecordOptions, ATraceOfBranchesTakesNoOptionOfSamples) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{"-c", "10"},
                                                                                     {"-F", "99"},
                                                                                     {"-g"},
                                                                                     {"--call-graph", "fp"},
                                                                                     {"-b"},
                                                                                     {"-j", "any_call"},
                                                                                     {"--intr-regs"},
                                                                                     {"-d"},
                                                                                     {"-W"},
                                                                                     {"-R"}}) {
    std::vector<std::string> all = {"-e", "intel_bts//u"};
    all.insert(all.end(), words.begin(), words.end());
    all.emplace_back("ls");
    EXPECT_THAT(refused(all), testing::HasSubstr("takes no samples, of which " + words[0] + " is"));
  }
}

TEST(RecordOptions, InstructionBasedSamplingIsDescribedAsTheKernelsPmuIs) {
  const Parsed p = parse({"--model", "zen4", "-e", "ibs_op/cnt_ctl=1/", "-c", "1600", "-R", "ls"});
  ASSERT_FALSE(p.status) << p.said;
  ASSERT_THAT(p.options.description.events, SizeIs(1));
  EXPECT_EQ(p.options.description.events[0].type, 11U);
  EXPECT_EQ(p.options.description.events[0].config, 1U << 19);
  EXPECT_EQ(p.options.description.events[0].period, 1600U);
  EXPECT_FALSE(p.options.description.events[0].exclude_kernel);
  EXPECT_TRUE(p.options.description.raw_records);
  EXPECT_EQ(p.options.description.machine.cpu_id, "AuthenticAMD,25,97,2");
  EXPECT_EQ(p.options.config.detail, session::Detail::Full);
  EXPECT_FALSE(p.options.config.in_units);
}

TEST(RecordOptions, SamplingOfFetchesIsDescribedAsTheKernelsPmuIs) {
  const Parsed p = parse({"--model", "zen4", "-e", "ibs_fetch/rand_en=1,l3missonly=1/", "-c", "1600", "ls"});
  ASSERT_FALSE(p.status) << p.said;
  EXPECT_EQ(p.options.description.events[0].type, 10U);
  EXPECT_EQ(p.options.description.events[0].config, std::uint64_t{1} << 57 | std::uint64_t{1} << 59);
  EXPECT_EQ(p.options.config.detail, session::Detail::Full);
  EXPECT_THAT(refused({"--model", "zen4", "-e", "ibs_fetch//", "-c", "1048576", "ls"}),
              testing::HasSubstr("longer than IbsFetchMaxCnt can hold"));
}

TEST(RecordOptions, InstructionBasedSamplingTakesThePeriodsOfTheHardwareAlone) {
  const auto with_period = [](const char* period) {
    return refused({"--model", "zen4", "-e", "ibs_op//", "-c", period, "ls"});
  };
  EXPECT_THAT(with_period("1000"), testing::HasSubstr("period 1000 is no multiple of 16"));
  EXPECT_THAT(with_period("128"), testing::HasSubstr("period 128 is too short"));
  EXPECT_THAT(with_period("134217728"), testing::HasSubstr("longer than IbsOpMaxCnt can hold"));
  EXPECT_THAT(refused({"--model", "zen4", "-e", "ibs_op//", "--detail", "sampled", "ls"}),
              testing::HasSubstr("instruction-based sampling and --detail sampled exclude each other"));
}

TEST(RecordOptions, ATraceOfBranchesMayBeBounded) {
  const auto bounded = [](std::vector<std::string> words) {
    words.insert(words.begin(), {"-e", "intel_bts//u"});
    words.emplace_back("ls");
    const TraceBound bound = parse(words).options.bound;
    return std::pair(bound.branches, bound.bytes);
  };
  EXPECT_EQ(bounded({}), std::pair(0UL, 0UL));
  EXPECT_EQ(bounded({"-S", "1000"}), std::pair(1000UL, 0UL));
  EXPECT_EQ(bounded({"--max-size", "24K"}), std::pair(0UL, 24576UL));
  EXPECT_EQ(bounded({"--max-size", "24K", "-S", "100"}), std::pair(100UL, 24576UL));
  EXPECT_THAT(refused({"-e", "intel_bts//u", "--max-size", "much", "ls"}), testing::HasSubstr("no size"));
  EXPECT_THAT(refused({"-S", "9", "ls"}), testing::HasSubstr("only a trace of branches is bounded"));
  EXPECT_THAT(refused({"--max-size", "1M", "ls"}), testing::HasSubstr("only a trace of branches is bounded"));
}

TEST(RecordOptions, FromOutsideAGuestBothRingsAreSeenUnlessOneIsAskedFor) {
  const Parsed p = parse({"-e", "instructions:ppp,branches:upp,branches:k", "-b", "guest"}, RecordKind::Outside);
  ASSERT_FALSE(p.status) << p.said;
  EXPECT_TRUE(arch::PerfEvtSel{p.options.config.events[0].select}.has(arch::PerfEvtSel::kernel));
  EXPECT_FALSE(p.options.description.events[0].exclude_kernel);
  EXPECT_FALSE(arch::PerfEvtSel{p.options.config.events[1].select}.has(arch::PerfEvtSel::kernel));
  EXPECT_TRUE(p.options.description.events[1].exclude_kernel);
  EXPECT_FALSE(arch::PerfEvtSel{p.options.config.events[2].select}.has(arch::PerfEvtSel::user));
  EXPECT_TRUE(p.options.description.events[2].exclude_user);
  EXPECT_EQ(p.options.config.lbr_select, 0u) << "branches of both rings";
  for (const char* const event : {"intel_bts//", "cpu/mem-loads,ldlat=30/P"}) {
    EXPECT_THAT(parse({"-e", event, "guest"}, RecordKind::Outside).said,
                testing::HasSubstr(": is not recorded from outside the guest"));
  }
}

TEST(RecordOptions, CallChainsComeInFourWays) {
  EXPECT_EQ(parse({"-g", "ls"}).options.config.callchain, session::Callchain::Exact);
  EXPECT_EQ(parse({"--call-graph", "fp", "ls"}).options.config.callchain, session::Callchain::FramePointers);
  EXPECT_EQ(parse({"--call-graph", "lbr", "ls"}).options.config.callchain, session::Callchain::LbrCallStack);
  EXPECT_EQ(parse({"--call-graph=dwarf", "ls"}).options.config.stack_bytes, 8192U);
  EXPECT_EQ(parse({"--call-graph", "dwarf,16384", "ls"}).options.description.stack_bytes, 16384U);
}

TEST(RecordOptions, UnwindingNeedsTheMappingsOfItsTables) {
  EXPECT_TRUE(parse({"--call-graph", "dwarf", "ls"}).options.config.data_mappings);
  EXPECT_FALSE(parse({"--call-graph", "fp", "ls"}).options.config.data_mappings);
  EXPECT_TRUE(parse({"-d", "ls"}).options.config.data_mappings);
}

TEST(RecordOptions, SomeRegistersCanBeNamed) {
  EXPECT_EQ(parse({"--intr-regs=ax,BX,r15", "ls"}).options.description.interrupt_registers, 0x800003U);
  EXPECT_EQ(parse({"--intr-regs", "ls"}).options.description.interrupt_registers, profile::perf::kAllGeneralRegisters);
  EXPECT_TRUE(parse({"--intr-regs=ip", "ls"}).options.config.registers);
  EXPECT_EQ(parse({"--intr-regs=none", "ls"}).options.description.interrupt_registers, 0U);
  EXPECT_FALSE(parse({"--intr-regs=none", "ls"}).options.config.registers);
}

TEST(RecordOptions, TheKernelCountsWhatItAloneCan) {
  const auto attached = parse({"-e", "cpu-clock", "-p", "123"}).options.perf_events;
  ASSERT_TRUE(attached);
  EXPECT_EQ(attached->choice.targets.processes, std::vector<pid_t>{123});
  EXPECT_EQ(attached->choice.because, "-p watches a running process");
  const auto system = parse({"-e", "cpu-clock", "-a", "ls"}).options.perf_events;
  ASSERT_TRUE(system);
  EXPECT_TRUE(system->choice.targets.is_system());
  EXPECT_TRUE(parse({"-e", "cpu-clock,page-faults", "ls"}).options.perf_events);
  EXPECT_FALSE(parse({"-e", "instructions:ppp", "ls"}).options.perf_events);
  EXPECT_FALSE(parse({"ls"}).options.perf_events);
}

TEST(RecordOptions, TheSoftwarePmuAttachesToNothing) {
  EXPECT_EQ(refused({"--pmu=sw", "-p", "123"}),
            "zeroskid: --pmu=sw: -p watches a running process, and the software PMU sees only programs that it starts\n"
            "hint: --pmu=hw, or start the program under zeroskid\n");
}

TEST(RecordOptions, AnUnknownOptionIsNamed) {
  EXPECT_EQ(refused({"--frobnicate", "ls"}),
            "zeroskid record: there is no option --frobnicate\n"
            "hint: zeroskid record --help lists the options\n");
}

TEST(RecordOptions, AnOptionWithoutItsValueIsNamed) {
  EXPECT_EQ(refused({"-e"}),
            "zeroskid record: --event needs a value\nhint: zeroskid record --help lists the options\n");
}

TEST(RecordOptions, ACountMustBeAPositiveNumber) {
  const char* const hint = "hint: zeroskid record --help lists the options\n";
  EXPECT_EQ(refused({"-c", "0", "ls"}),
            "zeroskid record: --count: 0 is not a whole number from 1 up\n" + std::string(hint));
  EXPECT_EQ(refused({"-c", "-5", "ls"}),
            "zeroskid record: --count: -5 is not a whole number from 1 up\n" + std::string(hint));
  EXPECT_EQ(refused({"-c", "many", "ls"}),
            "zeroskid record: --count: many is not a whole number from 1 up\n" + std::string(hint));
}

TEST(RecordOptions, APeriodThatNoCounterHoldsIsRefused) {
  EXPECT_EQ(refused({"-e", "branches:pp", "-c", "281474976710656", "ls"}),
            "zeroskid: branches:pp: period 281474976710656 is longer than a counter of skylake-server@1 can hold\n"
            "hint: at most 140737488355327\n");
}

TEST(RecordOptions, TheSoftwarePmuSamplesNoEventOfTheKernel) {
  EXPECT_EQ(refused({"--pmu=sw", "-e", "page-faults", "ls"}),
            "zeroskid: page-faults: the kernel counts it, and no PMU can sample it\nhint: zeroskid stat counts it\n");
}

TEST(RecordOptions, AnUnknownEventIsRefusedWithItsNearestNames) {
  EXPECT_THAT(refused({"-e", "instrutions", "ls"}), testing::HasSubstr("unknown event 'instrutions'"));
}

TEST(RecordOptions, AnUnknownModelIsRefusedWithTheKnownOnes) {
  EXPECT_THAT(refused({"--cpu", "i486", "ls"}),
              testing::StartsWith("zeroskid: --cpu i486: no such CPU model\nhint: models: "));
  EXPECT_THAT(refused({"--model", "i486", "ls"}), testing::StartsWith("zeroskid: --model i486: no such CPU model\n"));
  EXPECT_THAT(refused({"--model=i486", "ls", "--cpu", "z80"}),
              testing::StartsWith("zeroskid: --model i486: no such CPU model\n"));
  EXPECT_THAT(refused({"--model", "haswell", "--cpu=i486", "ls"}),
              testing::StartsWith("zeroskid: --cpu i486: no such CPU model\n"));
}

TEST(RecordOptions, WithoutAProgramThereIsNothingToRecord) {
  EXPECT_EQ(refused({"-c", "5"}),
            "zeroskid: no program to record\nhint: zeroskid record [OPTIONS] PROGRAM [ARGUMENTS]\n");
}

TEST(RecordOptions, WhatContradictsItselfIsRefused) {
  EXPECT_EQ(refused({"-c", "5", "-F", "99", "ls"}),
            "zeroskid: -c and -F exclude each other\nhint: -c N: one sample every N events\n");
  EXPECT_EQ(refused({"-b", "--call-graph", "lbr", "ls"}),
            "zeroskid: -b and --call-graph lbr both need the LBR stack\nhint: take --call-graph fp\n");
}

TEST(RecordOptions, ValuesOutsideTheirListsAreRefusedWithTheList) {
  EXPECT_EQ(
      refused({"--call-graph", "magic", "ls"}),
      "zeroskid: --call-graph magic: no such way to get call chains\nhint: exact, fp, dwarf, dwarf,SIZE, or lbr\n");
  EXPECT_EQ(refused({"--call-graph", "dwarf,100000", "ls"}),
            "zeroskid: --call-graph dwarf,100000: the stack size must be a number up to 65528\n"
            "hint: --call-graph dwarf takes 8192\n");
  EXPECT_EQ(refused({"--intr-regs=ax,xyz", "ls"}),
            "zeroskid: --intr-regs: no register xyz\n"
            "hint: registers: ax bx cx dx si di bp sp ip flags r8 r9 r10 r11 r12 r13 r14 r15\n");
  EXPECT_EQ(refused({"-o", "-", "-z", "ls"}),
            "zeroskid: -o - and -z exclude each other: perf's pipe format is not compressed\nhint: -o - | zstd\n");
}

}  // namespace
}  // namespace zs::cli
