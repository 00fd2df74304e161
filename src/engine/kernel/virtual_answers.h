// Under --virtual-time: calls that the run's own clock and random numbers answer. What is left out is told in
// virtual_calls.h.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/kernel/virtual_clock.h"
#include "engine/run/guest_memory.h"

namespace zs::engine {

class VirtualAnswers {
 public:
  VirtualAnswers(GuestMemory& memory, VirtualClock& clock) : memory_(memory), clock_(clock) {}

  /// nullopt: the kernel's business.
  std::optional<long> answer(long number, const long (&a)[6]);
  /// The next bytes of the run's random numbers, as far as they can be written. returns how many, as read and getrandom
  /// do
  long write_random(std::uint64_t address, std::uint64_t size);

 private:
  GuestMemory& memory_;
  VirtualClock& clock_;
};

}  // namespace zs::engine
