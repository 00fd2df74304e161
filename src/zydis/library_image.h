// A shared library whose file this program carries in its own, put into memory when it is first asked for. Such a
// library costs a start nothing, needs no file at run time, and serves a statically linked program, of which there is
// no other way to one that exists as a shared object alone.
//
// Not done, and refused by a CHECK: libraries that need others, that have thread-local variables, or more to
// initialise than the compiler's own.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace zs::zydis {

/// A symbol that the library takes from the program.
struct Import {
  std::string_view name;
  void* address;
};

class LibraryImage {
 public:
  /// file     an x86-64 ELF shared object
  /// imports  all that it may ask for; weak ones that are missing are null
  LibraryImage(std::span<const std::byte> file, std::span<const Import> imports);

  /// The address of a symbol that it exports; CHECKs that it does.
  void* find(std::string_view name) const;

 private:
  std::span<const std::byte> file_;
  std::byte* base_ = nullptr;
};

}  // namespace zs::zydis
