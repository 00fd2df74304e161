// Which instruction the samples of one thread show when they are to be as late as those of real processors: of
// interrupts, of PEBS, of PEBS with precise distribution. All counters overflow by interrupt, which is exact here; what
// real ones would have made of the same overflow follows from it. docs/how-to/skid.md says what is known and what is
// chosen.
//
//   Fixed, Distribution  the interrupt comes that many instructions after the overflow, shows the instruction that is
//                        next, and serves what has overflowed until then
//   Armed                counters see events in the shadow, and nothing is recorded there; the first one behind it is,
//                        and the counter starts anew
//   Precise              the instruction that made the counter overflow
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "arch/records/skid_note.h"
#include "session/driver/event_counters.h"
#include "session/driver/late_interrupt.h"
#include "session/driver/pmu_driver.h"
#include "session/driver/pmu_plan.h"
#include "session/sample.h"
#include "session/settings/config.h"

namespace zs::session {

class SkidReplay {
 public:
  /// Instructions behind the one that overflows in which PEBS, which is being armed, records nothing.
  /// source: SDM vol. 3B, "Precise Distribution of Instructions Retired (PDIR)": there is "a finite delay between the
  ///         time the counter overflows and when the microcode starts to carry out its data collection obligations",
  ///         constant in clocks and so variable in instructions.
  /// chosen: its length, two clocks at four instructions each; and that it is constant.
  static constexpr std::uint64_t kShadow = 8;

  /// A counter has completed its period.
  struct Overflow {
    PmuDriver* driver = nullptr;
    PlannedCounter counter;
    std::uint64_t ip = 0;        // of the instruction that made it overflow
    std::uint64_t position = 0;  // instructions retired, with that one
    std::uint64_t events = 0;    // that the sample stands for
  };
  /// A sample that is to be taken now.
  struct Taken {
    Overflow overflow;
    std::uint64_t ip = 0;  // that it shows
    arch::SkidNote note;
  };

  /// stream  the thread's, for LateInterrupt. Both references must outlive this.
  SkidReplay(const RecordingConfig& config, const EventCounters& counters, std::uint64_t stream);

  /// Called from PmuClient::overflow.
  /// period  that the counter is to have for its next sample
  void overflowed(const Overflow& overflow, std::uint64_t period);
  /// RecordingConfig::skid_event has completed its period.
  void skid_is_over() { late_.skid_is_over(); }

  /// All PMUs have been served. `position` instructions have retired, and that at `next_ip` is next. Holds until the
  /// next call.
  const std::vector<Taken>& served(std::uint64_t position, std::uint64_t next_ip);

  /// Counters whose overflow no sample shows yet, and never will if the thread ends here.
  const std::map<std::uint32_t, Taken>& waiting() const { return waiting_; }

 private:
  const Skid skid_;
  LateInterrupt late_;
  std::map<std::uint32_t, Taken> waiting_;  // by event
  std::vector<Taken> ready_, taken_;
};

/// What the sample shows, and how it came to.
void report_skid(const SkidReplay::Taken& taken, Sample& sample);

}  // namespace zs::session
