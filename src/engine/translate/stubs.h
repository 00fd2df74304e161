// The glue between translated code and C++, generated once at the start of the code cache.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/translate/code_cache.h"

namespace zs::engine {

/// Addresses of the stubs. All but `enter` are jumped to from translated code or from a signal handler.
struct Stubs {
  std::uint64_t enter = 0;          // called as `void enter(cache address)` on an engine stack; does not return
  std::uint64_t unlinked = 0;       // the last append says which exit
  std::uint64_t step_done = 0;      // exit_id is set
  std::uint64_t indirect_miss = 0;  // target in rcx
  std::uint64_t direct_miss = 0;    // the same, first of all (CodeCacheLayout::direct_miss)
  std::uint64_t hashed_miss = 0;    // target in rcx, the program's rax in its slot; CodeCacheLayout::hashed_miss
  std::uint64_t guard = 0;
  std::uint64_t fault = 0;
  std::uint64_t at_stop = 0;  // the program's rcx in the stolen register
  /// Context::near_table is set; chooses a stop and goes on, registers as they were. The flags are the caller's to
  /// keep.
  std::uint64_t choose_stop = 0;
};

/// `dispatch` gets the Context and returns the cache address to go on at. Uses the XSAVE form the CPU has.
Stubs generate_stubs(const CodeCache& cache, std::uint64_t (*dispatch)(Context*));

/// Whether XSAVE is an instruction here; elsewhere FXSAVE takes its place, with a header of the stubs' making.
bool has_xsave();
/// Bytes of the XSAVE area (standard form) with all enabled state; the enabled state bits; where a component lies that
/// is enabled, of 2 to 7.
std::uint32_t xsave_bytes();
std::uint64_t xsave_mask();
std::uint32_t xsave_offset(unsigned component);
/// The state with which a program and the handler of a signal begin.
void begin_state(std::byte* area);
/// LAHF and SAHF in 64-bit mode.
bool has_lahf();

}  // namespace zs::engine
