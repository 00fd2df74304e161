// What surrounds a Pmu in tests: a piece of memory with a Debug Store area in it, a PMI line that counts, a clock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "arch/cpu_model.h"
#include "arch/records/ds_area.h"
#include "arch/records/pebs.h"
#include "base/check.h"
#include "pmu/pmu.h"

namespace zs::pmu {

class FakeMemory : public LinearMemory {
 public:
  static constexpr std::uint64_t kStart = 0x40'0000;

  explicit FakeMemory(std::size_t size = 0x4000) : bytes_(size, std::byte{0xEE}) {}

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

/// A Pmu with a Debug Store area at FakeMemory::kStart and its PEBS buffer at kRecords.
class TestPmu {
 public:
  static constexpr std::uint64_t kDs = FakeMemory::kStart;
  static constexpr std::uint64_t kRecords = FakeMemory::kStart + 0x400;

  explicit TestPmu(const char* name = "skylake-server") : model(*arch::find_cpu_model(name)) {}

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

  /// Lays out the management area for `records` records with the threshold after `threshold` of them.
  void set_up_ds(std::uint64_t records, std::uint64_t threshold, std::uint64_t reset = 0) {
    const std::uint64_t size = arch::record_size(model.pebs_format());
    arch::DsManagementArea area{};
    area.pebs = {.base = kRecords,
                 .index = kRecords,
                 .maximum = kRecords + records * size,
                 .threshold = kRecords + threshold * size};
    area.pebs_reset.fill(reset);
    memory.put(kDs, area);
    wr(arch::DsArea::msrs.first, kDs);
  }
  void set_reset(unsigned counter, std::uint64_t value) {
    memory.put(kDs + arch::ds_reset_slot_offset(counter), value);
  }
  std::uint64_t index() { return memory.get<std::uint64_t>(kDs + arch::kDsPebsIndexOffset); }
  void rewind() { memory.put(kDs + arch::kDsPebsIndexOffset, kRecords); }
  std::size_t records() {
    return static_cast<std::size_t>((index() - kRecords) / arch::record_size(model.pebs_format()));
  }
  /// Record n; fields that the model's format does not have are whatever memory holds behind it.
  arch::PebsV3 record(std::size_t n) {
    return memory.get<arch::PebsV3>(kRecords + n * arch::record_size(model.pebs_format()));
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

  const arch::CpuModel& model;
  FakeMemory memory;
  PmiCounter pmi;
  SteppingClock clock;
  Pmu pmu{model, memory, pmi, clock};
};

/// An instruction at `ip`, with what is given set.
inline arch::Retired load_at(std::uint64_t ip, std::uint64_t address, std::uint64_t loads = 1) {
  arch::Retired r;
  r.ip = ip;
  r.loads = 1;
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
                               kCountAnyMemory = 0x41'83D0, kCountBranches = 0x41'00C4, kCountNops = 0x41'02C0,
                               kInt = 0x10'0000;

}  // namespace zs::pmu
