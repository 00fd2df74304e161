// A machine for tests and benchmarks of the CPU: RAM and nothing else, an interrupt controller that gives the vector a
// test chose, MSRs in a map, and an observer that writes down what it is told.
#pragma once

#include <cstring>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/check.h"
#include "machine/vcpu/core.h"
#include "machine/vcpu/vcpu.h"

namespace zs::machine {

/// `bytes` of RAM at each of a few physical addresses; ports remember what was written.
class TestBus : public Bus {
 public:
  void add(std::uint64_t base, std::uint64_t bytes) {
    regions_.push_back({base, std::vector<std::byte>(bytes), nullptr});
  }
  void add(std::uint64_t base, void* bytes, std::uint64_t count) {
    regions_.push_back({base, {}, static_cast<std::byte*>(bytes)});
    regions_.back().outside_bytes = count;
  }
  Page page(std::uint64_t physical) override {
    if (physical == device_page) return {};
    for (Region& r : regions_) {
      if (physical - r.base < r.bytes()) return {r.data() + (physical - r.base), physical != rom_page};
    }
    return {};
  }
  std::uint64_t read(std::uint64_t physical, unsigned bytes) override {
    if (device_reads.size() < kKept) device_reads.push_back({physical, bytes});
    return ~std::uint64_t{0};
  }
  void write(std::uint64_t physical, unsigned bytes, std::uint64_t value) override {
    if (device_writes.size() < kKept) device_writes.push_back({physical, bytes, value});
  }
  std::uint32_t in(std::uint16_t port, unsigned) override { return ports.contains(port) ? ports[port] : 0xFFFFFFFF; }
  void out(std::uint16_t port, unsigned, std::uint32_t value) override { ports[port] = value; }

  static constexpr std::size_t kKept = 1000;
  struct Access {
    std::uint64_t physical;
    unsigned bytes;
    std::uint64_t value = 0;
    bool operator==(const Access&) const = default;
  };
  std::vector<Access> device_reads, device_writes;
  std::map<std::uint16_t, std::uint32_t> ports;
  std::uint64_t device_page = 1, rom_page = 1;

 private:
  struct Region {
    std::uint64_t base;
    std::vector<std::byte> own;
    std::byte* outside;
    std::uint64_t outside_bytes = 0;
    std::byte* data() { return outside != nullptr ? outside : own.data(); }
    std::uint64_t bytes() const { return outside != nullptr ? outside_bytes : own.size(); }
  };
  std::vector<Region> regions_;
};

class TestInterrupts : public InterruptSource {
 public:
  std::optional<std::uint8_t> acknowledge() override {
    if (cpu != nullptr) cpu->set_interrupt_line(false);
    return vector;
  }
  std::uint8_t task_priority() override { return tpr; }
  void set_task_priority(std::uint8_t priority) override { tpr = priority; }
  std::uint8_t vector = 0x40, tpr = 0;
  Vcpu* cpu = nullptr;
};

class TestMsrs : public MsrFile {
 public:
  bool rdmsr(std::uint32_t msr, std::uint64_t& value) override {
    if (!values.contains(msr)) return false;
    value = values[msr];
    return true;
  }
  bool wrmsr(std::uint32_t msr, std::uint64_t value) override {
    if (!values.contains(msr)) return false;
    values[msr] = value;
    if (msr == 0x1D9 && cpu != nullptr) cpu->set_debugctl(value);
    if (on_write != nullptr) on_write(*this);
    return true;
  }
  bool rdpmc(std::uint32_t, std::uint64_t& value) override { return value = 42, true; }
  std::map<std::uint32_t, std::uint64_t> values{{0x10, 1000}, {0x1D9, 0}};
  Vcpu* cpu = nullptr;
  void (*on_write)(TestMsrs&) = nullptr;
};

class TestCpuid : public Cpuid {
 public:
  CpuidResult cpuid(std::uint32_t leaf, std::uint32_t) override {
    switch (leaf) {
      case 0x80000000: return {.eax = 0x80000008};
      case 0x80000001: return {.edx = 1u << 20 | 1u << 26 | 1u << 27 | 1u << 29};
      case 0x80000008: return {.eax = 40};
      case 0: return {.eax = 1, .ebx = vendor};
      default: return {.eax = leaf, .ebx = 0x1111};
    }
  }
  static constexpr std::uint32_t kAmd = 0x68747541;  // "Auth"
  std::uint32_t vendor = 0x756E6547;                 // "Genu"
};

class TestObserver : public RetirementObserver {
 public:
  struct One {
    arch::Retired retired;
    arch::RegisterFile after;
    std::vector<MemoryAccess> accesses;
  };
  Watch watch(unsigned) override { return wanted; }
  void counted(std::uint64_t instructions) override { count += instructions; }
  void tallied(std::span<const Tally> tallies) override {
    for (const Tally& t : tallies) {
      tallied_instructions += t.times;
      tallied_loads += t.times * t.kind.load_count;
      tallied_taken += t.times * (t.kind.taken ? 1 : 0);
    }
  }
  void retired(const arch::Retired& r, const arch::RegisterFile& after,
               std::span<const MemoryAccess> accesses) override {
    if (keep) each.push_back({r, after, {accesses.begin(), accesses.end()}});
    last = r;
  }
  void transferred(const arch::TakenBranch& branch, TransferCause) override {
    if (keep) branches.push_back(branch);
    last_branch = branch;
  }
  void debug_exception() override { ++debug_exceptions; }
  void smm(bool) override {}
  void init() override {}
  void machine_check() override {}

  Watch wanted;
  bool keep = true;
  std::uint64_t count = 0, tallied_instructions = 0, tallied_loads = 0, tallied_taken = 0;
  unsigned debug_exceptions = 0;
  std::vector<One> each;
  std::vector<arch::TakenBranch> branches;
  arch::Retired last;
  arch::TakenBranch last_branch;
};

using Code = std::initializer_list<unsigned>;

/// Sixteen-bit, 32-bit and 64-bit machines with flat segments, code at 1000H, a stack below 8000H.
class TestMachine {
 public:
  static constexpr std::uint64_t kCode = 0x1000, kStack = 0x8000, kGdt = 0x9000, kIdt = 0xA000, kTables = 0x10000;
  explicit TestMachine(std::uint64_t ram = 0x200000) {
    if (ram != 0) bus.add(0, ram);
    cpu = std::make_unique<Vcpu>(Vcpu::Around{bus, interrupts, msrs, cpuid, observer});
    interrupts.cpu = msrs.cpu = cpu.get();
  }
  [[gnu::noinline]] std::byte* at(std::uint64_t physical) {
    const Bus::Page page = bus.page(physical & ~std::uint64_t{4095});
    CHECK(page.bytes != nullptr, physical);
    return page.bytes + (physical & 4095);
  }
  void put(std::uint64_t physical, Code code) {
    cpu->memory_written(physical, code.size());
    for (const unsigned byte : code) *at(physical++) = static_cast<std::byte>(byte);
  }
  template <typename T>
  void write(std::uint64_t physical, T value) {
    std::memcpy(at(physical), &value, sizeof value);
  }
  template <typename T>
  T read(std::uint64_t physical) {
    T value;
    std::memcpy(&value, at(physical), sizeof value);
    return value;
  }

  static Segment flat(std::uint16_t selector, unsigned attributes) {
    return {.selector = selector, .attributes = static_cast<std::uint16_t>(attributes), .limit = 0xFFFFFFFF, .base = 0};
  }
  /// GDT: 8 code32, 10h data, 18h code64, 20h/28h the same data and code32 for ring 3, 30h code64 ring 3, 38h (16
  /// bytes) TSS
  void make_gdt() {
    const std::uint64_t entries[] = {0,
                                     0x00CF9B000000FFFF,
                                     0x00CF93000000FFFF,
                                     0x00AF9B000000FFFF,
                                     0x00CFF3000000FFFF,
                                     0x00CFFB000000FFFF,
                                     0x00AFFB000000FFFF,
                                     0x00008900B0000067,  // TSS at B000H
                                     0};
    for (unsigned n = 0; n < std::size(entries); ++n) write(kGdt + 8 * n, entries[n]);
  }
  static constexpr std::uint64_t kTss = 0xB000;

  void real(Code code) {
    put(kCode, code);
    CpuState s = CpuState::after_reset();
    s.segments[kCs] = {.selector = 0, .attributes = 0x93, .limit = 0xFFFF, .base = 0};
    s.rip = kCode;
    s.gpr[kRsp] = kStack;
    s.idtr.limit = 0x3FF;
    cpu->set_state(s);
  }
  CpuState protected_state(unsigned level) {
    make_gdt();
    return protected_registers(level);
  }
  static CpuState protected_registers(unsigned level) {
    CpuState s = CpuState::after_reset();
    const auto rpl = static_cast<std::uint16_t>(level);
    const std::uint16_t data = level == 0 ? 0x10 : 0x20;
    for (const Seg seg : {kEs, kSs, kDs, kFs, kGs})
      s.segments[seg] = flat(static_cast<std::uint16_t>(data | rpl), 0xC093 | level << 5);
    s.segments[kCs] = flat(static_cast<std::uint16_t>((level == 0 ? 8 : 0x28) | rpl), 0xC09B | level << 5);
    s.segments[kTr] = {.selector = 0x38, .attributes = 0x8B, .limit = 0x67, .base = kTss};
    s.gdtr = {kGdt, 0x47};
    s.idtr = {kIdt, 0xFFF};
    s.cr0 = 0x11;
    s.rip = kCode;
    s.gpr[kRsp] = kStack;
    return s;
  }
  void protected32(Code code, unsigned level = 0) {
    put(kCode, code);
    cpu->set_state(protected_state(level));
  }
  /// Identity-mapped 2 MiB pages below 1 GiB, user-accessible.
  void make_long_tables() {
    write<std::uint64_t>(kTables, kTables + 0x1000 + 7);
    write<std::uint64_t>(kTables + 0x1000, kTables + 0x2000 + 7);
    for (unsigned n = 0; n < 512; ++n) write<std::uint64_t>(kTables + 0x2000 + 8 * n, n * 0x200000ull + 0x87);
  }
  CpuState long_state(unsigned level) {
    make_gdt();
    make_long_tables();
    return long_registers(level);
  }
  static CpuState long_registers(unsigned level) {
    CpuState s = protected_registers(level);
    s.segments[kCs] = flat(static_cast<std::uint16_t>((level == 0 ? 0x18u : 0x30u) | level), 0xA09B | level << 5);
    s.cr0 = 0x80000033;
    s.cr3 = kTables;
    s.cr4 = 0x620;
    s.efer = 0xD01;
    return s;
  }
  void long64(Code code, unsigned level = 0) {
    put(kCode, code);
    cpu->set_state(long_state(level));
  }
  void gate32(unsigned vector, std::uint16_t selector, std::uint32_t target, unsigned type = 0x8E) {
    write<std::uint64_t>(kIdt + 8 * vector, (target & 0xFFFF) | static_cast<std::uint64_t>(selector) << 16 |
                                                static_cast<std::uint64_t>(type) << 40 |
                                                static_cast<std::uint64_t>(target >> 16) << 48);
  }
  void gate64(unsigned vector, std::uint16_t selector, std::uint64_t target, unsigned type = 0x8E, unsigned ist = 0) {
    write<std::uint64_t>(kIdt + 16 * vector, (target & 0xFFFF) | static_cast<std::uint64_t>(selector) << 16 |
                                                 static_cast<std::uint64_t>(ist) << 32 |
                                                 static_cast<std::uint64_t>(type) << 40 |
                                                 (target >> 16 & 0xFFFF) << 48);
    write<std::uint64_t>(kIdt + 16 * vector + 8, target >> 32);
  }
  Stop run(std::uint64_t instructions) { return cpu->run(instructions); }
  std::uint64_t reg(Gpr r) const { return cpu->gpr(r); }

  TestBus bus;
  TestInterrupts interrupts;
  TestMsrs msrs;
  TestCpuid cpuid;
  TestObserver observer;
  std::unique_ptr<Vcpu> cpu;
};

}  // namespace zs::machine
