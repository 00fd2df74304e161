#include "session/recording/recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

#include "arch/events/tables.h"
#include "arch/msrs.h"
#include "arch/records/ds_excerpt.h"
#include "arch/records/pebs_decode.h"
#include "arch/records/perf_mem.h"
#include "session/driver/core_choice.h"
#include "session/recording/fake_program.h"
#include "session/recording/test_recorder.h"

namespace zs::session {
namespace {

using arch::any_of;
using arch::fixed;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(Recorder, AnOrdinaryPebsEventRecordsOneAfterEachPeriod) {
  Recorded out{recording({instructions(10, 2)})};
  FakeThread thread{out.recorder, kMain};
  thread.run_straight(kText, 40);
  thread.exit();
  // Occurrences 11, 22, 33: ten overflow and arm, the next is recorded.
  EXPECT_THAT(out.ips(), ElementsAre(kText + 4 * 10, kText + 4 * 21, kText + 4 * 32));
}

TEST(Recorder, ThePreciseDistributionRecordsTheLastOfEachPeriod) {
  Recorded out{recording({prec_dist(10)})};
  FakeThread thread{out.recorder, kMain};
  thread.run_straight(kText, 39);
  thread.exit();
  EXPECT_THAT(out.ips(), ElementsAre(kText + 4 * 9, kText + 4 * 19, kText + 4 * 29));
}

std::uint64_t msr_of(const engine::VirtualCpu& cpu, std::uint32_t msr) {
  std::uint64_t value = 0;
  EXPECT_TRUE(cpu.pmus.front()->rdmsr(msr, value)) << msr;
  return value;
}

TEST(Recorder, ProgramsLoadLatencyWithItsThresholdAndWhereThereIsOneItsEnable) {
  EventSpec latency = loads(10, 2);
  latency.select = select(0xCD, 0x01);
  latency.latency_threshold = 30;
  for (const bool baseline : {false, true}) {
    Recorded out{recording({latency}, baseline ? "icelake-server@1" : "haswell@1")};
    const engine::VirtualCpu cpu = out.recorder.thread_started(kMain);
    EXPECT_EQ(msr_of(cpu, arch::LoadLatency::msrs[0]), 30U);
    EXPECT_EQ(msr_of(cpu, arch::PebsEnable::msrs[0]), baseline ? 1U : 0x1'0000'0001U);
  }
}

/// The samples of two slow loads from memory that walked the page tables; the second is recorded.
std::vector<Sample> samples_of_slow_loads(std::string cpu, Detail detail) {
  RecordingConfig config = recording({slow_loads()}, std::move(cpu));
  config.detail = detail;
  Recorded out{config};
  FakeThread thread{out.recorder, kMain};
  arch::CoreSignals signals;
  signals[arch::CoreSignal::LatencyLoads] = 1;
  const Step step{
      .ip = kText,
      .loads = 1,
      .address = 0x2000,
      .load = {.present = true, .latency = 300, .source = {.level = arch::DataLevel::Dram, .tlb = arch::DataTlb::Walk}},
      .signals = &signals};
  thread.run(step);
  thread.run(step);
  thread.exit();
  return out.all<Sample>();
}

TEST(Recorder, ASampleSaysWhereItsDataWasAndHowLongItTookInTheWordsOfLinux) {
  using namespace arch::perf_mem;
  const Word memory = kLoad | kHit | kLocalRam | kNumberRam, walk = kTlbMiss | kTlbL2;
  const auto haswell = samples_of_slow_loads("haswell@1", Detail::Full);
  ASSERT_THAT(haswell, SizeIs(1));
  EXPECT_EQ(haswell[0].data_source, (memory | kSnoopNone | kSnoopMiss | walk | kBlockNa).bits);
  EXPECT_EQ(haswell[0].latency, 300U);
  EXPECT_EQ(haswell[0].instruction_latency, 0U);
  EXPECT_EQ(haswell[0].address, 0x2000U);
  for (const char* cpu : {"skylake-server@1", "icelake-server@1"}) {
    const auto samples = samples_of_slow_loads(cpu, Detail::Full);
    ASSERT_THAT(samples, SizeIs(1)) << cpu;
    EXPECT_EQ(samples[0].data_source, (memory | kSnoopHit | walk | kBlockNa).bits) << cpu;
    EXPECT_EQ(samples[0].latency, 300U) << cpu;
  }
  const auto rapids = samples_of_slow_loads("sapphire-rapids@1", Detail::Full);
  ASSERT_FALSE(rapids.empty());
  EXPECT_EQ(rapids[0].latency, 300U);
  EXPECT_EQ(rapids[0].instruction_latency, 300U) << "its records have two latencies";
}

TEST(Recorder, WithoutACoreASampleDoesNotSayWhereItsDataWas) {
  for (const Sample& sample : samples_of_slow_loads("skylake-server@1", Detail::Exact)) {
    EXPECT_EQ(sample.data_source, arch::perf_mem::kNothingKnown.bits);
    EXPECT_EQ(sample.latency, 0U);
  }
  Recorded out{recording({instructions(10, 0)})};
  FakeThread thread{out.recorder, kMain};
  thread.run_straight(kText, 12);
  thread.exit();
  ASSERT_THAT(out.all<Sample>(), SizeIs(1));
  EXPECT_EQ(out.all<Sample>()[0].data_source, arch::perf_mem::kNothingKnown.bits)
      << "an overflow interrupt has no record";
}

TEST(Recorder, EnablesPreciseStoreWhereThatSamplesStores) {
  EventSpec stores = loads(10, 2);
  stores.select = select(0xCD, 0x02);
  stores.counters = stores.precise_counters = arch::only(3);
  Recorded out{recording({stores}, "ivybridge@1")};
  const engine::VirtualCpu cpu = out.recorder.thread_started(kMain);
  EXPECT_EQ(msr_of(cpu, arch::PebsEnable::msrs[0]), arch::PebsEnable::precise_store.mask | 8);
}

TEST(Recorder, GivesEachThreadItsCoreAndSaysThatItEndsBeforeTheMachineDoes) {
  RecordingConfig config = recording({instructions(0, 0)});
  config.detail = Detail::Full;
  const arch::CpuModel& model = *arch::find_cpu_model(config.cpu_model);
  const auto machine = make_machine(config, model);
  ASSERT_TRUE(machine);
  struct Silent final : Channel {
    void send(std::span<const std::byte>) override {}
  } channel;
  TickingClock clock;
  FakeStack stack;
  Recorder recorder{config, model, *plan_banks(config.events, model), machine->get(), channel, clock, stack, false};
  const engine::VirtualCpu first = recorder.thread_started(kMain);
  engine::ThreadIdentity other = kMain;
  ++other.tid;
  const engine::VirtualCpu second = recorder.thread_started(other);
  ASSERT_NE(first.core, nullptr);
  ASSERT_NE(second.core, nullptr);
  EXPECT_NE(first.core, second.core);
  EXPECT_EQ(first.core->signals(), arch::CoreSignals{});
  recorder.thread_exited(other);
}

TEST(Recorder, AnInterruptWithoutPebsIsTakenAtTheNextInstruction) {
  Recorded out{recording({instructions(10, 0)})};
  FakeThread thread{out.recorder, kMain};
  thread.run_straight(kText, 39);
  thread.exit();
  EXPECT_THAT(out.ips(), ElementsAre(kText + 4 * 10, kText + 4 * 20, kText + 4 * 30));
  for (const Sample& s : out.all<Sample>()) EXPECT_FALSE(s.exact_ip);
}

TEST(Recorder, ASampleStandsForAllPeriodsThatEndAtOnce) {
  const EventSpec cycles{
      .name = "cycles", .select = select(0x3C, 0x00), .counters = arch::any_of(8) | arch::fixed(1), .period = 10};
  Recorded out{recording({cycles})};
  FakeThread thread{out.recorder, kMain};
  for (const std::uint64_t at_once : {9, 26, 4, 1, 350, 9}) thread.wait(at_once);  // 9 35 39 40 390 399
  thread.exit();
  std::vector<std::uint64_t> periods;
  for (const Sample& sample : out.all<Sample>()) periods.push_back(sample.period);
  EXPECT_THAT(periods, ElementsAre(30, 10, 350));
}

TEST(Recorder, OnePIsTheInstructionAfterAndTwoTheInstructionItself) {
  Recorded out{recording({instructions(10, 1), instructions(10, 2)})};
  FakeThread thread{out.recorder, kMain};
  thread.run_straight(kText, 12);
  thread.exit();
  const auto samples = out.all<Sample>();
  ASSERT_THAT(samples, SizeIs(2));
  EXPECT_EQ(samples[0].ip, kText + 4 * 11);
  EXPECT_FALSE(samples[0].exact_ip);
  EXPECT_EQ(samples[1].ip, kText + 4 * 10);
  EXPECT_TRUE(samples[1].exact_ip);
  EXPECT_EQ(samples[1].event, 1U);
}

TEST(Recorder, RegistersAreThoseAfterTheRecordedInstruction) {
  Recorded out{recording({instructions(10, 2)})};
  FakeThread thread{out.recorder, kMain};
  thread.run_straight(kText, 12);
  thread.exit();
  const auto samples = out.all<Sample>();
  ASSERT_THAT(samples, SizeIs(1));
  ASSERT_TRUE(samples[0].has_registers);
  EXPECT_EQ(samples[0].registers.ip, kText + 4 * 11);
  EXPECT_EQ(samples[0].registers.ax, 11U);  // the eleventh instruction
}

TEST(Recorder, ASampleKnowsItsThreadItsPeriodItsAddressAndItsTime) {
  Recorded out{recording({loads(1, 3)})};
  FakeThread thread{out.recorder, {.pid = 7, .tid = 9, .parent_pid = 7, .parent_tid = 7}};
  thread.run({.ip = kText, .loads = 1, .address = 0x1000});
  thread.run({.ip = kText + 4, .loads = 1, .address = 0x2000});
  thread.exit();
  const auto samples = out.all<Sample>();
  ASSERT_THAT(samples, SizeIs(1));
  EXPECT_EQ(samples[0].pid, 7);
  EXPECT_EQ(samples[0].tid, 9);
  EXPECT_EQ(samples[0].period, 1U);
  EXPECT_EQ(samples[0].address, 0x2000U);
  EXPECT_EQ(samples[0].time_ns % 10, 0U);
  EXPECT_GT(samples[0].time_ns, 0U);
}

TEST(Recorder, OneInterruptServesAFullBuffer) {
  auto config = recording({instructions(9, 2)});
  config.ds_records = 8;
  Recorded out{config};
  FakeThread thread{out.recorder, kMain};
  thread.run_straight(kText, 10 * 8 * 3 + 10 * 2);
  thread.exit();
  const Statistics statistics = out.all<Statistics>().back();
  EXPECT_EQ(statistics.pmis, 3U);
  EXPECT_EQ(statistics.records, 26U);  // the last two were drained when the thread ended
  EXPECT_EQ(statistics.lost, 0U);
  EXPECT_THAT(out.all<Sample>(), SizeIs(26));
}

TEST(Recorder, ABranchStackHasAnInterruptOfItsOwnPerRecord) {
  auto config = recording({instructions(9, 2)});
  config.branch_stack = true;
  config.lbr_select = arch::LbrSelect{}.with(arch::LbrSelect::to_kernel, 1).raw();
  Recorded out{config};
  FakeThread thread{out.recorder, kMain};
  thread.run({.ip = kText, .jumps_to = kText + 0x100});
  thread.run_straight(kText + 0x100, 5);
  thread.run({.ip = kText + 0x114, .jumps_to = kText + 0x200});
  thread.run_straight(kText + 0x200, 13);
  thread.exit();
  const auto samples = out.all<Sample>();
  ASSERT_THAT(samples, SizeIs(2));
  ASSERT_THAT(samples[0].branches, SizeIs(2));
  EXPECT_EQ(samples[0].branches[0].from, kText + 0x114);  // newest first
  EXPECT_EQ(samples[0].branches[0].to, kText + 0x200);
  EXPECT_EQ(samples[0].branches[1].from, kText);
  EXPECT_THAT(samples[1].branches, SizeIs(2));  // recording went on after the interrupt
  EXPECT_EQ(out.all<Statistics>().back().pmis, 2U);
}

TEST(Recorder, CountsAreExactWhateverThePeriodsAndPrecisionWere) {
  Recorded out{recording({instructions(7, 2), instructions(0, 0), instructions(11, 0), prec_dist(5), loads(3, 3)})};
  FakeThread thread{out.recorder, kMain};
  for (int i = 0; i < 1000; ++i) {
    thread.run({.ip = kText, .loads = static_cast<std::uint8_t>(i % 2), .address = 0x1000});
  }
  thread.exit();
  const Counts counts = out.all<Counts>().back();
  EXPECT_TRUE(counts.final);
  EXPECT_THAT(counts.values, ElementsAre(1000U, 1000U, 1000U, 1000U, 500U));
}

TEST(Recorder, MoreEventsThanOneProcessorHasCountersForAreAllSampled) {
  std::vector<EventSpec> events;
  for (int i = 0; i < 9; ++i) events.push_back(instructions(static_cast<std::uint64_t>(10 + i), 2));
  Recorded out{recording(events)};
  FakeThread thread{out.recorder, kMain};
  thread.run_straight(kText, 20);
  thread.exit();
  std::vector<std::uint64_t> by_event(9);
  for (const Sample& s : out.all<Sample>()) by_event[s.event] = s.ip;
  for (std::uint64_t i = 0; i < 9; ++i) EXPECT_EQ(by_event[i], kText + 4 * (10 + i)) << "event " << i;
}

TEST(Recorder, FormatOneGivesTheAddressAfterTheInstructionAndDoesNotCallItExact) {
  Recorded out{recording({instructions(10, 2)}, "westmere@1")};
  FakeThread thread{out.recorder, kMain};
  thread.run_straight(kText, 12);
  thread.exit();
  const auto samples = out.all<Sample>();
  ASSERT_THAT(samples, SizeIs(1));
  EXPECT_EQ(samples[0].ip, kText + 4 * 11);
  EXPECT_FALSE(samples[0].exact_ip);
}

// Formats 0 to 5, two kinds of arming, three kinds of last-branch records.
TEST(Recorder, EveryCpuModelWithPebsRecordsSamplesWithTheirBranches) {
  for (const arch::CpuModel& model : arch::cpu_models()) {
    if (!model.has_pebs()) continue;
    EventSpec event = instructions(10, 2);
    event.counters = any_of(model.general_counters);
    event.precise_counters = event.counters & model.pebs_counters;
    if (arch::find_event(model, "inst_retired.any_p")->umask == 1) event.select = select(0xC0, 0x01);
    auto config = recording({event}, std::string(model.name));
    config.branch_stack = true;
    Recorded out{config};
    FakeThread thread{out.recorder, kMain};
    thread.run({.ip = kText - 4, .jumps_to = kText, .kind = arch::BranchKind::RelativeJump});
    thread.run_straight(kText, 40);
    thread.exit();
    const auto samples = out.all<Sample>();
    ASSERT_GE(samples.size(), 3U) << model.name;
    for (const Sample& sample : samples) {
      EXPECT_EQ(sample.registers.ip, kText + 4 * ((sample.registers.ip - kText) / 4)) << model.name;
      ASSERT_EQ(sample.branches.size(), 1U) << model.name;
      EXPECT_EQ(sample.branches[0].from, kText - 4) << model.name;
      EXPECT_EQ(sample.branches[0].to, kText) << model.name;
    }
  }
}

TEST(Recorder, AmdsSamplesHaveTheBranchesBeforeTheirInterrupt) {
  EventSpec event = instructions(10, 0);
  event.counters = any_of(6);
  auto config = recording({event}, "zen4@1");
  config.branch_stack = true;
  config.lbr_select = arch::LbrSelect{}.with(arch::LbrSelect::to_kernel, 1).with(arch::LbrSelect::conditional, 1).raw();
  Recorded out{config};
  FakeThread thread{out.recorder, kMain};
  for (std::uint64_t n = 0; n < 20; ++n)
    thread.run({.ip = kText + 16 * n, .jumps_to = kText + 16 * (n + 1), .kind = arch::BranchKind::RelativeJump});
  thread.run({.ip = kText - 4, .jumps_to = kText, .kind = arch::BranchKind::Conditional});
  thread.run_straight(kText, 20);
  thread.exit();
  const auto samples = out.all<Sample>();
  ASSERT_EQ(samples.size(), 4U);
  ASSERT_THAT(samples[0].branches, SizeIs(10));
  ASSERT_THAT(samples[2].branches, SizeIs(16)) << "as deep as the stack, and no conditional branch";
  for (std::size_t n = 0; n < 16; ++n) {
    const SampledBranch& branch = samples[2].branches[n];
    EXPECT_EQ(branch.from, kText + 16 * (19 - n));
    EXPECT_EQ(branch.to, kText + 16 * (20 - n));
    EXPECT_EQ(branch.speculation, arch::BranchSpeculation::NonSpeculative);
  }
}

// At AMD's addresses: a counter starts at -N, its interrupt is served, and it starts again.
TEST(Recorder, WithoutPebsSamplesAreWhatTheOverflowsInterruptFinds) {
  EventSpec event = instructions(10, 0);
  event.counters = any_of(6);
  Recorded out{recording({event}, "zen4@1")};
  FakeThread thread{out.recorder, kMain};
  thread.run_straight(kText, 35);
  thread.exit();
  const auto samples = out.all<Sample>();
  ASSERT_EQ(samples.size(), 3U);
  for (std::size_t i = 0; i < samples.size(); ++i) EXPECT_EQ(samples[i].registers.ip, kText + 4 * 10 * (i + 1)) << i;
  EXPECT_EQ(out.all<Counts>().back().values, std::vector<std::uint64_t>{35});
}

TEST(Recorder, FramePointersGiveTheCallersInnermostFirst) {
  auto config = recording({instructions(10, 2)});
  config.callchain = Callchain::FramePointers;
  Recorded out{config};
  out.stack.words = {out.stack.base + 32, 0x400111, 0, 0, 0, 0x400222};  // two frames; the outer one ends the chain
  FakeThread thread{out.recorder, kMain};
  thread.registers().bp = out.stack.base;
  thread.run_straight(kText, 12);
  thread.exit();
  const auto samples = out.all<Sample>();
  ASSERT_THAT(samples, SizeIs(1));
  EXPECT_THAT(samples[0].callchain, ElementsAre(kText + 4 * 10, 0x400111, 0x400222));
}

TEST(Recorder, AFramePointerThatPointsNowhereEndsTheChain) {
  auto config = recording({instructions(10, 2)});
  config.callchain = Callchain::FramePointers;
  Recorded out{config};
  FakeThread thread{out.recorder, kMain};
  thread.registers().bp = 0x123456789;
  thread.run_straight(kText, 12);
  thread.exit();
  EXPECT_THAT(out.all<Sample>().at(0).callchain, ElementsAre(kText + 4 * 10));
}

TEST(Recorder, DwarfModeCopiesTheStackUpToWhereItEnds) {
  auto config = recording({instructions(10, 2)});
  config.callchain = Callchain::Dwarf;
  config.stack_bytes = 4096;
  Recorded out{config};
  out.stack.words = {1, 2, 3};
  FakeThread thread{out.recorder, kMain};
  thread.registers().sp = out.stack.base + 8;
  thread.run_straight(kText, 12);
  thread.exit();
  const auto samples = out.all<Sample>();
  ASSERT_THAT(samples, SizeIs(1));
  ASSERT_THAT(samples[0].user_stack, SizeIs(16));
  EXPECT_EQ(samples[0].user_stack[0], std::byte{2});
}

TEST(Recorder, ARawSampleIsItsRecordAndTheFirstOfABufferHasTheManagementArea) {
  auto config = recording({instructions(10, 2)});
  config.raw_records = true;
  config.ds_records = 2;
  Recorded out{config};
  FakeThread thread{out.recorder, kMain};
  thread.run_straight(kText, 45);
  thread.exit();
  const auto samples = out.all<Sample>();
  ASSERT_THAT(samples, SizeIs(4));
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto excerpt = arch::read_excerpt(samples[i].raw);
    ASSERT_TRUE(excerpt) << i;
    EXPECT_EQ(excerpt->head.area_bytes, i % 2 == 0 ? 0x80 : 0) << i;
    const auto fields = arch::decode_pebs(excerpt->record, arch::PebsFormat::V3, arch::DsLayout::Words64);
    ASSERT_TRUE(fields) << i;
    EXPECT_EQ(fields->eventing_ip, samples[i].ip) << i;
    EXPECT_EQ(excerpt->head.record, DsArea::kAddress + 0x200 + i % 2 * sizeof(arch::PebsV3)) << i;
  }
  arch::DsManagementArea area;
  const auto excerpt = arch::read_excerpt(samples[0].raw);
  std::memcpy(&area, excerpt->area.data(), sizeof area);
  EXPECT_EQ(area.pebs.index, area.pebs.base + 2 * sizeof(arch::PebsV3));  // as the interrupt found it
}

TEST(Recorder, SamplesHaveNoRawRecordUnlessAskedFor) {
  Recorded out{recording({instructions(10, 2)})};
  FakeThread thread{out.recorder, kMain};
  thread.run_straight(kText, 12);
  thread.exit();
  EXPECT_THAT(out.all<Sample>().at(0).raw, IsEmpty());
}

TEST(Recorder, AnLbrCallStackHoldsTheCallsStillOpen) {
  auto config = recording({instructions(4, 2)});
  config.callchain = Callchain::LbrCallStack;
  using Lbr = arch::LbrSelect;
  config.lbr_select = Lbr{}
                          .with(Lbr::to_kernel, 1)
                          .with(Lbr::conditional, 1)
                          .with(Lbr::indirect_jump, 1)
                          .with(Lbr::relative_jump, 1)
                          .with(Lbr::far_branch, 1)
                          .with(Lbr::call_stack, 1)
                          .raw();
  Recorded out{config};
  FakeThread thread{out.recorder, kMain};
  thread.run({.ip = 0x1000, .jumps_to = 0x2000, .kind = arch::BranchKind::RelativeCall});
  thread.run({.ip = 0x2000, .jumps_to = 0x3000, .kind = arch::BranchKind::RelativeCall});
  thread.run({.ip = 0x3000, .jumps_to = 0x2004, .kind = arch::BranchKind::Return});
  thread.run_straight(0x2004, 3);
  thread.exit();
  const auto samples = out.all<Sample>();
  ASSERT_THAT(samples, SizeIs(1));
  ASSERT_THAT(samples[0].branches, SizeIs(1));
  EXPECT_EQ(samples[0].branches[0].from, 0x1000U);
}

TEST(Recorder, AFrequencySettlesAtItsRateOfInstructionsForEveryEvent) {
  auto event = loads(0, 3);
  event.frequency = 1'000'000;  // one per thousand instructions
  Recorded out{recording({event})};
  FakeThread thread{out.recorder, kMain};
  for (int i = 0; i < 100'000; ++i) {
    thread.run({.ip = kText, .loads = static_cast<std::uint8_t>(i % 10 == 0), .address = 0x1000});
  }
  thread.exit();
  const auto samples = out.all<Sample>();
  EXPECT_GE(samples.size(), 90U);
  EXPECT_LE(samples.size(), 140U) << "some forty more until the period is right";
  EXPECT_NEAR(static_cast<double>(samples.back().period), 100.0, 10.0);  // a load every tenth instruction
  EXPECT_THAT(out.all<Counts>().back().values, ElementsAre(10'000U));    // the progress event is not reported
}

TEST(Recorder, TheLifeOfAThreadIsToldInOrder) {
  Recorded out{recording({instructions(0, 0)}), true};
  FakeThread thread{out.recorder, kMain};
  out.recorder.renamed(kMain, "gzip", true);
  out.recorder.mapped(kMain, {.start = 0x400000, .length = 0x1000, .protection = PROT_READ | PROT_EXEC, .path = "/g"});
  out.recorder.mapped(kMain, {.start = 0x500000, .length = 0x1000, .protection = PROT_READ, .path = "/data"});
  out.recorder.forked({.pid = 100, .tid = 101, .parent_pid = 100, .parent_tid = 100}, true);
  thread.exit();
  ASSERT_THAT(out.messages, SizeIs(7));
  EXPECT_TRUE(std::get<Hello>(out.messages[0]).exec);
  EXPECT_EQ(std::get<Comm>(out.messages[1]).comm, "gzip");
  EXPECT_EQ(std::get<Mmap>(out.messages[2]).path, "/g");  // and not the data, without -d
  EXPECT_EQ(std::get<Fork>(out.messages[3]).origin.tid, 101);
  EXPECT_EQ(std::get<Statistics>(out.messages[4]).origin.tid, 100);
  EXPECT_TRUE(std::get<Counts>(out.messages[5]).final);
  EXPECT_EQ(std::get<Exit>(out.messages[6]).parent_pid, 1);
}

TEST(Recorder, AForkedChildSendsNothingOfItsParent) {
  Recorded out{recording({instructions(10, 2)})};
  FakeThread parent{out.recorder, kMain};
  parent.run_straight(kText, 15);  // one record in the buffer
  out.recorder.notice("the parent's");
  const std::size_t before = out.messages.size();
  out.recorder.in_forked_child();
  FakeThread child{out.recorder, {.pid = 200, .tid = 200, .parent_pid = 100, .parent_tid = 100}};
  child.run_straight(kText, 5);
  child.exit();
  const std::vector<Message> said(out.messages.begin() + static_cast<std::ptrdiff_t>(before), out.messages.end());
  ASSERT_THAT(said, SizeIs(5));
  EXPECT_EQ(std::get<Fork>(said[0]).parent_pid, 100);  // it tells of its own birth, before anything happens to it
  EXPECT_FALSE(std::get<Hello>(said[1]).exec);
  EXPECT_THAT(std::get<Counts>(said[3]).values, ElementsAre(5U));
  EXPECT_THAT(out.all<Sample>(), IsEmpty());
}

TEST(Recorder, AParentLeavesItToItsChildToTellOfTheFork) {
  Recorded out{recording({instructions(0, 0)})};
  FakeThread parent{out.recorder, kMain};
  out.recorder.forked({.pid = 200, .tid = 200, .parent_pid = 100, .parent_tid = 100}, false);
  parent.exit();
  EXPECT_THAT(out.all<Fork>(), IsEmpty());
}

TEST(Recorder, WhatIsKnownIsSentBeforeTheProgramCanBeKilled) {
  Recorded out{recording({instructions(0, 0)})};
  FakeThread thread{out.recorder, kMain};
  thread.run_straight(kText, 15);
  out.recorder.flush(kMain);
  const auto counts = out.all<Counts>();
  ASSERT_THAT(counts, SizeIs(1));
  EXPECT_FALSE(counts[0].final);
  EXPECT_THAT(counts[0].values, ElementsAre(15U));
  const int sent = out.datagrams;
  constexpr int kMany = 100'000;  // at once again and again: too soon to be worth a message each
  for (int i = 0; i < kMany; ++i) out.recorder.flush(kMain);
  EXPECT_LT(out.datagrams - sent, kMany / 100);
}

TEST(Recorder, WhatIsKnownHasTheEventsOfRecordsThatLieInTheBuffer) {
  Recorded out{recording({instructions(10, 2)})};
  FakeThread thread{out.recorder, kMain};
  thread.run_straight(kText, 38);
  out.recorder.flush(kMain);
  EXPECT_THAT(out.ips(), IsEmpty());
  const auto counts = out.all<Counts>();
  ASSERT_THAT(counts, SizeIs(1));
  EXPECT_THAT(counts[0].values, ElementsAre(38U));
}

TEST(Recorder, ACounterThatOnlyCountsDoesNotInterrupt) {
  Recorded out{recording({loads(0, 0)})};
  FakeThread thread{out.recorder, kMain};
  constexpr std::uint64_t kMany = std::uint64_t{1} << 40;
  thread.count(kMany, 1);
  EXPECT_THAT(out.all<Counts>(), IsEmpty());  // the engine flushes now and then
  out.recorder.flush(kMain);
  ASSERT_THAT(out.all<Counts>(), SizeIs(1));
  thread.count(1000, 1);
  thread.exit();
  EXPECT_THAT(out.all<Counts>().back().values, ElementsAre(kMany + 1000));
}

TEST(Recorder, VirtualTimeIsTheInstructionsOfAllThreads) {
  auto config = with_progress_event([] {
    auto c = recording({instructions(10, 0)});
    c.virtual_time = true;
    return c;
  }());
  const arch::CpuModel& model = *arch::find_cpu_model(config.cpu_model);
  class Sink final : public Channel {
   public:
    void send(std::span<const std::byte> d) override {
      (void)decode_datagram(d, [&](Message&& m) {
        if (auto* s = std::get_if<Sample>(&m)) times.push_back(s->time_ns);
      }).has_value();
    }
    std::vector<std::uint64_t> times;
  } sink;
  ProgressClock clock;
  FakeStack stack;
  Recorder recorder{config, model, *plan_banks(config.events, model), nullptr, sink, clock, stack, false};
  clock.follow(recorder);
  FakeThread one{recorder, kMain};
  one.run_straight(kText, 10);
  FakeThread two{recorder, {.pid = 100, .tid = 101, .parent_pid = 100, .parent_tid = 100}};
  two.run_straight(kText, 10);
  one.exit();
  two.run_straight(kText, 10);
  two.exit();
  EXPECT_THAT(sink.times, ElementsAre(10U, 20U, 30U));
}

}  // namespace
}  // namespace zs::session
