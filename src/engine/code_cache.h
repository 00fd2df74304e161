// The engine's window below 2 GiB: context page, glue stubs, indirect-branch table, trace buffer with its guard page, and the
// translated code. One anonymous mapping, so that fork copies it like everything else.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/context.h"

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

  std::uint64_t trace_begin() const { return trace_; }
  std::uint64_t trace_end() const { return trace_ + trace_bytes_; }    // the guard starts here
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
};

}  // namespace zs::engine
