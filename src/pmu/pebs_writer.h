// Stores PEBS records in the buffer that the Debug Store management area describes, and reads reload values from it.
// A store fits if it ends at or before the absolute maximum; one that does not is dropped without a sign, as the manual
// says of a full buffer. The index is never set back: that is software's.
// source: SDM vol. 3B, "DS Save Area", "Processor Event-Based Sampling".
// Left out: 32-bit areas; Goldmont's OvfBuf for an index outside the buffer.
#pragma once

#include <cstdint>
#include <optional>

#include "arch/records/ds_area.h"
#include "arch/records/pebs.h"
#include "pmu/interfaces.h"

namespace zs::pmu {

class PebsWriter {
 public:
  PebsWriter(LinearMemory& memory, arch::PebsFormat format) : memory_(memory), format_(format) {}

  enum class Outcome : std::uint8_t {
    Stored,
    ReachedThreshold,  // stored, and the index is now at or past the interrupt threshold
    Dropped,           // no room, or memory that is not accessible
  };

  /// Writes as much of `record` as the format has and moves the index behind it.
  /// ds_area  what IA32_DS_AREA holds
  Outcome write(std::uint64_t ds_area, const arch::PebsV3& record);

  /// The value that PMC`counter` is to be reloaded with; nothing if its slot is not accessible.
  std::optional<std::uint64_t> reset_value(std::uint64_t ds_area, unsigned counter);

 private:
  LinearMemory& memory_;
  arch::PebsFormat format_;
};

}  // namespace zs::pmu
