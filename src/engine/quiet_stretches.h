// Code without the events that are close to an overflow (Variant::Quiet), where few instructions have them: it runs as
// far as the program gets to one that does. Of the pointer of a spaced trace, which moves with every block, little
// would be left close to the overflow: a visit every ten blocks.
#pragma once

#include <cstdint>

#include "engine/account/accountant.h"
#include "engine/run.h"
#include "engine/stretches.h"

namespace zs::engine {

class QuietStretches {
 public:
  QuietStretches(Run& run, Accountant& accountant, Stretches& stretches)
      : run_(run), accountant_(accountant), stretches_(stretches) {}

  /// What may run now. returns where to enter the cache, 0 where whole blocks or single instructions are better
  std::uint64_t enter(const Allowance& allowed, std::uint32_t link_from);
  /// Whole blocks run from where the trace pointer is now.
  void begin_others(const Allowance& allowed);

 private:
  void look_back(const Allowance& allowed);

  Run& run_;
  Accountant& accountant_;
  Stretches& stretches_;
  // The last stretch: where its trace began, what was allowed, whether it was quiet.
  std::uint64_t begun_ = 0, allowed_ = 0;
  bool was_quiet_ = false;
  bool rare_ = false;  // few instructions bring the overflow closer here
};

}  // namespace zs::engine
