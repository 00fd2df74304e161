// What a page says of its numbers: whether they follow from the architecture or from a model, as the recording's notes
// have it, and how many call chains are not whole.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "profile/aggregate/aggregate.h"
#include "profile/perf_data/perf_data_reader.h"

namespace zs::report {

/// What the recording notes of itself under that key; null where it does not.
const std::string* find_note(const profile::PerfDataReader& reader, std::string_view key);

/// "# Class: modelled by skylake-server@1\n", of an estimate also where its samples were taken; "" if the recording
/// does not say.
/// width  of the page; 0: any
std::string class_text(const profile::PerfDataReader& reader, const profile::PerfDataReader::Event& event,
                       std::size_t width);

/// "# Chains: 12 of 3456 (0.3 %) end short: 12 without a rule for the code, 9 of them in spin (loopy)\n"; "" if all go
/// to the outermost frame, or the recording does not say.
std::string chains_text(const profile::Histogram& histogram, std::size_t width);

}  // namespace zs::report
