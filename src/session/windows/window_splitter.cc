#include "session/windows/window_splitter.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "session/driver/pmu_plan.h"

namespace zs::session {

WindowSplitter::WindowSplitter(const RecordingConfig& config, const EventCounters& counters, std::uint64_t stream)
    : config_(config),
      counters_(counters),
      late_(config, counters, stream),
      before_(reported_events(config), 0),
      estimated_(config.estimated_events()),
      sums_(estimated_.size()) {
  for (std::uint32_t event = 0; event < config.events.size(); ++event) {
    if (config.events[event].closes_window) closers_.push_back(event);
  }
  window_.values.resize(before_.size());
  CHECK(closers_.size() <= kMostClosers, closers_.size());
}

void WindowSplitter::overflowed(std::uint32_t event) {
  if (event == config_.skid_event) {
    late_.skid_is_over();
    return;
  }
  const auto at = std::ranges::find(closers_, event) - closers_.begin();
  ended_by_ |= std::uint64_t{1} << at;
}

Window* WindowSplitter::served() {
  if (!ends()) return nullptr;
  split();
  arm();
  return &window_;
}

bool WindowSplitter::served_ahead() {
  if (!ends()) return false;
  note_end(ahead_.emplace_back());
  arm();
  return true;
}

Window* WindowSplitter::counted() {
  CHECK(!ahead_.empty());
  const std::uint64_t begin = window_.end;
  window_ = std::move(ahead_.front());
  ahead_.pop_front();
  window_.begin = begin;
  for (std::size_t event = 0; event < before_.size(); ++event) {
    if (counters_.is_modelled(event)) window_.values[event] = counters_.total(event);
  }
  subtract_begin();
  return &window_;
}

Window* WindowSplitter::rest() {
  CHECK(ahead_.empty(), ahead_.size());
  split();
  const bool empty = std::ranges::all_of(window_.values, [](std::uint64_t value) { return value == 0; });
  return empty && window_.begin == window_.end ? nullptr : &window_;
}

void WindowSplitter::split() {
  window_.begin = window_.end;
  note_end(window_);
  subtract_begin();
  if (config_.in_units) estimate();
}

/// Its values become totals.
void WindowSplitter::note_end(Window& window) {
  window.end = counters_.total(config_.position_event);
  window.ended_by = std::exchange(ended_by_, 0);
  window.values.resize(before_.size());
  counters_.totals(window.values);
}

void WindowSplitter::subtract_begin() {
  for (std::size_t event = 0; event < before_.size(); ++event) {
    const std::uint64_t now = window_.values[event];
    window_.values[event] = now - std::exchange(before_[event], now);
  }
}

void WindowSplitter::estimate() {
  if (unit_) add_part_of_unit();
  sums_.set_instructions(window_.end - window_.begin);
  window_.units = sums_.packed();
  sums_.put_totals(estimated_, window_.values);
  sums_ = UnitSums(estimated_.size());
}

void WindowSplitter::begin_unit(const Unit& unit) {
  unit_ = unit;
  unit_before_ = unit_counts();
}

void WindowSplitter::end_unit() {
  add_part_of_unit();
  unit_.reset();
}

/// What the unit has brought since it or the window began.
void WindowSplitter::add_part_of_unit() {
  UnitCounts now = unit_counts();
  sums_.add(*unit_, unit_before_, now);
  unit_before_ = std::move(now);
}

UnitCounts WindowSplitter::unit_counts() const {
  return counters_.unit_counts(counters_.total(config_.position_event), estimated_);
}

void WindowSplitter::arm() {
  for (const std::uint32_t event : closers_) counters_.restart(event, config_.events[event].period);
  late_.served();
}

}  // namespace zs::session
