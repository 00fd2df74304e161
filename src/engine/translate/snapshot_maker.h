// Makes a snapshot of the translations of this process: of those that a later one may use. These were made of code that
// lies in files, as the files have it, and cannot change unseen. All others are dropped on the way, and so is what
// leads from one module's blocks into another's, since it is made when the process is about to end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/memory/layout.h"
#include "engine/translate/block_linker.h"
#include "engine/translate/block_store.h"
#include "engine/translate/code_space.h"
#include "engine/translate/direct_table.h"
#include "engine/translate/snapshot.h"
#include "engine/translate/stored_code.h"

namespace zs::engine {

/// What the program has mapped as code. Pages are numbers, address / 4096.
class CodePages {
 public:
  virtual ~CodePages() = default;
  /// The pages of the mapping that `page` is in, if it is of a file, executable, and only changes when the engine hears
  /// of it; else none.
  virtual AddressRange mapping_of(std::uint64_t page) = 0;
  /// Whether the mapping at that page is what its file holds now, and will hold as far as anybody can tell.
  virtual bool is_settled(std::uint64_t page) = 0;
  /// Of its bytes (code_hash.h); nullopt if they cannot be read.
  virtual std::optional<std::uint64_t> hash(std::uint64_t page) = 0;
  /// A number that the pages, which lie in one mapping, do not have with other bytes, found without reading any; 0:
  /// there is none.
  virtual std::uint64_t version(AddressRange pages) = 0;
};

class SnapshotMaker {
 public:
  SnapshotMaker(const DirectTable& direct, BlockStore& store, CodeSpace& space, BlockLinker& linker, CodePages& pages)
      : direct_(direct), store_(store), space_(space), linker_(linker), pages_(pages) {}

  /// How many of the process's own blocks can be stored at most. Quick: it reads no code, and asks only where each
  /// began.
  std::size_t may_be_fresh(std::size_t inherited) const;
  /// Finds out what can be stored. Drops nothing yet.
  /// inherited  blocks that are not this process's own: the first ones
  void look(std::size_t inherited);
  /// Blocks that can be stored: the process's own, and all.
  std::size_t fresh() const { return fresh_; }
  std::size_t kept() const { return kept_; }
  /// Drops the rest, and adds everything but Part::Key to `out`.
  void make(SnapshotWriter& out);

 private:
  static constexpr std::uint16_t kNoModule = 0, kNotStored = UINT16_MAX;
  struct Use {
    std::uint64_t page;
    std::uint32_t block;
    auto operator<=>(const Use&) const = default;
  };
  struct Source {
    StoredModule module;
    std::uint16_t number = kNotStored;
    std::uint64_t hash = 0;
  };

  void collect_uses();
  Source source_of(std::uint64_t page);
  std::uint16_t number_of(AddressRange pages, const StoredModule* stored);
  bool can_be_stored(const Block& block) const;
  void drop_the_rest();
  void unlink_modules();
  void add_blocks(SnapshotWriter& out);
  void add_code(SnapshotWriter& out);
  void add_targets(SnapshotWriter& out);

  const DirectTable& direct_;
  BlockStore& store_;
  CodeSpace& space_;
  BlockLinker& linker_;
  CodePages& pages_;
  std::vector<Use> uses_;                          // ascending, each once
  std::vector<std::uint16_t> module_of_;           // by block
  std::vector<StoredModule> modules_;              // in the order in which they were met: number - 1
  std::map<std::uint64_t, std::uint64_t> hashes_;  // by page
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint16_t> numbers_;  // of modules, by first and end page
  std::size_t fresh_ = 0, kept_ = 0;
};

}  // namespace zs::engine
