#include "cli/run/program_file.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace zs::cli {

Result<ProgramFile> open_program_file(const std::string& path) {
  std::string problem;
  auto image = profile::ElfImage::open(path, problem);
  struct stat facts {};
  if (!image || stat(path.c_str(), &facts) != 0) return Error{problem.empty() ? path + ": no such file" : problem, ""};
  return ProgramFile{
      .image = std::move(image),
      .identity = {.device_major = major(facts.st_dev), .device_minor = minor(facts.st_dev), .inode = facts.st_ino},
      .bytes = static_cast<std::uint64_t>(facts.st_size)};
}

}  // namespace zs::cli
