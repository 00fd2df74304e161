// Lists of words, as messages and help pages have them.
#pragma once

#include <cstddef>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace zs::cli {

/// The words between blanks.
inline std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream rest(text);
  for (std::string word; rest >> word;) words.push_back(word);
  return words;
}

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

inline std::string joined(const std::vector<std::string>& words, std::string_view between = " ") {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += between;
    text += word;
  }
  return text;
}

}  // namespace zs::cli
