#include "cli/record/compression_option.h"

#include "base/number.h"
#include "profile/perf_data/record_packer.h"

namespace zs::cli {

void add_compression_option(CommandLine& line, std::string& level) {
  line.optional_value("-z,--compression-level", level, "[=LEVEL]",
                      "Compress the records with zstd, from 1, the fastest, to 22. Branches of a trace stay as they "
                      "are:\nperf could not read them [1]");
}

Result<int> compression_level(const std::string& text) {
  constexpr int kUsual = 1;
  if (text.empty()) return 0;
  if (text == "true") return kUsual;
  const int level = whole_number<int>(text).value_or(0);
  if (level < 1 || level > profile::RecordPacker::kHighestLevel) {
    return Error{"-z=" + text + ": no level of compression",
                 "1, which is the fastest, to " + std::to_string(profile::RecordPacker::kHighestLevel)};
  }
  return level;
}

}  // namespace zs::cli
