#include "base/check.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace zs {

void check_failed(const char* condition, const char* file, int line, const char* names,
                  std::initializer_list<CheckedValue> values) {
  char text[512];
  std::size_t length = 0;
  const auto append = [&](const char* format, auto... arguments) {
    const int wanted = std::snprintf(text + length, sizeof text - length, format, arguments...);
    if (wanted > 0) length = std::min(length + static_cast<std::size_t>(wanted), sizeof text - 1);
  };
  append("zeroskid: internal error: %s:%d: %s does not hold", file, line, condition);
  const char* separator = ": ";
  if (names != nullptr) {
    append(": %s", names);
    separator = " = ";
  }
  for (const CheckedValue value : values) {
    if (value.negative) {
      append("%s%lld", separator, static_cast<long long>(value.bits));
    } else if (value.bits > 0xFFFF'FFFF) {
      append("%s0x%llx", separator, static_cast<unsigned long long>(value.bits));
    } else {
      append("%s%llu", separator, static_cast<unsigned long long>(value.bits));
    }
    separator = ", ";
  }
  text[length++] = '\n';
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text, length);
  std::abort();
}

}  // namespace zs
