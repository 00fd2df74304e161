#include "machine/vcpu/host_sse.h"

#include <cstddef>

// Each stub is prefix, REX.W if there is one, 0F, opcode, ModRM C1 (register 0, register 1) and a RET, in eight bytes.
// A DS override stands where there is no prefix; it means nothing. Entries that are no instruction are never called:
// the caller has a decoded instruction in hand.
// clang-format off
__asm__(R"(
  .pushsection .text
  .balign 16
  .macro zs_sse_table prefix
    .set zs_opcode, 0
    .rept 256
      .byte \prefix, 0x0f, zs_opcode, 0xc1, 0xc3, 0x90, 0x90, 0x90
      .set zs_opcode, zs_opcode + 1
    .endr
  .endm
  .macro zs_sse_wide_table prefix
    .set zs_opcode, 0
    .rept 256
      .byte \prefix, 0x48, 0x0f, zs_opcode, 0xc1, 0xc3, 0x90, 0x90
      .set zs_opcode, zs_opcode + 1
    .endr
  .endm
  .macro zs_sse_compare_table prefix
    .set zs_predicate, 0
    .rept 8
      .byte \prefix, 0x0f, 0xc2, 0xc1, zs_predicate, 0xc3, 0x90, 0x90
      .set zs_predicate, zs_predicate + 1
    .endr
  .endm
zs_sse_stubs:
  zs_sse_table 0x3e
  zs_sse_table 0x66
  zs_sse_table 0xf3
  zs_sse_table 0xf2
zs_sse_wide_stubs:
  zs_sse_wide_table 0x3e
  zs_sse_wide_table 0x66
  zs_sse_wide_table 0xf3
  zs_sse_wide_table 0xf2
zs_sse_compare_stubs:
  zs_sse_compare_table 0x3e
  zs_sse_compare_table 0x66
  zs_sse_compare_table 0xf3
  zs_sse_compare_table 0xf2
  .popsection
)");
// clang-format on

extern "C" {
extern const char zs_sse_stubs[] __attribute__((visibility("hidden")));
extern const char zs_sse_wide_stubs[] __attribute__((visibility("hidden")));
extern const char zs_sse_compare_stubs[] __attribute__((visibility("hidden")));
}

namespace zs::machine::vcpu {

static_assert(offsetof(SseRegisters, xmm1) == 16 && offsetof(SseRegisters, rax) == 32 &&
              offsetof(SseRegisters, rcx) == 40);
static_assert(offsetof(SseRegisters, mm0) == 48 && offsetof(SseRegisters, mm1) == 56);
static_assert(offsetof(SseRegisters, mxcsr) == 64 && offsetof(SseRegisters, status) == 68);

const void* sse_code(SsePrefix prefix, bool wide, unsigned opcode) {
  return (wide ? zs_sse_wide_stubs : zs_sse_stubs) + 8 * (256 * static_cast<unsigned>(prefix) + (opcode & 255));
}
const void* sse_compare_code(SsePrefix prefix, unsigned predicate) {
  return zs_sse_compare_stubs + 8 * (8 * static_cast<unsigned>(prefix) + (predicate & 7));
}

// clang-format off
#define ZS_LOAD  "movups (%[r]), %%xmm0\n\tmovups 16(%[r]), %%xmm1\n\tmovq 32(%[r]), %%rax\n\tmovq 40(%[r]), %%rcx\n\t"
#define ZS_CALL  "leaq -128(%%rsp), %%rsp\n\tcall *%[code]\n\tleaq 128(%%rsp), %%rsp\n\t"
#define ZS_STORE "movq %%rax, 32(%[r])\n\tlahf\n\tseto %%al\n\tmovw %%ax, 68(%[r])\n\tmovups %%xmm0, (%[r])\n\t"
// clang-format on

void run_sse(const void* code, SseRegisters& r) {
  __asm__ volatile(ZS_LOAD ZS_CALL ZS_STORE
                   :
                   : [r] "D"(&r), [code] "S"(code)
                   : "rax", "rcx", "xmm0", "xmm1", "cc", "memory");
}

void run_sse_fp(const void* code, SseRegisters& r) {
  std::uint32_t own = 0;
  __asm__ volatile("stmxcsr %[own]\n\tldmxcsr 64(%[r])\n\t" ZS_LOAD
                   "leaq -128(%%rsp), %%rsp\n\tcall *%[code]\n\tleaq 128(%%rsp), %%rsp\n\t" ZS_STORE
                   "stmxcsr 64(%[r])\n\tldmxcsr %[own]\n\t"
                   : [own] "+m"(own)
                   : [r] "D"(&r), [code] "S"(code)
                   : "rax", "rcx", "xmm0", "xmm1", "cc", "memory");
}

void run_mmx(const void* code, SseRegisters& r) {
  __asm__ volatile("movq 48(%[r]), %%mm0\n\tmovq 56(%[r]), %%mm1\n\tldmxcsr 64(%[r])\n\t" ZS_LOAD ZS_CALL ZS_STORE
                   "movq %%mm0, 48(%[r])\n\tstmxcsr 64(%[r])\n\temms\n\t"
                   :
                   : [r] "D"(&r), [code] "S"(code)
                   : "rax", "rcx", "xmm0", "xmm1", "cc", "memory");
  const std::uint32_t usual = 0x1F80;
  __asm__ volatile("ldmxcsr %0" : : "m"(usual));
}

}  // namespace zs::machine::vcpu
