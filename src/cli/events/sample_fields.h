// What a sample holds, as options name it: call chains and registers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "profile/perf_data/recording.h"
#include "session/settings/config.h"

namespace zs::cli {

/// Names of the general registers: "ax", "bx", ...
std::vector<std::string> register_names();

/// The mask of the general registers that --intr-regs names: "ax,bx,ip". All of them for "true".
Result<std::uint64_t> parse_registers(const std::string& text);

struct CallchainChoice {
  session::Callchain mode = session::Callchain::None;
  std::uint32_t stack_bytes = 0, asked_bytes = 0;  // of a copy of the stack, and what was asked for
};

/// What a reader has to know of it.
profile::CallchainMode mode_in_file(session::Callchain mode);

/// --call-graph fp, dwarf, dwarf,SIZE or lbr.
Result<CallchainChoice> parse_callchain(const std::string& text);

}  // namespace zs::cli
