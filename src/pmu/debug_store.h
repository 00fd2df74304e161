// The Debug Store: puts BTS and PEBS records into the buffers that the management area describes, and reads reload
// values from it. Every access is a linear one and may fault; then nothing was stored, the index did not move, and the
// fault is kept for the processor to deliver.
//
// A PEBS store fits if it ends at or before the absolute maximum; one that does not is dropped without a sign, as the
// manual says of a full buffer. The index is never set back: that is software's.
//
// BTS, per record, with next = index + record size:
//   1. if next <= maximum: store, and index = next; else store nothing
//   2. if next >= threshold: the interrupt, whatever BTINT says and also when nothing was stored
//   3. if BTINT = 0 and the next record would not fit: index = base
// source: SDM vol. 3B, "DS Save Area", "BTS Buffer", "Processor Event-Based Sampling". Rule 2 is measured: a threshold
// at or below the maximum interrupts with BTINT = 0 too; one record above the maximum it interrupts again and again,
// two above never. The manual's maximum is "a multiple of the record size plus 1", drivers' is without the 1: rule 3
// takes both.
#pragma once

#include <cstdint>
#include <optional>

#include "arch/cpu_model.h"
#include "arch/records/bts.h"
#include "arch/records/ds_area.h"
#include "arch/retired.h"
#include "base/bytes.h"
#include "pmu/interfaces.h"
#include "pmu/pmu.h"

namespace zs::pmu {

class DebugStore {
 public:
  DebugStore(LinearMemory& memory, const arch::CpuModel& model)
      : memory_(memory),
        first_fixed_slot_(model.fixed_reset_slot()),
        no_prediction_(model.quirks.has(arch::Quirk::BtsFlagsAreZero)) {}

  /// What IA32_DS_AREA holds.
  std::uint64_t address() const { return address_; }
  void set_address(std::uint64_t address) { address_ = address; }
  arch::DsLayout layout() const { return layout_; }
  void set_layout(arch::DsLayout layout) { layout_ = layout; }

  enum class Outcome : std::uint8_t {
    Stored,
    ReachedThreshold,  // stored, and the index is now at or past the interrupt threshold
    Full,              // no room below the maximum
    OutOfBounds,       // the index is below the base or above the maximum
    Faulted,           // memory that is not accessible
  };
  /// Stores a PEBS record and moves the index behind it.
  Outcome store_pebs(Bytes record);

  /// How many PEBS records of that size can be stored one after the other with Outcome::Stored.
  std::uint64_t room_below_threshold(std::uint64_t record_bytes);

  /// Stores a branch. returns whether the Debug Store interrupt is due
  bool store_branch(const arch::TakenBranch& branch, bool interrupting);

  /// The value that a counter, named by its bit in GLOBAL_CTRL, is to be reloaded with; nothing if its slot faults.
  std::optional<std::uint64_t> reset_value(unsigned counter);

  std::optional<DsFault> take_fault() { return std::exchange(fault_, std::nullopt); }

 private:
  std::optional<arch::DsBuffer> buffer(std::uint64_t offset);
  bool set_index(std::uint64_t offset, std::uint64_t index);
  bool read(std::uint64_t address, std::span<std::byte> into);
  bool write(std::uint64_t address, Bytes from);
  std::uint64_t linear(std::uint64_t address) const {
    return layout_ == arch::DsLayout::Words64 ? address : address & 0xFFFF'FFFF;
  }

  LinearMemory& memory_;
  unsigned first_fixed_slot_;
  bool no_prediction_;
  std::uint64_t address_ = 0;
  arch::DsLayout layout_ = arch::DsLayout::Words64;
  std::optional<DsFault> fault_;
};

}  // namespace zs::pmu
