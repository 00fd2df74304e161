#include "engine/segment_bases.h"

#include <asm/prctl.h>
#include <sys/auxv.h>

#include "engine/isa_names.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

bool kernel_keeps_bases() {
  constexpr unsigned long kHwcap2Fsgsbase = 1u << 1;
  static const bool keeps = (getauxval(AT_HWCAP2) & kHwcap2Fsgsbase) != 0;
  return keeps;
}

}  // namespace

bool base_instructions_execute() {
  static const bool execute = kernel_keeps_bases() || zs_runs_rdgsbase();
  return execute;
}

long set_real_gs_base(std::uint64_t base) {
  // A kernel that does not know the instruction puts back the base that it knows, as soon as another process has run.
  if (!kernel_keeps_bases()) return raw_syscall(SYS_arch_prctl, ARCH_SET_GS, base);
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
