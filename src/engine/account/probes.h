// Probes in the program's code: found while it is translated, told of when the trace is drained or an instruction is
// stepped.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/account/core_feeder.h"
#include "engine/account/tally.h"
#include "engine/translate/code_probes.h"

namespace zs::engine {

class Probes {
 public:
  Probes(Run& run, Tally& tally, CoreFeeder& core) : run_(run), tally_(tally), core_(core) {}

  /// Whether somebody wants to hear of `insn`, which is about to be translated or stepped.
  Probe at(const Insn& insn);
  /// Takes those of which the observer has thought since the last call.
  void adopt();
  /// The thread got to the probe at `pc`.
  void reached(std::uint64_t pc, const arch::RegisterFile* registers);
  /// Some lie in traces, so that records tell of them.
  bool in_traces() const { return in_traces_; }
  /// REP strings run alone from now on, where probes are: a trace does not say between which records their elements
  /// were counted.
  bool stop_counting_elements();
  /// Whether code that may be one has been translated.
  bool met() const { return any_ || met_marker_; }
  /// No translation has been made without regard to those that there are.
  void drop_probed();
  void code_changed() { markers_.clear(); }

  /// Counts the records, enters their branches, and tells of the probes that they speak of.
  void count_records(const Records& records);
  /// The same of the trace [start, end) in the budget form.
  void count_budget(std::uint64_t start, std::uint64_t end, std::span<const ProbeNote> notes);

 private:
  ProbeTime marker(const Insn& insn);
  std::size_t next_probe(std::span<const std::uint32_t> ids, std::size_t from) const;
  std::size_t sum_up_to_probe(std::span<const std::uint32_t> ids, std::size_t from,
                              std::span<std::uint32_t> running) const;
  void count_with_visits(const Records& records);
  void count_between_probes(const Records& records);
  template <typename Report>
  void find_probes(const Records& records, Report report);

  Run& run_;
  Tally& tally_;
  CoreFeeder& core_;
  CodeProbes probes_;
  std::unordered_map<std::uint64_t, ProbeTime> markers_;  // probes of the source, by pc; of code as it is now
  bool any_ = false;                                      // in code that has been translated
  bool in_traces_ = false;
  bool met_marker_ = false;
  std::vector<ProbeVisit> visits_;        // scratch of count_with_visits()
  std::vector<std::uint32_t> uncounted_;  // of each visit, then the running sums
};

}  // namespace zs::engine
