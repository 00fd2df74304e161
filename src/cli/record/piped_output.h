// `record -o -`: the recording goes to stdout, in the pipe format, when the program has ended. Until then it is a
// temporary file, and what the program writes to stdout goes to stderr, as with perf.
#pragma once

#include <string>

#include "base/result.h"

namespace zs::cli {

class PipedOutput {
 public:
  PipedOutput() = default;
  ~PipedOutput();
  PipedOutput(const PipedOutput&) = delete;
  PipedOutput& operator=(const PipedOutput&) = delete;

  /// path  becomes the temporary file's
  Result<void> begin(std::string& path);
  /// Writes what is in the file, if begin() made one. returns whether all of it is written; if not, that has been said
  bool finish();

 private:
  std::string path_;
  int stdout_ = -1;
};

}  // namespace zs::cli
