// How often translated code was left, why, and what ran next. A fast way that is taken no more shows nowhere else but
// in the time: tests count these.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "engine/translate/context.h"

namespace zs::engine {

struct Visits {
  /// By ExitReason.
  std::array<std::uint64_t, static_cast<std::size_t>(ExitReason::Stopped) + 1> left{};
  /// What ran next: whole blocks up to the horizon, those without the events that are near it, those beyond it with a
  /// log, those that look how far they may run, a few instructions, one.
  std::uint64_t full = 0, quiet = 0, logged = 0, near = 0, bounded = 0, step = 0;
  /// Overflow points that translated code passed without a visit.
  std::uint64_t passed = 0;

  /// "12 visits (3 unlinked, ...) into 4 full, ...; 5 overflow points passed"
  std::string text() const;
};

}  // namespace zs::engine
