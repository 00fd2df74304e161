// What can be printed: whether colours are wanted (--color=auto|always|never, NO_COLOR, CLICOLOR_FORCE, TERM=dumb), and
// which characters there are.
#pragma once

#include <cstddef>
#include <string>

namespace zs::cli {

enum class ColourChoice { Auto, Always, Never };

/// returns false if `text` is none of auto, always, never
bool parse_colour(const std::string& text, ColourChoice& choice);

/// An explicit choice wins; then NO_COLOR (no), CLICOLOR_FORCE (yes), TERM=dumb (no); else whether it is a terminal.
bool use_colour(ColourChoice choice, int descriptor);

/// Columns of the terminal that `descriptor` is: COLUMNS, else what the terminal says; 0 if it is none or does not say.
std::size_t terminal_width(int descriptor);

/// By the variables that setlocale() asks, in its order: LC_ALL, LC_CTYPE, LANG.
bool locale_has_utf8();

}  // namespace zs::cli
