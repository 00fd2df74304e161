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

/// Who answers a call, or changes it on its way to another one who does, and the answer on its way back.
class AnswersCalls {
 public:
  virtual ~AnswersCalls() = default;
  virtual Outcome answer(const CallArguments& made) = 0;
};

}  // namespace zs::engine
