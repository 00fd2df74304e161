// The runner's protocol, and both ways of stepping, on the smallest runner.
#include "tracee.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <vector>

namespace zs::oracle {
namespace {

struct Followed {
  std::vector<ZydisMnemonic> instructions;
  int status = 0;
};

Followed follow(const Launch& launch) {
  Followed followed;
  auto tracee = Tracee::start(launch);
  EXPECT_TRUE(tracee) << tracee.error().message;
  const Decoder decoder;
  for (;;) {
    std::array<std::byte, 15> code{};
    const std::size_t readable = tracee->read_code(code);
    const auto next = decoder.decode({code.data(), readable});
    const auto outcome = tracee->step(next ? &*next : nullptr);
    EXPECT_TRUE(outcome) << outcome.error().message;
    if (!outcome) return followed;
    if (next) followed.instructions.push_back(next->mnemonic);
    if (*outcome == Tracee::Outcome::Ended) break;
  }
  followed.status = tracee->status();
  return followed;
}

TEST(OracleTracee, StartsAtTheProgramThatARunnerJumpsTo) {
  for (const bool hardware_steps : {false, true}) {
    const Followed run =
        follow({.command = {"ignored"}, .runner = {PROTOCOL_RUNNER}, .hardware_steps = hardware_steps});
    EXPECT_EQ(run.instructions.size(), 11U);
    EXPECT_EQ(run.instructions.front(), ZYDIS_MNEMONIC_MOV);
    EXPECT_EQ(run.instructions[3], ZYDIS_MNEMONIC_RDTSC);
  }
}

TEST(OracleTracee, TakesTheRunnersEmulationOfCallsAndClockAsOneStep) {
  // getpid gives 42 and RDTSC 7; a trap flag seen by PUSHF would add 256.
  for (const bool hardware_steps : {false, true}) {
    const Followed run =
        follow({.command = {"ignored"}, .runner = {PROTOCOL_RUNNER}, .hardware_steps = hardware_steps});
    EXPECT_TRUE(WIFEXITED(run.status));
    EXPECT_EQ(WEXITSTATUS(run.status), 49);
  }
}

TEST(OracleTracee, SaysWhenARunnerNeverReachesTheEntry) {
  auto tracee = Tracee::start({.command = {"ignored"}, .runner = {"/bin/true"}});
  ASSERT_FALSE(tracee);
  EXPECT_EQ(tracee.error().message, "the runner ended before it reached the program's entry");
}

TEST(OracleTracee, SaysWhenTheProgramCannotBeExecuted) {
  auto tracee = Tracee::start({.command = {"/no/such/program"}});
  ASSERT_FALSE(tracee);
  EXPECT_EQ(tracee.error().message, "/no/such/program: cannot be executed");
}

}  // namespace
}  // namespace zs::oracle
