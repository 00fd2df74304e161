// A file of code that options name places in.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "profile/symbols/elf_image.h"
#include "session/settings/config.h"

namespace zs::cli {

struct ProgramFile {
  std::unique_ptr<profile::ElfImage> image;
  session::FileIdentity identity;
  std::uint64_t bytes = 0;
};

/// returns an error without a hint if there is no ELF file
Result<ProgramFile> open_program_file(const std::string& path);

}  // namespace zs::cli
