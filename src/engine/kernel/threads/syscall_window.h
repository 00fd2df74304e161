// A system call that a signal can call off until the very moment it starts. Between "no signal waits" and the SYSCALL
// instruction a signal could otherwise be missed, and the call would block with it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace zs::engine {

struct Thread;

/// Result of a call that a signal called off, or that the kernel asks to restart: run it again after the handler.
inline constexpr long kInterruptedBeforeStart = -512;  // ERESTARTSYS, which the kernel never shows

extern "C" {
extern const char zs_syscall_window_begin;
extern const char zs_syscall_window_syscall;
extern const char zs_syscall_window_interrupted;
extern const char zs_clone_window_begin;
extern const char zs_clone_window_syscall;
extern const char zs_clone_window_interrupted;
/// Does the system call unless *pending is set. Returns the kernel's result, or kInterruptedBeforeStart.
long zs_interruptible_syscall(long number, const long* arguments, const std::atomic<std::uint32_t>* pending);
/// The same for a clone() whose child starts at `entry(argument)` on `stack`.
long zs_interruptible_clone(std::uint64_t flags, void* stack, std::uint64_t parent_tid, std::uint64_t child_tid,
                            void (*entry)(Thread*), Thread* argument, const std::atomic<std::uint32_t>* pending);
/// The same for a clone3(), whose arguments have a stack, of which it takes some.
long zs_interruptible_clone3(void* arguments, std::size_t size, void (*entry)(Thread*), Thread* argument,
                             const std::atomic<std::uint32_t>* pending);
}

}  // namespace zs::engine
