// Whether to colour what is printed: --color=auto|always|never, NO_COLOR, CLICOLOR_FORCE and TERM=dumb.
#pragma once

#include <string>

namespace zs::cli {

enum class ColourChoice { Auto, Always, Never };

/// returns false if `text` is none of auto, always, never
bool parse_colour(const std::string& text, ColourChoice& choice);

/// An explicit choice wins; then NO_COLOR (no), CLICOLOR_FORCE (yes), TERM=dumb (no); else whether it is a terminal.
bool use_colour(ColourChoice choice, int descriptor);

}  // namespace zs::cli
