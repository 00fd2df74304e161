// What `perf c2c report --stdio` prints of samples: what all loads and stores were, the lines that are shared, and who
// does what to them.
// Columns and their names are perf 6.1's.
#pragma once

#include <string>

#include "profile/aggregate/cache_lines.h"
#include "profile/perf_data/perf_data_reader.h"
#include "profile/symbols/symbolizer.h"

namespace zs::report {

struct C2cStyle {
  std::string coalesce = "iaddr";  // as it was asked for
  bool show_all = false;           // lines without HITM too
  bool only_sums = false;          // what all loads and stores were, and no lines
  bool source_lines = true;
};

/// The lines that the tables show, by number in lines.lines.
std::vector<std::size_t> shown_lines(const profile::CacheLines& lines, const C2cStyle& style);

std::string c2c_text(const profile::PerfDataReader& reader, const profile::CacheLines& lines,
                     profile::Symbolizer& symbolizer, const C2cStyle& style);

}  // namespace zs::report
