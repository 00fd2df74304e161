// What surrounds a Pmu in tests: a piece of memory with a Debug Store area in it, a PMI line that counts, a clock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "arch/cpu_model.h"
#include "arch/records/bts.h"
#include "arch/records/ds_area.h"
#include "arch/records/pebs.h"
#include "base/check.h"
#include "pmu/pmu.h"

namespace zs::pmu {

class FakeMemory : public LinearMemory {
 public:
  static constexpr std::uint64_t kStart = 0x40'0000;

  explicit FakeMemory(std::size_t size = 0x8000) : bytes_(size, std::byte{0xEE}) {}

  bool read(std::uint64_t address, std::span<std::byte> into) override {
    if (!contains(address, into.size())) return false;
    std::copy_n(bytes_.begin() + offset(address), into.size(), into.begin());
    return true;
  }
  bool write(std::uint64_t address, std::span<const std::byte> from) override {
    if (!contains(address, from.size())) return false;
    std::copy(from.begin(), from.end(), bytes_.begin() + offset(address));
    return true;
  }

  template <typename T>
  T get(std::uint64_t address) {
    T value;
    CHECK(read(address, std::as_writable_bytes(std::span{&value, 1})));
    return value;
  }
  template <typename T>
  void put(std::uint64_t address, const T& value) {
    CHECK(write(address, std::as_bytes(std::span{&value, 1})));
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  bool contains(std::uint64_t address, std::size_t size) const {
    return address >= kStart && size <= bytes_.size() && address - kStart <= bytes_.size() - size;
  }
  static std::ptrdiff_t offset(std::uint64_t address) { return static_cast<std::ptrdiff_t>(address - kStart); }

  std::vector<std::byte> bytes_;
};

class PmiCounter : public PmiSink {
 public:
  void request_pmi() override { ++requested; }
  int requested = 0;
};

class SteppingClock : public Clock {
 public:
  std::uint64_t tsc() override { return now += 10; }
  std::uint64_t now = 0;
};

class CycleClock : public SteppingClock {
 public:
  explicit CycleClock(bool has_cycles) : has_cycles_(has_cycles) {}
  bool has_core_cycles() const override { return has_cycles_; }
  std::uint64_t core_cycles() override { return cycles; }
  std::uint64_t cycles = 0;

 private:
  bool has_cycles_;
};

/// A Pmu with a Debug Store area at FakeMemory::kStart, its BTS buffer at kBranches and its PEBS buffer at kRecords.
class TestPmu {
 public:
  static constexpr std::uint64_t kDs = FakeMemory::kStart;
  static constexpr std::uint64_t kBranches = FakeMemory::kStart + 0x200;
  static constexpr std::uint64_t kRecords = FakeMemory::kStart + 0x400;

  /// Its events of retired loads count each access, so one instruction can have several.
  static constexpr std::string_view kCountsAccesses = "haswell";

  explicit TestPmu(std::string_view name = "skylake-server")
      : TestPmu(*arch::find_cpu_model(name), arch::find_cpu_model(name)->quirks) {}
  TestPmu(std::string_view name, arch::QuirkSet quirks) : TestPmu(*arch::find_cpu_model(name), quirks) {}
  TestPmu(const arch::CpuModel& cpu, arch::QuirkSet quirks, bool core_cycles = false)
      : model(arch::with_quirks(cpu, quirks)), clock(core_cycles), pmu(cpu, memory, pmi, clock, quirks) {}

  std::uint64_t rd(std::uint32_t msr) const {
    std::uint64_t value = 0;
    CHECK(pmu.rdmsr(msr, value), msr);
    return value;
  }
  void wr(std::uint32_t msr, std::uint64_t value) { CHECK(pmu.wrmsr(msr, value), msr, value); }
  /// Whether the access raises #GP(0).
  bool read_faults(std::uint32_t msr) const {
    std::uint64_t value = 0;
    return !pmu.rdmsr(msr, value);
  }
  bool write_faults(std::uint32_t msr, std::uint64_t value) { return !pmu.wrmsr(msr, value); }

  arch::DsLayout layout() const {
    return model.ds_64() || pmu.mode().ia32e ? arch::DsLayout::Words64 : arch::DsLayout::Words32;
  }
  /// The shape of a record of adaptive counters; all others' on older models.
  arch::PebsShape shape() const {
    arch::PebsShape shape{.format = model.pebs_format(), .layout = layout()};
    if (arch::is_adaptive(shape.format)) shape.groups = arch::PebsDataCfg{rd(arch::PebsDataCfg::msrs.first)};
    return shape;
  }
  std::uint64_t record_bytes() const { return arch::record_size(shape()); }

  /// Lays out the management area for `records` records with the threshold after `threshold` of them.
  void set_up_ds(std::uint64_t records, std::uint64_t threshold, std::uint64_t reset = 0) {
    put_buffer(arch::ds_bts_offset(layout()), {});
    put_buffer(arch::ds_pebs_offset(layout()), {.base = kRecords,
                                                .index = kRecords,
                                                .maximum = kRecords + records * record_bytes(),
                                                .threshold = kRecords + threshold * record_bytes()});
    for (unsigned n = 0; n < model.reset_slots; ++n) set_reset(n, reset);
    for (unsigned i = 0; model.pebs_baseline() && i < model.fixed_counters; ++i) {
      set_reset(arch::kFirstFixedBit + i, reset);
    }
    wr(arch::DsArea::msrs.first, kDs);
  }
  void set_reset(unsigned counter, std::uint64_t value) {
    const unsigned slot = arch::ds_reset_slot(counter, model.fixed_reset_slot());
    memory.put(kDs + arch::ds_reset_slot_offset(slot, layout()), value);
  }
  std::uint64_t index() { return word(arch::ds_pebs_offset(layout()) + arch::ds_word_bytes(layout())); }
  void set_index(std::uint64_t index) {
    put_word(arch::ds_pebs_offset(layout()) + arch::ds_word_bytes(layout()), index);
  }
  void rewind() { set_index(kRecords); }
  std::size_t records() { return static_cast<std::size_t>((index() - kRecords) / record_bytes()); }
  /// Record n; fields that the model's format does not have are whatever memory holds behind it.
  arch::PebsV3 record(std::size_t n) { return memory.get<arch::PebsV3>(kRecords + n * record_bytes()); }

  /// Lays out a BTS buffer of `records` records; offsets are in records, `more` in bytes.
  void set_up_bts(std::uint64_t records, std::uint64_t threshold, std::uint64_t more = 0) {
    const std::uint64_t size = arch::bts_record_size(layout());
    put_buffer(arch::ds_bts_offset(layout()), {.base = kBranches,
                                               .index = kBranches,
                                               .maximum = kBranches + records * size + more,
                                               .threshold = kBranches + threshold * size});
    wr(arch::DsArea::msrs.first, kDs);
  }
  std::uint64_t bts_index() { return word(arch::ds_word_bytes(layout())); }
  void set_bts_index(std::uint64_t index) { put_word(arch::ds_word_bytes(layout()), index); }
  arch::BtsRecord branch(std::size_t n) {
    if (layout() == arch::DsLayout::Words64) return memory.get<arch::BtsRecord>(kBranches + 24 * n);
    const auto record = memory.get<arch::BtsRecord32>(kBranches + 12 * n);
    return {record.from, record.to, record.flags};
  }

  /// Retires one instruction of 4 bytes at `ip`.
  void retire(arch::Retired r) {
    if (r.next_ip == 0) r.next_ip = r.ip + 4;
    pmu.retire(r, {.flags = 0x246, .ip = r.next_ip});
  }
  /// Retires `n` instructions that only are instructions, at ip, ip + 4, ...
  void run(unsigned n, std::uint64_t ip = 0x1000) {
    for (unsigned i = 0; i < n; ++i) {
      arch::Retired r;
      r.ip = ip + 4 * i;
      retire(r);
    }
  }

  const arch::CpuModel model;
  FakeMemory memory;
  PmiCounter pmi;
  CycleClock clock;
  Pmu pmu;

 private:
  void put_word(std::uint64_t offset, std::uint64_t value) {
    CHECK(memory.write(kDs + offset, std::as_bytes(std::span{&value, 1}).first(arch::ds_word_bytes(layout()))));
  }
  std::uint64_t word(std::uint64_t offset) {
    std::uint64_t value = 0;
    CHECK(memory.read(kDs + offset, std::as_writable_bytes(std::span{&value, 1}).first(arch::ds_word_bytes(layout()))));
    return value;
  }
  void put_buffer(std::uint64_t offset, const arch::DsBuffer& buffer) {
    const std::uint64_t step = arch::ds_word_bytes(layout());
    for (const std::uint64_t value : {buffer.base, buffer.index, buffer.maximum, buffer.threshold}) {
      put_word(offset, value);
      offset += step;
    }
  }
};

/// An instruction at `ip`, with what is given set.
inline arch::Retired load_at(std::uint64_t ip, std::uint64_t address, std::uint64_t loads = 1) {
  arch::Retired r;
  r.ip = ip;
  r.loads = loads != 0;
  r.load_count = loads;
  r.data_address = address;
  return r;
}
inline arch::Retired branch_at(std::uint64_t ip, std::uint64_t to, arch::BranchKind kind, bool taken = true) {
  arch::Retired r;
  r.ip = ip;
  r.next_ip = to;
  r.branch = kind;
  r.taken = taken;
  return r;
}

// Addresses, spelt as software does.
inline constexpr std::uint32_t kPmc0 = 0x0C1, kPmc1 = 0x0C2, kSelect0 = 0x186, kSelect1 = 0x187, kFullPmc0 = 0x4C1,
                               kFullPmc1 = 0x4C2, kFixed0 = 0x309, kFixedCtrl = 0x38D, kStatus = 0x38E, kGlobal = 0x38F,
                               kOvfCtrl = 0x390, kStatusSet = 0x391, kInUse = 0x392, kPebsEnable = 0x3F1,
                               kDebugCtl = 0x1D9, kLbrSelect = 0x1C8, kTos = 0x1C9, kFrom0 = 0x680, kTo0 = 0x6C0,
                               kInfo0 = 0xDC0, kDsArea = 0x600;
inline constexpr std::uint64_t kWidth48 = 0xFFFF'FFFF'FFFF;
inline constexpr std::uint64_t kOvfBuf = std::uint64_t{1} << 62, kCtrFrz = std::uint64_t{1} << 59,
                               kLbrFrz = std::uint64_t{1} << 58;

/// -n in a 48-bit counter.
constexpr std::uint64_t minus(std::uint64_t n) { return (std::uint64_t{1} << 48) - n; }

// PERFEVTSEL values: EN | USR, and INT where it is named so.
inline constexpr std::uint64_t kCountInstructions = 0x41'00C0, kCountPrecDist = 0x41'01C0, kCountLoads = 0x41'81D0,
                               kCountStores = 0x41'82D0, kCountAnyMemory = 0x41'83D0, kCountBranches = 0x41'00C4,
                               kCountNops = 0x41'02C0, kInt = 0x10'0000;

}  // namespace zs::pmu
