// Each kind of prctl, arch_prctl and seccomp has a row, and the row says who answers it.
#include "engine/kernel/process_attributes.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <cerrno>
#include <string>

#include "engine/kernel/call_handlers.h"

namespace zs::engine {
namespace {

TEST(ProcessAttributes, EachKindThatLinuxHasHasItsRow) {
  // source: Linux 6.18, uapi/linux/prctl.h; 17, 18, 48 and 49 were never used.
  for (int kind = 1; kind <= 78; ++kind) {
    const bool unused = kind == 17 || kind == 18 || kind == 48 || kind == 49;
    EXPECT_EQ(process_attribute(SYS_prctl, kind) == nullptr, unused) << kind;
  }
  for (int kind = 0; kind <= 3; ++kind) EXPECT_NE(process_attribute(SYS_seccomp, kind), nullptr) << kind;
  EXPECT_EQ(process_attribute(SYS_prctl, 79), nullptr);
  EXPECT_EQ(process_attribute(SYS_arch_prctl, 1), nullptr);
}

TEST(ProcessAttributes, WhatIsRefusedIsRefusedForOneArgumentAndNotForAnother) {
  const struct {
    long call;
    int kind;
    std::uint64_t argument;
    bool refused;
  } rows[] = {{SYS_arch_prctl, 0x1012, 0, true},
              {SYS_arch_prctl, 0x1012, 1, false},
              {SYS_arch_prctl, 0x5001, 1, true},
              {SYS_arch_prctl, 0x4002, 6, true}};
  for (const auto& row : rows) {
    const ProcessAttribute* const found = process_attribute(row.call, row.kind);
    ASSERT_NE(found, nullptr) << row.kind;
    ASSERT_NE(found->refused, nullptr) << found->name;
    EXPECT_EQ(found->refused(row.argument), row.refused) << found->name;
    EXPECT_LT(found->error, 0) << found->name;
  }
}

TEST(ProcessAttributes, WhatIsNotRefusedHasNoErrorAndTheKernelOrTheEngineAnswersIt) {
  for (const long call : {SYS_prctl, SYS_arch_prctl, SYS_seccomp}) {
    for (int kind = 0; kind < 0x6000; ++kind) {
      const ProcessAttribute* const found = process_attribute(call, kind);
      if (found == nullptr) continue;
      EXPECT_EQ(found->refused == nullptr, found->error == 0) << found->name;
      EXPECT_TRUE(found->answer == nullptr || found->refused == nullptr) << found->name;
    }
  }
  EXPECT_EQ(process_attribute(SYS_prctl, 65)->answer, &calls::set_mdwe);
  EXPECT_EQ(process_attribute(SYS_prctl, 35)->answer, &calls::set_mm);
  EXPECT_EQ(process_attribute(SYS_prctl, 22)->answer, &calls::set_seccomp);
}

}  // namespace
}  // namespace zs::engine
