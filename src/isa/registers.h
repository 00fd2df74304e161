// The general registers, as instructions encode them.
#pragma once

#include <cstdint>

namespace zs::isa {

/// Indices of the general registers as instructions encode them.
enum Gpr : std::uint8_t {
  kRax,
  kRcx,
  kRdx,
  kRbx,
  kRsp,
  kRbp,
  kRsi,
  kRdi,
  kR8,
  kR9,
  kR10,
  kR11,
  kR12,
  kR13,
  kR14,
  kR15
};

/// The stolen register: the trace pointer lives in it while translated code runs; the program's value is in
/// Context::gpr[kTracePointer]. r11 is rare in hot code and dead across system calls.
inline constexpr Gpr kTracePointer = kR11;

}  // namespace zs::isa
