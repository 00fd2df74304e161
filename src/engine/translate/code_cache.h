// The engine's window below 2 GiB: context page, glue stubs, indirect-branch table, trace buffer with its guard page,
// and the translated code. One anonymous mapping, so that fork copies it like everything else.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "engine/memory/layout.h"
#include "engine/translate/context.h"
#include "engine/translate/untouched_entries.h"

namespace zs::engine {

inline constexpr std::size_t kGuardBytes = 64 << 10;

class Window {
 public:
  /// Maps the window at `base`; CHECKs that the kernel gave it (the caller reserved the range).
  /// first_private_fd  descriptors that it keeps open are at least this
  Window(std::uint64_t base, std::size_t code_bytes, int first_private_fd);
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  Context& context() const { return *reinterpret_cast<Context*>(base_); }
  std::uint64_t context_address() const { return base_; }
  std::span<const PassedStop> passed_stops() const {
    return {reinterpret_cast<const PassedStop*>(base_ + kPassedOffset), context().passed};
  }
  std::uint64_t* jump_table() const { return reinterpret_cast<std::uint64_t*>(view_.table); }
  std::uint64_t table_address() const { return view_.table; }
  /// A second one of as many entries, for Variant::Near.
  std::uint64_t* near_table() const { return reinterpret_cast<std::uint64_t*>(near_table_address()); }
  std::uint64_t near_table_address() const { return view_.table + 8 * kTableEntries; }
  static constexpr std::size_t kTableEntries = 65536;
  /// Every entry of the table at that address leads to `miss`.
  void clear_table(std::uint64_t address, std::uint64_t miss) const;

  /// The direct table: for code below 2 GiB, the entry of `pc` lies at the address 8 * pc + bias, so that one
  /// instruction, jmp [rcx*8 + bias], looks it up without hashing or checking. Address space only; pages come as they
  /// are used. `fixed_code` is the code of a program linked below the low window, if any: its part of the table lies
  /// below the engine window. Returns the range of that part, which nobody else may map; empty where there was no room,
  /// and then such code is hashed.
  AddressRange map_direct_table(AddressRange fixed_code);
  /// Where the table is, but for that part; empty where there is none.
  AddressRange direct_table() const {
    return first_view().direct ? direct_slots({kDirectFirst, kDirectEnd}) : AddressRange{};
  }
  /// The program wants its place: from now on all is hashed. Code that looks up directly must not run any more.
  void unmap_direct_table();
  bool has_direct_table() const { return view_.direct; }
  bool direct_covers(std::uint64_t pc) const {
    return view_.direct && ((pc >= kDirectFirst && pc < kDirectEnd) || fixed_code_.contains(pc));
  }
  /// Of a program linked below the low window, and covered.
  AddressRange fixed_code() const { return fixed_code_; }
  std::uint32_t direct_bias() const { return bias_; }
  /// Where the entry of `pc`, which the table covers, lies.
  std::uint64_t direct_entry(std::uint64_t pc) const { return 8 * pc + bias_; }
  /// An indirect branch may soon go to `pc`, which the table covers: what lies around it answers "miss" from now on, so
  /// that no fault has to say it. That is this program's file, mapped (untouched_entries.h); where it cannot be, a page
  /// is written.
  void expect_direct(std::uint64_t pc, std::uint64_t miss);
  /// The same for all of a mapping that may be executed, as far as this program's file can be mapped there, and not for
  /// more than 32 MiB.
  void expect_code(AddressRange code);
  /// The page of the entry of `pc` has been written to already.
  bool direct_is_touched(std::uint64_t pc) const { return (direct_pages(pc) & direct_page_bit(pc)) != 0; }
  /// Whether indirect branches to `pc`, which the table covers, go on at `entry`.
  bool direct_leads_to(std::uint64_t pc, std::uint64_t entry) const {
    return direct_is_touched(pc) && *direct_slot(pc) == entry;
  }
  void set_direct(std::uint64_t pc, std::uint64_t entry, std::uint64_t miss);
  /// From `pc`, which the table covers, indirect branches go on at `entry`.
  struct DirectEntry {
    std::uint64_t pc, entry;
  };
  /// The same of many, by ascending pc.
  void set_direct(std::span<const DirectEntry> entries, std::uint64_t miss);
  void clear_direct(std::uint64_t pc, std::uint64_t miss);
  /// Every page goes back to "miss", or to zero, which a jump through it shows as a fault at address 0.
  void forget_direct();
  /// Of memory that the table takes.
  std::size_t direct_bytes() const { return kPageSize * direct_pages_in_use_; }
  /// A page of it has the entries of so many addresses.
  static constexpr std::uint64_t kDirectPage = kPageSize / sizeof(std::uint64_t);
  static constexpr std::uint64_t kDirectFirst = 0x1000'0000, kDirectEnd = 0x7ff0'0000;

  std::uint64_t trace_begin() const { return view_.trace; }
  std::uint64_t trace_end() const { return view_.trace_end; }  // the guard starts here
  std::uint64_t trace_room() const { return view_.trace_end - view_.trace; }
  /// What the stolen register holds less than the trace pointer. 0, but in the budget form with brakes: there its sign
  /// says whether one is due. From there to the guard, which is for what has no brake, a block's exit and the way to
  /// the next brake have to fit.
  std::uint64_t pointer_bias() const { return view_.biased ? trace_end() - kBrakeBudget : 0; }
  static constexpr std::uint64_t kBrakeBudget = 20;
  /// Before any code is made.
  void bias_pointer() { view_.biased = true; }
  bool in_trace_or_guard(std::uint64_t address) const {
    return address >= view_.trace && address < trace_end() + kGuardBytes;
  }
  /// Where a block entered with the trace pointer at `pointer` stores the registers that addresses are made of: two
  /// words of eight bytes for each two of the trace, so that it stays ahead of both.
  std::uint64_t slots_at(std::uint64_t pointer) const { return 2 * pointer + slots_bias(); }
  std::uint64_t slots_bias() const { return view_.slots - 2 * view_.trace; }
  const std::uint64_t* slots() const { return reinterpret_cast<const std::uint64_t*>(view_.slots); }
  /// The first of those of slots_at(), among them all.
  std::uint32_t slot_number_at(std::uint64_t pointer) const {
    return static_cast<std::uint32_t>((slots_at(pointer) - view_.slots) / sizeof(std::uint64_t));
  }
  /// Where a budget trace notes the marks it meets (MarkNote). Room for one at each of its instructions, so nothing
  /// guards it.
  std::uint64_t notes_begin() const { return view_.notes; }

  /// Makes the next append fault (async-signal-safe), and back.
  void trip() const;
  void untrip() const;

  std::uint64_t stubs_begin() const { return view_.stubs; }
  /// Of a window at `base`: the first two stubs, where untouched entries of the direct and of the hashed tables lead.
  static constexpr std::uint64_t direct_miss_at(std::uint64_t base) {
    return base + kContextBytes + kTableBytes + kRoomToGrow + kTraceBytes + kGuardBytes;
  }
  static constexpr std::uint64_t hashed_miss_at(std::uint64_t base) { return direct_miss_at(base) + 16; }
  std::uint64_t code_begin() const { return view_.code; }
  std::uint64_t code_end() const { return view_.end; }
  /// From here to the end: what is seldom run, so that it does not lie between what is run often.
  std::uint64_t cold_begin() const { return view_.code + page_down((view_.end - view_.code) / 2); }
  bool in_code(std::uint64_t address) const { return address >= view_.stubs && address < view_.end; }

  static std::size_t bytes_needed(std::size_t code_bytes);

  /// Maps a second view at `base`: stubs, code, trace and hashed tables of its own, with the same Context. It has no
  /// direct table, since its code is another. It becomes the one that is shown with swap_views().
  void add_view(std::uint64_t base, std::size_t code_bytes);
  /// Everything said of stubs, code, trace and tables is said of the other view from here on. Not while translated code
  /// runs.
  void swap_views() { std::swap(view_, other_); }
  bool is_second_view() const { return !view_.first; }

  /// Before others of the tool's descriptors are closed.
  void close_descriptors() { untouched_.close(); }
  /// Re-creates what fork must not share: the aliased pages of the budget view.
  void after_fork();
  /// Budget view: many addresses, few physical pages, for appends of which only the pointer counts.
  void use_budget_view();
  /// The budget view reaches twice as far back from now on, up to kMostBudget: a run that goes on and on meets the
  /// guard less often.
  /// Between two stretches.
  void grow_budget_view();
  /// Of the trace at first, and in the other forms.
  static constexpr std::size_t kTraceBytes = 512 << 10;
  static constexpr std::size_t kMostBudget = 4 << 20;

 private:
  /// What two translations of a program do not share.
  struct View {
    std::uint64_t table = 0, trace = 0, trace_end = 0, stubs = 0, code = 0, end = 0, slots = 0, notes = 0;
    bool aliased = false;
    bool biased = false;
    bool direct = false;  // has a direct table
    bool first = false;
  };
  static constexpr std::size_t kContextBytes = 64 << 10;
  static constexpr std::size_t kTableBytes = 2 * kTableEntries * 8;
  static constexpr std::size_t kRoomToGrow = kMostBudget - kTraceBytes;
  /// Code whose entries are mapped at once.
  static constexpr std::uint64_t kDirectStretch = kUntouchedBytes / sizeof(std::uint64_t);

  /// Of the two, the one that has the direct table.
  View& first_view() { return view_.first ? view_ : other_; }
  const View& first_view() const { return view_.first ? view_ : other_; }
  static void map_alias(const View& view);
  static void restart_alias(View& view);
  bool map_untouched(std::uint64_t pc, std::uint64_t miss);
  void touch_direct(std::uint64_t pc) {
    direct_pages(pc) |= direct_page_bit(pc);
    ++direct_pages_in_use_;
  }

  std::uint64_t* direct_slot(std::uint64_t pc) const { return reinterpret_cast<std::uint64_t*>(direct_entry(pc)); }
  /// The word with the bit of that entry's page, and the bit.
  std::uint64_t& direct_pages(std::uint64_t pc) const {
    return reinterpret_cast<std::uint64_t*>(direct_pages_)[pc / kDirectPage / 64];
  }
  static constexpr std::uint64_t direct_page_bit(std::uint64_t pc) { return std::uint64_t{1} << pc / kDirectPage % 64; }

  static View lay_out(std::uint64_t base, std::size_t code_bytes);
  static void map_view(const View& view);

  std::uint64_t base_;
  View view_, other_;
  std::uint64_t direct_pages_;           // a bit for each page of the direct table that was written to,
  std::size_t direct_pages_in_use_ = 0;  // and how many were
  std::uint32_t bias_ = 0;
  UntouchedEntries untouched_;
  std::bitset<kDirectEnd / kDirectStretch> tried_, mapped_;  // by stretch: to map the untouched entries, and done
  AddressRange fixed_code_{};

  AddressRange direct_slots(AddressRange code) const { return {direct_entry(code.start), direct_entry(code.end)}; }
};

}  // namespace zs::engine
