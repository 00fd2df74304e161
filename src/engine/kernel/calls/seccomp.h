// The filters by which a program restricts its own system calls (seccomp). The engine lives in the process and makes
// calls of its own, so the kernel must not apply them here: it is given each one behind an instruction that allows
// everything. It checks the filter all the same, says who may set one, for which threads, and shows that it is there.
// What a call of the program gets is answered by the engine, before the call. A program that goes on natively, or
// executes another one natively, is bound by the kernel.
// Not done: user notification, which is refused; the log of SECCOMP_RET_LOG; the events of SECCOMP_RET_TRACE for a
// tracer.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "engine/call.h"
#include "engine/thread.h"

namespace zs::engine {

struct GuestKernel;

/// filter  one that the kernel has accepted
/// returns SECCOMP_RET_*, as the kernel has it for `data`
std::uint32_t run_filter(const CallFilter& filter, const seccomp_data& data);

/// What the running thread's filters make of a call; none: it is to be made.
/// number  of x86-64, whatever it is in `data`
/// retire  counts the SYSCALL instruction, where nobody comes back to do it
std::optional<Outcome> refused_by_filters(GuestKernel& kernel, long number, const seccomp_data& data,
                                          const std::function<void()>& retire);

/// What comes with a SIGSYS instead of the call.
siginfo_t told_of_call(const seccomp_data& call, int code);

/// Natively the calling thread is bound by them; the engine goes on unbound.
void bind_by_filters(const Thread& thread);

/// For the next image.
std::string word_of(const CallFilter& filter);
CallFilter filter_of(const std::string& word);

}  // namespace zs::engine
