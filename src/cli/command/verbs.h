// The list of verbs, in the order in which --help shows them.
#pragma once

#include <span>

#include "cli/command/verb.h"

namespace zs::cli {

std::span<const Verb* const> verbs();

}  // namespace zs::cli
