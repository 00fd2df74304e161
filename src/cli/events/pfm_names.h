// libpfm4's event names of a CPU model: what event_parser.h takes as "further names", and what `zeroskid list -v` adds.
// Here and not in session, because the profiled process must not load that library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "events/event_parser.h"

namespace zs::cli {

struct PfmEvent {
  std::string name;          // EVENT.UMASK, or EVENT where there is no umask; capitals, as libpfm4 spells it
  std::uint64_t config = 0;  // EVENT, UMASK, E, ANY, INV, CMASK
  std::string description;
};

class PfmNames : public session::EventNames {
 public:
  PfmNames() = default;
  ~PfmNames() override;
  PfmNames(const PfmNames&) = delete;
  PfmNames& operator=(const PfmNames&) = delete;

  std::optional<std::uint64_t> config_of(const arch::CpuModel& cpu, std::string_view name) const override;
  std::vector<std::string> all(const arch::CpuModel& cpu) const override;

  /// Every event, in libpfm4's order; none for a processor that it does not know.
  std::vector<PfmEvent> events(const arch::CpuModel& cpu) const;

 private:
  /// Starts libpfm4, at the first question: a few milliseconds. The environment is left as it was.
  bool start() const;

  mutable bool asked_ = false, started_ = false;
};

/// parse_events with libpfm4's names. They are asked only where our own tables do not know a name, and libpfm4 is
/// started only then.
Result<std::vector<session::EventGroup>> parse_events(std::string_view text, const arch::CpuModel& cpu,
                                                      bool ring_0 = false);

}  // namespace zs::cli
