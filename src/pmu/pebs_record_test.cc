// PEBS records byte by byte, as a whole Pmu writes them.
#include "pmu/pebs_record.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "pmu/fakes.h"

namespace zs::pmu {
namespace {

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

}  // namespace
}  // namespace zs::pmu
