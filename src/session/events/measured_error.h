// How far off modelled numbers were measured to be. docs/accuracy.md has the same sentences, and what they were
// measured against.
#pragma once

#include <string_view>

namespace zs::session {

/// "error not measured" where nothing was.
/// event  a name as EVENT.UMASK, in any case
std::string_view measured_error(std::string_view event);

}  // namespace zs::session
