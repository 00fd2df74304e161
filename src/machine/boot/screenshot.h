// The picture on the screen as a PNG file, for guests that draw.
// source: Portable Network Graphics (PNG) Specification, second edition.
#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"

namespace zs::machine {

class PhysicalMemory;
class Vga;

/// The bytes of the file, or an error that says why there is no picture: the screen is text, or in a mode that is not
/// drawn.
Result<std::vector<std::byte>> screenshot(const PhysicalMemory& memory, const Vga& vga);

}  // namespace zs::machine
