// Translations that outlive the process: what a program's processes have translated lies in a file, and the next one
// takes it over. A block is used where the program's code at its pages is what it was made of: byte for byte, or by all
// that tells one version of a file from another. What is counted does not depend on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/cache/cache_directory.h"
#include "engine/memory/guest_mapping.h"
#include "engine/memory/layout.h"
#include "engine/run.h"
#include "engine/translate/snapshot_maker.h"

namespace zs::engine {

class TranslationCache final : public CodePages {
 public:
  explicit TranslationCache(Run& run) : run_(run) {}

  /// The translator is made and has translated nothing; it takes over what there is for this program. Not for runs with
  /// a core model, in samples or not, whose code has to be described to it anyway, nor where all runs as single steps,
  /// nor under Config::virtual_time: where turns end depends on where blocks begin, and the run alone is to decide
  /// that.
  void begin();
  /// The program has mapped `range`, and may execute it.
  void mapped(AddressRange range);
  /// This process, or its image, is about to end, and nothing is translated any more. What is new is kept, if it is
  /// worth the writing.
  void end();
  /// In a forked child: what there is by now is the parent's to keep.
  void in_forked_child() { inherited_ = run_.translator->made(); }
  /// Keeps nothing from now on: what is translated depends on more than the code.
  void stop() { folder_.close(); }

  // ---- CodePages
  AddressRange mapping_of(std::uint64_t page) override;
  bool is_settled(std::uint64_t page) override;
  std::optional<std::uint64_t> hash(std::uint64_t page) override;
  std::uint64_t version(AddressRange pages) override;

 private:
  const GuestMapping* stable_code_at(std::uint64_t address) const;
  std::vector<std::uint64_t> key() const;
  std::string name_of_file() const;
  void keep_what_is_new();
  bool any_copied(AddressRange pages) const;
  void tell() const;

  Run& run_;
  CacheDirectory folder_;
  std::vector<std::uint64_t> key_;
  std::string name_;
  std::uint64_t begun_with_ = 0;    // inode of the file that was there then
  std::size_t begun_blocks_ = 0;    // that there were then
  std::size_t inherited_ = 0;       // blocks that there were already
  std::uint64_t flushes_ = 0;       // of the translator, at begin()
  std::size_t hashed_pages_ = 0;    // at the end,
  std::size_t compared_pages_ = 0;  // and before
  bool restored_ = false;           // from a snapshot
  bool keeping_ = false;
  std::map<const MappedFile*, bool> settled_files_;  // asked once
};

}  // namespace zs::engine
