// Places in a program's code by what people call them: a function, a line of source, an address as objdump shows it.
// What comes back are offsets in the file, which hold wherever it is mapped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "profile/symbols/elf_image.h"

namespace zs::profile {

/// A function, or a part of one: where it lies in the file.
struct FunctionExtent {
  std::uint64_t offset = 0, bytes = 0;
  bool is_entry = true;  // its beginning is: what a compiler put elsewhere (NAME.cold) is jumped to, or landed in
  bool repeats = false;  // its code jumps back to its beginning: not each time that control gets there is a call
};
/// The functions called `name`: the symbol, or a demangled name with or without its parameters and what it is in. There
/// may be several; those with an entry come first.
/// returns an error that names the nearest ones if there is none
Result<std::vector<FunctionExtent>> find_extents(ElfImage& image, const std::string& name);

/// The code of one line: where control comes into it, and where that goes on to another line of the same function. What
/// the compiler inlined into the line belongs to it.
struct LinePlaces {
  std::vector<std::uint64_t> begins, ends;
};
/// file  its name, or the end of its path from a '/' on
Result<LinePlaces> find_line(ElfImage& image, const std::string& file, int line);

Result<std::uint64_t> find_address(ElfImage& image, std::uint64_t address);

}  // namespace zs::profile
