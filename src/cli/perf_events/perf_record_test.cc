#include "cli/perf_events/perf_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/perf_data/event_attr.h"

namespace zs::cli {
namespace {

namespace field = profile::perf::sample_field;
namespace flag = profile::perf::attr_flag;

/// An attr as `perf record -vv` prints it.
struct Printed {
  std::uint32_t type;
  std::uint64_t config, config1, frequency, sample_type, flags;
};

/// What perf 6.1 asks for in each sample of perf mem record, and what else it sets. Printed here by
/// `perf record -vv -W -d -e cpu-clock`, which is what perf mem record runs with other events; ID is IDENTIFIER here.
constexpr std::uint64_t kFields =
    field::ip | field::tid | field::time | field::address | field::period | field::data_source | field::weight_struct;
constexpr std::uint64_t kEach =
    flag::disabled | flag::inherit | flag::frequency | flag::sample_id_all | flag::exclude_guest;
constexpr std::uint64_t kFirst =
    flag::mmap | flag::comm | flag::enable_on_exec | flag::task | flag::mmap_data | flag::mmap2 | flag::comm_exec;
constexpr std::uint64_t kMostPrecise = std::uint64_t{3} << flag::precise_shift;
/// What we add: two fields that our readers order samples by, and build ids in mappings.
constexpr std::uint64_t kOurFields = field::cpu | field::identifier;
constexpr std::uint64_t kOurFlags = flag::build_id;

host::KernelEvent event_of(std::uint32_t type, std::uint64_t config, std::uint64_t config1, bool most_precise,
                           std::size_t leader) {
  host::KernelEvent event;
  event.name = "e" + std::to_string(config);
  event.attr.type = type;
  event.attr.config = config;
  event.attr.config1 = config1;
  event.most_precise = most_precise;
  event.leader = leader;
  return event;
}

void expect_printed(const std::vector<host::KernelEvent>& events, const std::vector<Printed>& expected,
                    bool physical = false) {
  const PerfEventsChoice choice{.because = "", .targets = {}, .events = events};
  const auto description =
      describe_perf_events(choice, {.data_sources = true, .latencies = true, .physical_addresses = physical});
  ASSERT_TRUE(description);
  ASSERT_EQ(description->events.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const profile::perf::EventAttr attr = profile::attr_of(*description, i);
    EXPECT_EQ(attr.type, expected[i].type) << i;
    EXPECT_EQ(attr.config, expected[i].config) << i;
    EXPECT_EQ(attr.config1, expected[i].config1) << i;
    EXPECT_EQ(attr.sample_period, expected[i].frequency) << i;
    EXPECT_EQ(attr.sample_type & ~kOurFields, expected[i].sample_type) << i;
    EXPECT_EQ(attr.flags & ~kOurFlags, expected[i].flags) << i;
  }
}

TEST(PerfRecord, OfLoadsAndStoresAsksWhatPerfMemAsks) {
  // source: tools/perf/arch/x86/util/mem-events.c: cpu/mem-loads,ldlat=30/P cpu/mem-stores/P, of Skylake
  expect_printed({event_of(4, 0x1cd, 30, true, 0), event_of(4, 0x82d0, 0, true, 1)},
                 {{4, 0x1cd, 30, 4000, kFields, kEach | kFirst | kMostPrecise},
                  {4, 0x82d0, 0, 4000, kFields, kEach | kMostPrecise}});
}

TEST(PerfRecord, OfSapphireRapidsTheLoadsHaveTheirAuxiliaryEvent) {
  // {cpu/mem-loads-aux/,cpu/mem-loads,ldlat=30/}:P; the aux event is config 0x8203 there
  expect_printed({event_of(4, 0x8203, 0, true, 0), event_of(4, 0x1cd, 30, true, 0), event_of(4, 0x2cd, 0, true, 2)},
                 {{4, 0x8203, 0, 4000, kFields, kEach | kFirst | kMostPrecise},
                  {4, 0x1cd, 30, 4000, kFields, kEach | kMostPrecise},
                  {4, 0x2cd, 0, 4000, kFields, kEach | kMostPrecise}});
}

TEST(PerfRecord, OfAmdOpsAreSampledWithoutPrecision) {
  expect_printed({event_of(11, 0, 0, false, 0)}, {{11, 0, 0, 4000, kFields, kEach | kFirst}});  // ibs_op//
}

TEST(PerfRecord, C2cWantsPhysicalAddressesToo) {
  expect_printed({event_of(4, 0x1cd, 30, true, 0)},
                 {{4, 0x1cd, 30, 4000, kFields | field::physical_address, kEach | kFirst | kMostPrecise}}, true);
}

}  // namespace
}  // namespace zs::cli
