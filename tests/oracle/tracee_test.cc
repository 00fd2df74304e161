// The runner's protocol, and both ways of stepping, on the smallest runner.
#include "tracee.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace zs::oracle {
namespace {

struct Followed {
  std::vector<ZydisMnemonic> instructions;
  std::uint64_t clock = 0;  // rax after the last RDTSC
  std::uint64_t last_rdi = 0;
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
    followed.last_rdi = tracee->registers().rdi;
    const auto outcome = tracee->step(next ? &*next : nullptr);
    EXPECT_TRUE(outcome) << outcome.error().message;
    if (!outcome) return followed;
    if (next) followed.instructions.push_back(next->mnemonic);
    if (*outcome == Tracee::Outcome::Ended) break;
    if (next && next->mnemonic == ZYDIS_MNEMONIC_RDTSC) followed.clock = tracee->registers().rax;
  }
  followed.status = tracee->status();
  return followed;
}

TEST(OracleTracee, StartsAtTheProgramThatARunnerJumpsTo) {
  for (const bool hardware_steps : {false, true}) {
    const Followed run =
        follow({.command = {"ignored"}, .runner = {PROTOCOL_RUNNER}, .hardware_steps = hardware_steps});
    EXPECT_EQ(run.instructions.size(), 14U);
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
    EXPECT_EQ(run.clock, 7U);
    EXPECT_EQ(run.last_rdi, 49U);
    EXPECT_EQ(WEXITSTATUS(run.status), 49);
  }
}

TEST(OracleTracee, StopsRightBehindCpuidWhereAHypervisorLosesItsTrap) {
  const std::vector<ZydisMnemonic> end = {ZYDIS_MNEMONIC_XOR, ZYDIS_MNEMONIC_CPUID, ZYDIS_MNEMONIC_NOP,
                                          ZYDIS_MNEMONIC_MOV, ZYDIS_MNEMONIC_SYSCALL};
  for (const bool hardware_steps : {false, true}) {
    const Followed run =
        follow({.command = {"ignored"}, .runner = {PROTOCOL_RUNNER}, .hardware_steps = hardware_steps});
    ASSERT_GE(run.instructions.size(), end.size());
    EXPECT_EQ(std::vector(run.instructions.end() - static_cast<std::ptrdiff_t>(end.size()), run.instructions.end()),
              end);
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
