// Environment variables on their way through zeroskid-run. Some act on every program that is started with them: on its
// dynamic loader and its C library, so on those of zeroskid-run too, which then lists its libraries (ldd), loads the
// program's LD_PRELOAD beside its own code, or writes an LD_DEBUG log of itself. Such a variable is held: a mark in
// front of its name, which no loader knows, taken off again when the program's environment is built. Order, duplicates
// and malformed entries stay as they are.
#pragma once

#include <string>
#include <string_view>

namespace zs::engine {

/// As zeroskid-run is to be given `variable` ("NAME=value", or whatever the caller put there).
std::string held(std::string_view variable);
/// The inverse: what the program gets.
std::string_view released(std::string_view variable);

}  // namespace zs::engine
