#include "pmu/pebs_writer.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "pmu/fakes.h"

namespace zs::pmu {
namespace {

using Outcome = PebsWriter::Outcome;

constexpr std::uint64_t kDs = FakeMemory::kStart;
constexpr std::uint64_t kBuffer = FakeMemory::kStart + 0x100;

arch::PebsV3 record_at(std::uint64_t eventing_ip) {
  arch::PebsV3 record{};
  record.v2.eventing_ip = eventing_ip;
  return record;
}

/// A management area whose PEBS buffer is as given.
FakeMemory memory_with(const arch::DsBuffer& pebs) {
  FakeMemory memory;
  arch::DsManagementArea area{};
  area.pebs = pebs;
  for (std::size_t n = 0; n < area.pebs_reset.size(); ++n) area.pebs_reset[n] = 0x1000 + n;
  memory.put(kDs, area);
  return memory;
}

std::uint64_t index(FakeMemory& memory) { return memory.get<std::uint64_t>(kDs + 0x28); }

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

TEST(PebsWriter, MovesTheIndexBehindTheRecord) {
  FakeMemory memory =
      memory_with({.base = kBuffer, .index = kBuffer, .maximum = kBuffer + 400, .threshold = kBuffer + 1000});
  PebsWriter writer{memory, arch::PebsFormat::V3};
  EXPECT_EQ(writer.write(kDs, record_at(0x401000)), Outcome::Stored);
  EXPECT_EQ(index(memory), kBuffer + 200);
  EXPECT_EQ(writer.write(kDs, record_at(0x401004)), Outcome::Stored);
  EXPECT_EQ(index(memory), kBuffer + 400);
  EXPECT_EQ(memory.get<arch::PebsV3>(kBuffer).v2.eventing_ip, 0x401000U);
  EXPECT_EQ(memory.get<arch::PebsV3>(kBuffer + 200).v2.eventing_ip, 0x401004U);
}

TEST(PebsWriter, DropsARecordThatWouldPassTheAbsoluteMaximum) {
  FakeMemory memory =
      memory_with({.base = kBuffer, .index = kBuffer, .maximum = kBuffer + 399, .threshold = kBuffer + 1000});
  PebsWriter writer{memory, arch::PebsFormat::V3};
  EXPECT_EQ(writer.write(kDs, record_at(0x401000)), Outcome::Stored);
  EXPECT_EQ(writer.write(kDs, record_at(0x401004)), Outcome::Dropped);
  EXPECT_EQ(index(memory), kBuffer + 200);
  for (std::uint64_t address = kBuffer + 200; address < kBuffer + 600; ++address) {
    ASSERT_EQ(memory.get<std::uint8_t>(address), 0xEE) << "written past the end, at " << std::hex << address;
  }
}

// The manual asks for "a multiple of the record size plus 1"; drivers leave the 1 out.
TEST(PebsWriter, TakesAMaximumWithAndWithoutThePlus1) {
  for (const std::uint64_t maximum : {kBuffer + 200, kBuffer + 201}) {
    FakeMemory memory =
        memory_with({.base = kBuffer, .index = kBuffer, .maximum = maximum, .threshold = kBuffer + 1000});
    PebsWriter writer{memory, arch::PebsFormat::V3};
    EXPECT_EQ(writer.write(kDs, record_at(0x401000)), Outcome::Stored);
    EXPECT_EQ(writer.write(kDs, record_at(0x401004)), Outcome::Dropped);
  }
}

TEST(PebsWriter, SaysWhenTheIndexReachesTheThreshold) {
  FakeMemory memory =
      memory_with({.base = kBuffer, .index = kBuffer, .maximum = kBuffer + 800, .threshold = kBuffer + 400});
  PebsWriter writer{memory, arch::PebsFormat::V3};
  EXPECT_EQ(writer.write(kDs, record_at(1)), Outcome::Stored);
  EXPECT_EQ(writer.write(kDs, record_at(2)), Outcome::ReachedThreshold);
  EXPECT_EQ(writer.write(kDs, record_at(3)), Outcome::ReachedThreshold);
}

TEST(PebsWriter, DropsWhileTheIndexIsOutsideTheBuffer) {
  for (const std::uint64_t index : {kBuffer - 8, kBuffer + 1001}) {
    FakeMemory memory =
        memory_with({.base = kBuffer, .index = index, .maximum = kBuffer + 1000, .threshold = kBuffer + 200});
    PebsWriter writer{memory, arch::PebsFormat::V3};
    EXPECT_EQ(writer.write(kDs, record_at(1)), Outcome::Dropped);
  }
}

TEST(PebsWriter, DoesNotWrapAroundTheAddressSpaceNearItsEnd) {
  const std::uint64_t top = ~std::uint64_t{0};
  FakeMemory memory = memory_with({.base = top - 100, .index = top - 100, .maximum = top, .threshold = 0});
  PebsWriter writer{memory, arch::PebsFormat::V3};
  EXPECT_EQ(writer.write(kDs, record_at(1)), Outcome::Dropped);
}

TEST(PebsWriter, DropsWhenTheAreaOrTheBufferIsNotMapped) {
  FakeMemory memory = memory_with({.base = 0x10, .index = 0x10, .maximum = 0x1000, .threshold = 0x1000});
  PebsWriter writer{memory, arch::PebsFormat::V3};
  EXPECT_EQ(writer.write(0, record_at(1)), Outcome::Dropped) << "no area";
  EXPECT_EQ(writer.write(kDs, record_at(1)), Outcome::Dropped) << "no buffer";
  EXPECT_EQ(index(memory), 0x10U);
  EXPECT_FALSE(writer.reset_value(0, 0));
}

TEST(PebsWriter, ReadsTheResetValueOfEachCounterFromItsSlot) {
  FakeMemory memory = memory_with({});
  PebsWriter writer{memory, arch::PebsFormat::V3};
  for (unsigned n = 0; n < 8; ++n) EXPECT_EQ(writer.reset_value(kDs, n), 0x1000U + n);
}

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
  t.pmu.retire(load, {.flags = 0x246,
                      .ip = 0x40'1008,
                      .ax = 0xA0,
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
                      .r15 = 0x880F});
  EXPECT_EQ(t.records(), 1U);
  const std::size_t size = arch::record_size(t.model.pebs_format());
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

}  // namespace
}  // namespace zs::pmu
