// Executes one SSE or MMX instruction of register form on the host: XMM0 op= XMM1, MM0 op= MM1, or with EAX and ECX as
// the general register of the ModRM fields reg and rm. Memory operands were loaded into a register before, stores
// follow after.
#pragma once

#include <cstdint>

#include "machine/vcpu/cpu_state.h"
#include "machine/vcpu/flags.h"

namespace zs::machine::vcpu {

enum class SsePrefix : std::uint8_t { None, P66, PF3, PF2 };

struct SseRegisters {
  Xmm xmm0, xmm1;
  std::uint64_t rax = 0, rcx = 0;
  std::uint64_t mm0 = 0, mm1 = 0;
  std::uint32_t mxcsr = 0x1F80;
  Status status = 0;
};

/// Code of 0F `opcode` with a prefix, and with REX.W if `wide`.
const void* sse_code(SsePrefix prefix, bool wide, unsigned opcode);
/// CMPPS and its kin: 0F C2 with a predicate 0..7.
const void* sse_compare_code(SsePrefix prefix, unsigned predicate);

void run_sse(const void* code, SseRegisters& r);
/// As run_sse, under r.mxcsr and with its flags afterwards. Exceptions must be masked in it.
void run_sse_fp(const void* code, SseRegisters& r);
void run_mmx(const void* code, SseRegisters& r);

}  // namespace zs::machine::vcpu
