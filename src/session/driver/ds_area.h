// A Debug Store area in the tool's own memory: management words, then one buffer, of PEBS or of BTS. The PMU reaches it
// through LinearMemory, at an address of the kernel's half, which is the same in every run: raw records show it.
// Anything outside the area is not accessible to the PMU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "arch/records/ds_area.h"
#include "pmu/interfaces.h"

namespace zs::session {

class DsArea final : public pmu::LinearMemory {
 public:
  /// Which of the two buffers it has.
  using Buffer = arch::DsBuffer arch::DsManagementArea::*;

  /// threshold  records after which the PMU raises its interrupt
  /// reserve    records that still fit above the threshold: several counters may fire in one instruction
  DsArea(std::size_t record_bytes, std::uint32_t threshold, std::uint32_t reserve,
         Buffer buffer = &arch::DsManagementArea::pebs);

  /// What IA32_DS_AREA is to hold.
  /// chosen: where Linux has the Debug Store of its first CPU's entry area, give or take.
  static constexpr std::uint64_t kAddress = 0xFFFF'FE00'0000'1000;
  /// The management area as it is now.
  std::span<const std::byte> management(std::size_t bytes) const;
  /// Where the PMU sees bytes that drain() gave.
  std::uint64_t address_of(std::span<const std::byte> bytes) const;

  /// slot  of the management area, arch::ds_reset_slot()
  void set_reset(unsigned slot, std::uint64_t value);

  /// The records from base to index. Sets index back to base first, as drivers do; the bytes stay until more is
  /// written.
  std::span<const std::byte> drain();
  /// The same records, where they stay.
  std::span<const std::byte> records() const;

  bool read(std::uint64_t address, std::span<std::byte> into) override;
  bool write(std::uint64_t address, std::span<const std::byte> from) override;

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::byte* at(std::uint64_t address, std::size_t length);
  std::byte* begin() const { return reinterpret_cast<std::byte*>(memory_.get()); }

  Buffer buffer_;
  std::size_t size_;
  std::unique_ptr<Line[]> memory_;
};

}  // namespace zs::session
