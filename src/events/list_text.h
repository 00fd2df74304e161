// Pieces of an event list that remember where they stand, and the error messages that say so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace zs::session::event_list {

/// A piece of the list. Its bytes belong to the caller of parse_events.
struct Text {
  std::string_view bytes;
  std::size_t column = 1;  // of the first byte in the list, from 1

  bool empty() const { return bytes.empty(); }
  std::size_t size() const { return bytes.size(); }
  Text from(std::size_t index) const { return {bytes.substr(index), column + index}; }
  Text first(std::size_t count) const { return {bytes.substr(0, count), column}; }
};

constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }
Text trimmed(Text text);

/// At each separator; always at least one piece.
std::vector<Text> split(Text text, char separator);

/// In quotes, with \x for what is not printable ASCII, cut after 40 bytes.
std::string quoted(std::string_view text);

/// Capital digits, without 0x.
std::string in_hex(std::uint64_t value, std::size_t least_digits = 1);

Error at(std::size_t column, const std::string& message, std::string hint = {});

enum class BadNumber : std::uint8_t { NoNumber, TooLarge };
struct Number {
  std::uint64_t value = 0;
  std::optional<BadNumber> bad;
};

/// base  10 or 16
Number number_of(std::string_view digits, unsigned base);
bool starts_hex(std::string_view text);

/// Decimal, or hexadecimal after 0x. `key` is for the message: "umask=0x1ff is too large".
Result<std::uint64_t> number_in(Text text, std::string_view key, std::uint64_t most);

}  // namespace zs::session::event_list
