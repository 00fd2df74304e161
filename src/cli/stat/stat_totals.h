// Adds up what the threads of a program counted, and what units of it told (session/units/unit_sums.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/run/collector.h"
#include "session/units/unit_sums.h"

namespace zs::cli {

/// Of a counter of the kernel's: it ran for less than it was enabled where events had to take turns.
struct CountedTime {
  std::uint64_t enabled_ns = 0, running_ns = 0;
};

struct ThreadTotals {
  std::int32_t pid = 0, tid = 0;
  std::string comm;                   // its last name
  std::vector<std::uint64_t> values;  // by event
  session::UnitSums units;            // of the estimated events
  std::vector<CountedTime> times;     // by event, where the kernel counted
};

class StatTotals final : public RecordingSink {
 public:
  /// estimated  how many of the events are estimates
  explicit StatTotals(std::size_t events, std::size_t estimated = 0) : events_(events), estimated_(estimated) {}

  void receive(session::Message&& message) override;

  /// Totals of the whole program, by event. Those of a thread that was killed are what it last reported.
  std::vector<std::uint64_t> totals() const;
  /// The same of what units told.
  session::UnitSums units() const;
  /// In the order in which they appeared. A program that execs goes on being the same thread.
  std::vector<ThreadTotals> threads() const;
  /// The same by process: the sums of their threads, named as the first of them.
  std::vector<ThreadTotals> processes() const;
  /// Some thread never said its last word: it was killed, or it still runs.
  bool incomplete() const;

 private:
  struct Thread {
    ThreadTotals ended;                  // of images that said their last word
    std::vector<std::uint64_t> running;  // of one that has not; empty if it said nothing yet
    session::UnitSums running_units;     // likewise
    bool open = false;                   // there is such a one

    void end_image();
  };

  Thread& thread(const session::Origin& origin);
  void take(const session::Units& units);

  std::size_t events_, estimated_;
  std::vector<Thread> threads_;
  std::map<std::int64_t, std::size_t> index_;  // by pid and tid
};

}  // namespace zs::cli
