// Executes one x87 instruction on the host, on the guest's state: FXRSTOR, the instruction, FXSAVE. Exact by
// construction in all 80 bits, all rounding and precision modes and all exceptions; costs some hundred cycles, which
// guests that count PMU events can bear. Unmasked exceptions stay pending in the saved state: the host never executes a
// waiting instruction with one pending, because the caller raises #MF first.
#pragma once

#include <array>
#include <cstdint>

#include "machine/vcpu/flags.h"

namespace zs::machine::vcpu {

/// FXSAVE image as 64-bit mode lays it out; bytes 160..511 are not used (XMM registers live elsewhere).
struct alignas(16) FxImage {
  std::array<std::uint8_t, 512> bytes{};
};

/// Host code for D8H + `escape` with a ModRM byte of C0H + `modrm` (register forms).
const void* x87_register_code(unsigned escape, unsigned modrm);
/// The same for memory forms, `extension` being ModRM.reg.
const void* x87_memory_code(unsigned escape, unsigned extension);

struct X87Result {
  std::uint16_t ax = 0;  // FSTSW AX
  Status status = 0;     // FCOMI and its kin
};
/// `memory`: the operand's copy for memory forms.
X87Result run_x87(const void* code, FxImage& image, void* memory, Status status);

}  // namespace zs::machine::vcpu
