// What a process may ask of its kernel for itself, kind by kind: prctl, arch_prctl and seccomp. The engine lives in the
// process, so what binds the program binds the engine too; a row says so of each kind that the engine
// answers, or does not allow. All others the kernel answers.
//
// The others that bind a process have one kind each, in call_handlers.h: landlock_restrict_self, mseal.
#pragma once

#include <cstdint>

#include "engine/kernel/calls/call_table.h"

namespace zs::engine {

struct ProcessAttribute {
  long call = -1;
  int kind = 0;
  const char* name = "";
  CallHandler answer = nullptr;  // the engine's; null: it is refused, or the kernel's
  /// Whether it is refused with this second argument, by `error`; null: never. `what` is the subject of the notice; "":
  /// a library asks on its own account, and does without.
  bool (*refused)(std::uint64_t argument) = nullptr;
  long error = 0;
  const char* what = "";
};

/// null: there is no row
const ProcessAttribute* process_attribute(long call, int kind);

}  // namespace zs::engine
