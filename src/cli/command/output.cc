#include "cli/command/output.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>

#include "cli/command/exit_status.h"
#include "cli/command/say.h"

namespace zs::cli {

std::optional<int> Output::take_descriptor(int descriptor) {
  path_ = "--log-fd " + std::to_string(descriptor);
  descriptor_ = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (descriptor_ >= 0) return std::nullopt;
  return failed({path_ + ": " + std::strerror(errno), "2 is stderr; or -o FILE"});
}

std::optional<int> Output::open_file(const std::string& path, Old old) {
  if (path.empty()) return std::nullopt;
  path_ = path;
  descriptor_ = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | (old == Old::Kept ? O_APPEND : O_TRUNC), 0666);
  if (descriptor_ >= 0) return std::nullopt;
  return failed({path + ": cannot create: " + std::strerror(errno), "choose another place with -o FILE"});
}

void Output::add(const std::string& text) {
  text_ += text;
  if (text_.size() >= kMuch) flush();
}

bool Output::flush() {
  if (whole_ && !write_all(descriptor_, text_)) {
    whole_ = false;
    if (!path_.empty())
      say(Error{path_ + ": " + std::strerror(errno) + "; the counts are not in it, or not all of them",
                "choose another place with -o FILE"});
  }
  text_.clear();
  return whole_ || path_.empty();
}

bool write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) say(Error{path + ": cannot write: " + std::strerror(errno), "choose another place"});
  return static_cast<bool>(file);
}

}  // namespace zs::cli
