// What PR_SET_MDWE denies, against the kernel's rules.
#include "engine/memory/exec_gain.h"

#include <gtest/gtest.h>

namespace zs::engine {
namespace {

constexpr std::uint32_t kRead = PROT_READ, kWrite = PROT_READ | PROT_WRITE, kExec = PROT_READ | PROT_EXEC,
                        kBoth = PROT_READ | PROT_WRITE | PROT_EXEC;

TEST(ExecGain, DeniesNothingUntilItIsSet) { EXPECT_FALSE(ExecGain().denies(kBoth)); }

TEST(ExecGain, DeniesWhatIsBothWrittenAndExecutedAndWhatBecomesExecutable) {
  ExecGain gain;
  ASSERT_EQ(gain.set(ExecGain::kRefuse), 0);
  EXPECT_TRUE(gain.denies(kBoth));
  EXPECT_FALSE(gain.denies(kExec));
  EXPECT_FALSE(gain.denies(kWrite));
  EXPECT_TRUE(gain.denies(kRead, kExec));
  EXPECT_FALSE(gain.denies(kExec, kExec));
  EXPECT_FALSE(gain.denies(kExec, kWrite));
  EXPECT_TRUE(gain.denies(kExec, kBoth));
}

TEST(ExecGain, StaysAsItWasSet) {
  ExecGain gain;
  EXPECT_EQ(gain.set(0), 0);
  EXPECT_EQ(gain.set(4), -EINVAL);
  EXPECT_EQ(gain.set(ExecGain::kNotInherited), -EINVAL);
  EXPECT_EQ(gain.set(ExecGain::kRefuse | ExecGain::kNotInherited), 0);
  EXPECT_EQ(gain.set(ExecGain::kRefuse), -EPERM);
  EXPECT_EQ(gain.set(0), -EPERM);
  EXPECT_EQ(gain.bits(), ExecGain::kRefuse | ExecGain::kNotInherited);
  EXPECT_EQ(gain.inherited_bits(), 0U);
}

}  // namespace
}  // namespace zs::engine
