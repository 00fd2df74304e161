#include "cli/run/user_cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace zs::cli {

std::string user_cache() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const char* const home = std::getenv("HOME");
  if (cache != nullptr && *cache == '/') return std::string(cache) + "/zeroskid";
  if (home != nullptr && *home == '/') return std::string(home) + "/.cache/zeroskid";
  return "";
}

std::string translations_folder() {
  const std::string cache = user_cache();
  if (cache.empty()) return "";
  std::string folder = cache + "/translations";
  make_private_folder(folder);
  return folder;
}

KeptTranslations kept_translations() {
  KeptTranslations kept{.folder = translations_folder()};
  kept.unusable =
      kept.folder.empty() ? "neither XDG_CACHE_HOME nor HOME names a folder" : unusable_because(kept.folder);
  if (kept.unusable.empty() && access(kept.folder.c_str(), W_OK) != 0) kept.unusable = std::strerror(errno);
  std::error_code problem;
  for (const auto& entry : std::filesystem::directory_iterator(kept.folder, problem)) {
    if (!entry.is_regular_file(problem)) continue;
    ++kept.files;
    if (const auto bytes = entry.file_size(problem); !problem) kept.bytes += bytes;
  }
  return kept;
}

void make_private_folder(const std::string& folder) {
  struct stat status {};
  if (stat(folder.c_str(), &status) == 0) return;
  for (std::size_t end = folder.find('/', 1); end != std::string::npos; end = folder.find('/', end + 1))
    mkdir(folder.substr(0, end).c_str(), 0700);
  mkdir(folder.c_str(), 0700);
}

std::string unusable_because(const std::string& folder) {
  struct stat status {};
  if (lstat(folder.c_str(), &status) != 0) return std::strerror(errno);
  if (!S_ISDIR(status.st_mode)) return "it is no folder";
  if (status.st_uid != geteuid()) return "it belongs to somebody else";
  if ((status.st_mode & 077U) != 0) return "others may look into it";
  return "";
}

}  // namespace zs::cli
