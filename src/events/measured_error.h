// How far off modelled numbers were measured to be. docs/generated/published-events.md has each event on each CPU
// model, and what it was measured against; the table is made with that page.
#pragma once

#include <string_view>

namespace zs::session {

/// "no public figure found" where there is nothing to compare with.
/// event  a name as EVENT.UMASK, in any case
std::string_view measured_error(std::string_view event);

}  // namespace zs::session
