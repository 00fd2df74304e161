// The counters of one thread by event, whichever of its PMUs has them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "arch/core_feed.h"
#include "base/check.h"
#include "session/driver/pmu_driver.h"
#include "session/units/unit_sums.h"

namespace zs::session {

class EventCounters {
 public:
  /// drivers  must outlive this; events: of the recording
  EventCounters(std::span<const std::unique_ptr<PmuDriver>> drivers, std::size_t events) : places_(events) {
    std::size_t accumulators = 0;
    for (const auto& driver : drivers) {
      for (std::size_t i = 0; i < driver->plan().size(); ++i) {
        const PlannedCounter& counter = driver->plan()[i];
        const auto accumulator = driver->pmu().accumulator_of(counter.counter);
        places_[counter.event] = {
            .driver = driver.get(),
            .planned = i,
            .accumulator = accumulator ? accumulators + *accumulator : kNoAccumulator,
            .modelled = !accumulator || driver->pmu().accumulators()[*accumulator].of_signals != nullptr,
            .of_latency = driver->counts_tagged_loads(i)};
      }
      accumulators += driver->pmu().accumulators().size();
    }
  }

  /// Whether that are loads which the load-latency facility tags.
  bool counts_tagged_loads(std::size_t event) const { return places_[event].of_latency; }

  static constexpr std::size_t kNoAccumulator = SIZE_MAX;
  /// Where engine::ProbeVisit::uncounted has the event; kNoAccumulator if nowhere, as an event that is always counted
  /// at once.
  std::size_t accumulator(std::size_t event) const { return places_[event].accumulator; }

  /// Events counted since the thread's start; 0 of one that no PMU counts.
  std::uint64_t total(std::size_t event) const {
    const Place& place = places_[event];
    if (place.driver == nullptr) return 0;
    return place.of_latency ? of_latency(place) / arch::kMostTimesTagged : place.driver->total(place.planned);
  }
  /// From here on the core tags so many times as many loads: what counts those goes on as if it did not.
  void set_times_tagged(std::uint32_t times) {
    for (Place& place : places_) {
      if (!place.of_latency) continue;
      place.tagged_before = of_latency(place);
      place.since = place.driver->total(place.planned);
    }
    times_tagged_ = times;
  }
  /// Whether only a core model knows how many, so that it may come later than what retires.
  bool is_modelled(std::size_t event) const { return places_[event].modelled; }
  void totals(std::span<std::uint64_t> values) const {
    for (std::size_t event = 0; event < values.size(); ++event) values[event] = total(event);
  }
  /// What a unit begins or ends with: the counts of `events`, beside `instructions`.
  UnitCounts unit_counts(std::uint64_t instructions, std::span<const std::uint32_t> events) const {
    UnitCounts counts{.instructions = instructions, .events = {}};
    for (const std::uint32_t event : events) counts.events.push_back(total(event));
    return counts;
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
    std::size_t accumulator = kNoAccumulator;
    bool modelled = false;            // or it is of time
    bool of_latency = false;          // it counts tagged loads
    std::uint64_t tagged_before = 0;  // until the counter had `since`, as of_latency() has it
    std::uint64_t since = 0;
  };
  /// In parts of kMostTimesTagged, so that what is less than one tagged load is not lost from unit to unit.
  std::uint64_t of_latency(const Place& place) const {
    const std::uint64_t more = place.driver->total(place.planned) - place.since;
    return place.tagged_before + more * (arch::kMostTimesTagged / times_tagged_);
  }

  std::vector<Place> places_;  // by event
  std::uint32_t times_tagged_ = 1;
};

}  // namespace zs::session
