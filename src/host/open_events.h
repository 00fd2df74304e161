// Events of perf_event_open, open at every place that is watched, and the rings that they write to: one for each CPU,
// or for each thread. They are opened switched off; a program's are switched on by its execve.
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/result.h"
#include "host/perf_errors.h"
#include "host/ring_buffer.h"

namespace zs::host {

/// An event with everything that the kernel is told of it.
struct EventToOpen {
  std::string name;
  perf_event_attr attr;
  std::size_t leader = 0;     // of its group; its own index if it has none
  bool most_precise = false;  // try fewer p until the kernel takes it
};

struct EventValue {
  std::uint64_t value = 0, enabled_ns = 0, running_ns = 0;
};

class OpenEvents {
 public:
  /// ring_bytes  a power of two of pages; 0: no rings, the events are only counted
  /// A thread that ended meanwhile is left out, unless there is no other. `events` get the precision that was had.
  static Result<OpenEvents> open(std::vector<EventToOpen>& events, std::span<const Place> places,
                                 std::size_t ring_bytes, const Permissions& permissions);

  /// Ids that records of an event carry.
  const std::vector<std::uint64_t>& ids(std::size_t event) const { return ids_[event]; }

  void enable();
  void disable();

  /// What all places counted, scaled to the time they were enabled where the kernel had to share counters.
  EventValue read(std::size_t event) const;

  /// Descriptors to wait for records at, one a ring.
  const std::vector<int>& ring_descriptors() const { return ring_descriptors_; }
  /// Each record that is there now, ring by ring. An Error: a ring is damaged.
  Result<void> drain(const std::function<void(Bytes)>& take);

  /// Whether everybody that was watched has ended, children too. Never, where CPUs are watched.
  bool all_ended() const;

 private:
  explicit OpenEvents(std::size_t events) : ids_(events), counters_(events) {}
  Result<void> open_at(std::vector<EventToOpen>& events, Place place, std::size_t ring_bytes,
                       const Permissions& permissions, bool& gone);
  Result<void> write_to_ring(int event, Place place, std::size_t ring_bytes);

  std::vector<std::vector<std::uint64_t>> ids_;    // by event
  std::vector<std::vector<Descriptor>> counters_;  // by event
  std::map<Place, int, bool (*)(const Place&, const Place&)> ring_of_{
      [](const Place& a, const Place& b) { return a.cpu != b.cpu ? a.cpu < b.cpu : a.tid < b.tid; }};
  std::vector<RingBuffer> rings_;
  std::vector<int> ring_descriptors_;
};

/// As many descriptors as the hard limit allows: each event takes one for each thread and CPU.
void allow_many_descriptors();

}  // namespace zs::host
