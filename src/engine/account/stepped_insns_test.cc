// What is remembered of an instruction is what decoding it again would say.
#include "engine/account/stepped_insns.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <span>

namespace zs::engine {
namespace {

using Code = std::array<std::uint8_t, 15>;
constexpr std::uint64_t kPcOfCode = 0x40'1000;
constexpr Code kPushRax{0x50}, kMovsb{0xF3, 0xA4}, kXsave{0x0F, 0xAE, 0x20}, kNoInstruction{0x06};

class SteppedInsnsTest : public testing::Test {
 protected:
  /// Decodes twice, so that the second is remembered.
  void expect_decoded(std::uint64_t pc, std::span<const std::uint8_t> code) {
    const std::optional<Insn> expected = decode(pc, code);
    for (int i = 0; i < 2; ++i) {
      const Insn* const insn = stepped_.find(pc, code, {});
      ASSERT_EQ(insn != nullptr, expected.has_value());
      if (!expected) continue;
      EXPECT_EQ(insn->pc, pc);
      EXPECT_EQ(insn->length, expected->length);
      EXPECT_EQ(insn->bytes, expected->bytes);
      EXPECT_EQ(insn->facts.rep_string, expected->facts.rep_string);
      EXPECT_EQ(insn->memory_count, expected->memory_count);
    }
  }
  SteppedInsns stepped_;
};

TEST_F(SteppedInsnsTest, FollowsCodeThatChanges) {
  for (int round = 0; round < 2; ++round) {
    for (const Code& code : {kPushRax, kMovsb, kNoInstruction, kXsave, kNoInstruction, kMovsb})
      expect_decoded(kPcOfCode, code);
  }
}

TEST_F(SteppedInsnsTest, TellsPlacesApart) {
  // Far more than are remembered, some in each other's place.
  for (std::uint64_t pc = kPcOfCode; pc < kPcOfCode + 2000; ++pc) expect_decoded(pc, pc % 3 == 0 ? kMovsb : kPushRax);
  for (std::uint64_t pc = kPcOfCode; pc < kPcOfCode + 2000; ++pc) expect_decoded(pc, pc % 3 == 0 ? kMovsb : kPushRax);
}

TEST_F(SteppedInsnsTest, WantsAllBytes) {
  expect_decoded(kPcOfCode, kMovsb);
  expect_decoded(kPcOfCode, std::span(kMovsb).first(1));
}

}  // namespace
}  // namespace zs::engine
