// What stands behind an event's colons: perf's letters and libpfm4's attributes.
#pragma once

#include <cstddef>
#include <optional>

#include "arch/msrs.h"
#include "base/result.h"
#include "events/list_text.h"

namespace zs::session::event_list {

struct Modifiers {
  std::optional<bool> user;
  std::size_t kernel_column = 0;  // of a k; 0: nobody said it
  int precise = 0;                // 0..3
  bool most_precise = false;      // :P, as precise as the event can be
  std::size_t precise_column = 0;
  arch::PerfEvtSel added;        // CMASK, INV, E, ANY, PC
  std::size_t added_column = 0;  // of an attribute that set CMASK, INV, E or ANY; 0: none did

  void add(const Modifiers& more);
};

inline constexpr const char* kModifierHint = "modifiers are u, p, pp, ppp and P";

/// Whether the segment can only be meant as modifiers, right or wrong: "upp", "k", "c=2", and not "ALL_LOADS".
bool looks_like_modifiers(Text segment);

/// Reads one segment between colons.
/// libpfm_spelling  the event's name was libpfm4's, in which a lone e is "edge" and not perf's "exclusive"
Result<void> read_modifiers(Text segment, bool libpfm_spelling, Modifiers& out);

}  // namespace zs::session::event_list
