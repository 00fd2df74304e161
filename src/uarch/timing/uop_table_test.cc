// Shapes and costs of instructions against what the manuals say of them.
#include "uarch/timing/uop_table.h"

#include <Zydis/Zydis.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "uarch/timing/shape.h"

namespace zs::uarch {
namespace {

using Bytes = std::vector<std::uint8_t>;

InstructionShape shape(const Bytes& code) {
  const auto found = shape_of(code);
  EXPECT_TRUE(found.has_value());
  return found.value_or(InstructionShape{});
}

constexpr RegisterSet kRax = reg::bit(0), kRcx = reg::bit(1), kRsp = reg::bit(4), kRsi = reg::bit(6),
                      kRdi = reg::bit(7), kAllFlags = reg::bit(reg::kCarry) | reg::bit(reg::kFlags);

TEST(InstructionShape, KeepsOperandsAddressesAndFlagsApart) {
  const auto add = shape({0x48, 0x03, 0x04, 0x37});  // add rax, [rdi + rsi]
  EXPECT_EQ(add.reads, kRax);
  EXPECT_EQ(add.address, kRdi | kRsi);
  EXPECT_EQ(add.writes, kRax | kAllFlags);
  EXPECT_EQ(add.loads, 1);
  EXPECT_TRUE(add.indexed);

  const auto store = shape({0x89, 0x04, 0x24});  // mov [rsp], eax
  EXPECT_EQ(store.reads, kRax);
  EXPECT_EQ(store.address, kRsp);
  EXPECT_EQ(store.writes, 0U);
  EXPECT_EQ(store.stores, 1);

  const auto lea = shape({0x48, 0x8D, 0x04, 0x37});  // lea rax, [rdi + rsi]
  EXPECT_EQ(lea.reads, kRdi | kRsi);
  EXPECT_EQ(lea.loads + lea.stores, 0);

  const auto inc = shape({0x48, 0xFF, 0xC1});  // inc rcx
  EXPECT_EQ(inc.writes, kRcx | reg::bit(reg::kFlags)) << "INC leaves the carry alone";
}

TEST(InstructionShape, LetsAPartialWriteDependOnTheWholeRegister) {
  EXPECT_EQ(shape({0x88, 0xC8}).reads, kRax | kRcx);                                // mov al, cl
  EXPECT_EQ(shape({0x89, 0xC8}).reads, kRcx);                                       // mov eax, ecx
  EXPECT_EQ(shape({0xF2, 0x0F, 0x2A, 0xC0}).reads, kRax | reg::bit(reg::kVector));  // cvtsi2sd xmm0, eax
  EXPECT_EQ(shape({0x0F, 0x44, 0xC1}).reads, kRax | kRcx | reg::bit(reg::kFlags));  // cmovz eax, ecx
}

TEST(InstructionShape, KnowsIdiomsCopiesAndTheStackEngine) {
  EXPECT_TRUE(shape({0x31, 0xC0}).zero_idiom);   // xor eax, eax
  EXPECT_FALSE(shape({0x31, 0xC8}).zero_idiom);  // xor eax, ecx
  EXPECT_FALSE(shape({0x30, 0xC0}).zero_idiom);  // xor al, al
  EXPECT_EQ(shape({0x48, 0x89, 0xC8}).copy, CopyKind::General);
  EXPECT_EQ(shape({0x0F, 0xB6, 0xC1}).copy, CopyKind::General);  // movzx eax, cl
  EXPECT_EQ(shape({0x0F, 0xB6, 0xC5}).copy, CopyKind::None);     // movzx eax, ch
  EXPECT_EQ(shape({0x0F, 0x28, 0xC1}).copy, CopyKind::Vector);   // movaps xmm0, xmm1
  const auto push = shape({0x50});
  EXPECT_EQ(push.writes & kRsp, 0U);
  EXPECT_EQ(push.address, kRsp);
  EXPECT_EQ(push.stores, 1);
}

TEST(InstructionShape, SeesALengthChangingPrefixOnlyWhereTheImmediateChanges) {
  EXPECT_TRUE(shape({0x66, 0x05, 0x34, 0x12}).changes_length);         // add ax, 1234H
  EXPECT_FALSE(shape({0x05, 0x34, 0x12, 0, 0}).changes_length);        // add eax, 1234H
  EXPECT_FALSE(shape({0x66, 0x83, 0xC0, 0x12}).changes_length);        // add ax, 12H
  EXPECT_FALSE(shape({0x66, 0x0F, 0x70, 0xC1, 0x12}).changes_length);  // pshufd xmm0, xmm1, 12H
}

TEST(InstructionShape, RefusesWhatIsNoInstruction) {
  EXPECT_FALSE(shape_of(Bytes{0x06}).has_value());
  EXPECT_FALSE(shape_of(Bytes{0x48}).has_value());
  EXPECT_FALSE(shape_of({}).has_value());
}

// ---- the table
// ------------------------------------------------------------------------------------------------------------

TEST(UopTable, HasConsistentRows) {
  for (const data::FormRow& row : data::forms()) {
    ASSERT_LE(row.mnemonic, ZYDIS_MNEMONIC_MAX_VALUE);
    for (std::size_t column = 0; column < data::kColumns; ++column) {
      ASSERT_LT(row.classes[column], data::classes(column).size());
    }
  }
  for (std::size_t column = 0; column < data::kColumns; ++column) {
    EXPECT_EQ(data::classes(column)[0].source, UopSource::Unknown);
    for (const UopClass& row : data::classes(column).subspan(1)) {
      EXPECT_NE(row.source, UopSource::Unknown);
      EXPECT_GE(row.slots, 1);
      for (const PortUse& use : row.uses) EXPECT_EQ(use.cycles == 0, use.ports == 0);
    }
  }
}

TEST(UopTable, HasOneRowForAForm) {
  std::vector<std::pair<unsigned, unsigned>> keys;
  for (const data::FormRow& row : data::forms()) keys.emplace_back(row.mnemonic, row.signature);
  std::ranges::sort(keys);
  EXPECT_EQ(std::ranges::adjacent_find(keys), keys.end());
}

TEST(UopTable, KnowsWhatIsPublishedOfHotForms) {
  struct Case {
    Bytes code;
    UopColumn core;
    unsigned slots, uops, latency;
  };
  const Case cases[] = {
      {{0x48, 0x01, 0xC8}, UopColumn::SkylakeServer, 1, 1, 1},         // add rax, rcx
      {{0x48, 0x03, 0x07}, UopColumn::SkylakeServer, 1, 2, 1},         // add rax, [rdi]
      {{0x48, 0x01, 0x07}, UopColumn::SkylakeServer, 2, 4, 1},         // add [rdi], rax
      {{0x48, 0xFF, 0x07}, UopColumn::SkylakeServer, 2, 4, 1},         // inc [rdi]
      {{0x48, 0x83, 0x07, 0x01}, UopColumn::SapphireRapids, 2, 4, 1},  // add [rdi], 1
      {{0x83, 0x2F, 0x01}, UopColumn::Zen4, 1, 1, 1},                  // sub [rdi], 1
      {{0x48, 0xC1, 0x27, 0x04}, UopColumn::Haswell, 2, 4, 1},         // shl [rdi], 4
      {{0x48, 0x0F, 0xAF, 0x07}, UopColumn::SkylakeServer, 1, 2, 3},   // imul rax, [rdi]
      {{0x48, 0x0F, 0xAF, 0xC1}, UopColumn::Haswell, 1, 1, 3},         // imul rax, rcx
      {{0xF2, 0x0F, 0x58, 0xC1}, UopColumn::Haswell, 1, 1, 3},         // addsd xmm0, xmm1
      {{0xF2, 0x0F, 0x58, 0xC1}, UopColumn::SkylakeServer, 1, 1, 4},
      {{0xF2, 0x0F, 0x58, 0x07}, UopColumn::SkylakeServer, 1, 2, 4},  // addsd xmm0, [rdi]
      {{0x50}, UopColumn::IcelakeServer, 1, 2, 0},                    // push rax
      {{0x58}, UopColumn::Haswell, 1, 1, 0},                          // pop rax
      {{0xF7, 0xF1}, UopColumn::SkylakeServer, 10, 10, 26},           // div ecx
      {{0x48, 0xF7, 0xF1}, UopColumn::IcelakeServer, 4, 4, 15},       // div rcx
      {{0x48, 0x11, 0xC8}, UopColumn::Haswell, 2, 2, 2},              // adc rax, rcx
      {{0x48, 0x11, 0xC8}, UopColumn::SkylakeServer, 1, 1, 1},
      {{0xD9, 0xC9}, UopColumn::Haswell, 2, 2, 2},           // fxch
      {{0xDD, 0x07}, UopColumn::SkylakeServer, 1, 1, 0},     // fld qword [rdi]
      {{0xDB, 0x2F}, UopColumn::SkylakeServer, 4, 4, 2},     // fld tbyte [rdi]
      {{0xDB, 0x3F}, UopColumn::Haswell, 7, 7, 0},           // fstp tbyte [rdi]
      {{0xD9, 0xFE}, UopColumn::SkylakeServer, 79, 79, 85},  // fsin: 53 to 105 uops
      {{0xD9, 0xFC}, UopColumn::SkylakeServer, 17, 17, 21},  // frndint
  };
  for (const Case& c : cases) {
    const UopClass& row = UopTable(c.core).of(shape(c.code));
    EXPECT_EQ(row.slots, c.slots) << testing::PrintToString(c.code);
    EXPECT_EQ(row.uops, c.uops) << testing::PrintToString(c.code);
    EXPECT_EQ(row.latency, c.latency) << testing::PrintToString(c.code);
  }
}

}  // namespace
}  // namespace zs::uarch
