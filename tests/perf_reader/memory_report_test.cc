// What `mem report` shows, word for word, and what data addresses are called.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "memory_recording.h"
#include "profile/aggregate/aggregate.h"
#include "profile/aggregate/heat.h"
#include "profile/types/data_objects.h"
#include "report/text/annotate_text.h"
#include "report/text/memory_text.h"

namespace zs::report {
namespace {

using arch::DataSourceFormat;
using arch::SourceWord;
using perf_reader::Access;
using ::testing::HasSubstr;

std::uint64_t load(std::uint64_t bits) {
  return perf_data_src(DataSourceFormat::SkylakeServer, SourceWord::LoadLatency, bits);
}

class MemoryReport : public ::testing::Test {
 protected:
  std::string text(const std::vector<Access>& accesses, MemoryStyle style,
                   const profile::RecordingDescription& description = perf_reader::memory_description()) {
    perf_reader::write_memory_recording(here_ / "perf.data", accesses, description);
    const auto reader = profile::PerfDataReader::open(here_ / "perf.data");
    EXPECT_TRUE(reader) << reader.error().message;
    style.keys = *profile::parse_sort_keys(style.keys_text);
    profile::Symbolizer symbolizer;
    return "\n" + memory_text(*reader, symbolizer, style);
  }

  /// What the column `key` says of an access to `address`.
  std::string named(std::uint64_t address, std::uint64_t sp = perf_reader::kStack,
                    const std::vector<session::HeapBlock>& blocks = {}) {
    profile::testing::TemporaryDirectory here;
    auto writer = profile::PerfDataWriter::create(here / "perf.data", perf_reader::memory_description());
    perf_reader::map_subject(*writer);
    session::Sample sample;
    sample.time_ns = 2000;
    sample.pid = 100;
    sample.tid = sp == perf_reader::kStack ? 100 : 107;
    sample.has_registers = true;
    sample.registers.sp = sp;
    sample.address = address;
    if (blocks.empty()) {
      EXPECT_TRUE(writer->sample(sample));
    }
    for (const session::HeapBlock& block : blocks) {
      sample.heap_block = std::make_shared<const session::HeapBlock>(block);
      EXPECT_TRUE(writer->sample(sample));
    }
    EXPECT_TRUE(writer->close({}));
    const auto reader = profile::PerfDataReader::open(here / "perf.data");
    profile::AddressSpaces spaces;
    profile::Symbolizer symbolizer;
    profile::DataObjects objects(spaces, symbolizer);
    std::string name;
    reader->for_each(profile::PerfDataReader::Order::Time, [&](const profile::Record& record) {
      spaces.apply(record);
      const auto* one = std::get_if<profile::SampleRecord>(&record);
      if (one == nullptr) return;
      objects.learn(one->sample);
      name = objects.of(one->sample)->name;
    });
    return name;
  }

  profile::testing::TemporaryDirectory here_;
};

TEST_F(MemoryReport, ShowsSourcesThenTheHistogramThenPlaces) {
  profile::RecordingDescription description = perf_reader::memory_description();
  description.events.resize(1);
  description.notes = {{"CPU model", "skylake-server@1"}, {"class of cpu/mem-loads,ldlat=30/P", "modelled"}};
  EXPECT_EQ(text({{.data_source = load(0x01), .latency = 5, .times = 6},
                  {.address = perf_reader::kHeap, .data_source = load(0x1A), .latency = 250, .times = 3},
                  {.address = perf_reader::kHeap + 8, .data_source = load(0x1A), .latency = 350},
                  {.address = perf_reader::kHeap, .data_source = load(0x02), .latency = 300}},
                 {.keys_text = "mem,symbol,data"}, description),
            R"(
# Class: modelled by skylake-server@1
# Samples: 11  of event 'cpu/mem-loads,ldlat=30/P'
# Total weight : 1430000
# Sort order   : mem
#
# Overhead       Samples     Mean      p50      p99  Memory access           
# ........  ............  .......  .......  .......  ........................
#
    76.92%             4    275.0      250      350  Local RAM or RAM hit    
    20.98%             1    300.0      300      300  LFB/MAB or LFB/MAB hit  
     2.10%             6      5.0        5        5  L1 or L1 hit            


# Latency, core cycles
#       Cycles   Samples                                                      Mostly from
           0-7         6    54.55%  ########################################  L1 or L1 hit
          8-15         0     0.00%
         16-31         0     0.00%
         32-63         0     0.00%
        64-127         0     0.00%
       128-255         3    27.27%  ####################                      Local RAM or RAM hit
       256-511         2    18.18%  ##############                            50% LFB/MAB or LFB/MAB hit


# Samples: 11  of event 'cpu/mem-loads,ldlat=30/P'
# Total weight : 1430000
# Sort order   : mem,symbol,data
#
# Overhead       Samples     Mean      p50      p99  Memory access             Symbol    Data  
# ........  ............  .......  .......  .......  ........................  ........  ......
#
    76.92%             4    275.0      250      350  Local RAM or RAM hit      [.] leaf  [heap]
    20.98%             1    300.0      300      300  LFB/MAB or LFB/MAB hit    [.] leaf  [heap]
     2.10%             6      5.0        5        5  L1 or L1 hit              [.] leaf  table 


)");
}

TEST_F(MemoryReport, HasNoLatencyForStoresWithoutOne) {
  profile::RecordingDescription description = perf_reader::memory_description();
  const std::string page =
      text({{.event = 1, .data_source = perf_data_src(DataSourceFormat::SkylakeServer, SourceWord::StoreHit, 1)}},
           {.keys_text = "mem"}, description);
  EXPECT_THAT(page, HasSubstr("   100.00%             1        -        -        -  L1 hit"));
  EXPECT_THAT(page, ::testing::Not(HasSubstr("Latency, core cycles")));
}

std::vector<profile::Latency> one_access_each(const std::vector<std::uint32_t>& cycles) {
  std::vector<profile::Latency> latencies;
  for (const std::uint32_t one : cycles) latencies.push_back({one, 1});
  return latencies;
}

/// As with -F, whose first samples come at every access: ten of the loader's, and two that stand for a million each.
TEST_F(MemoryReport, WeighsSamplesByTheirPeriod) {
  const std::vector<Access> accesses{{.data_source = load(0x0A), .latency = 300, .times = 10, .period = 1},
                                     {.data_source = load(0x01), .latency = 5, .times = 2, .period = 1'000'000}};
  const std::string page = text(accesses, {.keys_text = "mem"});
  EXPECT_THAT(page, HasSubstr("    99.97%             2      5.0        5        5  L1 or L1 hit"));
  EXPECT_THAT(page, HasSubstr("     0.03%            10    300.0      300      300  Local RAM or RAM hit"));
  EXPECT_THAT(page, HasSubstr("           0-7         2   100.00%"));  // of the accesses in the histogram
  EXPECT_THAT(text(accesses, {.keys_text = "mem", .overview = false}),
              HasSubstr("    99.67%            10  Local RAM or RAM hit"));
}

TEST_F(MemoryReport, PercentilesAreValuesThatWereMeasured) {
  EXPECT_EQ(percentile(one_access_each({}), 50), 0u);
  EXPECT_EQ(percentile(one_access_each({7}), 99), 7u);
  EXPECT_EQ(percentile(one_access_each({1, 2, 3, 4}), 50), 2u);
  EXPECT_EQ(percentile(one_access_each({1, 2, 3, 4, 5}), 50), 3u);
  std::vector<std::uint32_t> hundred;
  for (std::uint32_t i = 1; i <= 100; ++i) hundred.push_back(i);
  EXPECT_EQ(percentile(one_access_each(hundred), 99), 99u);
  EXPECT_EQ(percentile(one_access_each(hundred), 100), 100u);
  EXPECT_EQ(mean_text(one_access_each({1, 2})), "1.5");
  EXPECT_EQ(mean_text(one_access_each({})), "-");
  EXPECT_EQ(percentile({{4, 1000}, {300, 1}}, 99), 4u);  // one sample of each, but of many accesses
  EXPECT_EQ(mean_text({{4, 999}, {1004, 1}}), "5.0");
}

TEST_F(MemoryReport, AnnotateShowsWhereTheDataOfEachLineWas) {
  perf_reader::write_memory_recording(here_ / "perf.data", {{.data_source = load(0x01), .latency = 5, .times = 6},
                                                            {.data_source = load(0x0A), .latency = 300, .times = 3},
                                                            {.data_source = load(0x07), .latency = 100},
                                                            {.ip = perf_reader::kAdd, .data_source = 0x508'0022}});
  const auto reader = profile::PerfDataReader::open(here_ / "perf.data");
  ASSERT_TRUE(reader);
  profile::Symbolizer symbolizer;
  std::uint64_t outside = 0;
  const auto heats = profile::function_heats(*reader, symbolizer, {.symbol = "leaf"}, outside);
  ASSERT_EQ(heats.size(), 1u);
  const auto page = annotate_text(heats[0], symbolizer, {});
  ASSERT_TRUE(page);
  EXPECT_THAT(*page, HasSubstr(R"(
         :    29             mov (%rsi), %rax
         :           |111111111111ccMMMMMM|  L1 60%, memory 30%, another core 10%; mean 103.0 cycles
   90.91 :    401025:   mov (%rsi), %rax
         :    30             add %rax, 8(%rsi)
    9.09 :    401028:   add %rax, 0x8(%rsi)
)"));
}

TEST_F(MemoryReport, NamesWhatAnAddressBelongsTo) {
  EXPECT_EQ(named(perf_reader::kTable + 8), "table");
  EXPECT_EQ(named(perf_reader::kHeap), "[heap]");
  EXPECT_EQ(named(perf_reader::kStack - 64), "[stack] 100");
  EXPECT_EQ(named(perf_reader::kAnonymous), "anonymous 201000000000 (4.0 MiB)");
  EXPECT_EQ(named(perf_reader::kAnonymous + 8, perf_reader::kAnonymous + 0x3F'F000), "[stack] 107")
      << "the mapping that a thread's stack pointer is near the end of";
  const std::uint64_t in_heap = perf_reader::kAnonymous + 0x7'0000;  // as a goroutine's stack
  EXPECT_EQ(named(in_heap + 100, in_heap), "[stack] 107");
  EXPECT_EQ(named(in_heap - 8, in_heap), "[stack] 107") << "what a function without a frame keeps there";
  EXPECT_EQ(named(in_heap - 0x1000, in_heap), "anonymous 201000000000 (4.0 MiB)");
  EXPECT_EQ(named(in_heap + 0x10'0000, in_heap), "anonymous 201000000000 (4.0 MiB)");
  EXPECT_EQ(named(0x10), "[unknown]");
}

TEST_F(MemoryReport, NamesABlockOfTheHeapByWhoAskedForIt) {
  const auto name = [&](const std::vector<session::HeapBlock>& blocks) {
    return named(perf_reader::kHeap, perf_reader::kStack, blocks);
  };
  const auto block = [](std::uint64_t number, std::uint64_t size, std::vector<std::uint64_t> site) {
    return session::HeapBlock{.number = number, .start = perf_reader::kHeap, .size = size, .site = std::move(site)};
  };
  const std::uint64_t site = perf_reader::kBackInMiddle, other = perf_reader::kBackInStart;
  EXPECT_EQ(name({block(1, 100, {site})}), "heap: middle+0x9 (subject.S:18), 100 B");
  EXPECT_EQ(name({block(1, 4096, {site, other}), block(1, 4096, {site, other})}),
            "heap: middle+0x9 (subject.S:18), 4.0 KiB")
      << "one block, two samples";
  EXPECT_EQ(name({block(1, 100, {site}), block(2, 200, {other}), block(3, 300, {site})}),
            "heap: middle+0x9 (subject.S:18), 2 blocks, 400 B");
  EXPECT_EQ(name({block(1, 100, {})}), "heap: unknown site, 100 B");
  EXPECT_EQ(name({block(1, 100, {0x1234})}), "heap: 0x1234, 100 B") << "code that nothing mapped";
}

}  // namespace
}  // namespace zs::report
