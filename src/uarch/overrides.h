// What-if: numbers of a modelled core changed by name, as `--model-set l2.bytes=2M` says it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "uarch/core_model.h"

namespace zs::uarch {

/// settings  KEY=VALUE each, one after the other. Sizes and counts take K, M and G; switches on and off; policies their
///           names.
/// returns   `model` with them, or what is wrong with one: no such key, no such value; or why all of them together make
///           no core
Result<CoreModel> with_overrides(const CoreModel& model, const std::vector<std::string>& settings);

/// Every key, sorted.
std::vector<std::string_view> override_keys();

}  // namespace zs::uarch
