// For tests: a kernel whose perf_event_open gives counters that say what the test wants, or refuses.
#pragma once

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "host/open_events.h"

namespace zs::host {

class FakeKernel {
 public:
  struct Opened {
    perf_event_attr attr;
    Place place;
    int group;  // descriptor of the leader, or -1
    int descriptor;
  };

  /// What counters of an event say when they are read.
  void counts(std::uint64_t config, EventValue value) { values_[config] = value; }
  /// The event is refused, at every place or from the `after`th on.
  void refuses(std::uint64_t config, int error, int after = 0) { refused_[config] = {error, after}; }

  Opener opener() {
    return [this](const perf_event_attr& attr, Place place, int group) { return open(attr, place, group); };
  }
  std::vector<Opened> opened;

 private:
  struct Refusal {
    int error, after;
  };

  int open(const perf_event_attr& attr, Place place, int group) {
    if (const auto refusal = refused_.find(attr.config); refusal != refused_.end()) {
      if (refusal->second.after-- <= 0) {
        errno = refusal->second.error;
        return -1;
      }
    }
    const int counter = memfd_create("counter", MFD_CLOEXEC);
    const EventValue value = values_[attr.config];
    (void)!write(counter, &value, sizeof value);
    lseek(counter, 0, SEEK_SET);
    opened.push_back({attr, place, group, counter});
    return counter;
  }

  std::map<std::uint64_t, EventValue> values_;
  std::map<std::uint64_t, Refusal> refused_;
};

}  // namespace zs::host
