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

/// What a counter says. source: perf_event_open(2), "Reading results", with both times and nothing else asked for.
struct EventValue {
  std::uint64_t value = 0, enabled_ns = 0, running_ns = 0;
  /// What it would have counted, had it run all the time that it was enabled; 0 if it never ran. As perf scales.
  std::uint64_t scaled() const;
  void add(const EventValue& other);
};
/// Such values are what an event's read_format must ask for.
inline constexpr std::uint64_t kReadFormat = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;

/// What opens an event: perf_event_open(2), or a test's kernel. returns a descriptor, or -1 and errno
using Opener = std::function<int(const perf_event_attr& attr, Place place, int group)>;
Opener kernel_opener();

class OpenEvents {
 public:
  /// ring_bytes  a power of two of pages; 0: no rings, the events are only counted
  /// A thread that ended meanwhile is left out, unless there is no other. `events` get the precision that was had.
  static Result<OpenEvents> open(std::vector<EventToOpen>& events, std::span<const Place> places,
                                 std::size_t ring_bytes, const Permissions& permissions,
                                 const Opener& opener = kernel_opener());

  /// Ids that records of an event carry.
  const std::vector<std::uint64_t>& ids(std::size_t event) const { return ids_[event]; }

  void enable() { ask_all(PERF_EVENT_IOC_ENABLE); }
  void disable() { ask_all(PERF_EVENT_IOC_DISABLE); }

  /// What all places counted, or one thread on all CPUs. An Error: a counter gave nothing, so the sum would be too
  /// small.
  Result<EventValue> read(std::size_t event, pid_t tid = kEverybody) const;

  /// Descriptors to wait for records at, one a ring.
  const std::vector<int>& ring_descriptors() const { return ring_descriptors_; }
  /// Each record that is there now, ring by ring. An Error: a ring is damaged.
  Result<void> drain(const std::function<void(Bytes)>& take);

  /// Whether everybody that was watched has ended, children too. Never, where CPUs are watched.
  bool all_ended() const;

 private:
  static constexpr pid_t kEverybody = -2;  // no thread's number, nor the -1 of whole CPUs
  struct Counter {
    Descriptor descriptor;
    Place place;
  };

  explicit OpenEvents(std::size_t events) : ids_(events), counters_(events) {}
  Result<void> open_at(std::vector<EventToOpen>& events, Place place, std::size_t ring_bytes,
                       const Permissions& permissions, const Opener& opener, bool& gone);
  void ask_all(unsigned long request);
  Result<void> write_to_ring(int event, Place place, std::size_t ring_bytes);

  std::vector<std::vector<std::uint64_t>> ids_;  // by event
  std::vector<std::vector<Counter>> counters_;   // by event
  std::map<Place, int, bool (*)(const Place&, const Place&)> ring_of_{
      [](const Place& a, const Place& b) { return a.cpu != b.cpu ? a.cpu < b.cpu : a.tid < b.tid; }};
  std::vector<RingBuffer> rings_;
  std::vector<int> ring_descriptors_;
};

/// As many descriptors as the hard limit allows: each event takes one for each thread and CPU.
void allow_many_descriptors();

}  // namespace zs::host
