// What the debug information of an image says of its data: types, which member of a type lies where, and variables that
// have an address of their own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "profile/perf_data/addresses.h"
#include "profile/symbols/elf_image.h"

namespace zs::profile {

class TypeTable;

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

  /// A type of this image; 0 is none. Types that units of the image declare alike are one.
  using Type = std::uint32_t;

  struct Variable {
    std::string name;
    std::uint64_t start = 0, size = 0;  // image address; bytes
    Type type = 0;
  };
  /// The variable that holds the address, or null.
  const Variable* variable_at(ImageAddress address);
  /// The thread-local variable that holds the byte there in each thread's block of this image, or null; its `start` is
  /// from the beginning of the block.
  const Variable* thread_variable_at(std::uint64_t offset);

  /// "struct pair", "int[8]", "unsigned long".
  std::string name_of(Type type);
  std::uint64_t size_of(Type type);
  bool is_struct(Type type);  // class and union too
  /// Of an array what it is made of, however many dimensions it has; else the type itself.
  Type element_of(Type type);
  /// A place in a value.
  struct Spot {
    Type type = 0;  // no array
    std::uint64_t offset = 0;
    bool operator==(const Spot&) const = default;
  };
  /// What lies `offset` bytes from the beginning of a value: beyond its end the values that follow it in an array, or
  /// the elements of the array of no size that a struct may end with. Of type 0: the type has no size.
  Spot spot_at(Type type, std::int64_t offset);
  /// The innermost part of a value of the type that holds its byte at `offset`. Where members of a union lie over each
  /// other it is the union; where no member is, in the padding of a struct, it is the hole.
  Member member_at(Type type, std::uint64_t offset);
  /// What a pointer points to that lies at `offset` of a value of the type; 0: no pointer begins there, or one to void.
  Type pointee_at(Type type, std::uint64_t offset);
  /// What the innermost array is made of in which the byte at `offset` lies; 0: it lies in none.
  Type array_element_at(Type type, std::uint64_t offset);
  /// Whether a value of `type` has one of type `part` at `offset`.
  bool has_at(Type type, std::uint64_t offset, Type part);
  struct Field {
    std::string name;  // ".lock.owner"
    std::string type;  // "int[8]"
    std::uint64_t offset = 0, size = 0;
    std::uint64_t alignment = 1;
    std::string bits;  // "3 bits"; "" of what is no bit-field
  };
  /// Of a struct, by offset: an array and a union are one field, bit-fields that share bytes are apart.
  enum class Depth : std::uint8_t {
    Members,  // its own; a base's name is ""
    Fields    // what of them is no struct itself; what variants of an enum have at one place is one: ".A.x|B.y"
  };
  std::vector<Field> fields_of(Type type, Depth depth);

  /// For who reads more of the debug information.
  ElfImage& image();
  TypeTable& table();

 private:
  std::pair<std::uint64_t, Type> open_end(Type type);

  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace zs::profile
