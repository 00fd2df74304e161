// Which file's code lies at an address of the program, and where in memory the unwind tables of that file are.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "engine/observer.h"
#include "session/stacks/table_bytes.h"
#include "session/stacks/unwind_table.h"

namespace zs::session {

/// What is mapped now, or was until something else took its place; a mapping that is only taken away is not heard of.
struct MappedArea {
  std::uint64_t start = 0, end = 0, file_offset = 0;
  std::uint32_t device_major = 0, device_minor = 0;
  std::uint64_t inode = 0;
  bool code = false;
  std::string path;

  /// JITs write into anonymous memory, or into a file that has no name.
  bool is_of_a_file() const { return (inode != 0 && !path.starts_with("/memfd:")) || path == "[vdso]"; }
};

class MappedCode {
 public:
  /// returns whether other code lay there before
  bool mapped(const engine::Mapping& mapping);

  /// The code that holds `pc`, or null.
  const MappedArea* find(std::uint64_t pc) const;

  /// bytes  of the program's memory
  TablePlaces tables_of(const MappedArea& area, TableBytes& bytes) const;

 private:
  std::map<std::uint64_t, MappedArea> areas_;  // by start; none overlap
};

}  // namespace zs::session
