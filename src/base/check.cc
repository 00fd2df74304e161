#include "base/check.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace zs {

void check_failed(const char* condition, const char* file, int line) {
  char text[512];
  const int length =
      std::snprintf(text, sizeof text, "zeroskid: internal error: %s:%d: %s does not hold\n", file, line, condition);
  if (length > 0) {
    const auto written = write(STDERR_FILENO, text, std::strlen(text));
    (void)written;
  }
  std::abort();
}

}  // namespace zs
