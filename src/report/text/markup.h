// Text that somebody else chose, inside markup (HTML and SVG take the same), in Markdown, and on a terminal.
#pragma once

#include <string>
#include <string_view>

namespace zs::report {

/// Escaped for element content and for attributes in double quotes. Bytes that are no UTF-8, and control characters,
/// which XML has no way to write, become U+FFFD.
std::string markup_text(std::string_view text);

/// Escaped for a cell of a Markdown table: it is shown as it is, and names nobody (@). Else as markup_text().
std::string markdown_text(std::string_view text);

/// As it is, but for such bytes and characters: no control character reaches a terminal.
std::string printable_text(std::string_view text);

}  // namespace zs::report
