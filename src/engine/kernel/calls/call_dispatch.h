// Syscall user dispatch: a program gets SIGSYS instead of the calls that it makes outside a range of its code, while a
// byte of its memory says so. The kernel would turn away the engine's calls with the program's, so the engine does it.
// source: Linux, kernel/entry/syscall_user_dispatch.c
#pragma once

#include <linux/seccomp.h>

#include <functional>
#include <optional>

#include "engine/call.h"

namespace zs::engine {

struct GuestKernel;

/// Whether the running thread is told of a call; none: no, it is to be made.
/// retire  counts the SYSCALL instruction, where nobody comes back to do it
std::optional<Outcome> dispatched(GuestKernel& kernel, const seccomp_data& call, const std::function<void()>& retire);

}  // namespace zs::engine
