// What a file of /proc or sysfs says in its first line.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace zs::host {

/// "" where there is no such file.
inline std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace zs::host
