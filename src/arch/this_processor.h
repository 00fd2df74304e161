// What zeroskid asks of the processor that it runs on itself: nothing else executes CPUID or XGETBV. tests/hosts links
// other answers in place of these.
#pragma once

#include <cstdint>

#include "arch/cpu_model.h"

namespace zs::arch {

/// CPUID as it is, of leaves that there are not, too.
CpuidLeaf cpuid_here(std::uint32_t leaf, std::uint32_t subleaf = 0);
/// XCR0: the components that XSAVE has here; 0: there is no XSAVE.
std::uint64_t xcr0_here();

/// All zeros if there is no such leaf.
inline CpuidLeaf leaf_here(std::uint32_t leaf, std::uint32_t subleaf = 0) {
  return leaf > cpuid_here(leaf & 0x8000'0000).eax ? CpuidLeaf{} : cpuid_here(leaf, subleaf);
}

}  // namespace zs::arch
