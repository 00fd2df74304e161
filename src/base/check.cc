#include "base/check.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>

namespace zs {

namespace {

constexpr int kAbort = -1;
int exit_status = kAbort;

[[noreturn]] void end() {
  if (exit_status == kAbort) std::abort();
  _exit(exit_status);
}

void say(std::string_view text) {
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

void end_failed_checks_with(int status) {
  exit_status = status;
  std::set_terminate([] {
    say("zeroskid: internal error: out of memory, or an exception that nobody catches\n");
    end();
  });
}

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
  say({text, length});
  end();
}

}  // namespace zs
