// What single instructions count as. Bytes are given as the processor fetches them; the assembly stands beside.
#include "meaning.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

namespace zs::oracle {
namespace {

using arch::BranchKind;
using arch::FpArith;

Meaning decoded(std::initializer_list<int> bytes) {
  std::vector<std::byte> code;
  for (const int byte : bytes) code.push_back(static_cast<std::byte>(byte));
  code.resize(15);
  const auto meaning = Decoder().decode(code);
  EXPECT_TRUE(meaning.has_value());
  EXPECT_EQ(meaning->length, bytes.size());
  return meaning.value_or(Meaning{});
}

struct Accesses {
  int loads, stores;
  bool operator==(const Accesses&) const = default;
};
Accesses accesses(std::initializer_list<int> bytes) {
  const Meaning meaning = decoded(bytes);
  return {meaning.facts.loads, meaning.facts.stores};
}

TEST(OracleMeaning, CountsOneAccessPerMemoryOperandAndDirection) {
  EXPECT_EQ(accesses({0x48, 0x8B, 0x03}), (Accesses{1, 0}));        // mov rax, [rbx]
  EXPECT_EQ(accesses({0x48, 0x89, 0x03}), (Accesses{0, 1}));        // mov [rbx], rax
  EXPECT_EQ(accesses({0x48, 0x01, 0x03}), (Accesses{1, 1}));        // add [rbx], rax
  EXPECT_EQ(accesses({0x48, 0x39, 0x03}), (Accesses{1, 0}));        // cmp [rbx], rax
  EXPECT_EQ(accesses({0x48, 0x8D, 0x03}), (Accesses{0, 0}));        // lea rax, [rbx]
  EXPECT_EQ(accesses({0xF0, 0x0F, 0xB1, 0x0B}), (Accesses{1, 1}));  // lock cmpxchg [rbx], ecx
  EXPECT_EQ(accesses({0x48, 0x0F, 0x44, 0x03}), (Accesses{1, 0}));  // cmove rax, [rbx]
  EXPECT_EQ(accesses({0x0F, 0x94, 0x03}), (Accesses{0, 1}));        // sete [rbx]
  EXPECT_EQ(accesses({0xD7}), (Accesses{1, 0}));                    // xlat
}

TEST(OracleMeaning, CountsTheStackAsMemory) {
  EXPECT_EQ(accesses({0x50}), (Accesses{0, 1}));              // push rax
  EXPECT_EQ(accesses({0x58}), (Accesses{1, 0}));              // pop rax
  EXPECT_EQ(accesses({0xFF, 0x33}), (Accesses{1, 1}));        // push [rbx]
  EXPECT_EQ(accesses({0x8F, 0x03}), (Accesses{1, 1}));        // pop [rbx]
  EXPECT_EQ(accesses({0xE8, 0, 0, 0, 0}), (Accesses{0, 1}));  // call
  EXPECT_EQ(accesses({0xFF, 0x13}), (Accesses{1, 1}));        // call [rbx]
  EXPECT_EQ(accesses({0xC3}), (Accesses{1, 0}));              // ret
  EXPECT_EQ(accesses({0xC2, 8, 0}), (Accesses{1, 0}));        // ret 8
  EXPECT_EQ(accesses({0xC9}), (Accesses{1, 0}));              // leave
  EXPECT_EQ(accesses({0xC8, 16, 0, 0}), (Accesses{0, 1}));    // enter 16, 0
  EXPECT_EQ(accesses({0x9C}), (Accesses{0, 1}));              // pushfq
  EXPECT_EQ(accesses({0x9D}), (Accesses{1, 0}));              // popfq
}

TEST(OracleMeaning, CountsStringInstructionsPerElement) {
  EXPECT_EQ(accesses({0xF3, 0xA4}), (Accesses{1, 1}));  // rep movsb
  EXPECT_EQ(accesses({0xF3, 0xAA}), (Accesses{0, 1}));  // rep stosb
  EXPECT_EQ(accesses({0xF3, 0xAC}), (Accesses{1, 0}));  // rep lodsb
  EXPECT_EQ(accesses({0xF2, 0xAE}), (Accesses{1, 0}));  // repne scasb
  EXPECT_EQ(accesses({0xF3, 0xA6}), (Accesses{2, 0}));  // repe cmpsb
  EXPECT_TRUE(decoded({0xF2, 0xAE}).facts.rep_string);
  EXPECT_FALSE(decoded({0xAE}).facts.rep_string);
  EXPECT_FALSE(decoded({0xF3, 0xC3}).facts.rep_string);  // rep ret
}

TEST(OracleMeaning, CountsStateSavesOnce) {
  EXPECT_EQ(accesses({0x0F, 0xAE, 0x03}), (Accesses{0, 1}));        // fxsave [rbx]
  EXPECT_EQ(accesses({0x0F, 0xAE, 0x0B}), (Accesses{1, 0}));        // fxrstor [rbx]
  EXPECT_EQ(accesses({0x48, 0x0F, 0xAE, 0x23}), (Accesses{0, 1}));  // xsave64 [rbx]
  EXPECT_EQ(accesses({0x48, 0x0F, 0xC7, 0x23}), (Accesses{0, 1}));  // xsavec64 [rbx]
  EXPECT_EQ(accesses({0x48, 0x0F, 0xAE, 0x2B}), (Accesses{1, 0}));  // xrstor64 [rbx]
}

TEST(OracleMeaning, CountsNoAccessForHintsAndFlushes) {
  EXPECT_EQ(accesses({0x0F, 0x18, 0x03}), (Accesses{0, 0}));        // prefetchnta [rbx]
  EXPECT_EQ(accesses({0x0F, 0x0D, 0x0B}), (Accesses{0, 0}));        // prefetchw [rbx]
  EXPECT_EQ(accesses({0x0F, 0x1F, 0x03}), (Accesses{0, 0}));        // nop [rbx]
  EXPECT_EQ(accesses({0x0F, 0xAE, 0x3B}), (Accesses{0, 0}));        // clflush [rbx]
  EXPECT_EQ(accesses({0x66, 0x0F, 0xAE, 0x3B}), (Accesses{0, 0}));  // clflushopt [rbx]
}

TEST(OracleMeaning, KnowsLockedLoads) {
  EXPECT_TRUE(decoded({0xF0, 0x0F, 0xB1, 0x0B}).facts.locked);  // lock cmpxchg [rbx], ecx
  EXPECT_TRUE(decoded({0x48, 0x87, 0x0B}).facts.locked);        // xchg [rbx], rcx
  EXPECT_FALSE(decoded({0x48, 0x87, 0xCB}).facts.locked);       // xchg rbx, rcx
  EXPECT_FALSE(decoded({0x0F, 0xB1, 0x0B}).facts.locked);       // cmpxchg [rbx], ecx
}

TEST(OracleMeaning, TellsNopsFromHintsThatAreNone) {
  EXPECT_TRUE(decoded({0x90}).facts.nop);
  EXPECT_TRUE(decoded({0x66, 0x90}).facts.nop);
  EXPECT_TRUE(decoded({0x0F, 0x1F, 0x44, 0, 0}).facts.nop);
  EXPECT_FALSE(decoded({0xF3, 0x90}).facts.nop);              // pause
  EXPECT_FALSE(decoded({0xF3, 0x0F, 0x1E, 0xFA}).facts.nop);  // endbr64
  EXPECT_FALSE(decoded({0x41, 0x90}).facts.nop);              // xchg r8d, eax
}

TEST(OracleMeaning, TellsBranchesApart) {
  EXPECT_EQ(decoded({0x75, 0}).facts.branch, BranchKind::Conditional);  // jne
  EXPECT_EQ(decoded({0xE2, 0}).facts.branch, BranchKind::Conditional);  // loop
  EXPECT_EQ(decoded({0xE3, 0}).facts.branch, BranchKind::Conditional);  // jrcxz
  EXPECT_EQ(decoded({0xEB, 0}).facts.branch, BranchKind::RelativeJump);
  EXPECT_EQ(decoded({0xFF, 0xE0}).facts.branch, BranchKind::IndirectJump);  // jmp rax
  EXPECT_EQ(decoded({0xFF, 0x20}).facts.branch, BranchKind::IndirectJump);  // jmp [rax]
  EXPECT_EQ(decoded({0xE8, 0, 0, 0, 0}).facts.branch, BranchKind::RelativeCall);
  EXPECT_EQ(decoded({0xFF, 0xD0}).facts.branch, BranchKind::IndirectCall);  // call rax
  EXPECT_EQ(decoded({0xC3}).facts.branch, BranchKind::Return);
  EXPECT_EQ(decoded({0x0F, 0x05}).facts.branch, BranchKind::Far);        // syscall
  EXPECT_EQ(decoded({0xCC}).facts.branch, BranchKind::Far);              // int3
  EXPECT_EQ(decoded({0x48, 0xCF}).facts.branch, BranchKind::Far);        // iretq
  EXPECT_EQ(decoded({0x48, 0xFF, 0x28}).facts.branch, BranchKind::Far);  // jmp far [rax]
}

TEST(OracleMeaning, CountsFloatingPointArithmeticByTypeAndWidth) {
  struct Row {
    std::initializer_list<int> code;
    FpArith kind;
    int weight;
  };
  const Row rows[] = {
      {{0xF2, 0x0F, 0x58, 0xC1}, FpArith::ScalarDouble, 1},                 // addsd
      {{0xF3, 0x0F, 0x53, 0xC1}, FpArith::ScalarSingle, 1},                 // rcpss
      {{0x66, 0x0F, 0x51, 0xC1}, FpArith::Packed128Double, 1},              // sqrtpd
      {{0x0F, 0x5F, 0xC1}, FpArith::Packed128Single, 1},                    // maxps
      {{0xF2, 0x0F, 0x7C, 0xC1}, FpArith::Packed128Single, 1},              // haddps
      {{0x66, 0x0F, 0x3A, 0x40, 0xC1, 0xFF}, FpArith::Packed128Single, 2},  // dpps
      {{0xC5, 0xFD, 0x58, 0xC1}, FpArith::Packed256Double, 1},              // vaddpd ymm
      {{0xC4, 0xE2, 0xF5, 0xB8, 0xC2}, FpArith::Packed256Double, 2},        // vfmadd231pd ymm
      {{0xC4, 0xE2, 0xF1, 0xB9, 0xC2}, FpArith::ScalarDouble, 2},           // vfmadd231sd
      {{0x62, 0xF1, 0x74, 0x48, 0x59, 0xC2}, FpArith::Packed512Single, 1},  // vmulps zmm
      {{0x62, 0xF2, 0xF5, 0x48, 0xB6, 0xC2}, FpArith::Packed512Double, 2},  // vfmaddsub231pd zmm
      {{0x0F, 0x54, 0xC1}, FpArith::None, 0},                               // andps
      {{0xF2, 0x0F, 0x5A, 0xC1}, FpArith::None, 0},                         // cvtsd2ss
      {{0x66, 0x0F, 0x2F, 0xC1}, FpArith::None, 0},                         // comisd
      {{0xF2, 0x0F, 0x10, 0x03}, FpArith::None, 0},                         // movsd xmm0, [rbx]
  };
  for (const Row& row : rows) {
    const Meaning meaning = decoded(row.code);
    EXPECT_EQ(meaning.facts.fp, row.kind) << ZydisMnemonicGetString(meaning.mnemonic);
    EXPECT_EQ(meaning.facts.fp_weight, row.weight) << ZydisMnemonicGetString(meaning.mnemonic);
  }
}

TEST(OracleMeaning, FormsAddressesAsTheProcessorDoes) {
  Registers registers{};
  registers.rip = 0x1000;
  registers.rsp = 0x8000;
  registers.rbp = 0x9000;
  registers.rbx = 0x2000;
  registers.rax = 0xFF05;
  registers.rdx = static_cast<unsigned long long>(-1);
  registers.fs_base = 0x70'0000;
  const auto address = [&](std::initializer_list<int> bytes, std::size_t operand = 0) {
    const Meaning meaning = decoded(bytes);
    return address_of(meaning, meaning.operand[operand], registers);
  };
  EXPECT_EQ(address({0x48, 0x8B, 0x44, 0x93, 0x10}), 0x2000U - 4 + 0x10);  // mov rax, [rbx + rdx*4 + 16]
  EXPECT_EQ(address({0x8B, 0x05, 0x00, 0x01, 0, 0}), 0x1106U);             // mov eax, [rip + 0x100]
  EXPECT_EQ(address({0x64, 0x48, 0x8B, 0x03}), 0x70'2000U);                // mov rax, fs:[rbx]
  EXPECT_EQ(address({0x67, 0x8B, 0x04, 0x13}), 0x1FFFU);                   // mov eax, [ebx + edx]
  EXPECT_EQ(address({0x50}), 0x7FF8U);                                     // push rax
  EXPECT_EQ(address({0x66, 0x50}), 0x7FFEU);                               // push ax
  EXPECT_EQ(address({0x58}), 0x8000U);                                     // pop rax
  EXPECT_EQ(address({0x8F, 0x44, 0x24, 0x08}), 0x8010U);                   // pop [rsp + 8]
  EXPECT_EQ(address({0xFF, 0x74, 0x24, 0x08}), 0x8008U);                   // push [rsp + 8]
  EXPECT_EQ(address({0xC9}), 0x9000U);                                     // leave
  EXPECT_EQ(address({0xD7}), 0x2005U);                                     // xlat
  EXPECT_EQ(address({0x48, 0x0F, 0xA3, 0x13}), 0x1FF8U);                   // bt [rbx], rdx: bit -1
  EXPECT_EQ(address({0x0F, 0xBA, 0x23, 0x1F}), 0x2000U);                   // bt [rbx], 31
  EXPECT_EQ(address({0xC4, 0xE2, 0xED, 0x92, 0x04, 0x0B}), std::nullopt);  // vgatherdpd
}

TEST(OracleMeaning, CallsAnAccessSplitWhenItTouchesTwoLines) {
  EXPECT_FALSE(is_split(0x1038, 8));
  EXPECT_TRUE(is_split(0x1039, 8));
  EXPECT_FALSE(is_split(0x1000, 64));
  EXPECT_TRUE(is_split(0x1001, 64));
  EXPECT_FALSE(is_split(0x1001, 512));  // xsave moves in pieces
}

TEST(OracleMeaning, JudgesConditionsByFlagsAndCount) {
  Registers registers{};
  registers.rcx = 1;
  registers.eflags = 0x40;                                       // ZF
  EXPECT_TRUE(condition_holds(decoded({0x74, 0}), registers));   // je
  EXPECT_FALSE(condition_holds(decoded({0x77, 0}), registers));  // ja
  EXPECT_TRUE(condition_holds(decoded({0x7D, 0}), registers));   // jge: SF = OF
  EXPECT_FALSE(condition_holds(decoded({0xE2, 0}), registers));  // loop: rcx becomes 0
  registers.rcx = 2;
  EXPECT_TRUE(condition_holds(decoded({0xE1, 0}), registers));   // loope
  EXPECT_FALSE(condition_holds(decoded({0xE0, 0}), registers));  // loopne
  registers.rcx = std::uint64_t{1} << 32;
  EXPECT_FALSE(condition_holds(decoded({0xE3, 0}), registers));       // jrcxz
  EXPECT_TRUE(condition_holds(decoded({0x67, 0xE3, 0}), registers));  // jecxz
}

}  // namespace
}  // namespace zs::oracle
