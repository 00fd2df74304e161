// What `zeroskid doctor` prints: a page for people, and JSON (docs/formats/doctor-json.md) for programs.
#pragma once

#include <optional>
#include <string>

#include "cli/costs/costs.h"
#include "cli/run/user_cache.h"
#include "host/diagnosis.h"

namespace zs::cli {

/// kept   translations of former runs
/// costs  those that --measure found
std::string doctor_page(const host::MachineFacts& facts, const host::Diagnosis& diagnosis, const KeptTranslations& kept,
                        const std::optional<Costs>& costs = {});

/// One JSON object, indented, with a newline at the end.
std::string doctor_json(const host::MachineFacts& facts, const host::Diagnosis& diagnosis, const KeptTranslations& kept,
                        const std::optional<Costs>& costs = {});

}  // namespace zs::cli
