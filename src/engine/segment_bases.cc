#include "engine/segment_bases.h"

#include <asm/prctl.h>
#include <elf.h>

#include <array>

#include "base/auxiliary_vector.h"
#include "engine/isa_names.h"
#include "engine/raw_syscall.h"
#include "engine/tried_instructions.h"

namespace zs::engine {
namespace {

bool kernel_keeps_bases() {
  constexpr unsigned long kHwcap2Fsgsbase = 1u << 1;
  static const bool keeps = (auxiliary_here(AT_HWCAP2).value_or(0) & kHwcap2Fsgsbase) != 0;
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

// What programs may load stands in the processor's tables: segments of the kernel's, those of set_thread_area and
// modify_ldt. source: SDM vol. 2, MOV; VERR asks for the same type and privilege, LAR gives the rest.
unsigned fault_of_selector(std::uint16_t selector) {
  constexpr unsigned kNotPresent = 11, kGeneralProtection = 13, kPresent = 0x8000, kNullSelectors = 4;
  if (selector < kNullSelectors) return 0;
  bool readable = false;
  unsigned rights = 0;
  asm volatile("verr %1" : "=@ccz"(readable) : "r"(selector) : "cc");
  if (!readable) return kGeneralProtection;
  asm volatile("lar %1, %0" : "+r"(rights) : "r"(unsigned{selector}) : "cc");
  return (rights & kPresent) != 0 ? 0 : kNotPresent;
}

std::uint64_t base_behind_selector(std::uint16_t selector, std::uint64_t base) {
  // Asked of GS, which no C++ uses, and put back.
  std::uint64_t before = 0, after = 0;
  raw_syscall(SYS_arch_prctl, ARCH_GET_GS, &before);
  if (set_real_gs_base(base) != 0) return 0;
  asm volatile("mov %0, %%gs" : : "r"(unsigned{selector}));
  raw_syscall(SYS_arch_prctl, ARCH_GET_GS, &after);
  asm volatile("mov %0, %%gs" : : "r"(0));
  set_real_gs_base(before);
  return after;
}

bool has_far_pointers_of_64_bits() {
  static const bool has = [] {
    // As either it has a null selector.
    constexpr std::array<std::uint8_t, 10> kPointer = {0, 0, 0, 0, 0, 0, 1, 0, 0, 0};
    std::uint64_t before = 0, offset = 0;
    raw_syscall(SYS_arch_prctl, ARCH_GET_GS, &before);
    asm volatile(".byte 0x48, 0x0F, 0xB5, 0x03" : "=a"(offset) : "b"(kPointer.data()));  // lgs rax, [rbx]
    set_real_gs_base(before);
    return offset != 0;
  }();
  return has;
}

}  // namespace zs::engine
