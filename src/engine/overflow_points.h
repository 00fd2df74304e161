// The last stretch before an overflow, in the budget form: blocks that look for themselves how far they may run, and in
// the last of them a stop before the instruction that overflows. Some stops translated code passes by itself, and C++
// hears of them later.
#pragma once

#include <cstdint>

#include "engine/account/accountant.h"
#include "engine/kernel/code/guest_code.h"
#include "engine/run.h"
#include "engine/stretches.h"

namespace zs::engine {

class OverflowPoints {
 public:
  OverflowPoints(Run& run, Accountant& accountant, GuestCode& code, Stretches& stretches)
      : run_(run), accountant_(accountant), code_(code), stretches_(stretches) {}

  /// distance  instructions up to the overflow
  /// returns where to enter the cache, or 0 where there is no such way
  std::uint64_t approach(std::uint64_t distance, std::uint32_t link_from);
  /// Translated code has left at its stop.
  void leave_stop();
  /// After a sample in the middle of a block: on through the rest of that block, and back here at its end, where most
  /// likely a whole block begins. Otherwise each sample would leave a translation behind that begins where it was
  /// taken. returns where to enter the cache, or 0
  std::uint64_t leave_near(const Allowance& allowed);
  /// The block with the last stop has ended, and its exit leads to nothing yet. Next time it finds a block of
  /// Variant::Near that may not run, and with it the way to Variant::Full.
  void link_behind_stop(std::uint32_t& link_from);
  /// Tells of the stops that translated code has passed by itself. Then the trace begins where the last period did, or
  /// behind the rest of the block with the last stop.
  void retire_deferred();
  /// The thread is not behind a stop any more.
  void forget_where_stopped() { stopped_ = {}; }

 private:
  Run& run_;
  Accountant& accountant_;
  GuestCode& code_;
  Stretches& stretches_;
  /// The instruction in a block of Variant::Near behind which a sample was taken; block kNone: elsewhere.
  struct {
    std::uint32_t block = kNone;
    std::uint16_t index = 0;
    std::uint64_t pc = 0;
  } stopped_;
};

}  // namespace zs::engine
