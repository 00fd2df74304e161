// Lays out one PEBS record as a processor of the given shape writes it.
// What no core model has said is written as hardware writes what it does not know: data source 0 and latency 0. There
// are no transactions, so their fields are 0.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "arch/records/pebs.h"
#include "arch/retired.h"
#include "base/bytes.h"
#include "pmu/interfaces.h"
#include "pmu/lbr_stack.h"

namespace zs::pmu {

struct PebsContent {
  const arch::RegisterFile& after;
  std::uint64_t eventing_ip = 0;
  std::uint64_t status = 0;    // GLOBAL_STATUS before the assist: formats 1 and 2
  std::uint64_t counters = 0;  // applicable counters: format 3 and later
  std::uint64_t data_address = 0, data_source = 0, latency = 0;
  std::uint64_t tsc = 0;
};

class PebsRecord {
 public:
  /// lbr        for the LBR group
  /// registers  for the XMM group; null: zeros
  /// code64     the code is 64-bit; otherwise registers are cut to 32 bits and R8 to R15 are 0
  Bytes lay_out(const arch::PebsShape& shape, const PebsContent& content, bool code64, const LbrStack& lbr,
                VectorRegisters* registers);

 private:
  Bytes lay_out_fixed(arch::PebsFormat format, const arch::RegisterFile& after, const PebsContent& content);
  Bytes lay_out_adaptive(arch::PebsDataCfg groups, const arch::RegisterFile& after, const PebsContent& content,
                         const LbrStack& lbr, VectorRegisters* registers);
  template <WireLayout T>
  void append(const T& value);

  arch::PebsV3 fixed_{};
  alignas(8) std::array<std::byte, arch::kMaxPebsRecord> bytes_;
  std::size_t size_ = 0;
};

}  // namespace zs::pmu
