// Lists of words, as messages and help pages have them.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zs::cli {

/// The words between blanks.
inline std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream rest(text);
  for (std::string word; rest >> word;) words.push_back(word);
  return words;
}

inline std::string joined(const std::vector<std::string>& words, std::string_view between = " ") {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += between;
    text += word;
  }
  return text;
}

/// Of options, and whether each was given: the first that was; "" for none.
inline std::string first_given(std::initializer_list<std::pair<bool, const char*>> options) {
  for (const auto& [given, option] : options) {
    if (given) return option;
  }
  return "";
}

/// As execve wants them, with a null pointer behind; they hold as long as `words` do.
inline std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace zs::cli
