// A program that has been started and waits in front of its execve, so that what watches it can be opened first.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "cli/run/own_signals.h"

namespace zs::cli {

class HeldProgram {
 public:
  /// path  of the file; argv[0] may be another name
  static Result<HeldProgram> start(const std::string& path, const std::vector<std::string>& argv,
                                   const OwnSignals& signals);
  HeldProgram(HeldProgram&&) noexcept;
  HeldProgram& operator=(HeldProgram&&) = delete;
  /// One that was never let go ends with us.
  ~HeldProgram();

  pid_t pid() const { return pid_; }
  /// Lets it execute its file. An Error, and the process is gone: it cannot.
  Result<void> let_go();

 private:
  HeldProgram(std::string path, pid_t pid, Descriptor go, Descriptor report)
      : path_(std::move(path)), pid_(pid), go_(std::move(go)), report_(std::move(report)) {}

  std::string path_;
  pid_t pid_;
  Descriptor go_, report_;
};

}  // namespace zs::cli
