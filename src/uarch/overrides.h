// What-if: one number of a modelled core changed by name, as `--model-set l2.bytes=2M` says it.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "uarch/core_model.h"

namespace zs::uarch {

/// setting  KEY=VALUE. Sizes and counts take K, M and G; switches on and off; policies their names.
/// returns  `model` with that changed, or what is wrong with the setting: no such key, no such value, or a value that
///          makes no core of it (the combination counts: change ways and bytes in the order in which each step is a
///          cache)
Result<CoreModel> with_override(const CoreModel& model, std::string_view setting);

/// Every key, sorted.
std::vector<std::string_view> override_keys();

}  // namespace zs::uarch
