// RLIMIT_AS and RLIMIT_DATA as the program has them. The kernel would count the engine's reservations too, hundreds of
// megabytes; so it is given the highest limits that it allows, and the program's own are kept here, answered and
// enforced (memory/map_limits.h).
#pragma once

#include <sys/resource.h>

#include <array>
#include <cstdint>

namespace zs::engine {

class MemoryLimits {
 public:
  /// Whether it is one of the two.
  static bool covers(int resource) { return resource == RLIMIT_AS || resource == RLIMIT_DATA; }

  /// From now on those that the process has are the program's, and the process has higher ones.
  void lift();
  /// The process has the program's again: before another program takes its place, or is started by it.
  void put_back() const;

  const rlimit& of(int resource) const { return limits_[resource == RLIMIT_AS ? 0 : 1]; }
  /// As setrlimit(2). returns 0 or -errno
  long set(int resource, const rlimit& wanted);
  std::uint64_t address_space() const { return limits_[0].rlim_cur; }
  std::uint64_t data() const { return limits_[1].rlim_cur; }
  /// Whether anything is limited at all.
  bool any() const { return address_space() != RLIM_INFINITY || data() != RLIM_INFINITY; }

 private:
  std::array<rlimit, 2> limits_{{{RLIM_INFINITY, RLIM_INFINITY}, {RLIM_INFINITY, RLIM_INFINITY}}};
};

}  // namespace zs::engine
