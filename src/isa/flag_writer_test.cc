#include "isa/flag_writer.h"

#include <Zydis/Zydis.h>
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "isa/test_insns.h"

namespace zs::isa {
namespace {

constexpr ZydisAccessedFlagsMask kStatusFlags =
    ZYDIS_CPUFLAG_CF | ZYDIS_CPUFLAG_PF | ZYDIS_CPUFLAG_AF | ZYDIS_CPUFLAG_ZF | ZYDIS_CPUFLAG_SF | ZYDIS_CPUFLAG_OF;

TEST(FlagWriter, TakesComparisonsAndArithmeticOfRegisters) {
  EXPECT_TRUE(overwrites_flags(of({0x48, 0x39, 0xD8})));        // cmp rax, rbx
  EXPECT_TRUE(overwrites_flags(of({0x83, 0xC1, 0x01})));        // add ecx, 1
  EXPECT_TRUE(overwrites_flags(of({0x66, 0x41, 0x29, 0xC0})));  // sub r8w, ax
  EXPECT_TRUE(overwrites_flags(of({0xF7, 0xD8})));              // neg eax
}

TEST(FlagWriter, TakesNothingThatKeepsAFlagReadsOneOrMayFault) {
  EXPECT_FALSE(overwrites_flags(of({0xFF, 0xC0})));        // inc eax: CF stays
  EXPECT_FALSE(overwrites_flags(of({0x11, 0xD8})));        // adc eax, ebx
  EXPECT_FALSE(overwrites_flags(of({0x19, 0xC0})));        // sbb eax, eax
  EXPECT_FALSE(overwrites_flags(of({0xC1, 0xE0, 0x03})));  // shl eax, 3
  EXPECT_FALSE(overwrites_flags(of({0xF7, 0xD0})));        // not eax
  EXPECT_FALSE(overwrites_flags(of({0x39, 0x03})));        // cmp [rbx], eax
  EXPECT_FALSE(overwrites_flags(of({0x89, 0xD8})));        // mov eax, ebx
  EXPECT_FALSE(overwrites_flags(of({0x74, 0x02})));        // jz
}

TEST(FlagWriter, NeverTakesWhatZydisSaysLeavesOrReadsAStatusFlag) {
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  std::mt19937_64 random(1);
  int taken = 0;
  for (int i = 0; i < 400'000; ++i) {
    std::array<std::uint8_t, 15> bytes{};
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
    if (i % 2 == 0) bytes[0] = static_cast<std::uint8_t>(0x40 | (bytes[0] & 15));
    const auto insn = decode(0x1000, bytes);
    if (!insn || !overwrites_flags(*insn)) continue;
    ++taken;
    ZydisDecodedInstruction zydis;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    ASSERT_TRUE(ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes.data(), bytes.size(), &zydis, operands)));
    const auto& flags = *zydis.cpu_flags;
    EXPECT_EQ((flags.modified | flags.set_0 | flags.set_1 | flags.undefined) & kStatusFlags, kStatusFlags)
        << zydis.mnemonic;
    EXPECT_EQ(flags.undefined & kStatusFlags & ~ZYDIS_CPUFLAG_AF, 0u) << zydis.mnemonic;
    EXPECT_EQ(flags.tested & kStatusFlags, 0u) << zydis.mnemonic;
    for (std::size_t at = 0; at < zydis.operand_count; ++at)
      EXPECT_NE(operands[at].type, ZYDIS_OPERAND_TYPE_MEMORY) << zydis.mnemonic;
  }
  EXPECT_GT(taken, 5000);
}

}  // namespace
}  // namespace zs::isa
