// What a dynamically linked program needs beside itself, read from its file: nothing is run, as ldd would.
// source: System V ABI, "Dynamic Linking"; glibc, elf/dl-cache.h, "struct cache_file_new"; ld.so(8) for the order.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"

namespace zs::cli {

struct ElfNeeds {
  std::string interpreter;             // PT_INTERP; "" if none
  std::vector<std::string> libraries;  // DT_NEEDED
  std::vector<std::string> folders;    // DT_RPATH and DT_RUNPATH, with $ORIGIN as it stands
};

/// Empty if `file` is no 64-bit ELF file, or cut short.
ElfNeeds elf_needs(Bytes file);

/// Where the dynamic linker finds that library.
/// cache    the bytes of /etc/ld.so.cache
/// folders  what it searches first, $ORIGIN replaced
/// returns  "" if it finds none
std::string find_library(const std::string& name, const std::vector<std::string>& folders, Bytes cache);

}  // namespace zs::cli
