// Text inside markup: HTML and SVG take the same.
#pragma once

#include <string>
#include <string_view>

namespace zs::report {

/// Escaped for element content and for attributes in double quotes. Bytes that are no UTF-8, and control characters,
/// which XML has no way to write, become U+FFFD.
std::string markup_text(std::string_view text);

}  // namespace zs::report
