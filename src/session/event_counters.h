// The counters of one thread by event, whichever of its PMUs has them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/check.h"
#include "session/pmu_driver.h"

namespace zs::session {

class EventCounters {
 public:
  /// drivers  must outlive this; events: of the recording
  EventCounters(std::span<const std::unique_ptr<PmuDriver>> drivers, std::size_t events) : places_(events) {
    for (const auto& driver : drivers) {
      for (std::size_t i = 0; i < driver->plan().size(); ++i) places_[driver->plan()[i].event] = {driver.get(), i};
    }
  }

  /// Events counted since the thread's start; 0 of one that no PMU counts. Exact once PEBS buffers are drained.
  std::uint64_t total(std::size_t event) const {
    const Place& place = places_[event];
    return place.driver == nullptr ? 0 : place.driver->total(place.planned);
  }
  void totals(std::span<std::uint64_t> values) const {
    for (std::size_t event = 0; event < values.size(); ++event) values[event] = total(event);
  }
  /// As PmuDriver::restart.
  void restart(std::size_t event, std::uint64_t events) const {
    const Place& place = places_[event];
    CHECK(place.driver != nullptr, event);
    place.driver->restart(place.planned, events);
  }

 private:
  struct Place {
    PmuDriver* driver = nullptr;
    std::size_t planned = 0;
  };
  std::vector<Place> places_;  // by event
};

}  // namespace zs::session
