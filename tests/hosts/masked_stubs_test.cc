// What the engine writes on a host that is described beside this program: no instruction that such a host lacks.
#include <gtest/gtest.h>

#include <span>

#include "arch/this_processor.h"
#include "engine/translate/code_space.h"
#include "engine/translate/line_watch.h"
#include "engine/translate/reserved_addresses.h"
#include "engine/translate/stubs.h"
#include "isa/decode.h"

namespace zs::engine {
namespace {

std::uint64_t nowhere(Context* /*context*/) { return 0; }

TEST(MaskedStubs, HaveNoInstructionThatTheHostLacks) {
  constexpr std::uint32_t kAvx = 1U << 28, kBmi2 = 1U << 8, kLahf = 1;
  const ReservedAddresses reserved;
  const UntouchedEntries untouched{ReservedAddresses::kFirstPrivateFd};
  const CodeCache cache{ReservedAddresses::kBase, ReservedAddresses::kCodeBytes, untouched};
  const Stubs stubs = generate_stubs(cache, nowhere);
  const bool has_avx = (arch::leaf_here(1).ecx & kAvx) != 0;
  unsigned vectors = 0, xsaves = 0, fxsaves = 0;
  for (std::uint64_t at = stubs.enter; at < stubs.choose_stop;) {
    const std::span<const std::uint8_t> bytes(reinterpret_cast<const std::uint8_t*>(at), kLongestInstruction);
    const auto insn = isa::decode(at, bytes);
    ASSERT_TRUE(insn.has_value()) << at - stubs.enter;
    const std::uint8_t first = bytes[insn->opcode_at > 1 ? insn->opcode_at - 2 : 0], opcode = bytes[insn->opcode_at];
    vectors += first == 0xC5 || bytes[0] == 0xC5 || bytes[0] == 0xC4 || bytes[0] == 0x62;
    if (bytes[0] == 0x48 && bytes[1] == 0x0F && opcode == 0xAE) {
      const unsigned extension = bytes[insn->modrm_at] >> 3 & 7;
      xsaves += extension >= 4;
      fxsaves += extension <= 1;
    }
    at += insn->length;
  }
  EXPECT_EQ(vectors != 0, has_avx);
  EXPECT_EQ(xsaves, arch::xcr0_here() != 0 ? 2U : 0U);
  EXPECT_EQ(fxsaves, arch::xcr0_here() != 0 ? 0U : 2U);
  EXPECT_EQ(can_watch_lines(), (arch::leaf_here(7).ebx & kBmi2) != 0);
  EXPECT_EQ(has_lahf(), (arch::leaf_here(0x8000'0001).ecx & kLahf) != 0);
  EXPECT_EQ(xsave_bytes(), arch::xcr0_here() != 0 ? arch::leaf_here(0xD).ebx : 576U);
}

}  // namespace
}  // namespace zs::engine
