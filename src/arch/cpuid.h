// What CPUID says of the PMU. Leaves 0AH, 1CH and AMD's 8000'0022H are the PMU's alone; of leaves 1, 7 and AMD's
// 8000'0001H some bits are. The rest of CPUID, the highest leaf included, belongs to the machine around it.
#pragma once

#include <cstdint>
#include <optional>

#include "arch/cpu_model.h"

namespace zs::arch {

/// The whole leaf, if it is one of the PMU's: 0AH "Architectural Performance Monitoring", 1CH "Last Branch Records", on
/// AMD's 8000'0022H "Extended Performance Monitoring and Debug". On a model without architectural LBRs leaf 1CH is all
/// zero; on AMD's, 0AH too.
std::optional<CpuidLeaf> pmu_leaf(const CpuModel& model, std::uint32_t leaf, std::uint32_t subleaf);

/// Of leaf 1, of leaf 7 subleaf 0 and of AMD's leaf 8000'0001H: the bits that tell of the PMU, and what they are. Leaf
/// 1 EAX is the signature.
struct CpuidBits {
  CpuidLeaf mask, value;
};
/// quirks  those of the machine, if the model is not already with_quirks()
CpuidBits pmu_bits(const CpuModel& model, std::uint32_t leaf, std::uint32_t subleaf, QuirkSet quirks = {});

}  // namespace zs::arch
