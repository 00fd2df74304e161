// Which zeroskid this is.
#pragma once

namespace zs::cli {

/// Twelve digits of the commit that was built, with "+" behind where files had been changed; "" if that is not known.
/// Defined by cmake/Commit.cmake, in the program alone.
extern const char* const kCommit;

}  // namespace zs::cli
