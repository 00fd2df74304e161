// Paths as code give what the same paths give by hand.
#include "uarch/machine/path_code.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <span>

#include "uarch/core_model.h"
#include "uarch/machine/made_up_program.h"
#include "uarch/machine/modelled_machine.h"
#include "uarch/test_names.h"

namespace zs::uarch {
namespace {

class EveryPathCode : public testing::TestWithParam<CoreModel> {
 protected:
  /// The made-up program on a machine with so much room for code, and on one with none.
  static void compare(const CoreModel& model, std::size_t code_bytes, bool mild, std::uint64_t seed) {
    const MadeUpProgram program(seed, 300, false, mild);
    const auto stream = program.run(100'000, seed + 20);
    const MachineOptions options{.depth = Depth::Fast, .tells_branches = false, .code_bytes = code_bytes};
    MachineOptions by_hand_options = options;
    by_hand_options.code_bytes = 0;
    ModelledMachine machine(model, options), by_hand_machine(model, by_hand_options);
    const auto thread = machine.attach_thread();
    const auto by_hand = by_hand_machine.attach_thread();
    Runner runner(*thread), by_hand_runner(*by_hand);
    for (std::size_t at = 0; at < stream.size(); at += 700) {
      const auto part = std::span(stream).subspan(at, std::min<std::size_t>(700, stream.size() - at));
      runner.run(part, {.cut = Cut::AtIndirect});
      by_hand_runner.run(part, {.cut = Cut::AtIndirect});
      for (std::size_t i = 0; i < arch::kCoreSignals; ++i) {
        ASSERT_EQ(thread->signals().counts[i], by_hand->signals().counts[i]) << "signal " << i << ", " << at;
      }
      if (at % 14'000 == 0) {  // a page of code and a page of data are mapped anew
        for (const std::uint64_t page : {part.front().instruction.pc >> 12 << 12, std::uint64_t{0x7000'0000}}) {
          thread->unmapped(page, page + 4096);
          by_hand->unmapped(page, page + 4096);
        }
      }
    }
    EXPECT_GT(thread->signals()[arch::CoreSignal::LoadL1Hit], 1000U);
    EXPECT_GT(thread->signals()[arch::CoreSignal::MispredictedTaken], 50U);
  }
};

TEST_P(EveryPathCode, GivesWhatPathsByHandGive) {
  compare(GetParam(), MachineOptions{}.code_bytes, true, 1);
  compare(GetParam(), MachineOptions{}.code_bytes, false, 2);
}

TEST_P(EveryPathCode, BeginsAgainWhereItsRoomIsFull) { compare(GetParam(), std::size_t{24} << 10, true, 3); }

TEST_P(EveryPathCode, GivesTheSameWhereDataThrowsOutCode) {
  CoreModel model = GetParam();
  model.memory.l2.bytes /= 16;
  model.memory.llc.bytes /= 64;
  compare(model, MachineOptions{}.code_bytes, true, 4);
}

INSTANTIATE_TEST_SUITE_P(Rows, EveryPathCode, testing::ValuesIn(core_models()),
                         [](const auto& row) { return test_name(row.param); });

/// A block that loops: a load, a store, a taken branch.
TEST(PathCode, HasCodeForWhatIsPlayedOften) {
  const CoreModel& model = *find_core_model("skylake-server");
  BranchParameters branch = with_tournament(model.branch);
  BranchUnit branches(branch);
  const auto memory = MemorySystem::make(model.memory, {.store_buffer = false});
  PathCode code(memory->filter(0), branches, std::size_t{1} << 20);
  code.make_room(10);
  SimpleBlock block{.first_line = 0x1000,
                    .pc = 0x4'0010,
                    .kind = arch::BranchKind::RelativeJump,
                    .length = 2,
                    .taken = true,
                    .last = true,
                    .lines = 1};
  EXPECT_FALSE(code.has(3));
  for (int i = 0; i < 100; ++i) code.played(3, &block);
  EXPECT_TRUE(code.has(3));
  EXPECT_FALSE(code.has(4));
  code.forget(3);
  EXPECT_FALSE(code.has(3));
}

}  // namespace
}  // namespace zs::uarch
