// Texts that are lists: for (const std::string_view item : items_of(list)).
#pragma once

#include <cstddef>
#include <iterator>
#include <string_view>

namespace zs {

class Items {
 public:
  struct Iterator {
    constexpr std::string_view operator*() const { return rest.substr(0, rest.find(separator)); }
    constexpr Iterator& operator++() {
      const std::size_t at = rest.find(separator);
      more = at != std::string_view::npos;
      rest.remove_prefix(more ? at + 1 : rest.size());
      return *this;
    }
    constexpr bool operator==(std::default_sentinel_t) const { return !more; }

    std::string_view rest;
    char separator;
    bool more;
  };

  constexpr Items(std::string_view list, char separator, bool any) : first_{list, separator, any} {}
  constexpr Iterator begin() const { return first_; }
  constexpr std::default_sentinel_t end() const { return {}; }

 private:
  Iterator first_;
};

/// What stands between separators: "" is one empty item, and so is what is behind a separator at the end.
constexpr Items items_of(std::string_view list, char separator = ',') { return {list, separator, true}; }

/// What separators end, as lines: "" has none, and behind a separator at the end there is none either.
constexpr Items pieces_of(std::string_view text, char separator) {
  const bool any = !text.empty();
  if (text.ends_with(separator)) text.remove_suffix(1);
  return {text, separator, any};
}

}  // namespace zs
