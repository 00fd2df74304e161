// The frame rule of code that no table covers (JITs, assembly, programs built without tables), found by following the
// code from there to the function's return: pushes, pops and moves of RSP and RBP say where the return address is.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "session/stacks/frame_rule.h"

namespace zs::session {

/// Bytes of code at an address, as many of `into` as there are.
using FetchCode = std::function<std::size_t(std::uint64_t address, std::span<std::byte> into)>;

/// Whether what a rule finds can be a caller.
/// doubtful  the way to it went past a call, which perhaps does not return, or past a jump, and so perhaps into another
///           function
using AcceptRule = std::function<bool(const FrameRule&, bool doubtful)>;

/// Follows at most `longest` instructions: forward past calls and conditional branches, along jumps.
/// accept   if there is one, every way is followed, the straight one first, until what one finds is accepted
/// returns  nothing if they lead to no return, or do with RSP what is not followed
std::optional<FrameRule> rule_of_code(std::uint64_t pc, const FetchCode& fetch, int longest,
                                      const AcceptRule& accept = {});

/// Finds the rule at `pc` in a function that begins at `start`, by the ways from there.
/// left  how many instructions may still be followed
std::optional<FrameRule> rule_from_start(std::uint64_t start, std::uint64_t pc, const FetchCode& fetch, int& left,
                                         const AcceptRule& accept);

/// The rule at `pc`, to which a signal handler returns, if the code there is rt_sigreturn's: registers lie in the
/// ucontext at RSP.
std::optional<FrameRule> rule_of_signal_return(std::uint64_t pc, const FetchCode& fetch);

}  // namespace zs::session
