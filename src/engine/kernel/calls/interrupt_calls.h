// System calls by INT 80h: with the numbers and registers of 32-bit programs, whoever makes them. Those whose arguments
// mean the same in 64-bit programs are made as theirs.
// source: Linux, arch/x86/entry/entry_64_compat.S, arch/x86/entry/syscalls/syscall_32.tbl
#pragma once

#include <cstdint>

#include "engine/run/guest_memory.h"

namespace zs::engine {

/// Instead of a number of x86-64: not answered here; set_thread_area and get_thread_area, which it does not have.
inline constexpr long kRefusedInterrupt = -2, kSetSegment = -3, kGetSegment = -4;

long number_behind_interrupt(std::uint32_t number);

/// number  kSetSegment or kGetSegment
long call_about_segment(const GuestMemory& memory, long number, long descriptor);

}  // namespace zs::engine
