// What is made of the verbs' options: manual pages, in man(7)'s macros, which bear no date, so that a build makes the
// same bytes every time; and completions for shells, a file each. What depends on the machine or the CPU model (events,
// metrics, models) a completion asks of the zeroskid that is typed.
#pragma once

#include <string>
#include <vector>

#include "cli/pages/verb_pages.h"

namespace zs::cli {

/// zeroskid(1)
std::string man_page(const std::vector<VerbPage>& pages);

/// zeroskid-VERB(1)
std::string man_page(const VerbPage& page);

/// "zeroskid-mem-record": what the page of a verb is called.
std::string man_name(const OptionTable& table);

std::string bash_completion(const std::vector<VerbPage>& pages);
std::string zsh_completion(const std::vector<VerbPage>& pages);
std::string fish_completion(const std::vector<VerbPage>& pages);

}  // namespace zs::cli
