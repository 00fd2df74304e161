#include "cli/command/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <string_view>

namespace zs::cli {
namespace {

std::string_view environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

}  // namespace

bool parse_colour(const std::string& text, ColourChoice& choice) {
  static constexpr std::string_view kNames[] = {"auto", "always", "never"};  // of ColourChoice
  const auto* const name = std::ranges::find(kNames, text);
  if (name == std::end(kNames)) return false;
  choice = static_cast<ColourChoice>(name - kNames);
  return true;
}

bool use_colour(ColourChoice choice, int descriptor) {
  if (choice != ColourChoice::Auto) return choice == ColourChoice::Always;
  if (!environment("NO_COLOR").empty()) return false;
  if (const auto force = environment("CLICOLOR_FORCE"); !force.empty() && force != "0") return true;
  return environment("TERM") != "dumb" && isatty(descriptor) != 0;
}

std::size_t terminal_width(int descriptor) {
  winsize size{};
  if (isatty(descriptor) == 0) return 0;
  std::size_t width = 0;
  const std::string_view columns = environment("COLUMNS");
  std::from_chars(columns.data(), columns.data() + columns.size(), width);
  if (width == 0 && ioctl(descriptor, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  return width;
}

bool locale_has_utf8() {
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view value = environment(name);
    if (value.empty()) continue;
    for (const std::string_view spelling : {"UTF-8", "utf8", "utf-8", "UTF8"}) {
      if (value.find(spelling) != std::string_view::npos) return true;
    }
    return false;
  }
  return false;
}

}  // namespace zs::cli
