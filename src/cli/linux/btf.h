// Where members of a kernel's structures lie, as the kernel itself says: its BTF, which distributions' kernels carry.
// source: Linux, Documentation/bpf/btf.rst.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace zs::cli {

class Btf {
 public:
  /// The largest of those in `memory`, which must outlive it: a module's speaks of the kernel's, and is smaller.
  static std::optional<Btf> find_in(Bytes memory);

  /// In bytes, from the beginning of `structure`. path  "f_path.dentry": members of members; those of structures
  ///                                                    without a name are named like its own. returns nothing if it is
  ///                                                    not there
  std::optional<std::uint64_t> offset_of(std::string_view structure, std::string_view path) const;

 private:
  struct Member {
    std::uint64_t offset = 0;
    std::uint32_t type = 0;
  };
  Btf(Bytes types, Bytes strings);
  /// depth  of structures without a name around it
  std::optional<Member> member_of(std::uint32_t structure, std::string_view name, unsigned depth = 0) const;
  std::uint32_t word(std::uint32_t type, std::size_t index) const;
  unsigned kind(std::uint32_t type) const { return word(type, 1) >> 24 & 31; }
  std::string_view name_at(std::uint32_t offset) const;

  Bytes types_, strings_;
  std::vector<std::uint32_t> starts_;  // in types_, by type; the first, void, has none
};

}  // namespace zs::cli
