#include "machine/vcpu/host_x87.h"

// Each stub is the instruction and a RET, four bytes. Memory forms address [rdi].
// clang-format off
__asm__(R"(
  .pushsection .text
  .balign 16
zs_x87_register_stubs:
  .set zs_escape, 0
  .rept 8
    .set zs_modrm, 0
    .rept 64
      .byte 0xd8 + zs_escape, 0xc0 + zs_modrm, 0xc3, 0x90
      .set zs_modrm, zs_modrm + 1
    .endr
    .set zs_escape, zs_escape + 1
  .endr
zs_x87_memory_stubs:
  .set zs_escape, 0
  .rept 8
    .set zs_modrm, 0
    .rept 8
      .byte 0xd8 + zs_escape, 0x07 + zs_modrm * 8, 0xc3, 0x90
      .set zs_modrm, zs_modrm + 1
    .endr
    .set zs_escape, zs_escape + 1
  .endr
  .popsection
)");
// clang-format on

extern "C" {
extern const char zs_x87_register_stubs[] __attribute__((visibility("hidden")));
extern const char zs_x87_memory_stubs[] __attribute__((visibility("hidden")));
}

namespace zs::machine::vcpu {

const void* x87_register_code(unsigned escape, unsigned modrm) {
  return zs_x87_register_stubs + 4 * (64 * (escape & 7) + (modrm & 63));
}
const void* x87_memory_code(unsigned escape, unsigned extension) {
  return zs_x87_memory_stubs + 4 * (8 * (escape & 7) + (extension & 7));
}

X87Result run_x87(const void* code, FxImage& image, void* memory, Status status) {
  std::uint64_t rax = status;
  std::uint64_t flags = 0;
  image.bytes[24] = 0x80, image.bytes[25] = 0x1F, image.bytes[26] = image.bytes[27] = 0;  // MXCSR: the host's
  // Past the red zone before the call; AL = OF, AH = the other flags.
  __asm__ volatile(
      "fxrstor64 (%[image])\n\t"
      "leaq -128(%%rsp), %%rsp\n\t"
      "addb $127, %%al\n\t"
      "sahf\n\t"
      "call *%[code]\n\t"
      "leaq 128(%%rsp), %%rsp\n\t"
      "movq %%rax, %[out]\n\t"
      "lahf\n\t"
      "seto %%al\n\t"
      "fxsave64 (%[image])\n\t"
      "fninit\n\t"
      : "+a"(rax), [out] "=&r"(flags)
      : [image] "r"(image.bytes.data()), [code] "r"(code), "D"(memory)
      : "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
        "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
  return {static_cast<std::uint16_t>(flags), static_cast<Status>(rax)};
}

}  // namespace zs::machine::vcpu
