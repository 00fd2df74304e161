// Instructions decoded from one physical page in one mode, found by the offset of their first byte. A store drops
// exactly the instructions it overlaps. Records stay in place until the next decode, so an instruction may overwrite
// itself.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "machine/vcpu/insn.h"
#include "machine/vcpu/tlb.h"

namespace zs::machine::vcpu {

class DecodedPage {
 public:
  const Insn* find(unsigned offset) const {
    const std::uint16_t slot = slots_[offset];
    return slot != 0 ? &insns_[slot] : nullptr;
  }
  /// The record is valid until the next add(); one follows it, that of the next instruction or of none.
  const Insn* add(unsigned offset, const Insn& insn);
  /// Drops instructions that have a byte in [first, first + bytes).
  void drop(unsigned first, unsigned bytes);
  void clear();

 private:
  static constexpr std::size_t kMost = 16384;  // with those dropped since; then all are forgotten
  std::array<std::uint16_t, kPageBytes> slots_{};
  std::vector<Insn> insns_{Insn{}, Insn{}};  // the first is none, the last follows those that are decoded
};

/// All of them, by physical page.
class DecodedPages {
 public:
  /// The page for `physical` (a page address) in `mode`, made if need be.
  DecodedPage& page(std::uint64_t physical, Mode mode);
  bool has(std::uint64_t physical) const { return pages_.contains(physical); }
  /// Remembers that [offset, offset + length) of the page is code.
  void mark(std::uint64_t physical, unsigned offset, unsigned length);
  /// A store inside one page. returns whether anything was dropped
  bool written(std::uint64_t physical, unsigned bytes);
  bool full() const { return pages_.size() > kMostPages; }
  void clear() { pages_.clear(); }
  /// As clear(), but what is decoded stays in memory until bury(): an instruction that is being executed may ask for
  /// this.
  void forget();
  void bury() {
    if (!forgotten_.empty()) forgotten_.clear();
  }

 private:
  static constexpr std::size_t kMostPages = 4096;
  struct Page {
    std::uint64_t lines = 0;  // 64-byte lines that hold decoded bytes
    std::array<std::unique_ptr<DecodedPage>, kModes> modes;
  };
  std::unordered_map<std::uint64_t, Page> pages_;
  std::vector<std::unordered_map<std::uint64_t, Page>> forgotten_;
};

}  // namespace zs::machine::vcpu
