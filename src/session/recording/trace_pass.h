// Which branches of a trace pass its filter (TraceFilter), and when a thread's counts do. The Branch Trace Store has
// none of its own, so what it stored is looked through when it is drained: what decides is asked before it changes, and
// is the same for all that is in the buffer. Code that is mapped in another's place is seen a buffer late.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/observer.h"
#include "session/settings/config.h"
#include "session/windows/regions.h"

namespace zs::session {

/// Where the filter's ranges lie in a process.
class TracedCode {
 public:
  explicit TracedCode(const TraceFilter& filter) : filter_(filter) {}

  void mapped(const engine::Mapping& mapping);
  bool has(std::uint64_t address) const {
    for (const Range& range : ranges_) {
      if (address - range.start < range.bytes) return true;
    }
    return false;
  }

 private:
  struct Range {
    std::uint64_t start = 0, bytes = 0;
  };
  const TraceFilter& filter_;
  std::vector<Range> ranges_;
};

/// Of one thread.
class TracePass {
 public:
  /// code    of its process
  /// number  it is the how-manieth of its process, from 1
  /// All references must outlive this.
  TracePass(const TraceFilter& filter, const TracedCode& code, std::uint64_t number, const std::string& name);

  void renamed(const std::string& name);
  /// Whether what the thread does now passes, wherever its code lies.
  bool open() const { return of_thread_ && on_ && in_region_; }
  bool switched_on() const { return on_; }
  void switch_on(bool on) { on_ = on; }
  /// The thread got to probes; `in_region`: and is in one of the filter's regions then.
  void reached(std::span<const engine::ProbeVisit> visits, RegionProbes& probes, bool in_region);

  /// Keeps those that pass of `records`, which are the Branch Trace Store's, packed.
  void take(std::span<const std::byte> records);
  /// What has been kept since the last call: at most so many records, and fewer than `fewest` are left for later.
  /// Before a branch that does not follow the one before it a record of zeros stands.
  std::vector<std::byte> passed(std::size_t fewest, std::size_t most);

  /// Branches that did not pass.
  std::uint64_t filtered() const { return filtered_; }

 private:
  const TraceFilter& filter_;
  const TracedCode& code_;
  std::uint64_t number_;
  bool of_thread_ = true, on_, in_region_;
  bool passed_ = false, gap_ = false;  // some passed; and others did not since
  std::uint64_t filtered_ = 0;
  std::vector<std::byte> passing_;
};

}  // namespace zs::session
