#include "engine/segment_bases.h"

#include <asm/prctl.h>

#include "engine/isa_names.h"
#include "engine/raw_syscall.h"
#include "isa/fsgsbase.h"

namespace zs::engine {

long set_real_gs_base(std::uint64_t base) {
  if (!isa::has_fsgsbase()) return raw_syscall(SYS_arch_prctl, ARCH_SET_GS, base);
  asm volatile(".byte 0xF3, 0x48, 0x0F, 0xAE, 0xD8" : : "a"(base));  // wrgsbase rax
  return 0;
}

std::uint64_t base_behind_null_selector(std::uint64_t base) {
  // Asked of GS, which no C++ uses, and put back.
  std::uint64_t before = 0, after = 0;
  raw_syscall(SYS_arch_prctl, ARCH_GET_GS, &before);
  if (set_real_gs_base(base) != 0) return 0;
  asm volatile("mov %0, %%gs" : : "r"(0));
  raw_syscall(SYS_arch_prctl, ARCH_GET_GS, &after);
  set_real_gs_base(before);
  return after;
}

}  // namespace zs::engine
