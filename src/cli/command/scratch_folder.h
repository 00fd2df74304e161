// A folder for what a verb writes for itself: it goes with what is in it.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace zs::cli {

class ScratchFolder {
 public:
  /// The path is empty, and errno says why, where it cannot be made.
  ScratchFolder() {
    std::error_code problem;
    path_ = (std::filesystem::temp_directory_path(problem) / "zeroskid-XXXXXX").string();
    if (mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~ScratchFolder() {
    std::error_code problem;
    if (!path_.empty()) std::filesystem::remove_all(path_, problem);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace zs::cli
