#include "cli/record/piped_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "cli/command/say.h"
#include "profile/perf_data/pipe_form.h"

namespace zs::cli {

PipedOutput::~PipedOutput() {
  if (!path_.empty()) unlink(path_.c_str());
  if (stdout_ >= 0) close(stdout_);
}

Result<void> PipedOutput::begin(std::string& path) {
  if (isatty(STDOUT_FILENO) != 0) return Error{"-o -: stdout is a terminal", "zeroskid record -o - PROGRAM > FILE"};
  const char* const folder = std::getenv("TMPDIR");
  std::string name = std::string(folder != nullptr && *folder != '\0' ? folder : "/tmp") + "/zeroskid-XXXXXX";
  const int file = mkostemp(name.data(), O_CLOEXEC);
  if (file < 0)
    return Error{"-o -: " + name + ": " + std::strerror(errno), "set TMPDIR to a folder that can be written"};
  close(file);
  path_ = path = name;
  stdout_ = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
  if (stdout_ < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    return Error{std::string("-o -: ") + std::strerror(errno), ""};
  return {};
}

bool PipedOutput::finish() {
  if (path_.empty()) return true;
  const auto written =
      profile::write_pipe_form(path_, [this](std::string_view piece) { return write_all(stdout_, piece); });
  if (!written) say(written.error());
  return written.has_value();
}

}  // namespace zs::cli
