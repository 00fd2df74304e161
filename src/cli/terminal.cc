#include "cli/terminal.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace zs::cli {
namespace {

std::string_view environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

}  // namespace

bool parse_colour(const std::string& text, ColourChoice& choice) {
  if (text == "auto")
    choice = ColourChoice::Auto;
  else if (text == "always")
    choice = ColourChoice::Always;
  else if (text == "never")
    choice = ColourChoice::Never;
  else
    return false;
  return true;
}

bool use_colour(ColourChoice choice, int descriptor) {
  if (choice != ColourChoice::Auto) return choice == ColourChoice::Always;
  if (!environment("NO_COLOR").empty()) return false;
  if (const auto force = environment("CLICOLOR_FORCE"); !force.empty() && force != "0") return true;
  return environment("TERM") != "dumb" && isatty(descriptor) != 0;
}

}  // namespace zs::cli
