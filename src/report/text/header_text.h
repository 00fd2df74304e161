// What a recording says of itself, as lines beginning with '#': what perf prints for --header, and our notes.
#pragma once

#include <string>

#include "profile/perf_data/perf_data_reader.h"

namespace zs::report {

std::string header_text(const profile::PerfDataReader& reader);

}  // namespace zs::report
