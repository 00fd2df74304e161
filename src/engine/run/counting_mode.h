// What the counters of a run ask of translated code and of its trace. Found once, from the PMUs of the first thread:
// those of all threads are programmed alike.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "arch/core_feed.h"
#include "engine/observer.h"
#include "engine/translate/accumulators.h"
#include "engine/translate/translator.h"

namespace zs::engine {

struct CountingMode {
  /// From how the PMUs of `cpu` are programmed, and whether it has a core model.
  /// fast_forward: the core is there, and is told nothing for now
  explicit CountingMode(const VirtualCpu& cpu, bool fast_forward = false);
  CountingMode() = default;

  std::unique_ptr<AccumulatorSet> accumulators;
  TraceForm form = TraceForm::Records;
  std::vector<std::uint32_t> per_instruction;  // per accumulator, most occurrences in one instruction
  std::vector<std::uint32_t> units;            // per accumulator, as CountTable has them; 0: its overflow is never near
  bool models = false;                         // threads have a core model, which is told what they do
  bool splits = false;                         // overflows are found in the trace, not waited for
  bool counts_paths = false;                   // how often each exit was left by is wanted (ExitCounts)
  bool deferred = false;                       // overflows are found when the core has played what ran (DeferredTrace)
  bool count_elements = false;                 // REP strings add to Context::elements
  bool at_once = false;        // a counter may overflow, so what the model is told is played before the thread goes on
  bool watches_lines = false;  // the core, which is told nothing else for now, is told of accesses to some lines
  bool logs = false;           // overflows of modelled events are found in the trace, in blocks of Variant::Logged
  bool time_is_near = false;   // a counter of time may overflow
  bool others_are_near = false;  // an accumulator that is not modelled may overflow
  std::uint8_t risks = 0;        // TranslationOptions
  /// Signals whose changes alone may overflow a modelled accumulator in Variant::Logged; none: others may, or more is
  /// asked of the trace.
  arch::SignalSet seldom;
  /// In deferred runs: signals whose changes alone may overflow an accumulator.
  arch::SignalSet watched;

  bool any_near() const;
  TranslationOptions translator_options(const Config& config) const;

 private:
  bool only_reported_are_near(const VirtualCpu& cpu) const;
  arch::SignalSet deferrable(const VirtualCpu& cpu) const;
};

/// chosen, as in a virtual PC: 2.4 GHz, 100 MHz
inline constexpr std::uint64_t kCyclesPerBusTick = 24;

/// What may pass before the first counter of time wraps, as core cycles at least.
std::uint64_t nearest_time(const pmu::Pmu& pmu);

}  // namespace zs::engine
