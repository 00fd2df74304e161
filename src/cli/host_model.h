// --model=host: the CPU model that is nearest to this machine's processor. Results then depend on where they were made, so
// it is never chosen without being asked for.
#pragma once

#include "arch/cpu_model.h"
#include "base/result.h"
#include "host/machine_facts.h"

namespace zs::cli {

/// The CPU model of the same family and model number, or which processor has none here.
Result<const arch::CpuModel*> model_of_host(const host::CpuidFacts& cpuid);

}  // namespace zs::cli
