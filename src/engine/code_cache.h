// The engine's window below 2 GiB: context page, glue stubs, indirect-branch table, trace buffer with its guard page, and the
// translated code. One anonymous mapping, so that fork copies it like everything else.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/context.h"
#include "engine/memory/layout.h"

namespace zs::engine {

inline constexpr std::size_t kGuardBytes = 64 << 10;

class Window {
 public:
  /// Maps the window at `base`; CHECKs that the kernel gave it (the caller reserved the range).
  Window(std::uint64_t base, std::size_t code_bytes);
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  Context& context() const { return *reinterpret_cast<Context*>(base_); }
  std::uint64_t context_address() const { return base_; }
  std::uint64_t* jump_table() const { return reinterpret_cast<std::uint64_t*>(table_); }
  std::uint64_t table_address() const { return table_; }
  static constexpr std::size_t kTableEntries = 65536;

  /// The direct table: for code below 2 GiB, the entry of `pc` lies at the address 8 * pc, so that one instruction,
  /// jmp [rcx*8], looks it up without hashing or checking. Address space only; pages come as they are used. Absent (false) where the
  /// range was not free; then everything is hashed.
  bool has_direct_table() const { return direct_; }
  bool direct_covers(std::uint64_t pc) const {
    return (direct_ && pc >= kDirectFirst && pc < kDirectEnd) || (direct_fixed_ && pc >= kFixedFirst && pc < kFixedEnd);
  }
  /// Covers a program linked at 4 MiB, whose table then lies between its own end and the low window. Returns the range of
  /// the table, which nobody else may map; {0, 0} if the program is too large for that.
  AddressRange cover_fixed_program(std::uint64_t program_end);
  void set_direct(std::uint64_t pc, std::uint64_t entry, std::uint64_t miss);
  void clear_direct(std::uint64_t pc, std::uint64_t miss);
  /// Every page goes back to zero, which a jump through it shows as a fault at address 0.
  void forget_direct();
  static constexpr std::uint64_t kDirectFirst = 0x1000'0000, kDirectEnd = 0x7ff0'0000;
  static constexpr std::uint64_t kFixedFirst = 0x40'0000, kFixedEnd = 0x200'0000;

  std::uint64_t trace_begin() const { return trace_; }
  std::uint64_t trace_end() const { return trace_ + trace_bytes_; }  // the guard starts here
  bool in_trace_or_guard(std::uint64_t address) const {
    return address >= trace_ && address < trace_end() + kGuardBytes;
  }
  /// Makes the next append fault (async-signal-safe), and back.
  void trip() const;
  void untrip() const;

  std::uint64_t stubs_begin() const { return stubs_; }
  std::uint64_t code_begin() const { return code_; }
  std::uint64_t code_end() const { return end_; }
  bool in_code(std::uint64_t address) const { return address >= stubs_ && address < end_; }

  static std::size_t bytes_needed(std::size_t code_bytes);

  /// Re-creates what fork must not share: the aliased page of the budget view.
  void after_fork();
  /// Budget view: many addresses, one physical page, for appends of which only the pointer counts.
  void use_budget_view(bool on);

 private:
  void map_alias();

  std::uint64_t base_, table_, trace_, stubs_, code_, end_;
  std::size_t trace_bytes_;
  bool aliased_ = false;
  bool direct_ = false;
  bool direct_fixed_ = false;
};

}  // namespace zs::engine
