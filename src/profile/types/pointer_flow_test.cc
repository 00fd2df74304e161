#include "profile/types/pointer_flow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "isa/register_flow.h"
#include "profile/types/test_debug_image.h"

namespace zs::profile {
namespace {

using testing::DebugImage;
using ::testing::ElementsAre;
using testing::Entry;
using namespace zs::profile::testing;  // how attributes are called

std::string code(std::initializer_list<unsigned> bytes) {
  std::string text;
  for (const unsigned byte : bytes) text += static_cast<char>(byte);
  return text;
}

/// struct node { long value; struct node* next; }
Entry add_node(DebugImage& debug, Entry word) {
  const Entry node = debug.reserve();
  const Entry pointer = debug.pointer_to(node);
  debug.begin(node, DW_TAG_structure_type, {named("node"), sized(16)});
  debug.entry(DW_TAG_member, {named("value"), typed(word), at_offset(0)});
  debug.entry(DW_TAG_member, {named("next"), typed(pointer), at_offset(8)});
  debug.end();
  return node;
}

/// "struct node +8 .next" of each operand of the function in turn, with the variable in front if it is one; "?" of what
/// is unknown.
std::vector<std::string> operands_of(DebugImage& debug) {
  const auto image = debug.open();
  DataTypes types(*image);
  FunctionTable functions(types);
  PointerFlow flow(types, functions);
  std::vector<std::string> all;
  const Bytes bytes = image->code(ImageAddress{DebugImage::kCode}, 4096);
  const std::span<const std::uint8_t> raw{reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
  for (std::size_t at = 0; at < raw.size();) {
    const auto one = isa::decode_flow(DebugImage::kCode + at, raw.subspan(at));
    if (!one) break;
    at += one->insn.length;
    if (one->flow.kind == isa::RegisterFlow::Kind::Push || one->flow.kind == isa::RegisterFlow::Kind::Pop) continue;
    for (std::size_t i = 0; i < one->insn.memory_count && one->insn.flow == isa::Flow::Plain; ++i) {
      const auto part = flow.part_of(ImageAddress{one->insn.pc}, one->insn.memory[i], one->insn.next());
      if (!part) {
        all.emplace_back("?");
        continue;
      }
      all.push_back((part->variable != nullptr ? *part->variable + ": " : "") + types.name_of(part->type) + " +" +
                    std::to_string(part->offset) + " " + types.member_at(part->type, part->offset).path);
    }
  }
  return all;
}

/// Of a function of one parameter, a pointer to a node in RDI. Debug information says so at its first byte alone: from
/// there on the code has to be followed.
std::vector<std::string> operands_of_function_of_node(const std::string& bytes) {
  DebugImage debug(bytes);
  const Entry node = add_node(debug, debug.long_type());
  const Entry pointer = debug.pointer_to(node);
  debug.begin_function();
  debug.begin(DW_TAG_lexical_block, code_of(DebugImage::kCode, 1));
  debug.entry(DW_TAG_formal_parameter, {named("first"), typed(pointer), located({DW_OP_reg5})});
  debug.end();
  debug.end();
  return operands_of(debug);
}

TEST(PointerFlow, FollowsPointersThroughLoadsCopiesAndTheStack) {
  // mov 8(%rdi),%rax; mov %rax,%rcx; push %rcx; xor %ecx,%ecx; pop %rdx; mov (%rdx),%rsi; mov 8(%rcx),%rsi; ret
  EXPECT_THAT(operands_of_function_of_node(code({0x48, 0x8B, 0x47, 0x08, 0x48, 0x89, 0xC1, 0x51, 0x31, 0xC9, 0x5A, 0x48,
                                                 0x8B, 0x32, 0x48, 0x8B, 0x71, 0x08, 0xC3})),
              ElementsAre("struct node +8 .next", "struct node +0 .value", "?"));
}

TEST(PointerFlow, WhereWaysMeetWhatTheyDoNotAgreeOnIsUnknown) {
  // mov 8(%rdi),%rax; test %rax,%rax; je 1f; xor %eax,%eax; 1: mov (%rax),%rcx; mov (%rdi),%rcx; ret
  EXPECT_THAT(operands_of_function_of_node(code({0x48, 0x8B, 0x47, 0x08, 0x48, 0x85, 0xC0, 0x74, 0x02, 0x31, 0xC0, 0x48,
                                                 0x8B, 0x08, 0x48, 0x8B, 0x0F, 0xC3})),
              ElementsAre("struct node +8 .next", "?", "struct node +0 .value"));
}

TEST(PointerFlow, ALoopThatMovesAPointerOnAgreesWithItself) {
  // 1: mov (%rdi),%rax; mov 8(%rdi),%rdi; test %rdi,%rdi; jne 1b; ret
  EXPECT_THAT(operands_of_function_of_node(
                  code({0x48, 0x8B, 0x07, 0x48, 0x8B, 0x7F, 0x08, 0x48, 0x85, 0xFF, 0x75, 0xF4, 0xC3})),
              ElementsAre("struct node +0 .value", "struct node +8 .next"));
}

TEST(PointerFlow, AVariableOfTheFrameIsFoundThroughItsAddress) {
  // mov %rax,-16(%rsp); lea -24(%rsp),%rcx; mov (%rcx),%rdx; mov 8(%rcx),%rdx; ret
  DebugImage debug(code(
      {0x48, 0x89, 0x44, 0x24, 0xF0, 0x48, 0x8D, 0x4C, 0x24, 0xE8, 0x48, 0x8B, 0x11, 0x48, 0x8B, 0x51, 0x08, 0xC3}));
  const Entry node = add_node(debug, debug.long_type());
  debug.begin_function();
  debug.entry(DW_TAG_variable, {named("local"), typed(node), located({DW_OP_fbreg, 0x60})});  // CFA - 32
  debug.end();
  EXPECT_THAT(operands_of(debug),
              ElementsAre("local: struct node +8 .next", "struct node +0 .value", "struct node +8 .next"));
}

TEST(PointerFlow, AVariableOfThreadsIsFoundThroughTheThreadPointer) {
  // mov %fs:-16,%rax; mov %fs:0,%rcx; mov -8(%rcx),%rdx; lea -16(%rcx),%rsi; mov (%rsi),%rdx; mov -64(%rcx),%rdx;
  // add $-16,%rcx; mov 8(%rcx),%rdx; ret
  DebugImage debug(code({0x64, 0x48, 0x8B, 0x04, 0x25, 0xF0, 0xFF, 0xFF, 0xFF, 0x64, 0x48, 0x8B, 0x0C, 0x25,
                         0,    0,    0,    0,    0x48, 0x8B, 0x51, 0xF8, 0x48, 0x8D, 0x71, 0xF0, 0x48, 0x8B,
                         0x16, 0x48, 0x8B, 0x51, 0xC0, 0x48, 0x83, 0xC1, 0xF0, 0x48, 0x8B, 0x51, 0x08, 0xC3}));
  const Entry node = add_node(debug, debug.long_type());
  debug.entry(DW_TAG_variable,
              {named("mine"), typed(node), located({DW_OP_const8u, 48, 0, 0, 0, 0, 0, 0, 0, DW_OP_form_tls_address})});
  debug.begin_function();
  debug.end();
  EXPECT_THAT(operands_of(debug), ElementsAre("mine: struct node +0 .value", "?", "mine: struct node +8 .next",
                                              "struct node +0 .value", "?", "mine: struct node +8 .next"));
}

TEST(PointerFlow, MoreThanCanBePutAsideIsForgotten) {
  std::string bytes;
  for (std::size_t i = 0; i < PointerFlow::kMostSlots + 1; ++i) bytes += code({0x57});  // push %rdi
  bytes += code({0x58, 0x48, 0x8B, 0x08});                                              // pop %rax; mov (%rax),%rcx
  bytes += code({0x58, 0x48, 0x8B, 0x08, 0xC3});
  EXPECT_THAT(operands_of_function_of_node(bytes), ElementsAre("?", "struct node +0 .value"));
}

TEST(PointerFlow, CodeOfNoFunctionThatDebugInformationKnowsIsUnknown) {
  DebugImage debug(code({0x48, 0x8B, 0x07, 0xC3}));
  EXPECT_THAT(operands_of(debug), ElementsAre("?"));
}

TEST(FunctionTable, AVariableInPiecesHasAPlaceForEach) {
  DebugImage debug(code({0xC3}));
  const Entry node = add_node(debug, debug.long_type());
  debug.begin_function();
  debug.entry(DW_TAG_variable,
              {named("pair"), typed(node), located({DW_OP_reg3, DW_OP_piece, 8, DW_OP_breg7, 16, DW_OP_piece, 8})});
  debug.end();
  const auto image = debug.open();
  DataTypes types(*image);
  FunctionTable functions(types);
  const FunctionVariables* const found = functions.at(ImageAddress{DebugImage::kCode});
  ASSERT_NE(found, nullptr);
  ASSERT_EQ(found->places.size(), 2U);
  EXPECT_EQ(found->places[0].in, VariablePlace::In::Register);
  EXPECT_EQ(found->places[0].base, isa::kRbx);
  EXPECT_EQ(found->places[1].in, VariablePlace::In::Memory);
  EXPECT_EQ(found->places[1].base, isa::kRsp);
  EXPECT_EQ(found->places[1].offset, 16);
  EXPECT_EQ(found->places[1].piece, 8U);
}

TEST(FunctionTable, WhatAnExpressionComputesFromMemoryIsNoPlace) {
  DebugImage debug(code({0xC3}));
  const Entry word = debug.long_type();
  debug.begin_function();
  debug.entry(DW_TAG_variable,
              {named("a"), typed(word), located({DW_OP_breg6, 0x78, DW_OP_deref, DW_OP_lit8, DW_OP_plus})});
  debug.entry(DW_TAG_variable, {named("b"), typed(word), located({DW_OP_plus})});
  debug.entry(DW_TAG_variable,
              {named("c"), typed(word), located({DW_OP_entry_value, 1, DW_OP_reg5, DW_OP_stack_value})});
  debug.end();
  const auto image = debug.open();
  DataTypes types(*image);
  FunctionTable functions(types);
  const FunctionVariables* const found = functions.at(ImageAddress{DebugImage::kCode});
  ASSERT_NE(found, nullptr);
  EXPECT_TRUE(found->places.empty());
}

}  // namespace
}  // namespace zs::profile
