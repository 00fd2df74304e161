#include "machine/boot/bios.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "machine/boot/disk_image.h"
#include "machine/boot/screen.h"
#include "machine/clock.h"
#include "machine/devices/cmos.h"
#include "machine/devices/keyboard_controller.h"
#include "machine/devices/keys.h"
#include "machine/devices/pic.h"
#include "machine/devices/pit.h"
#include "machine/devices/system_ports.h"
#include "machine/devices/vga.h"
#include "machine/memory.h"
#include "machine/port_map.h"

namespace zs::machine {
namespace {

std::vector<std::byte> image(std::size_t bytes) {
  std::vector<std::byte> all(bytes);
  for (std::size_t i = 0; i < bytes; ++i) all[i] = static_cast<std::byte>(i / 512);
  all[510] = std::byte{0x55};
  all[511] = std::byte{0xAA};
  return all;
}

struct Host : BiosHost {
  void memory_written(std::uint64_t, std::uint64_t bytes) override { written += bytes; }
  std::uint64_t ticks() const override { return clock.now(); }
  void pass_time(std::uint64_t ticks) override { clock.advance(ticks); }
  bool a20() const override { return open; }
  void set_a20(bool on) override { open = on; }
  void note(const std::string& text) override { notes.push_back(text); }
  bool keys_to_come() const override { return comes; }
  void waits_for_a_key() override { ++key_waits; }
  void reset() override { ++resets; }
  Clock clock;
  std::uint64_t written = 0;
  bool open = true, comes = false;
  std::vector<std::string> notes;
  int key_waits = 0, resets = 0;
};

struct BiosTest : testing::Test {
  explicit BiosTest(std::size_t disk_bytes = 1440 * 1024)
      : disk(*DiskImage::make(image(disk_bytes), "test")), memory(*PhysicalMemory::make(kLeastMemory)) {
    ports.add(cmos, 0x70, 0x71);
    ports.add(pic, 0x20, 0x21);
    ports.add(pic, 0xA0, 0xA1);
    ports.add(pit, 0x40, 0x43);
    bios.install();
    host.written = 0;
  }
  void print(const std::string& text) {
    for (const char letter : text) {
      BiosCall call{.eax = static_cast<std::uint16_t>(0x0E00 | static_cast<std::uint8_t>(letter))};
      bios.service(0x10, call);
    }
  }
  DiskImage disk;
  PhysicalMemory memory;
  PortMap ports;
  Host host;
  Cmos cmos{host.clock, kLeastMemory};
  Pic pic;
  Pit pit{host.clock, pic};
  Vga vga;
  Bios bios{memory, ports, vga, &disk, host};
};

struct BiosWithDisk : BiosTest {
  BiosWithDisk() : BiosTest(4 << 20) {}
};

TEST_F(BiosTest, EveryVectorLeadsToAnIretOfItsOwn) {
  for (unsigned vector = 0; vector < 256; ++vector) {
    const bool pointer = vector == 0x1E;  // to the diskette parameters
    const std::uint32_t offset = vector == 8      ? Bios::kTickService
                                 : vector == 0x16 ? Bios::kKeyEntry
                                 : pointer        ? 0xEFC7
                                                  : vector;
    EXPECT_EQ(memory.load<std::uint32_t>(vector * 4), 0xF0000000u + offset);
    EXPECT_EQ(memory.load<std::uint8_t>(kBios + vector), 0xCF);
  }
  EXPECT_EQ(memory.load<std::uint16_t>(0x413), 639);
}

TEST_F(BiosTest, TeletypeScrollsAtTheLastRow) {
  for (int i = 0; i < 26; ++i) print(std::string(1, static_cast<char>('a' + i)) + "\r\n");
  const std::string text = screen_text(screen_rows(memory));
  EXPECT_EQ(text.substr(0, 4), "c\nd\n");
  EXPECT_EQ(text.substr(text.size() - 4), "y\nz\n");
}

TEST_F(BiosTest, TextOf40ColumnsHasItsRowsInTheTextMemory) {
  BiosCall set{.eax = 0x0001};
  bios.service(0x10, set);
  EXPECT_EQ(vga.text_columns(), 40u);
  print(std::string(40, 'x') + "wraps\r\nend");
  const auto rows = screen_rows(memory, vga.text_columns());
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1].text(), "wraps");
  EXPECT_EQ(rows[2].text(), "end");
  EXPECT_EQ(memory.load<std::uint8_t>(kVgaText + 80), 'w');
  for (int i = 0; i < 25; ++i) print("\n");
  EXPECT_EQ(screen_rows(memory, 40).size(), 0u);
  BiosCall back{.eax = 0x0003};
  bios.service(0x10, back);
  EXPECT_EQ(vga.text_columns(), 80u);
}

TEST_F(BiosTest, GraphicsModesKeepTheTextThatTheyDoNotDraw) {
  for (const unsigned mode : {4u, 5u, 6u, 0x13u}) {
    BiosCall set{.eax = mode};
    bios.service(0x10, set);
    EXPECT_TRUE(bios.draws());
    EXPECT_EQ(vga.shows() == Vga::Shows::Text, false);
    print("score\r\n10");
    const auto rows = screen_rows(bios.drawn_text(), bios.columns());
    ASSERT_EQ(rows.size(), 2u) << mode;
    EXPECT_EQ(rows[0].text(), "score");
    EXPECT_EQ(rows[1].text(), "10");
    EXPECT_EQ(memory.load<std::uint64_t>(kVgaText), 0u) << "it lies over no pixel";
  }
}

TEST_F(BiosTest, PixelsOfCgaModesLieInTwoHalves) {
  struct Row {
    std::uint8_t mode, colour;
    std::uint16_t x, y;
    std::uint64_t at;
    std::uint8_t byte;
  };
  for (const Row& row : {Row{4, 3, 0, 0, 0, 0xC0}, Row{4, 2, 319, 199, 0x3F3F, 0x02}, Row{5, 1, 5, 2, 81, 0x10},
                         Row{6, 1, 639, 1, 0x204F, 0x01}, Row{6, 1, 8, 198, 7921, 0x80}}) {
    BiosCall set{.eax = row.mode};
    bios.service(0x10, set);
    BiosCall write{.eax = 0x0C00u | row.colour, .ecx = row.x, .edx = row.y};
    bios.service(0x10, write);
    EXPECT_EQ(memory.load<std::uint8_t>(kVgaText + row.at), row.byte);
    BiosCall read{.eax = 0x0D00, .ecx = row.x, .edx = row.y};
    bios.service(0x10, read);
    EXPECT_EQ(read.al(), row.colour);
    BiosCall exclusive{.eax = 0x0C80u | row.colour, .ecx = row.x, .edx = row.y};
    bios.service(0x10, exclusive);
    EXPECT_EQ(memory.load<std::uint8_t>(kVgaText + row.at), 0);
  }
}

TEST_F(BiosTest, ReadsAFloppyByCylinderHeadAndSector) {
  BiosCall call{.eax = 0x0202, .ebx = 0x100, .ecx = 0x0103, .edx = 0x0100, .es = 0x1000, .flags = 1};  // C1 H1 S3
  bios.service(0x13, call);
  EXPECT_EQ(call.ax(), 0x0002);
  EXPECT_EQ(call.flags & 1, 0);
  EXPECT_EQ(memory.load<std::uint8_t>(0x10100), 36 + 18 + 2);
  EXPECT_EQ(memory.load<std::uint8_t>(0x10300), 36 + 18 + 3);
  EXPECT_EQ(host.written, 1024u);
}

TEST_F(BiosTest, RefusesWhatTheFloppyHasNot) {
  for (const std::uint16_t cx : {std::uint16_t{0x0013}, std::uint16_t{0}, std::uint16_t{0x5001}}) {
    BiosCall call{.eax = 0x0201, .ecx = cx};
    bios.service(0x13, call);
    EXPECT_EQ(call.ax(), 0x0400) << cx;
    EXPECT_EQ(call.flags & 1, 1);
  }
  BiosCall extensions{.eax = 0x4100, .ebx = 0x55AA};
  bios.service(0x13, extensions);
  EXPECT_EQ(extensions.flags & 1, 1);
  BiosCall other_drive{.eax = 0x0201, .ecx = 1, .edx = 0x80};
  bios.service(0x13, other_drive);
  EXPECT_EQ(other_drive.ax() >> 8, 0x80);
}

TEST_F(BiosTest, ReadingIntoNothingFails) {
  BiosCall call{.eax = 0x0201, .ebx = 0, .ecx = 1, .es = 0xC000};
  bios.service(0x13, call);
  EXPECT_EQ(call.flags & 1, 1);
}

TEST_F(BiosWithDisk, ReadsAHardDiskByPacket) {
  BiosCall there{.eax = 0x4100, .ebx = 0x55AA, .edx = 0x80};
  bios.service(0x13, there);
  EXPECT_EQ(there.bx(), 0xAA55);
  memory.store<std::uint64_t>(0x500, 0x2000'0000'0001'0010);  // 16 bytes, 1 sector, to 2000:0000
  memory.store<std::uint64_t>(0x508, 77);
  BiosCall call{.eax = 0x4200, .edx = 0x80, .esi = 0x500};
  bios.service(0x13, call);
  EXPECT_EQ(call.flags & 1, 0);
  EXPECT_EQ(memory.load<std::uint8_t>(0x20000), 77);
}

TEST_F(BiosWithDisk, ThatNothingWasReadIsWrittenIntoThePacketAndTold) {
  memory.store<std::uint64_t>(0x500, 0x2000'0000'0001'0010);
  memory.store<std::uint64_t>(0x508, 1 << 20);  // behind the end
  BiosCall call{.eax = 0x4200, .edx = 0x80, .esi = 0x500};
  bios.service(0x13, call);
  EXPECT_EQ(call.flags & 1, 1);
  EXPECT_EQ(memory.load<std::uint16_t>(0x502), 0);
  EXPECT_EQ(host.written, 2u);
}

TEST_F(BiosWithDisk, WhatIsWrittenIsReadAgain) {
  memory.store<std::uint64_t>(0x500, 0x2000'0000'0001'0010);
  memory.store<std::uint64_t>(0x508, 5);
  memory.store<std::uint8_t>(0x20000, 0xAB);
  BiosCall write{.eax = 0x4300, .edx = 0x80, .esi = 0x500};
  bios.service(0x13, write);
  EXPECT_EQ(write.flags & 1, 0);
  BiosCall read{.eax = 0x0201, .ebx = 0x9000, .ecx = 6, .edx = 0x80};
  bios.service(0x13, read);
  EXPECT_EQ(read.ax(), 1);
  EXPECT_EQ(memory.load<std::uint8_t>(0x9000), 0xAB);
}

TEST_F(BiosTest, HasNoKeysAnd639KiB) {
  BiosCall key{.eax = 0x0100};
  bios.service(0x16, key);
  EXPECT_EQ(key.flags & 0x40, 0x40);
  BiosCall memory_size;
  bios.service(0x12, memory_size);
  EXPECT_EQ(memory_size.ax(), 639);
}

TEST_F(BiosTest, AWaitForAKeyIsTheEndOnlyWhereNothingElseCanHappen) {
  const BiosCall wait{.eax = 0x1000}, look{.eax = 0x0100};
  EXPECT_FALSE(bios.must_wait_for_key(look));
  host.comes = true;
  for (int n = 0; n < 10'000; ++n) ASSERT_TRUE(bios.must_wait_for_key(wait));
  EXPECT_EQ(host.key_waits, 0) << "somebody types";
  host.comes = false;
  memory.store<std::uint32_t>(4 * 0x1C, 0x7C80);
  EXPECT_TRUE(bios.must_wait_for_key(wait));
  EXPECT_EQ(host.key_waits, 0) << "the guest hears the tick";
  memory.store<std::uint32_t>(4 * 0x1C, 0xF000001C);
  EXPECT_TRUE(bios.must_wait_for_key(wait));
  EXPECT_EQ(host.key_waits, 1);
}

TEST_F(BiosTest, ScanCodesBecomeKeysInTheBufferThatCallersTake) {
  struct Pins : SystemPins {
    bool a20() const override { return true; }
    void set_a20(bool) override {}
    void system_management_interrupt() override {}
    void pulse_reset() override {}
    void request_irq(unsigned) override {}
  } pins;
  KeyboardController controller{pins};
  ports.add(controller, 0x60, 0x60);
  ports.add(controller, 0x64, 0x64);
  const auto take = [&](std::uint16_t function) {
    BiosCall call{.eax = function};
    bios.service(Bios::kKeyService, call);
    return call.ax();
  };
  const auto strokes = *key_strokes("aB<C-c><A-x><F11><Up><Up>");
  BiosCall none;
  for (const KeyStroke& stroke : strokes) {
    for (const std::uint8_t code : stroke.codes) {
      controller.key(code);
      bios.service(9, none);
    }
  }
  for (const unsigned key : {0x1E61u, 0x3042u, 0x2E03u, 0x2D00u, 0x8500u, 0x4800u}) EXPECT_EQ(take(0x0000), key);
  EXPECT_EQ(take(0x1100), 0x48E0) << "the second set of arrows, for who knows of it";
  EXPECT_EQ(take(0x1000), 0x48E0);
  BiosCall look{.eax = 0x0100};
  bios.service(0x16, look);
  EXPECT_EQ(look.flags & 0x40, 0x40);
  // A full buffer leaves the code with the keyboard until a key has been taken.
  for (int n = 0; n < 16; ++n) {
    if (!controller.takes_key()) break;
    controller.key(0x1E);
    bios.service(9, none);
  }
  EXPECT_TRUE(controller.has_byte());
  EXPECT_EQ(take(0x0000), 0x1E61);
  EXPECT_FALSE(controller.has_byte());
}

TEST_F(BiosTest, TheMemoryMapIsWholeAndInOrder) {
  std::uint64_t end = 0, available = 0;
  BiosCall call{.edi = 0x500};
  do {
    call.eax = 0xE820;
    call.edx = 0x534D4150;
    call.ecx = 24;
    bios.service(0x15, call);
    ASSERT_EQ(call.flags & 1, 0);
    ASSERT_EQ(call.eax, 0x534D4150u);
    ASSERT_EQ(call.ecx, 20u);
    const auto first = memory.load<std::uint64_t>(0x500), bytes = memory.load<std::uint64_t>(0x508);
    ASSERT_GE(first, end);
    end = first + bytes;
    if (memory.load<std::uint32_t>(0x510) == 1) available += bytes;
  } while (call.ebx != 0);
  EXPECT_EQ(end, 0x100000000u);
  EXPECT_EQ(available, (639u << 10) + kLeastMemory - (1 << 20));
  BiosCall wrong{.eax = 0xE820, .ecx = 24};
  bios.service(0x15, wrong);
  EXPECT_EQ(wrong.flags & 1, 1) << "without SMAP in EDX";
}

TEST_F(BiosTest, TellsMemorySizesInAllTheOldWays) {
  BiosCall old{.eax = 0x8800};
  bios.service(0x15, old);
  EXPECT_EQ(old.ax(), 1024);
  BiosCall e801{.eax = 0xE801};
  bios.service(0x15, e801);
  EXPECT_EQ(e801.flags & 1, 0);
  EXPECT_EQ(e801.ax(), 1024);
  EXPECT_EQ(e801.cx(), 1024);
  EXPECT_EQ(e801.bx(), 0);
}

TEST_F(BiosTest, A20OpensClosesAndTells) {
  const auto a20 = [&](std::uint8_t al) {
    BiosCall call{.eax = 0x2400u | al, .flags = 1};
    bios.service(0x15, call);
    EXPECT_EQ(call.flags & 1, 0);
    EXPECT_EQ(call.ah(), 0);
    return call;
  };
  a20(0);
  EXPECT_FALSE(host.open);
  EXPECT_EQ(a20(2).al(), 0);
  a20(1);
  EXPECT_TRUE(host.open);
  EXPECT_EQ(a20(2).al(), 1);
  EXPECT_EQ(a20(3).bx(), 3);
}

TEST_F(BiosTest, MovesABlockAboveTheFirstMegabyte) {
  const auto descriptor = [](std::uint64_t base) { return 0x0000'9300'0000'FFFFull | (base & 0xFFFFFF) << 16; };
  memory.store<std::uint64_t>(0x600 + 0x10, descriptor(0x8000));
  memory.store<std::uint64_t>(0x600 + 0x18, descriptor(0x180000));
  memory.store<std::uint32_t>(0x8000, 0xCAFEBABE);
  BiosCall call{.eax = 0x8700, .ecx = 2, .esi = 0x600};
  bios.service(0x15, call);
  EXPECT_EQ(call.flags & 1, 0);
  EXPECT_EQ(memory.load<std::uint32_t>(0x180000), 0xCAFEBABEu);
}

TEST_F(BiosTest, WaitsAndCountsTicksByTheClockThoughNobodyInterrupts) {
  BiosCall wait{.eax = 0x8600, .ecx = 0x0F, .edx = 0x4240};  // a million microseconds
  bios.service(0x15, wait);
  EXPECT_EQ(host.clock.now(), kTscHz);
  BiosCall ticks{.eax = 0x0000};
  bios.service(0x1A, ticks);
  EXPECT_EQ(ticks.dx(), 18);
  EXPECT_EQ(memory.load<std::uint32_t>(0x46C), 18u);
}

TEST_F(BiosTest, ATickWhoseInterruptIsStillToComeIsCountedOnce) {
  host.clock.advance(kTscHz / 10);
  pit.clock_moved();
  BiosCall ticks{.eax = 0x0000};
  bios.service(0x1A, ticks);
  EXPECT_EQ(ticks.dx(), 1);
  BiosCall interrupt;
  bios.service(Bios::kTickService, interrupt);
  EXPECT_EQ(memory.load<std::uint32_t>(0x46C), 1u);
  bios.service(Bios::kTickService, interrupt);
  EXPECT_EQ(memory.load<std::uint32_t>(0x46C), 2u);
}

TEST_F(BiosTest, TellsAndSetsTheTimeOfDay) {
  host.clock.advance(kTscHz * 3661);
  BiosCall read{.eax = 0x0200, .flags = 1};
  bios.service(0x1A, read);
  EXPECT_EQ(read.cx(), 0x0101);
  EXPECT_EQ(read.dx(), 0x0100);
  BiosCall set{.eax = 0x0300, .ecx = 0x2359, .edx = 0x5800};
  bios.service(0x1A, set);
  bios.service(0x1A, read = {.eax = 0x0200});
  EXPECT_EQ(read.cx(), 0x2359);
  BiosCall date{.eax = 0x0400};
  bios.service(0x1A, date);
  EXPECT_EQ(date.cx(), 0x2010);
}

TEST_F(BiosTest, HasNoVbeAndSaysWhatItHasNotOnce) {
  for (int n = 0; n < 2; ++n) {
    BiosCall vbe{.eax = 0x4F00};
    bios.service(0x10, vbe);
    EXPECT_NE(vbe.al(), 0x4F);
    BiosCall apm{.eax = 0x5300};
    bios.service(0x15, apm);
    EXPECT_EQ(apm.ah(), 0x86);
    EXPECT_EQ(apm.flags & 1, 1);
  }
  EXPECT_EQ(host.notes,
            (std::vector<std::string>{"the BIOS has no INT 10h AX=4F00h", "the BIOS has no INT 15h AH=53h"}));
}

TEST_F(BiosTest, Mode13IsGraphicsAndTheTextModesComeBack) {
  BiosCall mode{.eax = 0x0013};
  bios.service(0x10, mode);
  EXPECT_EQ(vga.shows(), Vga::Shows::Linear256);
  EXPECT_EQ(memory.load<std::uint8_t>(0x449), 0x13);
  BiosCall pixel{.eax = 0x0C2A, .ecx = 319, .edx = 199};
  bios.service(0x10, pixel);
  EXPECT_EQ(memory.load<std::uint8_t>(0xA0000 + 63999), 0x2A);
  bios.service(0x10, mode = {.eax = 0x0003});
  EXPECT_EQ(vga.shows(), Vga::Shows::Text);
}

}  // namespace
}  // namespace zs::machine
