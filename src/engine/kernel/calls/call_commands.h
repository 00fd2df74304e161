// Calls in which one argument, a command, decides what the others are: a row for each command that makes them something
// else than the call's row says (call_table.h).
#pragma once

#include <cstdint>

#include "engine/kernel/calls/call_table.h"

namespace zs::engine {

struct CallCommand {
  long number = -1;
  std::uint32_t command = 0;
  std::uint32_t traits = 0;      // with those of the call; a command that waits is not quick
  std::uint32_t no_pointer = 0;  // kPointer1 and its kin: a number, which may look like an address
  DescriptorsInMemory descriptors = {};
  Waits waits = Waits::Never;  // whom it may wait for, unlike the call's other commands
  IdInMemory told_id = {};
};

/// What the command of this call says beyond the call's row; nothing, if it has none.
CallCommand command_of(const CallArguments& made);

/// Whom the call may wait for.
Waits waits_for(const CallArguments& made);

}  // namespace zs::engine
