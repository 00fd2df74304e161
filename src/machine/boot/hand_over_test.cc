// The PC's whole state after RESET and where the firmware hands over, as tables: each row is a test.
// source: SDM vol. 3A, table "IA-32 and Intel 64 Processor States Following Power-up, Reset, or INIT"; what a BIOS
// sets: IBM PS/2 and PC BIOS Interface Technical Reference, "ROM BIOS Data Area", MultiProcessor Specification,
// "Virtual Wire Mode".
#include "machine/boot/hand_over.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <ostream>
#include <string>

#include "arch/cpu_model.h"
#include "machine/memory.h"
#include "machine/pc.h"
#include "machine/port_map.h"
#include "machine/vcpu/vcpu.h"
#include "pmu/pmu.h"

namespace zs::machine {
namespace {

struct Row {
  const char* name;
  std::function<std::uint64_t(Pc&)> value;
  std::uint64_t expected;
};
std::ostream& operator<<(std::ostream& out, const Row& row) { return out << row.name; }

std::string name_of(const testing::TestParamInfo<Row>& info) {
  std::string name;
  for (const char letter : std::string(info.param.name))
    name += std::isalnum(static_cast<unsigned char>(letter)) ? letter : '_';
  return name;
}

using Read = std::function<std::uint64_t(Pc&)>;

Read gpr(Gpr reg) {
  return [reg](Pc& pc) { return pc.cpu().gpr(reg); };
}
Read cr(unsigned number) {
  return [number](Pc& pc) { return pc.cpu().cr(number); };
}
template <typename Field>
Read of_state(Field field) {
  return [field](Pc& pc) { return static_cast<std::uint64_t>(field(pc.cpu().state())); };
}
Read selector(Seg seg) {
  return of_state([seg](const CpuState& s) { return s.segments[seg].selector; });
}
Read base(Seg seg) {
  return of_state([seg](const CpuState& s) { return s.segments[seg].base; });
}
Read limit(Seg seg) {
  return of_state([seg](const CpuState& s) { return s.segments[seg].limit; });
}
Read rights(Seg seg) {
  return of_state([seg](const CpuState& s) { return s.segments[seg].attributes; });
}
Read port(std::uint16_t number) {
  return [number](Pc& pc) { return pc.ports().in(number, 1); };
}
Read cmos(std::uint8_t index) {
  return [index](Pc& pc) {
    pc.ports().out(0x70, 1, index);
    return pc.ports().in(0x71, 1);
  };
}
template <typename T>
Read memory(std::uint64_t physical) {
  return [physical](Pc& pc) { return std::uint64_t{pc.memory().load<T>(physical)}; };
}
Read msr(std::uint32_t number) {
  return [number](Pc& pc) {
    std::uint64_t value = ~std::uint64_t{0};
    EXPECT_TRUE(pc.rdmsr(number, value));
    return value;
  };
}
/// The status byte that the read-back command latches.
Read pit_status(unsigned counter) {
  return [counter](Pc& pc) {
    pc.ports().out(0x43, 1, 0xE0 | 2u << counter);
    return pc.ports().in(static_cast<std::uint16_t>(0x40 + counter), 1) & 0x3F;
  };
}

// What RESET leaves and the firmware has no reason to change: the same at both moments.
const Row kUnchanged[] = {
    {"CR2", cr(2), 0},
    {"CR3", cr(3), 0},
    {"CR4", cr(4), 0},
    {"EFER", [](Pc& pc) { return pc.cpu().efer(); }, 0},
    {"ESI", gpr(kRsi), 0},
    {"EDI", gpr(kRdi), 0},
    {"EBP", gpr(kRbp), 0},
    {"ES selector", selector(kEs), 0},
    {"ES base", base(kEs), 0},
    {"ES limit", limit(kEs), 0xFFFF},
    {"FS selector", selector(kFs), 0},
    {"FS limit", limit(kFs), 0xFFFF},
    {"GS selector", selector(kGs), 0},
    {"GS limit", limit(kGs), 0xFFFF},
    {"SS base", base(kSs), 0},
    {"SS limit", limit(kSs), 0xFFFF},
    {"DR1", of_state([](const CpuState& s) { return s.breakpoints[1]; }), 0},
    {"DR2", of_state([](const CpuState& s) { return s.breakpoints[2]; }), 0},
    {"DR0", of_state([](const CpuState& s) { return s.breakpoints[0]; }), 0},
    {"DR3", of_state([](const CpuState& s) { return s.breakpoints[3]; }), 0},
    {"DR6", of_state([](const CpuState& s) { return s.dr6; }), 0xFFFF0FF0},
    {"DR7", of_state([](const CpuState& s) { return s.dr7; }), 0x400},
    {"GDTR base", of_state([](const CpuState& s) { return s.gdtr.base; }), 0},
    {"GDTR limit", of_state([](const CpuState& s) { return s.gdtr.limit; }), 0xFFFF},
    {"LDTR selector", selector(kLdtr), 0},
    {"LDTR base", base(kLdtr), 0},
    {"LDTR limit", limit(kLdtr), 0xFFFF},
    {"LDTR rights", rights(kLdtr), 0x82},
    {"TR selector", selector(kTr), 0},
    {"TR base", base(kTr), 0},
    {"TR limit", limit(kTr), 0xFFFF},
    {"TR rights", rights(kTr), 0x8B},
    {"MXCSR", of_state([](const CpuState& s) { return s.mxcsr; }), 0x1F80},
    {"XMM0", of_state([](const CpuState& s) { return s.xmm[0].low | s.xmm[0].high; }), 0},
    {"x87 status", of_state([](const CpuState& s) { return s.x87.status; }), 0},
    {"x87 opcode", of_state([](const CpuState& s) { return s.x87.opcode; }), 0},
    {"STAR", of_state([](const CpuState& s) { return s.star; }), 0},
    {"LSTAR", of_state([](const CpuState& s) { return s.lstar; }), 0},
    {"SYSENTER CS", of_state([](const CpuState& s) { return s.sysenter_cs; }), 0},
    {"SMBASE", of_state([](const CpuState& s) { return s.smbase; }), 0x30000},
    {"time stamp counter", msr(0x10), 0},
    {"APIC base", msr(0x1B), 0xFEE00900},
    {"PAT", msr(0x277), 0x0007040600070406},
    {"DEBUGCTL", msr(0x1D9), 0},
    {"DS area", msr(0x600), 0},
    {"PERFEVTSEL0", msr(0x186), 0},
    {"PMC0", msr(0xC1), 0},
    {"PERF_GLOBAL_STATUS", msr(0x38E), 0},
    {"PERF_GLOBAL_CTRL: the general counters", msr(0x38F), 0xFF},
    {"FIXED_CTR_CTRL", msr(0x38D), 0},
    {"FIXED_CTR0", msr(0x309), 0},
    {"PEBS_ENABLE", msr(0x3F1), 0},
    {"LBR_SELECT", msr(0x1C8), 0},
    {"LASTBRANCH_TOS", msr(0x1C9), 0},
    {"MISC_ENABLE: BTS and PEBS are there", [](Pc& pc) { return msr(0x1A0)(pc) & (1 << 11 | 1 << 12); }, 0},
    {"kernel GS base", of_state([](const CpuState& s) { return s.kernel_gs_base; }), 0},
    {"SYSENTER ESP", of_state([](const CpuState& s) { return s.sysenter_esp; }), 0},
    {"SYSENTER EIP", of_state([](const CpuState& s) { return s.sysenter_eip; }), 0},
    {"APIC task priority", [](Pc& pc) { return pc.local_apic_register(0x80); }, 0},
    {"APIC destination format", [](Pc& pc) { return pc.local_apic_register(0xE0); }, 0xFFFFFFFF},
    {"APIC logical destination", [](Pc& pc) { return pc.local_apic_register(0xD0); }, 0},
    {"APIC initial count", [](Pc& pc) { return pc.local_apic_register(0x380); }, 0},
    {"8259 slave in service", port(0xA0), 0},
    {"XMM15", of_state([](const CpuState& s) { return s.xmm[15].low | s.xmm[15].high; }), 0},
    {"x87 instruction pointer", of_state([](const CpuState& s) { return s.x87.instruction; }), 0},
    {"x87 data pointer", of_state([](const CpuState& s) { return s.x87.data; }), 0},
    {"A20 is open", port(0x92), 2},
    {"keyboard status", port(0x64), 0x14},
    {"keyboard data", port(0x60), 0},
    {"RTC status B", cmos(0x0B), 0x02},
    {"RTC status C", cmos(0x0C), 0},
    {"RTC status D", cmos(0x0D), 0x80},
    {"RTC seconds", cmos(0x00), 0},
    {"shutdown status", cmos(0x0F), 0},
    {"base memory in CMOS", cmos(0x15), 639 & 0xFF},
    {"8259 master in service", port(0x20), 0},
    {"COM1 line status", port(0x3FD), 0x60},
};

// After RESET, before any firmware ran.
const Row kAfterReset[] = {
    {"EAX", gpr(kRax), 0},
    {"EBX", gpr(kRbx), 0},
    {"EDX is the signature", gpr(kRdx), 0x50654},
    {"ESP", gpr(kRsp), 0},
    {"EFLAGS", [](Pc& pc) { return pc.cpu().rflags(); }, 2},
    {"EIP", [](Pc& pc) { return pc.cpu().rip(); }, 0xFFF0},
    {"CS selector", selector(kCs), 0xF000},
    {"CS base", base(kCs), 0xFFFF0000},
    {"CS limit", limit(kCs), 0xFFFF},
    {"CS rights", rights(kCs), 0x9B},
    {"DS base", base(kDs), 0},
    {"DS limit", limit(kDs), 0xFFFF},
    {"DS rights", rights(kDs), 0x93},
    {"SS rights", rights(kSs), 0x93},
    {"CR0", cr(0), 0x60000010},
    {"IDTR base", of_state([](const CpuState& s) { return s.idtr.base; }), 0},
    {"IDTR limit", of_state([](const CpuState& s) { return s.idtr.limit; }), 0xFFFF},
    {"x87 control word", of_state([](const CpuState& s) { return s.x87.control; }), 0x40},
    {"x87 tags", of_state([](const CpuState& s) { return s.x87.valid; }), 0xFF},
    {"8259 master mask", port(0x21), 0xFF},
    {"8259 slave mask", port(0xA1), 0xFF},
    {"vector 0", memory<std::uint32_t>(0), 0},
    {"APIC spurious vector: disabled", [](Pc& pc) { return pc.local_apic_register(0xF0); }, 0xFF},
    {"APIC LINT0: masked", [](Pc& pc) { return pc.local_apic_register(0x350); }, 0x10000},
    {"APIC LINT1: masked", [](Pc& pc) { return pc.local_apic_register(0x360); }, 0x10000},
    {"APIC LVT timer: masked", [](Pc& pc) { return pc.local_apic_register(0x320); }, 0x10000},
    {"APIC LVT of the PMU: masked", [](Pc& pc) { return pc.local_apic_register(0x340); }, 0x10000},
};

// A boot sector of a hard disk: EAX and what is not named is 0.
const Row kForADisk[] = {
    {"EAX", gpr(kRax), 0},
    {"EBX", gpr(kRbx), 0},
    {"DL is the drive", gpr(kRdx), 0x80},
    {"SP", gpr(kRsp), 0x7C00},
    {"EFLAGS: interrupts on", [](Pc& pc) { return pc.cpu().rflags(); }, 0x202},
    {"IP", [](Pc& pc) { return pc.cpu().rip(); }, 0x7C00},
    {"CS selector", selector(kCs), 0},
    {"CS base", base(kCs), 0},
    {"SS selector", selector(kSs), 0},
    {"DS base", base(kDs), 0},
    {"CR0: caches on", cr(0), 0x10},
    {"IDTR base", of_state([](const CpuState& s) { return s.idtr.base; }), 0},
    {"IDTR limit", of_state([](const CpuState& s) { return s.idtr.limit; }), 0x3FF},
    {"x87 control word", of_state([](const CpuState& s) { return s.x87.control; }), 0x37F},
    {"x87 tags", of_state([](const CpuState& s) { return s.x87.valid; }), 0},
    {"feature control is locked", msr(0x3A), 1},
    {"MTRR default type", msr(0x2FF), 0xC06},
    {"fixed MTRR of low memory", msr(0x250), 0x0606060606060606},
    {"fixed MTRR of video memory", msr(0x259), 0},
    {"fixed MTRR of the BIOS", msr(0x26F), 0x0505050505050505},
    {"variable MTRR 0 base", msr(0x200), 0xC0000000},
    {"variable MTRR 0 mask", msr(0x201), 0xFFC0000800},
    {"8259 master mask: IRQ 0, 1, 2, 6 open", port(0x21), 0xB8},
    {"8259 slave mask: IRQ 8, 12, 13, 14 open", port(0xA1), 0x8E},
    {"8254 counter 0: mode 3, low then high", pit_status(0), 0x36},
    {"8254 counter 1: refresh, mode 2, low", pit_status(1), 0x14},
    {"RTC status A", cmos(0x0A), 0x26},
    {"floppies in CMOS", cmos(0x10), 0},
    {"equipment in CMOS", cmos(0x14), 0x22},
    {"vector 8 counts ticks", memory<std::uint32_t>(4 * 0x08), 0xF0000100},
    {"vector 10h", memory<std::uint32_t>(4 * 0x10), 0xF0000010},
    {"vector 13h", memory<std::uint32_t>(4 * 0x13), 0xF0000013},
    {"vector 1Ch returns", memory<std::uint32_t>(4 * 0x1C), 0xF000001C},
    {"vector 1Eh points to the diskette table", memory<std::uint32_t>(4 * 0x1E), 0xF000EFC7},
    {"vector 41h points to the disk table", memory<std::uint32_t>(4 * 0x41), 0xF000E401},
    {"sectors of a track in the disk table", memory<std::uint8_t>(0xFE401 + 14), 63},
    {"40:00 COM1", memory<std::uint16_t>(0x400), 0x3F8},
    {"40:08 no printer", memory<std::uint16_t>(0x408), 0},
    {"40:0E extended area", memory<std::uint16_t>(0x40E), 0x9FC0},
    {"its size", memory<std::uint8_t>(0x9FC00), 1},
    {"40:10 equipment", memory<std::uint16_t>(0x410), 0x222},
    {"40:13 memory", memory<std::uint16_t>(0x413), 639},
    {"40:17 no key is held", memory<std::uint16_t>(0x417), 0},
    {"40:1A key buffer head", memory<std::uint16_t>(0x41A), 0x1E},
    {"40:1C key buffer tail", memory<std::uint16_t>(0x41C), 0x1E},
    {"40:49 video mode", memory<std::uint8_t>(0x449), 3},
    {"40:4A columns", memory<std::uint16_t>(0x44A), 80},
    {"40:4C page size", memory<std::uint16_t>(0x44C), 0x1000},
    {"40:50 cursor", memory<std::uint16_t>(0x450), 0},
    {"40:60 cursor shape", memory<std::uint16_t>(0x460), 0x0607},
    {"40:63 CRT port", memory<std::uint16_t>(0x463), 0x3D4},
    {"40:6C ticks", memory<std::uint32_t>(0x46C), 0},
    {"40:70 midnight", memory<std::uint8_t>(0x470), 0},
    {"40:75 hard disks", memory<std::uint8_t>(0x475), 1},
    {"40:80 key buffer start", memory<std::uint16_t>(0x480), 0x1E},
    {"40:82 key buffer end", memory<std::uint16_t>(0x482), 0x3E},
    {"40:84 last row", memory<std::uint8_t>(0x484), 24},
    {"40:85 character height", memory<std::uint16_t>(0x485), 16},
    {"40:96 keyboard", memory<std::uint8_t>(0x496), 0x10},
    {"APIC spurious vector: enabled", [](Pc& pc) { return pc.local_apic_register(0xF0); }, 0x1FF},
    {"APIC LINT0: 8259 pair", [](Pc& pc) { return pc.local_apic_register(0x350); }, 0x700},
    {"APIC LINT1: NMI", [](Pc& pc) { return pc.local_apic_register(0x360); }, 0x400},
    {"APIC LVT of the PMU: masked", [](Pc& pc) { return pc.local_apic_register(0x340); }, 0x10000},
    {"APIC LVT timer: masked", [](Pc& pc) { return pc.local_apic_register(0x320); }, 0x10000},
    {"model byte", memory<std::uint8_t>(0xFFFFE), 0xFC},
};

std::unique_ptr<Pc> make() {
  return std::move(*Pc::make({.cpu = arch::find_cpu_model("skylake-server"), .memory_bytes = 16 << 20}));
}

std::unique_ptr<Pc> booted(std::size_t bytes) {
  std::vector<std::byte> image(bytes);
  image[510] = std::byte{0x55};
  image[511] = std::byte{0xAA};
  auto pc = make();
  pc->boot_disk(*DiskImage::make(std::move(image), "test"));
  return pc;
}

struct AfterReset : testing::TestWithParam<Row> {};
struct HandOver : testing::TestWithParam<Row> {};
TEST_P(AfterReset, Is) {
  const auto pc = make();
  EXPECT_EQ(GetParam().value(*pc), GetParam().expected);
}
TEST_P(HandOver, Is) {
  const auto pc = booted(4 << 20);
  EXPECT_EQ(GetParam().value(*pc), GetParam().expected);
}
INSTANTIATE_TEST_SUITE_P(Unchanged, AfterReset, testing::ValuesIn(kUnchanged), name_of);
INSTANTIATE_TEST_SUITE_P(Unchanged, HandOver, testing::ValuesIn(kUnchanged), name_of);
INSTANTIATE_TEST_SUITE_P(Own, AfterReset, testing::ValuesIn(kAfterReset), name_of);
INSTANTIATE_TEST_SUITE_P(Own, HandOver, testing::ValuesIn(kForADisk), name_of);

TEST(HandOver, EachVectorLeadsToAnIretOfItsOwnOrToATable) {
  const auto pc = booted(4 << 20);
  const std::map<unsigned, std::uint32_t> tables = {{0x1E, 0xF000EFC7}, {0x41, 0xF000E401}};
  constexpr std::uint8_t kIret = 0xCF;
  for (unsigned n = 0; n < 256; ++n) {
    const auto vector = memory<std::uint32_t>(4 * n)(*pc);
    if (tables.contains(n)) {
      EXPECT_EQ(vector, tables.at(n)) << n;
      continue;
    }
    EXPECT_EQ(vector, n == 8 ? 0xF0000100 : n == 0x16 ? 0xF0000103 : 0xF0000000 | n) << n;
    EXPECT_EQ(memory<std::uint8_t>(0xF0000 + n)(*pc), kIret) << n << ", for a program that chains to it by number";
  }
}

TEST(HandOver, AFloppyIsInEquipmentAndCmos) {
  const auto pc = booted(1440 * 1024);
  EXPECT_EQ(pc->cpu().gpr(kRdx), 0u);
  EXPECT_EQ(pc->memory().load<std::uint16_t>(0x410), 0x223);
  EXPECT_EQ(pc->memory().load<std::uint8_t>(0x475), 0);
  EXPECT_EQ(cmos(0x10)(*pc), 0x40u);
}

TEST(HandOver, AKernelStandsInFlatProtectedModeWithTheSameFirmwareBehindIt) {
  const CpuState s = hand_over_to_kernel({.entry = 0x100020, .magic = 0x2BADB002, .info = 0x9000});
  EXPECT_EQ(s.cr0, 0x11u);
  EXPECT_EQ(s.rip, 0x100020u);
  EXPECT_EQ(s.gpr[kRax], 0x2BADB002u);
  EXPECT_EQ(s.gpr[kRbx], 0x9000u);
  EXPECT_EQ(s.rflags, 2u);
  EXPECT_EQ(s.x87.control, 0x37F);
  EXPECT_EQ(s.segments[kCs].limit, 0xFFFFFFFFu);
  EXPECT_EQ(s.segments[kDs].base, 0u);
  const auto pc = booted(1440 * 1024);
  EXPECT_EQ(s.gdtr.limit, 23);
  for (const Seg seg : {kCs, kDs}) {
    const auto descriptor = pc->memory().load<std::uint64_t>(s.gdtr.base + s.segments[seg].selector);
    EXPECT_EQ(descriptor >> 40 & 0xF0FF, s.segments[seg].attributes) << "the GDT describes what the segments hold";
  }
}

TEST(HandOver, InitKeepsTheX87AndSaysTheSignatureAgain) {
  const auto pc = booted(4 << 20);
  pc->cpu().set_gpr(kRdx, 0);
  pc->cpu().request_init();
  (void)pc->cpu().run(0);
  EXPECT_EQ(pc->cpu().gpr(kRdx), 0x50654u);
  EXPECT_EQ(pc->cpu().rip(), 0xFFF0u);
  EXPECT_EQ(pc->cpu().state().x87.control, 0x37F);
  EXPECT_EQ(pc->cpu().cr(0), 0x10u) << "CD and NW as they were";
}

}  // namespace
}  // namespace zs::machine
