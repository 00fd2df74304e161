#include "isa/level.h"

#include <Zydis/Zydis.h>

#include <array>
#include <string_view>

#include "isa/zydis_decode.h"

namespace zs::isa {
namespace {

using arch::CpuLevel;

/// In no level.
constexpr auto kInNoLevel = static_cast<CpuLevel>(0xFF);

struct SetRow {
  ZydisISASet first, last;
  CpuLevel from;
};

// Sets without a row are in every level: the base, what only the kernel may do, and hints.
constexpr SetRow kSetRows[] = {
    {ZYDIS_ISA_SET_ADOX_ADCX, ZYDIS_ISA_SET_AMD, kInNoLevel},
    {ZYDIS_ISA_SET_AMX_BF16, ZYDIS_ISA_SET_AMX_TILE, kInNoLevel},
    {ZYDIS_ISA_SET_AVX, ZYDIS_ISA_SET_AVX2GATHER, CpuLevel::V3},
    {ZYDIS_ISA_SET_AVX512BW_128, ZYDIS_ISA_SET_AVX512DQ_SCALAR, CpuLevel::V4},
    {ZYDIS_ISA_SET_AVX512ER_512, ZYDIS_ISA_SET_AVX512ER_SCALAR, kInNoLevel},
    {ZYDIS_ISA_SET_AVX512F_128, ZYDIS_ISA_SET_AVX512F_SCALAR, CpuLevel::V4},
    {ZYDIS_ISA_SET_AVX512PF_512, ZYDIS_ISA_SET_AVX_VNNI, kInNoLevel},
    {ZYDIS_ISA_SET_BMI2, ZYDIS_ISA_SET_BMI2, CpuLevel::V3},
    {ZYDIS_ISA_SET_CLFLUSHOPT, ZYDIS_ISA_SET_CLFLUSHOPT, kInNoLevel},
    {ZYDIS_ISA_SET_CLWB, ZYDIS_ISA_SET_CLZERO, kInNoLevel},
    {ZYDIS_ISA_SET_CMPXCHG16B, ZYDIS_ISA_SET_CMPXCHG16B, CpuLevel::V2},
    {ZYDIS_ISA_SET_ENQCMD, ZYDIS_ISA_SET_ENQCMD, kInNoLevel},
    {ZYDIS_ISA_SET_F16C, ZYDIS_ISA_SET_F16C, CpuLevel::V3},
    {ZYDIS_ISA_SET_FMA, ZYDIS_ISA_SET_FMA, CpuLevel::V3},
    {ZYDIS_ISA_SET_FMA4, ZYDIS_ISA_SET_FMA4, kInNoLevel},
    {ZYDIS_ISA_SET_GFNI, ZYDIS_ISA_SET_GFNI, kInNoLevel},
    {ZYDIS_ISA_SET_LWP, ZYDIS_ISA_SET_LWP, kInNoLevel},
    {ZYDIS_ISA_SET_LZCNT, ZYDIS_ISA_SET_LZCNT, CpuLevel::V3},
    {ZYDIS_ISA_SET_MONITORX, ZYDIS_ISA_SET_MONITORX, kInNoLevel},
    {ZYDIS_ISA_SET_MOVBE, ZYDIS_ISA_SET_MOVBE, CpuLevel::V3},
    {ZYDIS_ISA_SET_MOVDIR, ZYDIS_ISA_SET_MOVDIR, kInNoLevel},
    {ZYDIS_ISA_SET_PADLOCK_ACE, ZYDIS_ISA_SET_PADLOCK_RNG, kInNoLevel},
    {ZYDIS_ISA_SET_PCLMULQDQ, ZYDIS_ISA_SET_PCLMULQDQ, kInNoLevel},
    {ZYDIS_ISA_SET_PKU, ZYDIS_ISA_SET_PKU, kInNoLevel},
    {ZYDIS_ISA_SET_POPCNT, ZYDIS_ISA_SET_POPCNT, CpuLevel::V2},
    {ZYDIS_ISA_SET_RDPID, ZYDIS_ISA_SET_RDPID, kInNoLevel},
    {ZYDIS_ISA_SET_RDPRU, ZYDIS_ISA_SET_RDSEED, kInNoLevel},
    {ZYDIS_ISA_SET_RDWRFSGS, ZYDIS_ISA_SET_SERIALIZE, kInNoLevel},
    {ZYDIS_ISA_SET_SHA, ZYDIS_ISA_SET_SHA, kInNoLevel},
    {ZYDIS_ISA_SET_SSE3, ZYDIS_ISA_SET_SSE42, CpuLevel::V2},
    {ZYDIS_ISA_SET_SSE4A, ZYDIS_ISA_SET_SSE4A, kInNoLevel},
    {ZYDIS_ISA_SET_SSSE3, ZYDIS_ISA_SET_SSSE3MMX, CpuLevel::V2},
    {ZYDIS_ISA_SET_TBM, ZYDIS_ISA_SET_TBM, kInNoLevel},
    {ZYDIS_ISA_SET_TSX_LDTRK, ZYDIS_ISA_SET_VAES, kInNoLevel},
    {ZYDIS_ISA_SET_VPCLMULQDQ, ZYDIS_ISA_SET_VPCLMULQDQ, kInNoLevel},
    {ZYDIS_ISA_SET_WAITPKG, ZYDIS_ISA_SET_WAITPKG, kInNoLevel},
    {ZYDIS_ISA_SET_XOP, ZYDIS_ISA_SET_XOP, kInNoLevel},
    {ZYDIS_ISA_SET_XSAVE, ZYDIS_ISA_SET_XSAVE, CpuLevel::V3},
    {ZYDIS_ISA_SET_XSAVEC, ZYDIS_ISA_SET_XSAVES, kInNoLevel},
};

CpuLevel lowest_with(const ZydisDecodedInstruction& raw) {
  static const auto levels = [] {
    std::array<CpuLevel, ZYDIS_ISA_SET_MAX_VALUE + 1> of_sets;
    of_sets.fill(CpuLevel::V1);
    for (const SetRow& row : kSetRows) {
      for (int set = row.first; set <= row.last; ++set) of_sets[static_cast<std::size_t>(set)] = row.from;
    }
    return of_sets;
  }();
  // TZCNT is BSF where it is not known, which gives the same of all but 0, so compilers take it for that.
  if (raw.meta.isa_set == ZYDIS_ISA_SET_BMI1) return raw.mnemonic == ZYDIS_MNEMONIC_TZCNT ? CpuLevel::V1 : CpuLevel::V3;
  return levels[raw.meta.isa_set];
}

/// Whether the opcode is one of the maps that extensions use, or RTM's: most instructions need not be looked at closer.
bool may_be_extension(std::span<const std::uint8_t> code) {
  constexpr std::string_view kBeforeOpcode = "\x26\x2E\x36\x3E\x64\x65\x66\x67\xF0\xF2\xF3";
  constexpr std::string_view kOfExtensions = "\x0F\x62\x8F\xC4\xC5\xC6\xC7";
  for (const std::uint8_t byte : code) {
    const bool is_prefix =
        (byte & 0xF0) == 0x40 || kBeforeOpcode.find(static_cast<char>(byte)) != std::string_view::npos;
    if (!is_prefix) return kOfExtensions.find(static_cast<char>(byte)) != std::string_view::npos;
  }
  return false;
}

}  // namespace

bool is_beyond(arch::CpuLevel level, std::span<const std::uint8_t> code) {
  if (!may_be_extension(code)) return false;
  ZydisDecodedInstruction raw;
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;
  return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&zydis_decoder(), code.data(), code.size(), &raw, operands.data())) &&
         lowest_with(raw) > level;
}

}  // namespace zs::isa
