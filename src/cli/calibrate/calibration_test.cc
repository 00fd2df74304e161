
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cli/calibrate/calibrate.h"
#include "cli/run/launch.h"
#include "host/fake_kernel.h"

namespace zs::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Calibration calibration() {
  return {
      .cpu = "A Processor @ 3 GHz",
      .model = "zen4@1",
      .program = "./orders",
      .date = "2026-11-28",
      .events = {
          {.name = "instructions", .hardware = {1000, 1000, 1000}, .software = 1000, .software_class = "exact"},
          {.name = "cycles", .hardware = {1980, 2020, 2000}, .software = 2100, .software_class = "modelled"},
          {.name = "branch-misses", .hardware = {0}, .software = 7, .software_class = "modelled", .took_turns = true}}};
}

TEST(Calibration, APageHasBothCountsAndTheError) {
  EXPECT_EQ(calibration_page(calibration()), R"(
 Counts of './orders' in ring 3:

 event                    hardware        +-            software       error
 instructions                1,000    0.00 %               1,000     +0.00 %  # exact
 cycles                      2,000    1.00 %               2,100     +5.00 %  # modelled
 branch-misses                   0    0.00 %                   7        none  # modelled, hardware's scaled: its events took turns

)");
}

/// A file of its own.
class Kept : public testing::Test {
 protected:
  Kept() { std::filesystem::remove_all(folder_); }
  ~Kept() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("calibration_test_" + std::to_string(getpid()));
  std::string file_ = folder_ / "deep" / "calibration.tsv";
};

TEST_F(Kept, ErrorsAreReadBackAndNewOnesTakeThePlaceOfOld) {
  EXPECT_TRUE(kept_errors(file_).empty());
  ASSERT_TRUE(keep_errors(file_, errors_of(calibration())));
  const std::vector<KnownError> first = kept_errors(file_);
  ASSERT_EQ(first.size(), 2u);  // what the hardware counted nothing of has no error
  EXPECT_EQ(first, errors_of(calibration()));
  Calibration again = calibration();
  again.events.erase(again.events.begin());
  again.events[0].name = "CYCLES";
  again.events[0].software = 1900;
  again.program = "./other\tone";
  ASSERT_TRUE(keep_errors(file_, errors_of(again)));
  const std::vector<KnownError> second = kept_errors(file_);
  ASSERT_EQ(second.size(), 2u);
  EXPECT_EQ(second[0], first[0]);
  EXPECT_EQ(second[1].percent, -5.0);
  EXPECT_EQ(second[1].program, "./other one");
}

TEST_F(Kept, LinesThatAreNoneArePassedOver) {
  std::filesystem::create_directories(folder_ / "deep");
  std::ofstream(file_) << "# comment\n\n\t\t\ncpu\tmodel\tcycles\tmany\td\tp\ncpu\tmodel\tcycles\tnan\td\tp\n"
                       << "cpu\tmodel\tcycles\t1.5\td\tp\n";
  EXPECT_THAT(kept_errors(file_), ElementsAre(KnownError{"cpu", "model", "cycles", 1.5, "d", "p"}));
}

TEST_F(Kept, WhereNothingCanBeKeptIsTold) {
  const auto kept = keep_errors("/dev/null/zeroskid/calibration.tsv", errors_of(calibration()));
  ASSERT_FALSE(kept);
  EXPECT_THAT(kept.error().message, HasSubstr("/dev/null/zeroskid/calibration.tsv: the errors cannot be kept"));
}

TEST(Calibration, ListShowsErrorsOfThisProcessorAndModelAlone) {
  std::vector<ListedEvent> events{{.name = "cycles", .aliases = {"cpu-cycles"}}, {.name = "instructions"}};
  const std::vector<KnownError> known{{"this", "zen4@1", "CPU-CYCLES", 5, "2026-11-28", "./orders"},
                                      {"another", "zen4@1", "instructions", 1, "2026-11-28", "./orders"},
                                      {"this", "haswell@1", "instructions", 1, "2026-11-28", "./orders"}};
  show_errors(known, "this", "zen4@1", events);
  EXPECT_EQ(events[0].measured_here, "+5.00 % (./orders, 2026-11-28)");
  EXPECT_EQ(events[1].measured_here, "");
  EXPECT_THAT(list_page(*arch::find_cpu_model("zen4"), events, true),
              HasSubstr("    on this machine: +5.00 % (./orders, 2026-11-28)\n"));
  EXPECT_THAT(list_json(*arch::find_cpu_model("zen4"), events), HasSubstr(R"("measured_here": "+5.00 % (./orders)"));
}

/// What the software PMU would count, without running it.
StatOptions counting(const std::vector<std::string>& events) {
  StatOptions stat;
  stat.events = events;
  stat.run.cpu.name = "skylake-server";
  stat.run.no_cache = true;
  EXPECT_TRUE(choose_counting(stat));
  return stat;
}

HardwareRuns of_true(std::vector<host::KernelEvent> events, host::FakeKernel& kernel) {
  return {.events = std::move(events),
          .path = "/bin/true",
          .argv = {"true"},
          .runs = 2,
          .permissions = {},
          .opener = kernel.opener()};
}

TEST(Calibrate, HardwareCountsRingThreeOfTheProgramAndItsChildren) {
  host::FakeKernel kernel;
  kernel.counts(PERF_COUNT_HW_CPU_CYCLES, {.value = 600, .enabled_ns = 900, .running_ns = 300});
  kernel.counts(0x20d1, {.value = 5, .enabled_ns = 900, .running_ns = 900});
  const auto wanted = hardware_events(counting({"cycles", "mem_load_retired.l3_miss"}), "");
  ASSERT_TRUE(wanted) << wanted.error().message;
  OwnSignals signals;
  std::vector<CalibratedEvent> events{{.name = "cycles"}, {.name = "mem_load_retired.l3_miss"}};
  const auto status = count_by_hardware(of_true(*wanted, kernel), signals, events);
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(*status, 0);
  EXPECT_THAT(events[0].hardware, ElementsAre(1800, 1800));  // scaled
  EXPECT_TRUE(events[0].took_turns);
  EXPECT_THAT(events[1].hardware, ElementsAre(5, 5));
  EXPECT_FALSE(events[1].took_turns);
  ASSERT_EQ(kernel.opened.size(), 4u);
  for (const auto& opened : kernel.opened) {
    EXPECT_EQ(opened.attr.exclude_kernel, 1u);
    EXPECT_EQ(opened.attr.exclude_user, 0u);
    EXPECT_EQ(opened.attr.inherit, 1u);
    EXPECT_EQ(opened.attr.enable_on_exec, 1u);
    EXPECT_EQ(opened.group, -1);
  }
  EXPECT_EQ(kernel.opened[1].attr.type, static_cast<std::uint32_t>(PERF_TYPE_RAW));
}

TEST(Calibrate, AnEventThatIsNotThereIsToldByName) {
  host::FakeKernel kernel;
  kernel.refuses(PERF_COUNT_HW_CPU_CYCLES, ENOENT);
  OwnSignals signals;
  std::vector<CalibratedEvent> events{{.name = "cycles"}};
  const auto status = count_by_hardware(of_true(*hardware_events(counting({"cycles"}), ""), kernel), signals, events);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "cycles: cannot be opened: ENOENT: this machine has no PMU that counts it");
}

TEST(Calibrate, AnEventThatWasNeverOnHasNoCount) {
  host::FakeKernel kernel;
  kernel.counts(PERF_COUNT_HW_CPU_CYCLES, {.value = 0, .enabled_ns = 900, .running_ns = 0});
  OwnSignals signals;
  std::vector<CalibratedEvent> events{{.name = "cycles"}};
  const auto status = count_by_hardware(of_true(*hardware_events(counting({"cycles"}), ""), kernel), signals, events);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("cycles: was never on"));
}

TEST(Calibrate, EventsOfTheKernelAreNoSubstituteForTheProcessors) {
  const auto faults = hardware_events(counting({"page-faults"}), "");
  ASSERT_FALSE(faults);
  EXPECT_THAT(faults.error().message, HasSubstr("page-faults: is the kernel's, so there is no processor's count"));
  const auto vendors = hardware_events(counting({"mem_load_retired.l3_miss"}), "the nearest is taken");
  ASSERT_FALSE(vendors);
  EXPECT_THAT(vendors.error().message, HasSubstr("mem_load_retired.l3_miss: is the CPU model's"));
}

TEST(Calibrate, SoftwareCountsWhatStatCounts) {
  if (!find_runner()) GTEST_SKIP() << "zeroskid-run is not beside this test";
  StatOptions stat = counting({"instructions", "cycles"});
  stat.quiet = true;
  stat.program = {"true"};
  ProgramToRun program;
  ASSERT_EQ(find_program_to_run(stat.program, program), 0);
  OwnSignals signals;
  std::vector<CalibratedEvent> events{{.name = "instructions"}, {.name = "cycles"}};
  EXPECT_EQ(count_by_software(program, stat, signals, events), 0);
  EXPECT_GT(events[0].software, 10'000);
  EXPECT_EQ(events[0].software_class, "exact");
  EXPECT_GT(events[1].software, 10'000);
  EXPECT_EQ(events[1].software_class, "modelled");
}

}  // namespace
}  // namespace zs::cli
