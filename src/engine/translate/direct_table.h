// Where indirect branches look up code below 2 GiB: the entry of `pc` lies at the address 8 * pc + bias, so that one
// instruction, jmp [rcx*8 + bias], finds it without hashing or checking. Address space only; pages come as they are
// used, and an entry of one that nobody has touched leads to the stub for a miss, or nowhere.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/memory/layout.h"
#include "engine/translate/untouched_entries.h"

namespace zs::engine {

class DirectTable {
 public:
  /// Code that it covers, beside that of a program linked below the low range.
  static constexpr std::uint64_t kFirst = 0x1000'0000, kEnd = 0x7ff0'0000;
  /// A page of it has the entries of so many addresses.
  static constexpr std::uint64_t kPage = kPageSize / sizeof(std::uint64_t);
  /// Memory that it notes its pages in.
  static constexpr std::size_t kNoteBytes = page_up(kEnd / kPage / 8);

  /// There is none yet, and nothing is covered.
  /// notes  address of kNoteBytes bytes of zeroes, private to this process and its children
  /// miss   the stub to which entries lead that nobody has set
  DirectTable(const UntouchedEntries& untouched, std::uint64_t notes, std::uint64_t miss)
      : untouched_(untouched), notes_(notes), miss_(miss) {}
  DirectTable(const DirectTable&) = delete;
  DirectTable& operator=(const DirectTable&) = delete;

  /// fixed_code  the code of a program linked below the low range, if any: its part of the table lies below `most`
  /// Returns the range of that part, which nobody else may map; empty where there was no room, and then such code is
  /// hashed.
  AddressRange map(AddressRange fixed_code, std::uint64_t most);
  /// Where the table is, but for that part; empty where there is none.
  AddressRange range() const { return mapped_ ? slots({kFirst, kEnd}) : AddressRange{}; }
  /// The program wants its place: from now on all is hashed. Code that looks up directly must not run any more.
  void unmap();
  bool is_mapped() const { return mapped_; }
  bool covers(std::uint64_t pc) const { return mapped_ && ((pc >= kFirst && pc < kEnd) || fixed_code_.contains(pc)); }
  /// Of a program linked below the low range, and covered.
  AddressRange fixed_code() const { return fixed_code_; }
  std::uint32_t bias() const { return bias_; }
  /// The code whose entries, mapped at once, lie around `address`; empty where none can lie.
  AddressRange code_of(std::uint64_t address) const {
    const std::uint64_t pc = address < bias_ ? 0 : (address - bias_) / 8;
    return pc < kFirst || pc >= kEnd ? AddressRange{} : AddressRange{pc & ~(kStretch - 1), (pc | (kStretch - 1)) + 1};
  }
  /// Where the entry of `pc`, which the table covers, lies.
  std::uint64_t entry_of(std::uint64_t pc) const { return 8 * pc + bias_; }

  /// An indirect branch may soon go to `pc`, which the table covers: what lies around it answers "miss" from now on, so
  /// that no fault has to say it. That is this program's file, mapped (untouched_entries.h); where it cannot be, a page
  /// is written.
  void expect(std::uint64_t pc);
  /// The same for all of a mapping that may be executed, as far as this program's file can be mapped there, and not for
  /// more than 32 MiB.
  void expect_code(AddressRange code);
  /// The page of the entry of `pc` has been written to already.
  bool is_touched(std::uint64_t pc) const { return (pages(pc) & page_bit(pc)) != 0; }
  /// Whether indirect branches to `pc`, which the table covers, go on at `entry`.
  bool leads_to(std::uint64_t pc, std::uint64_t entry) const { return is_touched(pc) && *slot(pc) == entry; }
  /// From `pc`, which the table covers, indirect branches go on at `entry`.
  void set(std::uint64_t pc, std::uint64_t entry);
  struct Entry {
    std::uint64_t pc, entry;
  };
  /// The same of many, by ascending pc.
  void set(std::span<const Entry> entries);
  /// They miss there.
  void clear(std::uint64_t pc);
  /// Every page goes back to "miss", or to zero, which a jump through it shows as a fault at address 0.
  void forget();
  /// Of memory that it takes.
  std::size_t bytes() const { return kPageSize * pages_in_use_; }

 private:
  /// Code whose entries are mapped at once.
  static constexpr std::uint64_t kStretch = kUntouchedBytes / sizeof(std::uint64_t);

  AddressRange slots(AddressRange code) const { return {entry_of(code.start), entry_of(code.end)}; }
  std::uint64_t* slot(std::uint64_t pc) const { return reinterpret_cast<std::uint64_t*>(entry_of(pc)); }
  /// The word with the bit of that entry's page, and the bit.
  std::uint64_t& pages(std::uint64_t pc) const { return reinterpret_cast<std::uint64_t*>(notes_)[pc / kPage / 64]; }
  static constexpr std::uint64_t page_bit(std::uint64_t pc) { return std::uint64_t{1} << pc / kPage % 64; }
  void touch(std::uint64_t pc) {
    pages(pc) |= page_bit(pc);
    ++pages_in_use_;
  }
  void map_untouched(AddressRange code);

  const UntouchedEntries& untouched_;
  std::uint64_t notes_;  // a bit for each page of the table that was written to,
  std::uint64_t miss_;
  std::size_t pages_in_use_ = 0;  // and how many were
  std::uint32_t bias_ = 0;
  bool mapped_ = false;
  AddressRange fixed_code_{};
  std::bitset<kEnd / kStretch> tried_, untouched_there_;  // by stretch: to map the untouched entries, and done
};

}  // namespace zs::engine
