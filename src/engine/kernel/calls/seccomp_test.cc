// What a filter of system calls says of a call: by its numbers, and by what it computes of them. Held against the
// kernel by the guest seccomp_instructions.
#include "engine/kernel/calls/seccomp.h"

#include <gtest/gtest.h>

namespace zs::engine {
namespace {

constexpr seccomp_data kData{.nr = 39, .arch = 0xC000003E, .instruction_pointer = 0x1'2345'6789, .args = {7, ~0ull}};

TEST(Seccomp, AFilterLoadsEachWordOfACall) {
  const struct {
    std::uint32_t offset, word;
  } rows[] = {{0, 39}, {4, 0xC000003E}, {8, 0x2345'6789}, {12, 1}, {16, 7}, {20, 0}, {28, 0xFFFF'FFFF}, {60, 0}};
  for (const auto& row : rows) {
    const CallFilter filter{{BPF_LD | BPF_W | BPF_ABS, 0, 0, row.offset}, {BPF_RET | BPF_A, 0, 0, 0}};
    EXPECT_EQ(run_filter(filter, kData), row.word) << row.offset;
  }
}

TEST(Seccomp, AJumpSkipsWhatLiesBetween) {
  const CallFilter filter{{BPF_LD | BPF_W | BPF_ABS, 0, 0, 0}, {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 39},
                          {BPF_RET | BPF_K, 0, 0, 1},          {BPF_JMP | BPF_JA, 0, 0, 1},
                          {BPF_RET | BPF_K, 0, 0, 2},          {BPF_RET | BPF_K, 0, 0, 3}};
  EXPECT_EQ(run_filter(filter, kData), 3u);
}

TEST(Seccomp, ADivisionByZeroEndsTheFilterWithZero) {
  const CallFilter filter{
      {BPF_LD | BPF_IMM, 0, 0, 5}, {BPF_ALU | BPF_DIV | BPF_X, 0, 0, 0}, {BPF_RET | BPF_K, 0, 0, 9}};
  EXPECT_EQ(run_filter(filter, kData), 0u);
}

TEST(Seccomp, AFilterIsTheSameInTheNextImage) {
  const CallFilter filter{{0xFFFF, 1, 0xFE, 0xFFFF'FFFF}, {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
  const CallFilter back = filter_of(word_of(filter));
  ASSERT_EQ(back.size(), filter.size());
  for (std::size_t i = 0; i < filter.size(); ++i) {
    EXPECT_EQ(back[i].code, filter[i].code);
    EXPECT_EQ(back[i].jt, filter[i].jt);
    EXPECT_EQ(back[i].jf, filter[i].jf);
    EXPECT_EQ(back[i].k, filter[i].k);
  }
}

}  // namespace
}  // namespace zs::engine
