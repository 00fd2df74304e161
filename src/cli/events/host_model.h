// --model=host: the CPU model that is nearest to this machine's processor. Results then depend on where they were made,
// so it is never chosen without being asked for.
#pragma once

#include <string>
#include <string_view>

#include "arch/cpu_model.h"
#include "base/result.h"
#include "host/machine_facts.h"

namespace zs::cli {

struct HostModel {
  const arch::CpuModel* model = nullptr;
  std::string remark;  // what a user must be told: that it is only the nearest; "": it is of this very processor
};

/// The CPU model of the same vendor, family and model number, else the one whose microarchitecture is most like the
/// processor's. An error names a processor that is like none: of another vendor, or older than all of them.
/// option  that asked for it, for the message
Result<HostModel> model_of_host(const host::CpuidFacts& cpuid, std::string_view option);

/// "models: skylake-server@1, ...": a hint.
std::string known_models();

}  // namespace zs::cli
