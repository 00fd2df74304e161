// A file of translations, that later processes of the same program take over: a header of one page, and parts, each
// from the start of a page, so that a part can be mapped over the place where it belongs. What a part is: a row of
// kParts. What the parts mean, their classes say (BlockStore, CodeSpace, StoredCode). Nothing here is trusted: whoever
// reads learns of a file that is cut, damaged or of another kind before it uses a byte of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/memory/populate.h"
#include "engine/translate/growing_array.h"

namespace zs::engine {

enum class Part : std::uint8_t {
  Key,         // 64-bit words: what translations look like (SnapshotKey)
  Facts,       // SnapshotFacts
  HotCode,     // bytes of the CodeSpace, from the first block on
  ColdCode,    // side exits
  NearCode,    // blocks of Variant::Near
  Blocks,      // Block
  Exits,       // Exit
  Metas,       // InsnMeta
  CountRows,   // of the CountTable: by exit
  CountWords,  // likewise
  CountMost,   // by accumulator
  Order,       // indices of blocks by where they lie
  NearOrder,   // the same of Variant::Near
  MapKeys,     // of the BlockMap
  MapBlocks,   // likewise
  Modules,     // StoredModule, ascending
  Pages,       // StoredPage, ascending
  PageBlocks,  // indices of blocks, page by page
  Targets,     // indices of blocks that the direct table led to, by guest pc
};
inline constexpr std::size_t kParts = static_cast<std::size_t>(Part::Targets) + 1;

/// What is known besides the arrays.
struct SnapshotFacts {
  std::uint64_t dead = 0;           // blocks
  std::uint32_t most_words = 1;     // CountTable::most_words
  std::uint8_t hashed_lookups = 0;  // 1: some block of Variant::Full looks in the hashed table
  std::uint8_t near_lookups = 0;    // the same of Variant::Near
  std::uint16_t padding = 0;
};

class SnapshotWriter {
 public:
  /// `bytes` have to stay as they are until write().
  template <typename T>
  void add(Part part, std::span<const T> values) {
    parts_[static_cast<std::size_t>(part)] = std::as_bytes(values);
  }
  template <typename T>
  void add(Part part, const GrowingArray<T>& values) {
    add(part, std::span<const T>(values.begin(), values.size()));
  }
  /// The same of a copy.
  template <typename T>
  void add_copy(Part part, std::span<const T> values) {
    const auto bytes = std::as_bytes(values);
    copies_.emplace_back(bytes.begin(), bytes.end());
    parts_[static_cast<std::size_t>(part)] = copies_.back();
  }
  /// Of the file.
  std::size_t bytes() const;
  /// Into an empty file. returns whether all of it was written
  bool write(int fd) const;

 private:
  std::span<const std::byte> parts_[kParts];
  std::vector<std::vector<std::byte>> copies_;
};

class Snapshot {
 public:
  /// What the file behind `fd` holds, if it is whole, of this format, and its key is `key`. The descriptor has to stay
  /// open, and only an unreadable, cut or foreign header is noticed here; parts tell when they are put into their
  /// places.
  static std::optional<Snapshot> open(int fd, std::span<const std::uint64_t> key);

  std::size_t bytes(Part part) const { return places_[static_cast<std::size_t>(part)].bytes; }
  /// Elements; nullopt: it is no whole number of them.
  template <typename T>
  std::optional<std::size_t> count(Part part) const {
    if (bytes(part) % sizeof(T) != 0) return std::nullopt;
    return bytes(part) / sizeof(T);
  }
  /// Puts the part into memory at `at`, in a copy of the caller's own.
  /// returns whether it is there, as it was written
  bool read(Part part, void* at) const;
  /// The same, as a private mapping of the file over whole pages from `at` on: a page that nobody writes is shared with
  /// others.
  /// how  what will happen to most of its pages
  bool map(Part part, void* at, int protection, Populate how = Populate::ForReading) const;
  template <typename T>
  bool put(Part part, GrowingArray<T>& array, Populate how = Populate::ForReading) const {
    const auto elements = count<T>(part);
    return elements && map(part, array.place(*elements), PROT_READ | PROT_WRITE, how);
  }
  template <typename T>
  bool read(Part part, std::vector<T>& values) const {
    const auto elements = count<T>(part);
    if (!elements) return false;
    values.resize(*elements);
    return read(part, values.data());
  }

 private:
  struct Place {
    std::uint64_t offset = 0, bytes = 0, hash = 0;
  };
  struct Header;
  friend class SnapshotWriter;

  bool is_sound(Part part, const void* at) const;

  int fd_ = -1;
  Place places_[kParts];
};

}  // namespace zs::engine
