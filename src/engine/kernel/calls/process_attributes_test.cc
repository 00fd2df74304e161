// Which kinds of prctl, arch_prctl and seccomp the engine answers, and which it refuses.
#include "engine/kernel/calls/process_attributes.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string>

#include "engine/kernel/calls/call_handlers.h"

namespace zs::engine {
namespace {

TEST(ProcessAttributes, EachKindThatLinuxHasIsTheEnginesOrLeftToTheKernel) {
  // source: Linux 6.18, uapi/linux/prctl.h; 17, 18, 48 and 49 were never used.
  constexpr int kEngines[] = {15, 22, 25, 26, 35, 59, 65, 66};
  for (int kind = 1; kind <= 78; ++kind) {
    const bool engines = std::ranges::find(kEngines, kind) != std::end(kEngines);
    EXPECT_EQ(process_attribute(SYS_prctl, kind) != nullptr, engines) << kind;
  }
  for (int kind = 0; kind <= 3; ++kind) EXPECT_EQ(process_attribute(SYS_seccomp, kind) != nullptr, kind < 2) << kind;
  for (const int kind : {0x41555856 /* PR_GET_AUXV */, 0x53564d41 /* PR_SET_VMA */, 0x59616d61 /* PR_SET_PTRACER */})
    EXPECT_EQ(process_attribute(SYS_prctl, kind), nullptr) << kind;
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
      EXPECT_NE(found->answer == nullptr, found->refused == nullptr) << found->name;
    }
  }
  EXPECT_EQ(process_attribute(SYS_prctl, 35)->answer, &calls::set_mm);
  EXPECT_EQ(process_attribute(SYS_prctl, 22)->answer, &calls::set_seccomp);
}

}  // namespace
}  // namespace zs::engine
