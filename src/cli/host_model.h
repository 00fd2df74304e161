// --model=host: the CPU model that is nearest to this machine's processor. Results then depend on where they were made, so
// it is never chosen without being asked for.
#pragma once

#include <string_view>

#include "arch/cpu_model.h"
#include "base/result.h"
#include "host/machine_facts.h"

namespace zs::cli {

/// The CPU model of the same vendor, family and model number, or which processor has none here.
/// option  that asked for it, for the message
Result<const arch::CpuModel*> model_of_host(const host::CpuidFacts& cpuid, std::string_view option);

}  // namespace zs::cli
