// Where the data of accesses was, as a bar and in words.
#pragma once

#include <string>

#include "profile/aggregate/heat.h"

namespace zs::report {

/// "|11112222MMMM|  memory 50%, L1 30%, L2 20%; mean 123.4 cycles"; "" if they do not say.
std::string source_bar(const profile::Heat& heat);

}  // namespace zs::report
