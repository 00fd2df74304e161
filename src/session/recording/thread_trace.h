// The branch trace of one thread: its Branch Trace Store, and what of it passes the recording's filter. Of an exact
// profile the filter alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "arch/cpu_model.h"
#include "pmu/interfaces.h"
#include "session/recording/branch_trace.h"
#include "session/recording/trace_pass.h"

namespace zs::session {

class ThreadTrace {
 public:
  /// The next branches that are kept: BTS records, at most kBranchesPerInterrupt.
  using Write = std::function<void(std::vector<std::byte> records)>;

  /// filter  nothing: all pass
  ThreadTrace(const arch::CpuModel& model, pmu::Clock& clock, std::optional<TracePass> filter, Write write);

  /// Of a profile.
  explicit ThreadTrace(TracePass filter) : pass_(std::move(filter)), open_(pass_->open()) {}

  /// Of a trace.
  pmu::Pmu& pmu() { return store_->pmu(); }
  /// Whether what the thread does now passes, wherever its code lies. Holds as long as this.
  const bool* open() const { return &open_; }
  bool switched_on() const { return pass_ && pass_->switched_on(); }

  /// Before what decides about branches changes.
  void drain() {
    if (store_) store_->drain();
  }
  /// The thread ends.
  void finish();
  void renamed(const std::string& name);
  /// As TracePass::reached.
  void reached(std::span<const engine::ProbeVisit> visits, RegionProbes& probes, bool in_region);

  std::uint64_t filtered() const { return pass_ ? pass_->filtered() : 0; }

 private:
  void receive(std::span<const std::byte> records);
  void write_passed(std::size_t fewest);

  std::optional<TracePass> pass_;
  Write write_;
  std::optional<BranchTrace> store_;
  bool open_ = true;
};

}  // namespace zs::session
