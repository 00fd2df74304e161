// Whether a recording's numbers of an event follow from the architecture or from a model: its notes say.
#pragma once

#include <cstddef>
#include <string>

#include "profile/perf_data/perf_data_reader.h"

namespace zs::report {

/// "# Class: modelled by skylake-server@1\n", of an estimate also where its samples were taken; "" if the recording
/// does not say.
/// width  of the page; 0: any
std::string class_text(const profile::PerfDataReader& reader, const profile::PerfDataReader::Event& event,
                       std::size_t width);

}  // namespace zs::report
