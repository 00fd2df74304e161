// What a data address belongs to, as a person calls it: a variable, a thread's stack, the heap, a mapped file, a piece
// of anonymous memory.
//
// Zero-initialised variables lie in anonymous memory behind the file's last segment; they are named through where their
// image was loaded. A thread's stack is named by samples that have registers: it is the mapping that its stack pointer
// was seen near the end of. Stacks that lie elsewhere, as those of goroutines among the objects of Go's heap, are what
// is around the sample's own stack pointer.
// Data mappings must be recorded (-d); without them everything that no code mapping holds is unknown.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "profile/perf_data/address_space.h"
#include "profile/perf_data/records.h"
#include "profile/symbols/symbolizer.h"

namespace zs::profile {

enum class DataKind : std::uint8_t { Unknown, Variable, HeapBlock, Heap, Stack, File, Anonymous };

struct DataObject {
  DataKind kind = DataKind::Unknown;
  /// "table", "[heap]", "[stack] 100", "words.txt", "anonymous 201000000000 (4.0 MiB)",
  /// "heap: build+0x3a (table.cc:42), 4.0 MiB", "heap: build+0x3a (table.cc:42), 12 blocks, 4.0 MiB"
  std::string name;
};

class DataObjects {
 public:
  /// Both must outlive this.
  DataObjects(const AddressSpaces& spaces, Symbolizer& symbolizer) : spaces_(spaces), symbolizer_(symbolizer) {}

  /// Learns from a sample where its thread's stack is. Best told all samples of a recording before the first question.
  void learn(const session::Sample& sample);

  /// What the sample's address belongs to. Valid as long as this; the same object, the same pointer. Blocks of the heap
  /// are one object for each site that asked for them, whose name tells of those that were asked about so far.
  const DataObject* of(const session::Sample& sample);

  /// "heap: build+0x3a (table.cc:42)": who asked for the block.
  std::string site_of(std::int32_t pid, const session::HeapBlock& block) {
    return "heap: " + site_text(pid, block.site);
  }

  /// Where the address lies in an image, also behind what its file has of it; nothing where no section of an image is.
  struct ImagePlace {
    Dso* dso = nullptr;
    ImageAddress address{};
  };
  std::optional<ImagePlace> image_place(std::int32_t pid, std::uint64_t address);
  /// The process's program, if it has variables of threads; else null.
  Dso* program_of(std::int32_t pid);
  /// The variable that a symbol names there; linear addresses.
  struct Extent {
    std::uint64_t start = 0, size = 0;
  };
  std::optional<Extent> symbol_at(std::int32_t pid, std::uint64_t address);

 private:
  struct Loaded;
  struct LoadedImages;
  const LoadedImages& loaded_images(std::int32_t pid);
  const Symbol* variable_at(std::int32_t pid, std::uint64_t address);
  DataObject* intern(DataKind kind, std::string name);
  const DataObject* of_block(std::int32_t pid, const session::HeapBlock& block);
  std::string site_text(std::int32_t pid, const std::vector<std::uint64_t>& site);

  const AddressSpaces& spaces_;
  Symbolizer& symbolizer_;
  std::map<std::pair<DataKind, std::string>, DataObject> objects_;
  /// By process and start of the mapping: the thread whose stack pointer was seen near its end first.
  std::map<std::pair<std::int32_t, std::uint64_t>, std::int32_t> stacks_;
  struct Loaded {
    Dso* dso = nullptr;
    std::uint64_t bias = 0;  // linear address - image address
  };
  struct LoadedImages {
    std::uint64_t generation = 0;
    std::map<Dso*, Loaded> images;
    Dso* program = nullptr;  // that has variables of threads
  };
  std::unordered_map<std::int32_t, LoadedImages> loaded_;  // by pid
  struct Site {
    std::string text;
    DataObject* object = nullptr;
    std::uint64_t blocks = 0, bytes = 0;
  };
  std::map<std::string, Site> sites_;                                 // by text
  std::unordered_map<const session::HeapBlock*, Site*> block_sites_;  // a reader gives each block one address
};

}  // namespace zs::profile
