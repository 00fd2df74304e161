// Lists with commas, as options have them.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace zs {

/// What stands between commas: "" is one empty item, and so is what is behind a comma at the end.
inline std::vector<std::string_view> items_of(std::string_view list) {
  std::vector<std::string_view> items;
  for (;;) {
    const std::size_t comma = list.find(',');
    items.push_back(list.substr(0, comma));
    if (comma == std::string_view::npos) return items;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace zs
