// Instructions that the observer has probed, and how translated code keeps them apart: a probe begins a block of its
// own, so that every exit of that block in the trace says the thread was there (SuperblockBuilder, account/probes.h).
#pragma once

#include <cstdint>
#include <unordered_map>

#include "engine/observer.h"

namespace zs::engine {

struct Probe {
  ProbeTime time = ProbeTime::None;
  bool stepped = false;  // runs as Variant::Step
  explicit operator bool() const { return time != ProbeTime::None; }
};

class CodeProbes {
 public:
  /// Several may want to hear of one instruction; if one of them needs registers, it is stepped.
  void add(const CodeProbe& probe) {
    Probe& known = probes_[probe.pc];
    known = {.time = probe.time, .stepped = probe.with_registers || known.stepped};
  }
  Probe at(std::uint64_t pc) const {
    if (probes_.empty()) return {};
    const auto found = probes_.find(pc);
    return found == probes_.end() ? Probe{} : found->second;
  }
  /// visit(pc) for each, in no order.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& [pc, probe] : probes_) visit(pc);
  }

 private:
  std::unordered_map<std::uint64_t, Probe> probes_;
};

}  // namespace zs::engine
