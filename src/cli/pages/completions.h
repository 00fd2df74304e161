// Completions for shells: a file each, made from the verbs' options. What depends on the machine or the CPU model
// (events, metrics, models) the completion asks of the zeroskid that is typed.
#pragma once

#include <string>
#include <vector>

#include "cli/pages/verb_pages.h"

namespace zs::cli {

std::string bash_completion(const std::vector<VerbPage>& pages);
std::string zsh_completion(const std::vector<VerbPage>& pages);
std::string fish_completion(const std::vector<VerbPage>& pages);

}  // namespace zs::cli
