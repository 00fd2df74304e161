// System calls without libc: no errno, no thread-local storage, no cancellation points, so they also work while the
// profiled program's FS base is loaded and inside signal handlers. The result is the kernel's: -errno on failure.
#pragma once

#include <sys/syscall.h>

#include <concepts>
#include <type_traits>

namespace zs::engine {

template <typename T>
concept SyscallArgument = std::integral<T> || std::is_enum_v<T> || std::is_pointer_v<T> || std::is_null_pointer_v<T>;

/// Integers are sign- or zero-extended to 64 bits by their own type.
template <SyscallArgument T>
inline long syscall_word(T argument) {
  if constexpr (std::is_null_pointer_v<T>) {
    return 0;
  } else if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<long>(argument);
  } else {
    return static_cast<long>(argument);
  }
}

/// source: System V ABI, AMD64 supplement, "Linux Conventions", "Calling Conventions".
inline long raw_syscall6(long number, long a, long b, long c, long d, long e, long f) {
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

template <SyscallArgument... Arguments>
inline long raw_syscall(long number, Arguments... arguments) {
  static_assert(sizeof...(Arguments) <= 6);
  const long words[6 + 1] = {syscall_word(arguments)...};
  return raw_syscall6(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

/// The kernel returns errors as -4095..-1.
inline bool is_error(long result) { return static_cast<unsigned long>(result) >= static_cast<unsigned long>(-4095L); }

}  // namespace zs::engine
