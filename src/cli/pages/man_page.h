// Manual pages, in man(7)'s macros. They bear no date: a build makes the same bytes every time.
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

}  // namespace zs::cli
