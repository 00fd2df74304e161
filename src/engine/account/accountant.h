// From the trace to the PMUs: what translated code has appended is read (drain), and counted, played by the core model,
// or retired instruction by instruction, as the counters ask (CountingMode). Each part uses those before it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/account/core_feeder.h"
#include "engine/account/exit_counts.h"
#include "engine/account/logged_trace.h"
#include "engine/account/phases.h"
#include "engine/account/probes.h"
#include "engine/account/steps.h"
#include "engine/account/tally.h"

namespace zs::engine {

class Accountant {
 public:
  explicit Accountant(Run& run)
      : tally(run),
        core(run, tally),
        probes(run, tally, core),
        exits(run),
        steps(run, tally, core, probes, exits),
        logged(run, tally, core, probes, steps),
        phases(run, tally, exits),
        run_(run) {}

  /// Reads the trace up to the trace pointer, and tells the PMUs of it.
  /// extra_exit  one record more, which was not stored
  void drain(std::optional<std::uint32_t> extra_exit);
  /// The first `instructions` of `block`, which faulted behind them, in a trace that has been drained; `pc` is where.
  void count_into(std::uint32_t block, unsigned instructions, std::uint64_t pc);

  Tally tally;
  CoreFeeder core;
  Probes probes;
  ExitCounts exits;
  SingleSteps steps;
  LoggedTrace logged;
  Phases phases;

 private:
  Records recorded(std::uint64_t start, std::uint64_t end, std::optional<std::uint32_t> extra);
  void drain_elements();
  std::span<const std::uint64_t> take_notes();

  Run& run_;
  std::vector<std::uint32_t> ids_;      // scratch of drain()
  std::vector<ProbeNote> probe_notes_;  // likewise: those of the trace, without kIsProbe
};

}  // namespace zs::engine
