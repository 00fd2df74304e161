// Instructions of a program, each different one kept once: what it is (its bytes, and the shape that follows from them)
// and, where a path has it, its accesses. Paths and blocks are lists of their numbers, so that code of which there are
// many paths (its side exits, its forms close to an overflow) costs four bytes an instruction in each.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "arch/core_feed.h"
#include "base/check.h"
#include "uarch/timing/block_timing.h"

namespace zs::uarch {

/// Pieces of memory that live as long as all of them together.
class Arena {
 public:
  /// Room for `count` of T, without a value.
  template <typename T>
  T* room(std::size_t count) {
    const std::size_t bytes = (count * sizeof(T) + alignof(T) - 1) / alignof(T) * alignof(T);
    std::size_t at = (used_ + alignof(T) - 1) / alignof(T) * alignof(T);
    if (at + bytes > size_) {
      size_ = std::max(kChunk, bytes);
      chunks_.push_back(std::make_unique_for_overwrite<Line[]>((size_ + sizeof(Line) - 1) / sizeof(Line)));
      at = 0;
    }
    used_ = at + bytes;
    total_ += bytes;
    return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(chunks_.back().get()) + at);
  }
  /// That were asked for.
  std::size_t bytes() const { return total_; }
  template <typename T>
  std::span<const T> keep(std::span<const T> from) {
    T* const to = room<T>(from.size());
    std::ranges::copy(from, to);
    return {to, from.size()};
  }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  static constexpr std::size_t kChunk = std::size_t{256} << 10;
  std::vector<std::unique_ptr<Line[]>> chunks_;
  std::size_t used_ = 0, size_ = 0, total_ = 0;
};

/// Numbers of things that stand elsewhere, by their hash: open addressing, and nothing is taken out.
class HashIndex {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// The number for which `same` is true, among those of that hash.
  template <typename Same>
  std::uint32_t find(std::uint64_t hash, const Same& same) const {
    if (slots_.empty()) return kNone;
    const auto part = static_cast<std::uint32_t>(hash >> 32);
    for (std::size_t at = part & mask();; at = (at + 1) & mask()) {
      if (slots_[at].number == kNone) return kNone;
      if (slots_[at].hash == part && same(slots_[at].number)) return slots_[at].number;
    }
  }
  void add(std::uint64_t hash, std::uint32_t number) {
    if (4 * (used_ + 1) > 3 * slots_.size()) grow();
    ++used_;
    put({static_cast<std::uint32_t>(hash >> 32), number});
  }

 private:
  struct Slot {
    std::uint32_t hash = 0, number = kNone;
  };
  std::size_t mask() const { return slots_.size() - 1; }
  void put(Slot slot) {
    std::size_t at = slot.hash & mask();
    while (slots_[at].number != kNone) at = (at + 1) & mask();
    slots_[at] = slot;
  }
  void grow() {
    std::vector<Slot> old(std::max<std::size_t>(64, 2 * slots_.size()));
    old.swap(slots_);
    for (const Slot slot : old) {
      if (slot.number != kNone) put(slot);
    }
  }

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

/// Of whole words. The upper half depends on all of them.
constexpr std::uint64_t hash_of(std::span<const std::uint32_t> words) {
  std::uint64_t hash = words.size();
  for (const std::uint32_t word : words) hash = (std::rotl(hash, 25) ^ word) * 0x9E37'79B9'7F4A'7C15;
  return hash ^ hash << 32;
}

/// A list of instructions in words: each its number and flags, behind it an address where the flags say so.
struct CodeWord {
  static constexpr std::uint32_t kTaken = 1u << 31;   // a branch, on this path
  static constexpr std::uint32_t kTarget = 1u << 30;  // its target follows
  static constexpr std::uint32_t kJump = 1u << 29;    // it is not behind the one before it; its address follows, first
  static constexpr std::uint32_t kNumber = kJump - 1;

  static void put_address(std::vector<std::uint32_t>& words, std::uint64_t address) {
    words.push_back(static_cast<std::uint32_t>(address));
    words.push_back(static_cast<std::uint32_t>(address >> 32));
  }
  static std::uint64_t take_address(const std::uint32_t*& at) {
    const std::uint64_t address = at[0] | std::uint64_t{at[1]} << 32;
    at += 2;
    return address;
  }
};

class CodeText {
 public:
  struct Access {
    arch::AccessKind kind;
    arch::AccessForm form;
    std::uint16_t bytes;
  };

  /// The number of what the instruction is, wherever it is.
  std::uint32_t code_of(const arch::PathInstruction& told);
  /// The number of an instruction that is `code` and has these accesses.
  std::uint32_t instruction_of(std::uint32_t code, std::span<const arch::PathAccess> accesses);

  /// The number of the same instruction, or code, where upper halves are in use (uarch::merging()).
  std::uint32_t merging_code(std::uint32_t code);
  std::uint32_t merging_instruction(std::uint32_t instruction);

  std::uint32_t code(std::uint32_t instruction) const { return instructions_[instruction].code; }
  std::span<const Access> accesses(std::uint32_t instruction) const {
    return {accesses_.data() + instructions_[instruction].accesses_at, instructions_[instruction].accesses};
  }
  const InstructionShape& shape(std::uint32_t code) const { return shapes_[codes_[code].shape]; }

  /// What it takes, roughly.
  std::size_t bytes() const {
    constexpr std::size_t kIndexed = 16;
    return codes_.size() * (sizeof(Code) + kIndexed) + instructions_.size() * (sizeof(Instruction) + kIndexed) +
           shapes_.size() * (sizeof(InstructionShape) + kIndexed) + accesses_.size() * sizeof(Access);
  }

  /// The same in another text.
  std::uint32_t copy_code(std::uint32_t code, CodeText& to) const;

 private:
  struct Code {
    std::array<std::uint8_t, 15> bytes{};
    std::uint8_t length = 0;
    arch::BranchKind branch = arch::BranchKind::None;
    bool merges = false;  // uarch::merging()
    std::uint32_t shape = 0;
  };
  struct Instruction {
    std::uint32_t code;
    std::uint32_t accesses_at;
    std::uint32_t accesses;
  };
  /// code: but for its shape, which is made if there is no such code yet.
  template <typename MakeShape>
  std::uint32_t find_or_add(Code code, const MakeShape& make);
  std::uint32_t find_or_add(std::uint32_t code, std::span<const Access> accesses);
  std::uint32_t shape_number(const InstructionShape& shape);

  std::vector<Code> codes_;
  std::vector<Instruction> instructions_;
  std::vector<InstructionShape> shapes_;
  std::vector<Access> accesses_;
  HashIndex codes_by_, instructions_by_, shapes_by_;
  std::vector<Access> wanted_;  // scratch
};

}  // namespace zs::uarch
