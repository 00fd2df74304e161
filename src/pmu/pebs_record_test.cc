// PEBS records byte by byte, as a whole Pmu writes them.
#include "pmu/pebs_record.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "arch/events/tables.h"
#include "arch/records/pebs_decode.h"
#include "pmu/fakes.h"

namespace zs::pmu {
namespace {

using arch::BranchKind;

/// "00: 46 02 ..." lines of 16 bytes.
std::string dump(FakeMemory& memory, std::uint64_t start, std::size_t size) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i) {
    char word[24];
    if (i % 16 == 0) {
      std::snprintf(word, sizeof word, "%02zX:", i);
      text += word;
    }
    std::snprintf(word, sizeof word, " %02x", static_cast<unsigned>(memory.get<std::uint8_t>(start + i)));
    text += word;
    if (i % 16 == 15 || i + 1 == size) text += '\n';
  }
  return text;
}

/// After the recorded instruction. AX needs all of its bits.
constexpr arch::RegisterFile kAfter{.flags = 0x246,
                                    .ip = 0x40'1008,
                                    .ax = 0xA0A0'A0A0'A0A0'A0A0,
                                    .bx = 0xB0,
                                    .cx = 0xC0,
                                    .dx = 0xD0,
                                    .si = 0x51,
                                    .di = 0xD1,
                                    .bp = 0xB9,
                                    .sp = 0x7FFF'FFFF'E000,
                                    .r8 = 0x8808,
                                    .r9 = 0x8809,
                                    .r10 = 0x880A,
                                    .r11 = 0x880B,
                                    .r12 = 0x880C,
                                    .r13 = 0x880D,
                                    .r14 = 0x880E,
                                    .r15 = 0x880F};

// Records as a whole Pmu writes them: two loads at 401000H and 401004H, the first one arms.
std::string golden(const char* model) {
  TestPmu t{model};
  t.set_up_ds(4, 4, minus(1000));
  t.clock.now = 0x0123'4567'89AB'CDE5;
  const bool westmere = t.model.pebs_format() == arch::PebsFormat::V1;
  t.wr(kSelect0, westmere ? 0x41'010B : kCountLoads);
  t.wr(kSelect1, kCountInstructions);  // overflows as well, without PEBS
  t.wr(kPmc0, 0xFFFF'FFFF);
  t.wr(kPmc1, 0xFFFF'FFFF);
  t.wr(kPebsEnable, 1);
  arch::Retired load = load_at(0x40'1000, 0x7FFF'1234'5678);
  load.next_ip = 0x40'1004;
  t.pmu.retire(load, {.flags = 0x202, .ip = 0x40'1004});
  load.ip = 0x40'1004;
  load.next_ip = 0x40'1008;
  arch::RegisterFile after = kAfter;
  after.ax = 0xA0;
  t.pmu.retire(load, after);
  EXPECT_EQ(t.records(), 1U);
  const std::size_t size = t.record_bytes();
  EXPECT_EQ(t.memory.get<std::uint8_t>(TestPmu::kRecords + size), 0xEE) << "one byte past the record is untouched";
  return dump(t.memory, TestPmu::kRecords, size);
}

// 90H: the status word, PMC0 and PMC1 having overflowed. 98H is 0: ordinary events have no address in this format.
TEST(PebsRecord, OfFormat1IsTheseBytes) {
  EXPECT_EQ(golden("westmere"),
            "00: 46 02 00 00 00 00 00 00 08 10 40 00 00 00 00 00\n"
            "10: a0 00 00 00 00 00 00 00 b0 00 00 00 00 00 00 00\n"
            "20: c0 00 00 00 00 00 00 00 d0 00 00 00 00 00 00 00\n"
            "30: 51 00 00 00 00 00 00 00 d1 00 00 00 00 00 00 00\n"
            "40: b9 00 00 00 00 00 00 00 00 e0 ff ff ff 7f 00 00\n"
            "50: 08 88 00 00 00 00 00 00 09 88 00 00 00 00 00 00\n"
            "60: 0a 88 00 00 00 00 00 00 0b 88 00 00 00 00 00 00\n"
            "70: 0c 88 00 00 00 00 00 00 0d 88 00 00 00 00 00 00\n"
            "80: 0e 88 00 00 00 00 00 00 0f 88 00 00 00 00 00 00\n"
            "90: 03 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00\n"
            "A0: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00\n");
}

// 90H: the status word. 98H: the data address. B0H: the eventing IP.
TEST(PebsRecord, OfFormat2IsTheseBytes) {
  EXPECT_EQ(golden("haswell"),
            "00: 46 02 00 00 00 00 00 00 08 10 40 00 00 00 00 00\n"
            "10: a0 00 00 00 00 00 00 00 b0 00 00 00 00 00 00 00\n"
            "20: c0 00 00 00 00 00 00 00 d0 00 00 00 00 00 00 00\n"
            "30: 51 00 00 00 00 00 00 00 d1 00 00 00 00 00 00 00\n"
            "40: b9 00 00 00 00 00 00 00 00 e0 ff ff ff 7f 00 00\n"
            "50: 08 88 00 00 00 00 00 00 09 88 00 00 00 00 00 00\n"
            "60: 0a 88 00 00 00 00 00 00 0b 88 00 00 00 00 00 00\n"
            "70: 0c 88 00 00 00 00 00 00 0d 88 00 00 00 00 00 00\n"
            "80: 0e 88 00 00 00 00 00 00 0f 88 00 00 00 00 00 00\n"
            "90: 03 00 00 00 00 00 00 00 78 56 34 12 ff 7f 00 00\n"
            "A0: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00\n"
            "B0: 04 10 40 00 00 00 00 00 00 00 00 00 00 00 00 00\n");
}

// 90H: the applicable counters, PMC0 only. C0H: the time stamp.
TEST(PebsRecord, OfFormat3IsTheseBytes) {
  EXPECT_EQ(golden("skylake-server"),
            "00: 46 02 00 00 00 00 00 00 08 10 40 00 00 00 00 00\n"
            "10: a0 00 00 00 00 00 00 00 b0 00 00 00 00 00 00 00\n"
            "20: c0 00 00 00 00 00 00 00 d0 00 00 00 00 00 00 00\n"
            "30: 51 00 00 00 00 00 00 00 d1 00 00 00 00 00 00 00\n"
            "40: b9 00 00 00 00 00 00 00 00 e0 ff ff ff 7f 00 00\n"
            "50: 08 88 00 00 00 00 00 00 09 88 00 00 00 00 00 00\n"
            "60: 0a 88 00 00 00 00 00 00 0b 88 00 00 00 00 00 00\n"
            "70: 0c 88 00 00 00 00 00 00 0d 88 00 00 00 00 00 00\n"
            "80: 0e 88 00 00 00 00 00 00 0f 88 00 00 00 00 00 00\n"
            "90: 01 00 00 00 00 00 00 00 78 56 34 12 ff 7f 00 00\n"
            "A0: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00\n"
            "B0: 04 10 40 00 00 00 00 00 00 00 00 00 00 00 00 00\n"
            "C0: ef cd ab 89 67 45 23 01\n");
}

// ---- every format and every set of groups, written by a Pmu, read by the decoder, compared

class CountingXmms : public VectorRegisters {
 public:
  void read_xmm(std::span<std::byte, 256> into) override {
    for (std::size_t i = 0; i < into.size(); ++i) into[i] = static_cast<std::byte>(i);
  }
};

/// What a core model says of a load that another core had modified.
constexpr arch::AccessOutcome kSlowLoad{
    .present = true,
    .latency = 77,
    .source = {.level = arch::DataLevel::L3, .snoop = arch::DataSnoop::Hitm, .tlb = arch::DataTlb::Walk}};

/// Two loads at 401000H and 401004H; the second one is recorded, the first on a processor whose PMC0 is exact. By the
/// load-latency facility where there is one.
void record_a_load(TestPmu& t, const arch::RegisterFile& after = kAfter) {
  const bool old_loads = t.model.pebs_format() <= arch::PebsFormat::V1 && !t.model.precise_store;
  const std::uint64_t plain = t.model.pebs_format() == arch::PebsFormat::V0 ? kCountInstructions : kCountLoads;
  t.wr(kSelect0, (!t.model.load_latency ? plain
                  : old_loads           ? 0x41'100B
                                        : 0x41'01CD) |
                     (t.model.pebs_baseline() ? std::uint64_t{1} << 34 : 0));
  t.wr(kPmc0, 0xFFFF'FFFF);
  t.wr(kPebsEnable, t.model.load_latency && !t.model.pebs_baseline() ? 0x1'0000'0001 : 1);
  arch::Retired load = load_at(0x40'1000, 0x7FFF'1234'5678);
  load.next_ip = 0x40'1004;
  load.load = kSlowLoad;
  t.pmu.retire(load, after);
  load.ip = 0x40'1004;
  load.next_ip = 0x40'1008;
  t.pmu.retire(load, after);
}

/// The code of a modified line is 6 on Nehalem, 7 later; bit 4 is the page walk.
std::uint64_t word_of_slow_load(const arch::CpuModel& model) {
  if (!model.load_latency) return 0;
  if (model.data_source == arch::DataSourceFormat::Nehalem) return 0x06;
  return model.data_source == arch::DataSourceFormat::Westmere ? 0x16 : 0x17;
}

std::optional<arch::PebsFields> decoded(TestPmu& t) {
  const std::uint64_t size = t.index() - TestPmu::kRecords;
  std::vector<std::byte> bytes(size);
  CHECK(t.memory.read(TestPmu::kRecords, bytes));
  const auto fields = arch::decode_pebs(bytes, t.model.pebs_format(), t.layout());
  for (std::size_t cut = 0; cut < size; ++cut) {
    EXPECT_FALSE(arch::decode_pebs(Bytes{bytes}.first(cut), t.model.pebs_format(), t.layout())) << cut;
  }
  return fields;
}

bool same(const arch::RegisterFile& a, const arch::RegisterFile& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

TEST(PebsFormats, OfFixedSizeDecodeToWhatWasRecorded) {
  for (const auto& [name, size] : {std::pair{"core2", 144U},
                                   {"nehalem", 176U},
                                   {"westmere", 176U},
                                   {"ivybridge", 176U},
                                   {"haswell", 192U},
                                   {"skylake-client", 200U},
                                   {"skylake-server", 200U}}) {
    TestPmu t{name};
    t.set_up_ds(4, 5);
    record_a_load(t);
    const auto fields = decoded(t);
    ASSERT_TRUE(fields) << name;
    EXPECT_EQ(fields->size, size) << name;
    EXPECT_TRUE(same(fields->registers, kAfter)) << name;
    const arch::PebsFormat format = t.model.pebs_format();
    const bool status = format == arch::PebsFormat::V1 || format == arch::PebsFormat::V2;
    EXPECT_EQ(fields->status, status ? 1U : 0U) << name;
    EXPECT_EQ(fields->counters, format >= arch::PebsFormat::V3 ? 1U : 0U) << name;
    EXPECT_EQ(fields->eventing_ip, format >= arch::PebsFormat::V2 ? 0x40'1004U : 0U) << name;
    EXPECT_EQ(fields->data_address, t.model.load_latency ? 0x7FFF'1234'5678U : 0U) << name;
    EXPECT_EQ(fields->latency, t.model.load_latency ? 77U : 0U) << name;
    EXPECT_EQ(fields->data_source, word_of_slow_load(t.model)) << name;
    EXPECT_EQ(fields->transaction, 0U) << name;
    EXPECT_EQ(fields->tsc != 0, format >= arch::PebsFormat::V3) << name;
  }
}

TEST(PebsFormats, OfEverySetOfGroupsDecodeToWhatWasRecorded) {
  for (const char* name : {"icelake-server", "sapphire-rapids"}) {
    for (const bool format_5 : {false, true}) {
      for (std::uint64_t groups = 0; groups < 16; ++groups) {
        for (const std::uint64_t entries : {1U, 2U, 17U, 32U}) {
          TestPmu t{name, format_5 ? arch::QuirkSet{arch::Quirk::PebsFormat5} : arch::QuirkSet{}};
          CountingXmms xmms;
          t.pmu.set_vector_registers(&xmms);
          const bool architectural = t.model.lbr_kind == arch::LbrKind::Architectural;
          t.wr(architectural ? 0x14CE : kDebugCtl, architectural ? 0x7F'0007 : 1);
          for (std::uint64_t n = 1; n <= 5; ++n) {
            t.pmu.enter_branch({.from = 0x100 * n, .to = 0x100 * n + 8, .kind = BranchKind::RelativeJump});
          }
          t.wr(0x3F2, groups | (entries - 1) << 24);
          t.set_up_ds(4, 5);
          record_a_load(t);
          const auto fields = decoded(t);
          ASSERT_TRUE(fields) << name << " groups " << groups;
          const bool memory = (groups & 1) != 0, gprs = (groups & 2) != 0, vectors = (groups & 4) != 0,
                     lbrs = (groups & 8) != 0;
          EXPECT_EQ(fields->size,
                    32U + (memory ? 32 : 0) + (gprs ? 144 : 0) + (vectors ? 256 : 0) + (lbrs ? 24 * entries : 0));
          EXPECT_EQ(fields->groups.raw(), groups | (entries - 1) << 24) << "PEBS_DATA_CFG as it was";
          EXPECT_EQ(fields->eventing_ip, t.model.exact_counters.has(0) ? 0x40'1000U : 0x40'1004U);
          EXPECT_EQ(fields->counters, 1U);
          EXPECT_NE(fields->tsc, 0U);
          EXPECT_EQ(fields->data_address, memory ? 0x7FFF'1234'5678U : 0U);
          const std::uint64_t latency = t.model.store_latency ? std::uint64_t{77} << 32 | 77 : 77;
          EXPECT_EQ(fields->data_source, memory ? word_of_slow_load(t.model) : 0);
          EXPECT_EQ(fields->latency, memory ? latency : 0);
          EXPECT_TRUE(same(fields->registers, gprs ? kAfter : arch::RegisterFile{}));
          EXPECT_EQ(fields->xmms.registers[255], static_cast<std::byte>(vectors ? 255 : 0));
          ASSERT_EQ(fields->lbr_count, lbrs ? entries : 0U);
          for (unsigned n = 0; n < fields->lbr_count; ++n) {
            EXPECT_EQ(fields->lbrs[n].from, n < 5 ? 0x100 * (5 - n) : 0U) << "newest first, then zeros";
            EXPECT_EQ(fields->lbrs[n].to, n < 5 ? 0x100 * (5 - n) + 8 : 0U);
          }
        }
      }
    }
  }
}

TEST(PebsFormats, AreBasicOnlyForACounterWithoutTheAdaptiveBit) {
  TestPmu t{"icelake-server"};
  t.wr(0x3F2, 0xF);
  t.set_up_ds(4, 5);
  record_a_load(t);
  const std::uint64_t whole = t.index() - TestPmu::kRecords;
  t.rewind();
  t.wr(kSelect0, kCountLoads);
  t.wr(kPmc0, 0xFFFF'FFFF);
  t.retire(load_at(0x2000, 0x3000));
  t.retire(load_at(0x2004, 0x3000));
  EXPECT_EQ(whole, 488U);
  EXPECT_EQ(t.index() - TestPmu::kRecords, 32U);
  EXPECT_EQ(t.memory.get<std::uint64_t>(TestPmu::kRecords), std::uint64_t{32} << 48) << "format 0, size 32";
}

// The general registers of this group are ordered AX CX DX BX SP BP SI DI, other than in the older formats.
TEST(PebsFormats, OfTheGprGroupAreTheseBytes) {
  TestPmu t{"icelake-server"};
  t.wr(0x3F2, 0x2);
  t.set_up_ds(4, 5);
  t.clock.now = 0x0123'4567'89AB'CDE5;
  record_a_load(t);
  EXPECT_EQ(dump(t.memory, TestPmu::kRecords, 176),
            "00: 02 00 00 00 00 00 b0 00 04 10 40 00 00 00 00 00\n"
            "10: 01 00 00 00 00 00 00 00 ef cd ab 89 67 45 23 01\n"
            "20: 46 02 00 00 00 00 00 00 08 10 40 00 00 00 00 00\n"
            "30: a0 a0 a0 a0 a0 a0 a0 a0 c0 00 00 00 00 00 00 00\n"
            "40: d0 00 00 00 00 00 00 00 b0 00 00 00 00 00 00 00\n"
            "50: 00 e0 ff ff ff 7f 00 00 b9 00 00 00 00 00 00 00\n"
            "60: 51 00 00 00 00 00 00 00 d1 00 00 00 00 00 00 00\n"
            "70: 08 88 00 00 00 00 00 00 09 88 00 00 00 00 00 00\n"
            "80: 0a 88 00 00 00 00 00 00 0b 88 00 00 00 00 00 00\n"
            "90: 0c 88 00 00 00 00 00 00 0d 88 00 00 00 00 00 00\n"
            "A0: 0e 88 00 00 00 00 00 00 0f 88 00 00 00 00 00 00\n");
}

TEST(PebsFormats, OfA32BitAreaAreTheseBytes) {
  TestPmu t{"westmere", {arch::Quirk::Ds32}};
  t.pmu.set_mode({.ia32e = false, .code64 = false});
  t.set_up_ds(4, 5);
  record_a_load(t);
  EXPECT_EQ(dump(t.memory, TestPmu::kRecords, 40),
            "00: 46 02 00 00 08 10 40 00 a0 a0 a0 a0 b0 00 00 00\n"
            "10: c0 00 00 00 d0 00 00 00 51 00 00 00 d1 00 00 00\n"
            "20: b9 00 00 00 00 e0 ff ff\n");
  const auto fields = decoded(t);
  ASSERT_TRUE(fields);
  EXPECT_EQ(fields->size, 40U);
  EXPECT_EQ(fields->registers.di, 0xD1U);
}

// DTES64: 64-bit records in 32-bit code, with what that code does not have as 0.
TEST(PebsFormats, CutRegistersTo32BitsOutside64BitCode) {
  TestPmu t{"skylake-server"};
  t.pmu.set_mode({.ia32e = true, .code64 = false});
  t.set_up_ds(4, 5);
  record_a_load(t);
  const auto fields = decoded(t);
  ASSERT_TRUE(fields);
  EXPECT_EQ(fields->registers.ax, 0xA0A0'A0A0U);
  EXPECT_EQ(fields->registers.sp, 0xFFFF'E000U);
  EXPECT_EQ(fields->registers.r15, 0U);
}

// ---- which instruction, and what it is of

TEST(PebsOfAnyEvent, RecordsAnEventThatIsNotPreciseAtItsOverflow) {
  TestPmu t{"goldmont"};
  t.set_up_ds(4, 5, minus(3));
  t.wr(kSelect0, 0x41'41C5);  // no event of this processor: counts nothing
  t.wr(kPebsEnable, 1);
  t.wr(kFullPmc0, kWidth48);
  t.run(2);
  EXPECT_EQ(t.records(), 0U);
  t.wr(kStatusSet, 1);  // software's overflow is recorded at the next retirement
  t.run(1, 0x5000);
  ASSERT_EQ(t.records(), 1U);
  EXPECT_EQ(t.record(0).v2.eventing_ip, 0x5000U);
  EXPECT_EQ(t.rd(kStatus), 0U);
}

TEST(PebsOfAnyEvent, RecordsWhereTimeWraps) {
  TestPmu t{"icelake-server"};
  t.set_up_ds(4, 5, minus(1000));
  t.wr(kFixedCtrl, 0x20);
  t.wr(kGlobal, std::uint64_t{2} << 32);
  t.wr(kPebsEnable, std::uint64_t{2} << 32);
  t.wr(kFixed0 + 1, minus(10));
  EXPECT_EQ(t.pmu.time_headroom().core, 9U);
  t.pmu.advance({.core = 10, .reference = 10, .bus = 1});
  EXPECT_EQ(t.records(), 0U);
  EXPECT_TRUE(t.pmu.needs_each()) << "the next instruction is recorded, so it must not be counted in bulk";
  t.run(2, 0x5000);
  EXPECT_FALSE(t.pmu.needs_each());
  ASSERT_EQ(t.records(), 1U);
  EXPECT_EQ(t.memory.get<arch::PebsBasic>(TestPmu::kRecords).ip, 0x5000U);
  EXPECT_EQ(t.memory.get<arch::PebsBasic>(TestPmu::kRecords).counters, std::uint64_t{2} << 32);
  EXPECT_EQ(t.rd(kFixed0 + 1), minus(1000));
}

TEST(PebsDistribution, OfFixedCounter0RecordsTheOverflowingInstruction) {
  TestPmu t{"icelake-server"};
  t.set_up_ds(4, 5, minus(100));
  t.wr(kFixedCtrl, 0x2);
  t.wr(kGlobal, std::uint64_t{1} << 32);
  t.wr(kPebsEnable, std::uint64_t{1} << 32);
  t.wr(kFixed0, minus(3));
  t.run(5, 0x1000);
  ASSERT_EQ(t.records(), 1U);
  EXPECT_EQ(t.memory.get<arch::PebsBasic>(TestPmu::kRecords).ip, 0x1008U) << "the third";
}

TEST(PebsDistribution, IsAPropertyOfPmc0ForEveryPreciseEventOnSapphireRapids) {
  for (const bool pmc0 : {true, false}) {
    TestPmu t{"sapphire-rapids"};
    t.set_up_ds(4, 5, minus(100));
    t.wr(pmc0 ? kSelect0 : kSelect1, kCountLoads);
    t.wr(kPebsEnable, pmc0 ? 1 : 2);
    t.wr(pmc0 ? kPmc0 : kPmc1, 0xFFFF'FFFF);
    t.retire(load_at(0x1000, 0x9000));
    t.retire(load_at(0x1004, 0x9000));
    ASSERT_EQ(t.records(), 1U);
    EXPECT_EQ(t.memory.get<arch::PebsBasic>(TestPmu::kRecords).ip, pmc0 ? 0x1000U : 0x1004U);
  }
}

// ---- load latency

TEST(LoadLatency, CountsOnlyWithBothEnablesBeforePerfmon5) {
  for (const std::uint64_t enable : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{0x1'0000'0001}}) {
    TestPmu t;
    t.set_up_ds(4, 5, minus(1000));
    t.wr(kSelect0, 0x41'01CD);
    t.wr(kPebsEnable, enable);
    t.retire(load_at(0x1000, 0x9000));
    EXPECT_EQ(t.rd(kPmc0), enable == 0x1'0000'0001 ? 1U : 0U) << std::hex << enable;
  }
}

TEST(LoadLatency, SaysThatItKnowsNeitherSourceNorLatencyWithoutACoreModel) {
  TestPmu t;
  t.set_up_ds(4, 5, minus(1000));
  t.wr(kSelect0, 0x41'01CD);
  t.wr(0x3F6, 3);
  t.wr(kPebsEnable, 0x1'0000'0001);
  t.wr(kPmc0, 0xFFFF'FFFF);
  t.run(3);  // no loads
  t.retire(load_at(0x1000, 0x9000));
  t.retire(load_at(0x1004, 0x9008));
  ASSERT_EQ(t.records(), 1U);
  EXPECT_EQ(t.record(0).v2.eventing_ip, 0x1004U);
  EXPECT_EQ(t.record(0).v2.v1.data_address, 0x9008U);
  EXPECT_EQ(t.record(0).v2.v1.data_source, 0U);
  EXPECT_EQ(t.record(0).v2.v1.latency, 0U);
}

TEST(LoadLatency, CountsWhatACoreModelSaysOfTheThresholdThatSoftwareSet) {
  TestPmu t;
  t.wr(kSelect0, 0x41'01CD);
  t.wr(0x3F6, 30);
  EXPECT_EQ(t.pmu.latency_threshold(), 30U);
  t.wr(kPebsEnable, 0x1'0000'0001);
  for (const std::uint64_t slow : {0U, 0U, 1U, 1U}) {
    arch::Retired load = load_at(0x1000, 0x9000);
    arch::CoreSignals signals;
    signals[arch::CoreSignal::LatencyLoads] = slow;
    load.signals = &signals;
    t.retire(load);
  }
  EXPECT_EQ(t.rd(kPmc0), 2U);
}

TEST(LoadLatency, IsAnAccumulatorThatCanBeCountedInBulk) {
  TestPmu t;
  t.wr(kSelect0, 0x41'01CD);
  t.wr(kPebsEnable, 0x1'0000'0001);
  t.wr(kPmc0, 0xFFFF'FFFF - 9);
  ASSERT_EQ(t.pmu.accumulators().size(), 1U);
  ASSERT_NE(t.pmu.accumulators()[0].of_signals, nullptr);
  EXPECT_EQ(t.pmu.headroom(0), 9U);
  t.pmu.count(0, 9);
  EXPECT_EQ(t.pmu.headroom(0), 0U);
  arch::CoreSignals signals;
  signals[arch::CoreSignal::LatencyLoads] = 5;
  EXPECT_EQ(t.pmu.accumulators()[0].of_signals(signals), 5U);
}

/// The record of the second of two read-modify-writes whose halves went different ways.
arch::PebsFields record_of_two_ways(TestPmu& t, std::uint64_t select, std::uint64_t pebs_enable) {
  t.set_up_ds(4, 5);
  t.wr(kSelect0, select | (t.model.pebs_baseline() ? std::uint64_t{1} << 34 : 0));
  if (t.model.pebs_baseline()) t.wr(0x3F2, 1);
  t.wr(kPmc0, 0xFFFF'FFFF);
  t.wr(kPebsEnable, pebs_enable);
  arch::Retired both = load_at(0x40'1000, 0x9000);
  both.store_count = both.stores = 1;
  both.store_address = 0x9000;
  both.load = kSlowLoad;
  both.store = {.present = true,
                .latency = 5,
                .source = {.level = arch::DataLevel::L1, .tlb = arch::DataTlb::L1, .locked = true}};
  t.retire(both);
  t.retire(both);
  return decoded(t).value();
}

TEST(DataSource, OfAStoreEventSaysWhetherTheStoresLineWasInL1) {
  for (const char* name : {"haswell", "skylake-client", "skylake-server", "icelake-server"}) {
    TestPmu t{name};
    const arch::PebsFields fields = record_of_two_ways(t, 0x41'82D0, 1);
    EXPECT_EQ(fields.data_source, 1U) << name;
    EXPECT_EQ(fields.latency, 0U) << name;
  }
}

TEST(DataSource, OfAStoreLatencyEventSaysWhereTheLineWasAndHowLongItTook) {
  TestPmu t{"sapphire-rapids"};
  const arch::PebsFields fields = record_of_two_ways(t, 0x41'02CD, 1);
  EXPECT_EQ(fields.data_source, 0x21U);
  EXPECT_EQ(fields.latency, std::uint64_t{5} << 32 | 5);
}

TEST(DataSource, OfAPlainLoadEventSaysNothing) {
  for (const char* name : {"haswell", "skylake-server", "icelake-server", "sapphire-rapids"}) {
    TestPmu t{name};
    const arch::PebsFields fields = record_of_two_ways(t, kCountLoads, 1);
    EXPECT_EQ(fields.data_source, 0U) << name;
    EXPECT_EQ(fields.latency, 0U) << name;
  }
}

}  // namespace
}  // namespace zs::pmu
