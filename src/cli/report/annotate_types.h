// `annotate --data-type`: the types of a recording with the heat of their fields, in place of functions.
#pragma once

#include <string>

#include "cli/report/recording_input.h"
#include "report/text/type_text.h"

namespace zs::cli {

/// wanted  a type's name, with "struct " before it or not; "true": the hottest
/// all     every type, and not only that
/// returns  the exit status
int annotate_types(const RecordingInput& input, const std::string& wanted, bool all, const report::TypeStyle& style);

}  // namespace zs::cli
