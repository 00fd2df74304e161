#include "report/text/color.h"

namespace zs::report {

std::string percent_colored(std::string_view text, double percent, bool color) {
  if (!color || percent < 0.5) return std::string(text);
  return std::string(percent >= 5.0 ? "\x1b[1;31m" : "\x1b[32m").append(text).append("\x1b[m");
}

}  // namespace zs::report
