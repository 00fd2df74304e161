#include "session/recording/warm_up_error.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "arch/core_signals.h"
#include "arch/events/tables.h"
#include "arch/msrs.h"
#include "session/driver/core_choice.h"

namespace zs::session {
namespace {

using arch::CoreSignal;
using enum arch::CoreSignal;

constexpr WarmUpError kOfTime = {.share = 0.04};

struct SignalRow {
  CoreSignal first, last;
  WarmUpError error;
};

/// Signals that are in no row do not depend on what a cache or a predictor knows: loads, stores, retired uops.
constexpr SignalRow kSignalRows[] = {
    {LoadL1Hit, LoadL1Hit, {.share = 0.01}},
    {LoadFillBuffer, LoadL2Hit, {.share = 0.08}},
    {LoadL3HitNone, LoadDram, {.share = 0.2, .per_instruction = 1e-4}},
    {LoadStlbMiss, LoadStlbMiss, {.share = 0.1, .per_instruction = 5e-5}},
    {StoreStlbMiss, StoreStlbMiss, {.share = 0.1, .per_instruction = 5e-5}},
    {L1dReplacement, FillBufferFull, {.share = 0.05}},
    {L2DemandReadHit, WalkCompleted2M, {.share = 0.2, .per_instruction = 5e-5}},
    {DtlbLoadWalk4K, DtlbLoadWalk2M, {.share = 0.2, .per_instruction = 5e-5}},
    {FetchHit, FetchHit, {.share = 0.02}},
    {FetchMiss, FetchMiss, {.share = 0.2, .per_instruction = 5e-5}},
    {ForwardedLoads, AddressAlias, {.share = 0.04}},
    {MispredictedTaken, Resteers, {.share = 0.2, .per_instruction = 5e-5}},
    {Cycles, StallsPorts, kOfTime},
    // Of lines of code that come as rarely as FetchMiss: twelve cycles of four slots each.
    {SlotsInstructionCache, SlotsUopCache, {.share = 0.04, .per_instruction = 2.4e-3}},
    {CyclesNotDelivered, CyclesNotDelivered, kOfTime},
    {RecoveryCycles, RecoveryCycles, {.share = 0.2, .per_instruction = 5e-5}},
    {WrongPathUops, WrongPathUops, {.share = 0.04}},  // few beside the retired ones that they are counted with
};

}  // namespace

WarmUpError warm_up_error(const EventSpec& event, const arch::CpuModel& model) {
  const arch::EventMeaning* const meaning = arch::meaning_of(model, arch::PerfEvtSel{event.select});
  if (meaning == nullptr || meaning->of_signals == nullptr) return kOfTime;
  // A sum of signals is mostly the one that is surest: what misses the first level is found in the second.
  std::optional<WarmUpError> error;
  for (const SignalRow& row : kSignalRows) {
    for (auto at = static_cast<std::size_t>(row.first); at <= static_cast<std::size_t>(row.last); ++at) {
      if (!arch::depends_on(*meaning, static_cast<CoreSignal>(at))) continue;
      if (!error) error = row.error;
      error->share = std::min(error->share, row.error.share);
      error->per_instruction = std::max(error->per_instruction, row.error.per_instruction);
    }
  }
  return error.value_or(WarmUpError{});
}

}  // namespace zs::session
