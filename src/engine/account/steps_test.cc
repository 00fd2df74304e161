// What an instruction that ran alone is said to have done.
#include "engine/account/steps.h"

#include <gmock/gmock.h>

#include "engine/test_run.h"

namespace zs::engine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class StepsTest : public RunTest {
 protected:
  void SetUp() override {
    count(0, kInstructions, kFar);
    count(1, kLoads, kFar);
    count(2, pmu::kCountStores, kFar);
    count(3, kConditionalsNotTaken, kFar);
    start();
    for (unsigned reg = 0; reg < 16; ++reg) run_.context.gpr[reg] = 0x1000'0000 * (reg + 1);
  }
  static constexpr std::uint64_t kConditionalsNotTaken = 0x41'10C4;
  static constexpr std::uint64_t kPc = Pages::pc(0);

  /// Decodes it at kPc, and says where its first operand is.
  std::uint64_t address(const Bytes& bytes) {
    const auto insn = decode(kPc, bytes);
    EXPECT_TRUE(insn && insn->memory_count != 0);
    return insn ? accountant_.steps.effective_address(insn->memory[0], insn->next()) : 0;
  }
  /// It is about to run, alone.
  void begin(const Bytes& bytes) {
    code_.put(0, bytes);
    run_.thread->pc = kPc;
    accountant_.steps.begin(true);
  }
  /// And has.
  void retire(std::uint64_t next, bool taken = false) {
    run_.thread->pc = next;
    accountant_.steps.retire(taken);
  }
};

TEST_F(StepsTest, AddressesAreTheSumThatTheInstructionSays) {
  EXPECT_EQ(address({0x8B, 0x44, 0xB7, 0xF8}), 0x8000'0000U + 4 * 0x7000'0000ULL - 8) << "[rdi + rsi * 4 - 8]";
  EXPECT_EQ(address({0x8B, 0x05, 0x10, 0, 0, 0}), kPc + 6 + 0x10) << "[rip + 16]";
}

TEST_F(StepsTest, AddressesOf32BitsWrap) {
  run_.gpr(kRdi) = 0xF'FFFF'FFF0;
  EXPECT_EQ(address({0x67, 0x8B, 0x47, 0x20}), 0x10U);
  EXPECT_EQ(address({0x8B, 0x47, 0x20}), 0x10'0000'0010U);
}

TEST_F(StepsTest, AddressesOfSegmentsHaveTheirBase) {
  run_.context.fs_base = 0x7000'0000'0000;
  run_.context.gs_base = 0x6000'0000'0000;
  EXPECT_EQ(address({0x64, 0x8B, 0x07}), 0x7000'8000'0000U);
  EXPECT_EQ(address({0x65, 0x8B, 0x07}), 0x6000'8000'0000U);
  EXPECT_EQ(address({0x64, 0x67, 0x8B, 0x47, 0xFF}), 0x7000'7FFF'FFFFU) << "which is added to 32 bits";
}

TEST_F(StepsTest, TheAddressOfXlatHasAlAlone) {
  run_.gpr(kRax) = 0xFFFF'FF85;
  EXPECT_EQ(address({0xD7}), run_.gpr(kRbx) + 0x85);
}

TEST_F(StepsTest, TheAddressOfABitIsThatOfItsWord) {
  run_.gpr(kRax) = 100;
  EXPECT_EQ(address({0x0F, 0xA3, 0x07}), run_.gpr(kRdi) + 12) << "bt [rdi], eax";
  EXPECT_EQ(address({0x48, 0x0F, 0xA3, 0x07}), run_.gpr(kRdi) + 8) << "bt [rdi], rax";
  EXPECT_EQ(address({0x66, 0x0F, 0xA3, 0x07}), run_.gpr(kRdi) + 12) << "bt [rdi], ax";
  run_.gpr(kRax) = 0x1'0000'FFFF;
  EXPECT_EQ(address({0x66, 0x0F, 0xA3, 0x07}), run_.gpr(kRdi) - 2) << "16 bits are signed";
  EXPECT_EQ(address({0x0F, 0xA3, 0x07}), run_.gpr(kRdi) + 4 * (0xFFFF / 32));
}

TEST_F(StepsTest, AreRetiredOnce) {
  begin({0xFF, 0xC0});
  retire(kPc + 2);
  retire(kPc + 2);
  EXPECT_EQ(counter(0), 1U);
  EXPECT_THAT(pmis_, ElementsAre(kPc + 2));
}

TEST_F(StepsTest, AreNotRetiredWhereThereIsNoInstruction) {
  begin({0x06});
  retire(kPc + 1);
  EXPECT_EQ(counter(0), 0U);
  EXPECT_THAT(pmis_, IsEmpty());
}

TEST_F(StepsTest, OfRepStringsCountTheElementsThatWereDone) {
  run_.gpr(kRcx) = 1000;
  begin({0xF3, 0xA4});
  run_.gpr(kRcx) = 10;  // a fault came
  retire(kPc);
  EXPECT_EQ(counter(0), 1U);
  EXPECT_EQ(counter(1), 990U);
  EXPECT_EQ(counter(2), 990U);
}

TEST_F(StepsTest, OfRepStringsWith32BitCountTheirUpperHalfSaysNothing) {
  run_.gpr(kRcx) = 0x7'0000'0003;
  begin({0x67, 0xF3, 0xA4});
  run_.gpr(kRcx) = 0;
  retire(kPc + 3);
  EXPECT_EQ(counter(2), 3U);
}

/// Loads and stores that cross a line, and where they are.
class StepsOfSplits : public StepsTest {
 protected:
  void SetUp() override {
    count(0, 0x41'41D0, kFar);  // split loads
    count(1, 0x41'42D0, kFar);  // split stores
    start();
  }
};

TEST_F(StepsOfSplits, CountThoseOfEachOperand) {
  run_.gpr(kRdi) = 0x103E;
  run_.gpr(kRsi) = 0x2000;
  begin({0x01, 0x07});  // add [rdi], eax
  retire(kPc + 2);
  EXPECT_EQ(counter(0), 1U);
  EXPECT_EQ(counter(1), 1U);
  begin({0x8B, 0x06});  // mov eax, [rsi]
  retire(kPc + 2);
  run_.gpr(kRdi) = 0x103C;
  begin({0x01, 0x07});
  retire(kPc + 2);
  EXPECT_EQ(counter(0), 1U);
  EXPECT_EQ(counter(1), 1U);
}

TEST_F(StepsOfSplits, CountThoseOfTheElementsOfRepStrings) {
  run_.gpr(kRsi) = 0x1002;  // each 16th dword crosses
  run_.gpr(kRdi) = 0x2000;
  run_.gpr(kRcx) = 64;
  begin({0xF3, 0xA5});
  run_.gpr(kRcx) = 0;
  retire(kPc + 2);
  EXPECT_EQ(counter(0), 4U);
  EXPECT_EQ(counter(1), 0U);
}

TEST_F(StepsTest, OfBranchesSayWhetherTheyWereTaken) {
  begin({0x74, 0x10});
  retire(kPc + 2, false);
  EXPECT_EQ(counter(3), 1U);
  begin({0x74, 0x10});
  retire(kPc + 0x12, true);
  EXPECT_EQ(counter(3), 1U);
}

// It ran among others, up to a stop that was passed; the flags in front of it say where it went.
TEST_F(StepsTest, ABranchThatRanAmongOthersWentWhereTheFlagsSay) {
  constexpr std::uint64_t kZero = 0x40;
  std::uint64_t gprs[16] = {};
  code_.put(0, {0x74, 0x10});
  accountant_.steps.retire_branch(kPc, gprs, 0x202);
  EXPECT_EQ(counter(3), 1U);
  accountant_.steps.retire_branch(kPc, gprs, 0x202 | kZero);
  EXPECT_EQ(counter(3), 1U);
  EXPECT_THAT(pmis_, ElementsAre(kPc + 2, kPc + 0x12));
}

TEST_F(StepsTest, AnInstructionThatRanAmongOthersIsRetiredWithTheRegistersThatItLeft) {
  std::uint64_t gprs[16] = {};
  gprs[kRdx] = 77;
  arch::RegisterFile at;
  heard_.at_pmi = [&](const arch::RegisterFile& registers) { at = registers; };
  code_.put(0, {0x8B, 0x17});  // mov edx, [rdi]
  accountant_.steps.retire_behind(kPc, kPc + 2, gprs, 0x246);
  EXPECT_EQ(counter(0), 1U);
  EXPECT_EQ(counter(1), 1U);
  EXPECT_EQ(at.dx, 77U);
  EXPECT_EQ(at.flags, 0x246U);
  EXPECT_EQ(at.ip, kPc + 2);
}

}  // namespace
}  // namespace zs::engine
