// What the debug information of an image says of its data: variables that have an address of their own, their types,
// and which member of a type lies where.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "profile/addresses.h"
#include "profile/elf_image.h"

namespace zs::profile {

/// A part of a value that has a name.
struct Member {
  std::string path;  // behind the value's name: ".count", "[3].next", "" for all of it
  std::uint64_t offset = 0, size = 0;
  bool operator==(const Member&) const = default;
};

class DataTypes {
 public:
  /// image  must outlive this
  explicit DataTypes(ElfImage& image);
  ~DataTypes();
  DataTypes(const DataTypes&) = delete;
  DataTypes& operator=(const DataTypes&) = delete;

  /// A type of this image; 0 is none.
  using Type = std::uint32_t;

  struct Variable {
    std::string name;
    std::uint64_t start = 0, size = 0;  // image address; bytes
    Type type = 0;
  };
  /// The variable that holds the address, or null.
  const Variable* variable_at(ImageAddress address);

  /// What a pointer points to that lies in a general register (as instructions encode it) before the instruction at
  /// `pc`; 0: unknown.
  Type pointee_at(ImageAddress pc, unsigned general_register);

  /// "struct pair", "int[8]", "unsigned long".
  std::string name_of(Type type);
  std::uint64_t size_of(Type type);
  /// The innermost part of a value of the type that holds its byte at `offset`. Where members of a union lie over each
  /// other it is the union; where no member is, in the padding of a struct, it is the hole.
  Member member_at(Type type, std::uint64_t offset);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace zs::profile
