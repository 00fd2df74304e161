// What a data address belongs to, as a person calls it: a variable, a thread's stack, the heap, a mapped file, a piece of
// anonymous memory.
//
// Zero-initialised variables lie in anonymous memory behind the file's last segment; they are named through where their image
// was loaded. A thread's stack is the mapping that its stack pointer was seen in, so samples that have registers name it.
// Data mappings must be recorded (-d); without them everything that no code mapping holds is unknown.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "profile/address_space.h"
#include "profile/records.h"
#include "profile/symbolizer.h"

namespace zs::profile {

enum class DataKind : std::uint8_t { Unknown, Variable, Heap, Stack, File, Anonymous };

struct DataObject {
  DataKind kind = DataKind::Unknown;
  std::string name;  // "table", "[heap]", "[stack] 100", "words.txt", "anonymous 201000000000 (4.0 MiB)"
};

class DataObjects {
 public:
  /// Both must outlive this.
  DataObjects(const AddressSpaces& spaces, Symbolizer& symbolizer) : spaces_(spaces), symbolizer_(symbolizer) {}

  /// Learns from a sample where its thread's stack is. Best told all samples of a recording before the first question.
  void learn(const session::Sample& sample);

  /// Valid as long as this; the same object, the same pointer.
  const DataObject* of(std::int32_t pid, std::uint64_t address);

 private:
  const Symbol* variable_at(std::int32_t pid, std::uint64_t address);
  const DataObject* intern(DataKind kind, std::string name);

  const AddressSpaces& spaces_;
  Symbolizer& symbolizer_;
  std::map<std::pair<DataKind, std::string>, DataObject> objects_;
  /// By process and start of the mapping: the thread whose stack pointer was seen there first.
  std::map<std::pair<std::int32_t, std::uint64_t>, std::int32_t> stacks_;
  struct Loaded {
    Dso* dso = nullptr;
    std::uint64_t bias = 0;  // linear address - image address
  };
  struct LoadedImages {
    std::uint64_t generation = 0;
    std::map<Dso*, Loaded> images;
  };
  std::unordered_map<std::int32_t, LoadedImages> loaded_;  // by pid
};

}  // namespace zs::profile
