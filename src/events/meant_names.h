// What somebody may mean who writes an event's name as another tool or another habit has it: PAPI's presets, singular
// for plural, words without what stands between them ("branchinstructions"), what is counted instead of a name
// ("LLC-miss").
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zs::session {

/// Those of `candidates` that are meant by `name`, the most likely first; often none.
std::vector<std::string> meant_names(std::string_view name, std::span<const std::string> candidates);

}  // namespace zs::session
