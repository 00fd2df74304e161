// How far estimates may be off because the model does not know all at the start of a unit: a warm-up of some thousand
// instructions leaves out what predictors, the second and the last level would know. That error is alike in all units,
// so how units differ tells nothing of it; it was measured, against programs that were modelled whole.
#pragma once

#include "arch/cpu_model.h"
#include "session/settings/config.h"

namespace zs::session {

/// Of a total; the two add up.
struct WarmUpError {
  double share = 0;            // of the total
  double per_instruction = 0;  // of the run: what is asked for anew while a program goes on as it did
};

/// Nine estimates in ten of the programs of bench/sampling are off by no more than this and half the jackknife's
/// interval together. source: docs/models/estimates.md, "Intervals"
WarmUpError warm_up_error(const EventSpec& event, const arch::CpuModel& model);

}  // namespace zs::session
