#include "session/recording/thread_trace.h"

#include <utility>

namespace zs::session {

ThreadTrace::ThreadTrace(const arch::CpuModel& model, pmu::Clock& clock, std::optional<TracePass> filter, Write write)
    : pass_(std::move(filter)), write_(std::move(write)) {
  store_.emplace(model, clock, [this](std::span<const std::byte> records) { receive(records); });
}

void ThreadTrace::receive(std::span<const std::byte> records) {
  if (!pass_) return write_({records.begin(), records.end()});
  pass_->take(records);
  write_passed(kBranchesPerInterrupt);
}

void ThreadTrace::write_passed(std::size_t fewest) {
  for (;;) {
    std::vector<std::byte> records = pass_->passed(fewest, kBranchesPerInterrupt);
    if (records.empty()) return;
    write_(std::move(records));
  }
}

void ThreadTrace::finish() {
  drain();
  if (pass_) write_passed(1);
}

void ThreadTrace::renamed(const std::string& name) {
  drain();
  if (!pass_) return;
  pass_->renamed(name);
  open_ = pass_->open();
}

void ThreadTrace::reached(std::span<const engine::ProbeVisit> visits, RegionProbes& probes, bool in_region) {
  if (!pass_) return;
  pass_->reached(visits, probes, in_region);
  open_ = pass_->open();
}

}  // namespace zs::session
