// Splits what one thread counts into windows. Counters of some events start at -N; the interrupt of any of them ends
// the window, and all of them start at -N again, as HPCTool's handler stores and zeroes its counters. The engine stops
// exactly at an overflow, so a window that an event ends holds N of it; one more only if its last instruction holds
// two.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "session/driver/event_counters.h"
#include "session/driver/late_interrupt.h"
#include "session/settings/config.h"
#include "session/units/unit_sums.h"
#include "session/wire/wire.h"

namespace zs::session {

class WindowSplitter {
 public:
  /// stream  the thread's, for LateInterrupt. Both references must outlive this.
  WindowSplitter(const RecordingConfig& config, const EventCounters& counters, std::uint64_t stream);

  /// `event`, which closes windows or is the skid event, has completed its period.
  void overflowed(std::uint32_t event);
  /// All PMUs have been served. returns the window if that ended it, without its origin; null if not. Holds until the
  /// next call.
  Window* served();
  /// The same where counters of what is modelled hold less than is due (engine::Observer::pmi_ahead). returns whether
  /// that ended the window, which is whole when they hold it
  bool served_ahead();
  Window* counted();
  /// Where the run is modelled in units, one begins, and ends.
  void begin_unit(const Unit& unit);
  void end_unit();
  /// The thread ends. returns what was counted since the last window, unless nothing was
  Window* rest();

 private:
  bool ends() { return ended_by_ != 0 && late_.comes_now(); }
  void split();
  void note_end(Window& window);
  void subtract_begin();
  void estimate();
  void add_part_of_unit();
  UnitCounts unit_counts() const;
  void arm();

  const RecordingConfig& config_;
  const EventCounters& counters_;
  std::vector<std::uint32_t> closers_;  // events, in their order
  LateInterrupt late_;
  std::uint64_t ended_by_ = 0;                  // as Window::ended_by
  Window window_;                               // the last one; kept for its memory, there may be a million a second
  std::vector<std::uint64_t> before_;           // totals at the window's begin
  std::deque<Window> ahead_;                    // have ended and are not whole; values are totals; oldest first
  const std::vector<std::uint32_t> estimated_;  // events
  std::optional<Unit> unit_;                    // that is under way
  UnitCounts unit_before_;                      // when it began, or the window, if that was later
  UnitSums sums_;                               // of the window's units
};

}  // namespace zs::session
