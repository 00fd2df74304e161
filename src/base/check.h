// CHECK: for mistakes of our own; on in release builds too. Prints with write(2) only, so it also works where the
// profiled program's thread state is loaded.
//   CHECK(events <= room);                  zeroskid: internal error: ./src/pmu/pmu.cc:42: events <= room does not hold
//   CHECK(events <= room, events, room);    ... does not hold: events, room = 7, 3
// The values are whole numbers, enumerators or pointers; they are looked at only when the condition fails.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <type_traits>

namespace zs {

/// A number as CHECK prints it.
struct CheckedValue {
  std::uint64_t bits = 0;
  bool negative = false;

  template <typename T>
  constexpr CheckedValue(T value) {  // NOLINT(google-explicit-constructor): made from the arguments of CHECK
    if constexpr (std::is_pointer_v<T>) {
      bits = reinterpret_cast<std::uintptr_t>(value);
    } else {
      bits = static_cast<std::uint64_t>(value);
      if constexpr (std::is_signed_v<T>) negative = value < 0;
    }
  }
};

/// From here on a failed CHECK, and an exception that nobody catches, end the process with `exit_status` after their
/// message; before, they abort. For programs: an abort of ours would look like SIGABRT of the program that runs in our
/// process.
void end_failed_checks_with(int exit_status);

[[noreturn]] void check_failed(const char* condition, const char* file, int line, const char* names = nullptr,
                               std::initializer_list<CheckedValue> values = {});

}  // namespace zs

#define CHECK(condition, ...) \
  ((condition) ? void(0) : ::zs::check_failed(#condition, __FILE__, __LINE__ __VA_OPT__(, #__VA_ARGS__, {__VA_ARGS__})))
