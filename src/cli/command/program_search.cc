#include "cli/command/program_search.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/items.h"
#include "cli/command/say.h"

namespace zs::cli {
namespace {

constexpr const char* kDefaultPath = "/bin:/usr/bin";  // what execvp takes without $PATH

/// 0 if the file can be executed, else an errno.
int obstacle(const std::string& path) {
  struct stat file {};
  if (stat(path.c_str(), &file) != 0) return errno;
  if (S_ISDIR(file.st_mode)) return EISDIR;
  if (!S_ISREG(file.st_mode)) return EACCES;
  return access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

SearchFailure failure_of(const std::string& path, int reason) {
  switch (reason) {
    case ENOENT:
    case ENOTDIR: return {{path + ": no such file", ""}, kNotFound};
    case EISDIR: return {{path + ": is a folder, not a program", ""}, kNotExecutable};
    case EACCES:
      return {{path + ": permission denied", "a program needs the x permission: chmod +x " + path}, kNotExecutable};
    default: return {{path + ": " + std::strerror(reason), ""}, kNotExecutable};
  }
}

}  // namespace

bool find_program(const std::string& name, const char* search_path, std::string& found, SearchFailure& failure) {
  if (name.find('/') != std::string::npos) {
    const int reason = obstacle(name);
    if (reason == 0) {
      found = name;
    } else {
      failure = failure_of(name, reason);
    }
    return reason == 0;
  }
  failure = {{name + ": not found in $PATH", "a program in the current folder is named ./" + name}, kNotFound};
  if (name.empty()) {
    failure = {{"the program's name is empty", ""}, kNotFound};
    return false;
  }
  bool denied = false;
  for (const std::string_view folder : items_of(search_path != nullptr ? search_path : kDefaultPath, ':')) {
    std::string path(folder.empty() ? "." : folder);
    path += "/";
    path += name;
    const int reason = obstacle(path);
    if (reason == 0) {
      found = path;
      return true;
    }
    if (reason == EACCES && !denied) {  // as execvp: keep looking, but remember
      denied = true;
      failure = failure_of(path, EACCES);
    }
  }
  return false;
}

int find_in_path(const std::string& name, std::string& found) {
  SearchFailure failure;
  return find_program(name, std::getenv("PATH"), found, failure) ? 0 : failed(failure.error, failure.exit_status);
}

}  // namespace zs::cli
