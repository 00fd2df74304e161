// The part of the code cache that code is written into, and how far it is filled. Code grows in up to three places:
// that of blocks; their side exits, which are seldom run, in the upper half; and blocks of Variant::Near in the last
// quarter: between those of Variant::Full, which they are as many as where most samples are taken in new places, they
// would make the program's code twice as long.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/translate/block.h"
#include "engine/translate/block_store.h"
#include "engine/translate/code_cache.h"
#include "engine/translate/emitter.h"
#include "engine/translate/snapshot.h"

namespace zs::engine {

class CodeSpace {
 public:
  CodeSpace(const CodeCache& cache, bool has_near)
      : context_(cache.context_address()),
        begin_(cache.layout().code),
        cold_begin_(cache.cold_begin()),
        near_begin_(cache.layout().code_end -
                    (has_near ? page_down((cache.layout().code_end - cache.cold_begin()) / 2) : 0)),
        end_(cache.layout().code_end),
        has_near_(has_near) {
    clear();
  }

  /// Bound on the code for one instruction, comparison or exit; there is room for it in what open() gives.
  static constexpr std::size_t kMostPerStep = 256;

  std::uint64_t begin() const { return begin_; }
  std::uint64_t near_begin() const { return near_begin_; }
  bool is_cold(std::uint64_t cache_pc) const { return cache_pc >= cold_begin_ && cache_pc < near_begin_; }

  /// Writes behind what there is of code of that kind. What was written counts when close() is told.
  Emitter open(Variant variant, std::uint64_t alignment = 1) const {
    const bool near = variant == Variant::Near;
    const std::uint64_t at = ((near ? near_at_ : at_) + alignment - 1) & ~(alignment - 1);
    const Emitter out(at, near ? end_ : cold_begin_, context_);
    out.need(kMostPerStep);
    return out;
  }
  void close(Variant variant, const Emitter& out) {
    const bool near = variant == Variant::Near;
    (near ? near_at_ : at_) = out.here();
    (near ? near_room_ : room_).reach(out.here());
  }
  /// The same of side exits.
  Emitter open_cold() const { return {cold_at_, near_begin_, context_}; }
  void close_cold(const Emitter& out) { begin_cold_at(out.here()); }

  bool nearly_full() const {
    return at_ + kSpare > cold_begin_ || cold_at_ + kSpare > near_begin_ || (has_near_ && near_at_ + kSpare > end_);
  }
  void clear() {
    at_ = begin();
    cold_at_ = cold_begin_;
    near_at_ = near_begin_;
    make_room();
  }
  /// The side exits that come next lie there.
  void begin_cold_at(std::uint64_t address) {
    cold_at_ = address;
    cold_room_.reach(address);
  }
  FilledCode filled() const { return {{begin(), at_}, {cold_begin_, cold_at_}, {near_begin_, near_at_}}; }
  void save(SnapshotWriter& out) const;
  /// Takes over the code of a snapshot instead of what there is. returns whether it is there
  bool restore(const Snapshot& from);
  /// That are filled.
  std::size_t bytes() const { return (at_ - begin()) + (cold_at_ - cold_begin_) + (near_at_ - near_begin_); }

 private:
  /// More than is written between an open() and the close() behind it.
  static constexpr std::uint64_t kSpare = 128 << 10;

  /// A place in which code grows. What lies farther behind it is no memory, for us or the program.
  class Room {
   public:
    Room(std::uint64_t begin, std::uint64_t end) : here_(begin), end_(end) {}
    /// Code may be written behind `at` from now on, kSpare bytes of it.
    void reach(std::uint64_t at) {
      if (at + kSpare > here_ && here_ < end_) grow(at + kSpare);
    }

   private:
    void grow(std::uint64_t least);

    std::uint64_t here_, end_;
  };
  void make_room() {
    room_.reach(at_);
    cold_room_.reach(cold_at_);
    if (has_near_) near_room_.reach(near_at_);
  }

  std::uint64_t context_, begin_, cold_begin_, near_begin_, end_;
  bool has_near_;
  std::uint64_t at_ = 0, cold_at_ = 0, near_at_ = 0;
  Room room_{begin_, cold_begin_}, cold_room_{cold_begin_, near_begin_}, near_room_{near_begin_, end_};
};

}  // namespace zs::engine
