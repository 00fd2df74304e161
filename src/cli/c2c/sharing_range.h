// How much of what a recording says of shared lines depends on how its threads happened to meet: the same lines in
// recordings with other seeds of their schedule.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/c2c/shared_lines.h"
#include "cli/report/recording_input.h"
#include "report/c2c/range_text.h"
#include "uarch/memory_parameters.h"

namespace zs::cli {

class SharingRange {
 public:
  /// The first `wanted` lines of a recording, with fields and what they are (find_fix).
  void add(const SharedLines& shared, std::size_t wanted);
  /// Another recording of the same program, read as `like` says.
  Result<void> add_recording(const std::string& path, const RecordingInput& like,
                             const uarch::MemoryParameters& parameters);

  const std::vector<report::ObjectRange>& objects() const { return objects_; }
  std::size_t recordings() const { return recordings_; }

 private:
  report::ObjectRange& object_of(const report::SharedLine& line);

  std::vector<report::ObjectRange> objects_;  // as they were met
  std::size_t recordings_ = 0;
};

}  // namespace zs::cli
