#include "uarch/timing/retirement_order.h"

#include <gtest/gtest.h>

#include <vector>

#include "uarch/core_model.h"
#include "uarch/reference/code_kernels.h"

namespace zs::uarch {
namespace {

constexpr std::uint64_t kCycle = kUnitsPerCycle;

// clang-format off
/// Additions around a load that gives its own next address.
const kernels::Bytes kChase = {
    0x48, 0x83, 0xC1, 0x01,   // add rcx, 1
    0x48, 0x83, 0xC2, 0x01,   // add rdx, 1
    0x48, 0x8B, 0x00,         // mov rax, [rax]
    0x48, 0x83, 0xC6, 0x01};  // add rsi, 1
/// The same around a division of its own quotient.
const kernels::Bytes kDivision = {
    0x48, 0x83, 0xC1, 0x01,   // add rcx, 1
    0x31, 0xD2,               // xor edx, edx
    0xF7, 0xF6,               // div esi
    0x48, 0x83, 0xC1, 0x01};  // add rcx, 1
// clang-format on

class Retirement : public testing::Test {
 protected:
  std::uint64_t pass(const kernels::Bytes& code, std::uint64_t start, std::vector<CoreClock::Event> events) {
    const Block block = kernels::block_of(code);
    order_.learn(1, block);
    order_.passed(1, start, events);
    return block[2].pc;
  }
  const CoreModel& model_ = *find_core_model("skylake-server");
  RetirementOrder order_{model_.timing, memory_limits(model_.memory)};
};

TEST_F(Retirement, WaitsForALoadThatMissed) {
  const std::uint64_t load =
      pass(kChase, 10 * kCycle, {{.at = 0, .time = 300, .cause = SlotCause::Dram, .is_load = true}});
  EXPECT_EQ(order_.waiting_at(20 * kCycle), load);
  EXPECT_EQ(order_.waiting_at(309 * kCycle), load);
  EXPECT_EQ(order_.waiting_at(320 * kCycle), 0U) << "all has retired";
}

TEST_F(Retirement, WaitsForTheOldestThatIsNotComplete) {
  const std::uint64_t load = pass(kChase, 0, {{.at = 0, .time = 300, .cause = SlotCause::Dram, .is_load = true}});
  pass(kChase, kCycle, {{.at = 0, .time = 300, .cause = SlotCause::Dram, .is_load = true}});
  EXPECT_EQ(order_.waiting_at(100 * kCycle), load);
  EXPECT_EQ(order_.waiting_at(400 * kCycle), load) << "the second, whose address is the first one's data";
  EXPECT_EQ(order_.waiting_at(700 * kCycle), 0U);
}

TEST_F(Retirement, WaitsForAQuotientAndForTheDivider) {
  std::uint64_t divide = 0;
  for (std::uint64_t i = 0; i < 10; ++i) divide = pass(kDivision, i * kCycle, {});
  for (std::uint64_t cycle = 12; cycle < 60; cycle += 4) EXPECT_EQ(order_.waiting_at(cycle * kCycle), divide) << cycle;
}

TEST_F(Retirement, WaitsForAStoreThatHasNoRoomInTheStoreBuffer) {
  const kernels::Bytes code = {0x48, 0x83, 0xC1, 0x01, 0x48, 0x83,
                               0xC2, 0x01, 0x48, 0x89, 0x08};  // ..., mov [rax], rcx
  const std::uint64_t store =
      pass(code, 0, {{.at = 2, .time = 50 * kCycle, .cause = SlotCause::StoreBuffer, .is_load = false}});
  EXPECT_EQ(order_.waiting_at(30 * kCycle), store);
}

TEST_F(Retirement, ForgetsBlocks) {
  pass(kChase, 0, {});
  EXPECT_TRUE(order_.knows(1));
  order_.forget();
  EXPECT_FALSE(order_.knows(1));
}

}  // namespace
}  // namespace zs::uarch
