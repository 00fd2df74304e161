// What `mem report` shows of each event: where the data was, how long it took, and the hot list of accesses.
#pragma once

#include <string>
#include <vector>

#include "profile/perf_data/perf_data_reader.h"
#include "profile/symbols/symbolizer.h"
#include "report/text/report_text.h"

namespace zs::report {

struct MemoryStyle {
  std::string keys_text;  // as given to -s
  std::vector<profile::SortKey> keys;
  bool overview = true;  // the sources and the histogram before the list, latency columns in it
  double percent_limit = 0;
  std::size_t width = 0;  // of the page; 0: any
  bool color = false;
};

std::string memory_text(const profile::PerfDataReader& reader, profile::Symbolizer& symbolizer,
                        const MemoryStyle& style);

}  // namespace zs::report
