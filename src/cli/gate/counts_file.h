// A file that `zeroskid diff` compares: a recording, what `stat -j` printed, or a baseline of `check`.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/report/recording_input.h"
#include "report/diff/changes.h"

namespace zs::cli {

struct CountsFile {
  std::string path;
  std::vector<report::EventCounts> events;
  std::vector<std::string> remarks;
};

/// returns an error; without words, if it has been said
Result<CountsFile> read_counts(const RecordingInput& input, bool lines);

}  // namespace zs::cli
