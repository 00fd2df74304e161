#include "arch/this_processor.h"

namespace zs::arch {

CpuidLeaf cpuid_here(std::uint32_t leaf, std::uint32_t subleaf) {
  CpuidLeaf answer{.eax = leaf, .ecx = subleaf};
  asm volatile("cpuid" : "+a"(answer.eax), "=b"(answer.ebx), "+c"(answer.ecx), "=d"(answer.edx));
  return answer;
}

std::uint64_t xcr0_here() {
  constexpr std::uint32_t kOsxsave = 1U << 27;
  if ((cpuid_here(1).ecx & kOsxsave) == 0) return 0;
  std::uint32_t low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return std::uint64_t{high} << 32 | low;
}

}  // namespace zs::arch
