// A system call of the program, and what it gets for it.
#pragma once

#include <cstdint>

namespace zs::engine {

struct CallArguments {
  long number = -1;
  const long (&a)[6];

  std::uint64_t u(int i) const { return static_cast<std::uint64_t>(a[i]); }
  int i32(int i) const { return static_cast<int>(a[i]); }
};

struct Outcome {
  long result = 0;
  bool set_result = true;  // false: registers are already as they must be (rt_sigreturn)
};

struct GuestKernel;
using HandlesCall = Outcome(GuestKernel& kernel, const CallArguments& made);

}  // namespace zs::engine
