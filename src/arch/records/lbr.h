// How a branch lies in the LBR registers: the formats of IA32_PERF_CAPABILITIES.LBR_FMT that are modelled.
// source: SDM vol. 3B, "LBR Stack", "Figure 64-bit Address Layout of LBR MSR", "LBR Stack and Intel 64 Processors".
#pragma once

#include <cstdint>

namespace zs::arch {

enum class LbrFormat : std::uint8_t {
  Flags = 3,     // FROM[63] mispredicted; address sign-extended into 62:48
  TsxFlags = 4,  // FROM[63] mispredicted, [62] in a transaction, [61] its abort; address sign-extended into 60:48
  Info = 5,      // plain addresses; flags and cycles in MSR_LBR_INFO_x
};

inline constexpr std::uint64_t kLbrMispredicted = std::uint64_t{1} << 63;
inline constexpr std::uint64_t kLbrInTx = std::uint64_t{1} << 62;
inline constexpr std::uint64_t kLbrTxAbort = std::uint64_t{1} << 61;

/// The bits of a FROM register that are flags and no part of the address.
constexpr std::uint64_t lbr_from_flags(LbrFormat format) {
  switch (format) {
    case LbrFormat::Flags: return kLbrMispredicted;
    case LbrFormat::TsxFlags: return kLbrMispredicted | kLbrInTx | kLbrTxAbort;
    case LbrFormat::Info: return 0;
  }
  return 0;  // an unknown format: all address
}

/// FROM without its flags: the address with its sign extended over them again.
constexpr std::uint64_t lbr_from_address(LbrFormat format, std::uint64_t from) {
  const std::uint64_t flags = lbr_from_flags(format);
  return (from >> 47 & 1) != 0 ? from | flags : from & ~flags;
}

}  // namespace zs::arch
