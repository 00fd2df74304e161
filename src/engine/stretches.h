// How far a thread may run in whole blocks before C++ looks again: up to its next overflow, or to the end of its turn.
#pragma once

#include <cstdint>

#include "engine/account/accountant.h"
#include "engine/run.h"

namespace zs::engine {

class Stretches {
 public:
  Stretches(Run& run, Accountant& accountant) : run_(run), accountant_(accountant) {}

  /// Far enough from the event horizon that a guard fault is a small part of what runs until then.
  bool is_far(const Allowance& allowed) const;
  /// How long the thread may run while others wait.
  std::uint64_t turn_bytes() const;
  /// Because what a core is told is replayed at once, and cores fight over lines now.
  bool turns_are_short() const;
  /// The thread has made a system call, which is part of its turn.
  bool call_ends_turn();
  /// Where the trace pointer begins, so that the guard ends what is allowed, or the turn. Stops may be passed from here
  /// on if it is the overflow that ends it.
  std::uint64_t begin(const Allowance& allowed);
  /// Stops are passed only from where the trace pointer tells the distance to an overflow that writes a record and does
  /// nothing else, and only as long as the next period is one stretch.
  void allow_passes();

 private:
  Run& run_;
  Accountant& accountant_;
};

}  // namespace zs::engine
