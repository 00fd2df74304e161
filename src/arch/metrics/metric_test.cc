#include "arch/metrics/metric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <map>
#include <random>
#include <string>

#include "arch/core_signals.h"
#include "arch/cpu_model.h"

namespace zs::arch {
namespace {

using enum CoreSignal;

using Counts = std::map<std::string, double, std::less<>>;

double value(const char* cpu, const char* metric, const Counts& counts) {
  const CpuModel& model = *find_cpu_model(cpu);
  const Metric* const row = find_metric(model, metric);
  EXPECT_NE(row, nullptr) << cpu << " " << metric;
  return row == nullptr ? -1 : value_of(model, *row, [&](std::string_view event) {
    const auto at = counts.find(event);
    EXPECT_NE(at, counts.end()) << metric << " asks for " << event;
    return at == counts.end() ? 0 : at->second;
  });
}

void for_each_event(const CpuModel& model, const Metric& metric, const std::function<void(std::string_view)>& visit) {
  (void)evaluate(metric.formula, [&](std::string_view name) {
    if (names_metric(name)) {
      for_each_event(model, *find_metric(model, name), visit);
    } else {
      visit(name);
    }
    return 1.0;
  });
}

TEST(Metrics, AreFoundInUpperAndLowerCase) {
  const CpuModel& model = *find_cpu_model("skylake-server");
  ASSERT_NE(find_metric(model, "ipc"), nullptr);
  EXPECT_EQ(find_metric(model, "ipc"), find_metric(model, "IPC"));
  EXPECT_EQ(find_metric(model, "IPCs"), nullptr);
  EXPECT_TRUE(find_metric(model, "IPC")->in_group("summary"));
  EXPECT_FALSE(find_metric(model, "IPC")->in_group("Summ"));
}

TEST(Metrics, NameEventsThatTheirModelHas) {
  for (const CpuModel& model : cpu_models()) {
    for (const Metric& row : metric_rows()) {
      if (!has_metric(model, row)) continue;
      for_each_event(model, row, [&](std::string_view event) {
        EXPECT_NE(find_event(model, event), nullptr) << model.name << " " << row.name << " " << event;
      });
    }
  }
}

TEST(Metrics, OfOneNameHaveOneUnitAndOnePlaceInTheTree) {
  std::map<std::string_view, const Metric*> first;
  for (const Metric& row : metric_rows()) {
    const Metric& same = *first.emplace(row.name, &row).first->second;
    EXPECT_EQ(row.unit, same.unit) << row.name;
    EXPECT_EQ(row.parent, same.parent) << row.name;
    EXPECT_EQ(row.groups, same.groups) << row.name;
    const bool below = row.in_group("TopdownL2") || row.in_group("TopdownL3") || row.in_group("TopdownL4");
    EXPECT_EQ(below, !row.parent.empty()) << row.name;
  }
}

TEST(Metrics, ServeSomeModelEach) {
  for (const Metric& row : metric_rows()) {
    bool served = false;
    for (const CpuModel& model : cpu_models()) served |= has_metric(model, row);
    EXPECT_TRUE(served) << row.name << " = " << row.formula;
  }
}

TEST(Metrics, OfARunAreItsArithmetic) {
  const Counts counts = {{"inst_retired.any", 2000},           {"cpu_clk_unhalted.thread", 1600},
                         {"br_misp_retired.all_branches", 12}, {"br_inst_retired.all_branches", 400},
                         {"mem_load_retired.l1_hit", 470},     {"mem_load_retired.fb_hit", 10},
                         {"mem_load_retired.l1_miss", 20},     {"mem_load_retired.l2_hit", 15},
                         {"mem_load_retired.l2_miss", 5},      {"mem_load_retired.l3_hit", 4},
                         {"mem_load_retired.l3_miss", 1},      {"l1d_pend_miss.pending", 900},
                         {"l1d_pend_miss.pending_cycles", 600}};
  EXPECT_DOUBLE_EQ(value("skylake-server", "IPC", counts), 1.25);
  EXPECT_DOUBLE_EQ(value("skylake-server", "CPI", counts), 0.8);
  EXPECT_DOUBLE_EQ(value("haswell", "BrMispredict_MPKI", counts), 6);
  EXPECT_DOUBLE_EQ(value("haswell", "BrMispredict_Rate", counts), 0.03);
  EXPECT_DOUBLE_EQ(value("skylake-server", "L1MPKI", counts), 10);
  EXPECT_DOUBLE_EQ(value("icelake-server", "L3MPKI", counts), 0.5);
  EXPECT_DOUBLE_EQ(value("skylake-server", "L1_Hit_Rate", counts), 0.94);
  EXPECT_DOUBLE_EQ(value("sapphire-rapids", "L2_Hit_Rate", counts), 0.75);
  EXPECT_DOUBLE_EQ(value("skylake-server", "L3_Hit_Rate", counts), 0.8);
  EXPECT_DOUBLE_EQ(value("skylake-server", "MLP", counts), 1.5);
  EXPECT_DOUBLE_EQ(value("skylake-server", "Load_Miss_Real_Latency", counts), 30);
}

// source: AMD's pipeline metrics for Zen 4: shares of six slots a cycle.
TEST(Metrics, OfZen4AreThoseOfItsEvents) {
  const Counts counts = {{"ex_ret_instr", 2000},
                         {"ls_not_halted_cyc", 1000},
                         {"ex_ret_brn", 400},
                         {"ex_ret_brn_misp", 12},
                         {"l2_cache_req_stat.ic_dc_miss_in_l2", 30},
                         {"ex_ret_ops", 2400},
                         {"ex_ret_ucode_ops", 60},
                         {"de_src_op_disp.all", 3000},
                         {"de_no_dispatch_per_slot.no_ops_from_frontend", 900},
                         {"de_no_dispatch_per_slot.backend_stalls", 2100}};
  EXPECT_DOUBLE_EQ(value("zen4", "IPC", counts), 2);
  EXPECT_DOUBLE_EQ(value("zen4", "BrMispredict_Rate", counts), 0.03);
  EXPECT_DOUBLE_EQ(value("zen4", "L2MPKI_All", counts), 15);
  EXPECT_DOUBLE_EQ(value("zen4", "Slots", counts), 6000);
  EXPECT_DOUBLE_EQ(value("zen4", "Frontend_Bound", counts), 0.15);
  EXPECT_DOUBLE_EQ(value("zen4", "Bad_Speculation", counts), 0.1);
  EXPECT_DOUBLE_EQ(value("zen4", "Branch_Mispredicts", counts), 0.1);
  EXPECT_DOUBLE_EQ(value("zen4", "Backend_Bound", counts), 0.35);
  EXPECT_DOUBLE_EQ(value("zen4", "Retiring", counts), 0.4);
  EXPECT_DOUBLE_EQ(value("zen4", "Heavy_Operations", counts), 0.01);
  EXPECT_DOUBLE_EQ(value("zen4", "Light_Operations", counts), 0.39);
  for (const char* const name : {"Memory_Bound", "Fetch_Latency", "Machine_Clears", "Not_Retiring"}) {
    EXPECT_EQ(find_metric(*find_cpu_model("zen4"), name), nullptr) << name;
  }
}

TEST(Metrics, OfWestmereAddUpWhatItTellsApart) {
  const Counts counts = {{"inst_retired.any", 1000},
                         {"mem_load_retired.l1d_hit", 360},
                         {"mem_load_retired.hit_lfb", 20},
                         {"mem_load_retired.l2_hit", 10},
                         {"mem_load_retired.llc_unshared_hit", 5},
                         {"mem_load_retired.other_core_l2_hit_hitm", 1},
                         {"mem_load_retired.llc_miss", 4},
                         {"mem_load_retired.l3_miss", 4}};
  EXPECT_DOUBLE_EQ(value("westmere", "L1MPKI", counts), 20);
  EXPECT_DOUBLE_EQ(value("westmere", "L2MPKI", counts), 10);
  EXPECT_DOUBLE_EQ(value("westmere", "L3MPKI", counts), 4);
  EXPECT_DOUBLE_EQ(value("westmere", "L1_Hit_Rate", counts), 0.9);
  EXPECT_DOUBLE_EQ(value("westmere", "L2_Hit_Rate", counts), 0.5);
  EXPECT_DOUBLE_EQ(value("westmere", "L3_Hit_Rate", counts), 0.6);
}

// What became of the slots of a made-up run, and the signals that a core model gives of it.
constexpr std::array kCauses = {SlotsRetired,
                                SlotsMicrocode,
                                SlotsMispredict,
                                SlotsInstructionCache,
                                SlotsInstructionTlb,
                                SlotsResteer,
                                SlotsDecode,
                                SlotsUopCache,
                                SlotsMicrocodeSwitch,
                                SlotsLatency,
                                SlotsL1,
                                SlotsL2,
                                SlotsL3,
                                SlotsDram,
                                SlotsPorts,
                                SlotsDivider,
                                SlotsStoreBuffer,
                                SlotsSerialising};

struct SlotRun {
  explicit SlotRun(std::uint64_t width_of_issue, std::uint64_t seed) : width(width_of_issue) {
    std::mt19937_64 random(seed);
    std::uint64_t total = 0;
    for (const CoreSignal cause : kCauses) {
      const std::uint64_t bits = random() % 20;  // some causes next to nothing, some nearly all
      total += signals[cause] = random() % (std::uint64_t{1} << bits);
    }
    signals[SlotsRetired] += width - total % width;
    total += width - total % width;
    signals[Slots] = total;
    signals[Cycles] = total / width;
    signals[RecoveryCycles] = sum({SlotsMispredict, SlotsMachineClear}) / width;
    signals[WrongPathUops] = sum({SlotsMispredict, SlotsMachineClear}) % width;
    signals[CyclesNotDelivered] =
        sum({SlotsInstructionCache, SlotsInstructionTlb, SlotsResteer, SlotsMicrocodeSwitch}) / width;
    signals[StallsMemory] = sum({SlotsL1, SlotsL2, SlotsL3, SlotsDram}) / width;
    signals[StallsL1dPending] = sum({SlotsL2, SlotsL3, SlotsDram}) / width;
    signals[StallsL2Pending] = sum({SlotsL3, SlotsDram}) / width;
    signals[StallsL3Pending] = sum({SlotsDram}) / width;
    signals[StallsTotal] = signals[StallsMemory] + sum({SlotsLatency, SlotsDivider, SlotsSerialising}) / width;
    signals[StallsPorts] = signals[SlotsPorts] / width;
    signals[StallsStoreBuffer] = signals[SlotsStoreBuffer] / width;
  }
  std::uint64_t sum(std::initializer_list<CoreSignal> causes) const {
    std::uint64_t total = 0;
    for (const CoreSignal cause : causes) total += signals[cause];
    return total;
  }
  double share(std::initializer_list<CoreSignal> causes) const {
    return static_cast<double>(sum(causes)) / static_cast<double>(signals[Slots]);
  }
  /// What a counter of the model's event shows.
  double count(const CpuModel& model, std::string_view name) const {
    const Event& event = *find_event(model, name);
    if (event.tick == Tick::Core) return static_cast<double>(signals[Cycles]);
    if (event.tick == Tick::Slots) return static_cast<double>(signals[Slots]);
    EXPECT_NE(event.meaning, nullptr) << model.name << " " << name;
    EXPECT_NE(event.meaning->of_signals, nullptr) << model.name << " " << name;
    return static_cast<double>(event.meaning->of_signals(signals));
  }
  double share(const CpuModel& model, std::string_view metric) const {
    return value_of(model, *find_metric(model, metric), [&](std::string_view event) { return count(model, event); });
  }

  std::uint64_t width;
  CoreSignals signals;
};

struct Width {
  const char* cpu;
  std::uint64_t slots;
};
constexpr Width kWidths[] = {{"haswell", 4}, {"skylake-server", 4}, {"icelake-server", 5}, {"sapphire-rapids", 6}};

TEST(TopDown, Level1IsWhatBecameOfTheSlotsAndSumsToAllOfThem) {
  for (const Width& width : kWidths) {
    const CpuModel& model = *find_cpu_model(width.cpu);
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
      const SlotRun run(width.slots, seed);
      constexpr double kRounding = 1e-12;
      EXPECT_NEAR(run.share(model, "Retiring"), run.share({SlotsRetired, SlotsMicrocode}), kRounding);
      EXPECT_NEAR(run.share(model, "Bad_Speculation"), run.share({SlotsMispredict}), kRounding);
      EXPECT_NEAR(run.share(model, "Frontend_Bound"),
                  run.share({SlotsInstructionCache, SlotsInstructionTlb, SlotsResteer, SlotsMicrocodeSwitch,
                             SlotsDecode, SlotsUopCache}),
                  kRounding);
      EXPECT_NEAR(run.share(model, "Backend_Bound"),
                  run.share({SlotsLatency, SlotsL1, SlotsL2, SlotsL3, SlotsDram, SlotsPorts, SlotsDivider,
                             SlotsStoreBuffer, SlotsSerialising}),
                  kRounding);
      double sum = 0;
      for (const Metric& row : metric_rows()) {
        if (row.in_group("TopdownL1") && has_metric(model, row)) sum += run.share(model, row.name);
      }
      EXPECT_NEAR(sum, 1, kRounding) << width.cpu << " " << seed;
    }
  }
}

TEST(TopDown, Level2DividesItsParents) {
  for (const Width& width : kWidths) {
    const CpuModel& model = *find_cpu_model(width.cpu);
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
      const SlotRun run(width.slots, seed);
      // Cycles are whole: each of the few in a formula is short of its slots by less than one.
      const double rounding = 4 / static_cast<double>(run.signals[Cycles]);
      EXPECT_NEAR(run.share(model, "Fetch_Latency"),
                  run.share({SlotsInstructionCache, SlotsInstructionTlb, SlotsResteer, SlotsMicrocodeSwitch}),
                  rounding);
      EXPECT_NEAR(run.share(model, "Memory_Bound"), run.share({SlotsL1, SlotsL2, SlotsL3, SlotsDram, SlotsStoreBuffer}),
                  rounding)
          << width.cpu << " " << seed;
      EXPECT_NEAR(run.share(model, "Branch_Mispredicts"), run.share({SlotsMispredict}), rounding);
      constexpr std::array<std::array<const char*, 3>, 2> kHalves{
          {{"Frontend_Bound", "Fetch_Latency", "Fetch_Bandwidth"}, {"Backend_Bound", "Memory_Bound", "Core_Bound"}}};
      for (const auto& [whole, one, other] : kHalves) {
        EXPECT_NEAR(run.share(model, whole), run.share(model, one) + run.share(model, other), 1e-12) << whole;
      }
    }
  }
}

TEST(TopDown, Level3DividesWhatMemoryTook) {
  for (const Width& width : kWidths) {
    const CpuModel& model = *find_cpu_model(width.cpu);
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
      const SlotRun run(width.slots, seed);
      const double rounding = 6 / static_cast<double>(run.signals[Cycles]);
      EXPECT_NEAR(run.share(model, "L1_Bound"), run.share({SlotsL1}), rounding) << width.cpu;
      EXPECT_NEAR(run.share(model, "L2_Bound"), run.share({SlotsL2}), rounding) << width.cpu;
      EXPECT_NEAR(run.share(model, "Store_Bound"), run.share({SlotsStoreBuffer}), rounding) << width.cpu;
      EXPECT_NEAR(run.share(model, "L3_Bound") + run.share(model, "DRAM_Bound"), run.share({SlotsL3, SlotsDram}),
                  rounding);
      if (width.cpu != std::string_view("haswell")) {  // its events do not tell the two apart
        EXPECT_NEAR(run.share(model, "DRAM_Bound"), run.share({SlotsDram}), rounding) << width.cpu;
      }
      double parts = 0;
      for (const char* const part : {"L1_Bound", "L2_Bound", "L3_Bound", "DRAM_Bound", "Store_Bound"})
        parts += run.share(model, part);
      EXPECT_NEAR(parts, run.share(model, "Memory_Bound"), rounding) << width.cpu;
    }
  }
}

TEST(TopDown, SaysWhatIsNotModelledInsteadOfZero) {
  for (const Width& width : kWidths) {
    const CpuModel& model = *find_cpu_model(width.cpu);
    const Metric* const clears = find_metric(model, "Machine_Clears");
    ASSERT_NE(clears, nullptr);
    bool complete = true;
    for_each_event(model, *clears, [&](std::string_view event) {
      complete = complete && find_event(model, event)->kind() != EventClass::NotModelled;
    });
    EXPECT_FALSE(complete) << width.cpu;
  }
}

TEST(TopDown, OfWestmereHasOnlyWhatItsEventsTellApart) {
  const CpuModel& model = *find_cpu_model("westmere");
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const SlotRun run(4, seed);
    EXPECT_NEAR(run.share(model, "Retiring") + run.share(model, "Not_Retiring"), 1, 1e-12);
    EXPECT_NEAR(run.share(model, "Store_Buffer"), run.share({SlotsStoreBuffer}),
                1 / static_cast<double>(run.signals[Cycles]));
    EXPECT_NEAR(run.share(model, "Not_Retiring"),
                run.share(model, "Wrong_Path") + run.share(model, "Store_Buffer") + run.share(model, "Other_Stalls"),
                1e-12);
  }
  EXPECT_EQ(find_metric(model, "Frontend_Bound"), nullptr);
  EXPECT_EQ(find_metric(*find_cpu_model("haswell"), "Not_Retiring"), nullptr);
}

TEST(TopDown, NamesNodesOfTheTreeAsParents) {
  for (const Width& width : kWidths) {
    const CpuModel& model = *find_cpu_model(width.cpu);
    for (const Metric& row : metric_rows()) {
      if (row.parent.empty() || !has_metric(model, row)) continue;
      const Metric* const parent = find_metric(model, row.parent);
      ASSERT_NE(parent, nullptr) << row.name;
      const char* const above = row.in_group("TopdownL2")   ? "TopdownL1"
                                : row.in_group("TopdownL3") ? "TopdownL2"
                                                            : "TopdownL3";
      EXPECT_TRUE(parent->in_group(above)) << row.name;
      EXPECT_GT(row.above, 0) << row.name;
    }
  }
}

TEST(Metrics, OfNothingAreNotANumber) {
  const Counts nothing = {{"inst_retired.any", 0}, {"cpu_clk_unhalted.thread", 0}};
  EXPECT_TRUE(std::isnan(value("skylake-server", "IPC", nothing)));
}

}  // namespace
}  // namespace zs::arch
