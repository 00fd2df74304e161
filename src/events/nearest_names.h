// The names closest to a mistyped one, for "did you mean".
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zs::session {

/// The cheapest way from what was typed to what was meant; upper and lower case are equal. A letter left out and two
/// neighbours swapped cost 1, a wrong letter and a letter too many cost 2: people type too little more often than too
/// much ("instrs", "loads").
/// limit    beyond it, how far does not matter
/// returns  the distance, or something larger than `limit`
std::size_t typing_distance(std::string_view typed, std::string_view meant,
                            std::size_t limit = std::numeric_limits<std::size_t>::max());

/// The `count` candidates nearest to `name`, nearest first, in alphabetical order where equally near. A candidate is as
/// near as its whole name or, one step further, the part after its first dot: people forget the event before the umask.
/// Candidates that `name` begins ("mem_inst", "instruction") come before all others.
/// returns none where `name` is longer than any name could be
std::vector<std::string> nearest_names(std::string_view name, std::span<const std::string> candidates,
                                       std::size_t count);

/// What somebody may mean who writes an event's name as another tool or another habit has it: PAPI's presets, singular
/// for plural, words without what stands between them ("branchinstructions"), what is counted instead of a name
/// ("LLC-miss"). returns those of `candidates` that are meant, the most likely first; often none
std::vector<std::string> meant_names(std::string_view name, std::span<const std::string> candidates);

}  // namespace zs::session
