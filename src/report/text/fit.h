// What makes a page fit a terminal: names lose their middle, because both of their ends tell something.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace zs::report {

/// Characters, not bytes.
std::size_t display_width(std::string_view text);

/// "std::__detail::_Map_base<..>::operator[]" in at most `width` characters: what is longer has ".." where its middle
/// was.
std::string shortened(std::string_view text, std::size_t width);

/// Tabs as the blanks that they are on a terminal, if the text begins at a multiple of 8.
std::string without_tabs(std::string_view text);

/// Prose in lines of at most `width` characters: longer ones go on, indented by two more, where a word ends. 0: as it
/// is.
std::string folded(std::string_view text, std::size_t width);

/// Source text keeps its beginning.
std::string cut_off(std::string_view text, std::size_t width);

struct ColumnRoom {
  std::size_t wanted = 0, least = 0;  // least <= wanted
};
/// Widths that add up to at most `room`: the widest give first, none below its least. Where that does not suffice,
/// columns at the end are left out, so that fewer come back; never the first.
std::vector<std::size_t> fitting_widths(const std::vector<ColumnRoom>& columns, std::size_t gap, std::size_t room);

}  // namespace zs::report
