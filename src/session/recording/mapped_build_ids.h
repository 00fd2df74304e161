// The build-ids of mapped files, read from their mappings: a path may lead to another file a moment later, and nowhere
// from outside of the program's namespace.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "engine/observer.h"
#include "session/memory/program_memory.h"

namespace zs::session {

class MappedBuildIds {
 public:
  explicit MappedBuildIds(ProgramMemory& memory) : memory_(memory) {}

  void mapped(const engine::Mapping& mapping);
  /// Of the file that is mapped there, its bytes; "" if it has none. Nothing if its beginning was not mapped.
  std::optional<std::string> of(const engine::Mapping& mapping);

 private:
  struct Beginning {
    std::uint64_t start = 0, length = 0;
    std::optional<std::string> id;  // once somebody has asked
  };
  std::string read(const Beginning& file);

  ProgramMemory& memory_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, Beginning> files_;  // by device and inode
};

}  // namespace zs::session
