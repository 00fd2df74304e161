// Decodes the PEBS records a Debug Store buffer holds, formats 1 to 3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "arch/counter_set.h"
#include "arch/records/pebs.h"
#include "arch/retired.h"

namespace zs::session {

/// What one record says, whatever its format. Holds until the next one is decoded.
struct PebsFacts {
  arch::CounterSet counters;                 // made it: of the PEBS counters asked for, never empty
  const arch::RegisterFile& registers;       // after the instruction; ip: the next one
  std::optional<std::uint64_t> eventing_ip;  // the instruction itself; formats 2 and later
  std::uint64_t data_address = 0;            // 0: none
  std::uint64_t data_source = 0;             // as the processor's generation encodes it (arch/records/data_source.h)
  std::uint64_t latency = 0;                 // likewise
  std::optional<std::uint64_t> tsc;          // format 3 and later
  std::span<const std::byte> record;         // as it lies in the buffer
};

struct DrainResult {
  std::size_t records = 0;
  std::size_t unclaimed = 0;  // of no counter in `pebs_counters`: left out
};

/// Hands each record to `receive`, oldest first.
/// records        packed, as `format` lays them out; a last partial record is left out
/// pebs_counters  those that IA32_PEBS_ENABLE enables. Formats 1 and 2 name counters by their overflow status, which
///                the processor may have cleared already: with one PEBS counter, a record without status is that
///                counter's.
DrainResult drain_pebs(std::span<const std::byte> records, arch::PebsFormat format, arch::CounterSet pebs_counters,
                       const std::function<void(const PebsFacts&)>& receive);

}  // namespace zs::session
