#include "events/list_text.h"

#include <utility>

#include "arch/events/event.h"

namespace zs::session::event_list {

Text trimmed(Text text) {
  while (!text.empty() && is_blank(text.bytes.front())) text = text.from(1);
  while (!text.empty() && is_blank(text.bytes.back())) text = text.first(text.size() - 1);
  return text;
}

std::vector<Text> split(Text text, char separator) {
  std::vector<Text> pieces;
  for (;;) {
    const std::size_t at = text.bytes.find(separator);
    pieces.push_back(text.first(at));
    if (at == std::string_view::npos) return pieces;
    text = text.from(at + 1);
  }
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kMost = 40;
  constexpr const char* kHex = "0123456789abcdef";
  std::string quote = "'";
  for (const char c : text.substr(0, kMost)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      quote += c;
    } else {
      quote += std::string("\\x") + kHex[byte >> 4] + kHex[byte & 15];
    }
  }
  return quote + (text.size() > kMost ? "...'" : "'");
}

std::string in_hex(std::uint64_t value, std::size_t least_digits) {
  std::string digits;
  do {
    digits.insert(digits.begin(), "0123456789ABCDEF"[value & 15]);
    value >>= 4;
  } while (value != 0);
  return std::string(least_digits > digits.size() ? least_digits - digits.size() : 0, '0') + digits;
}

Error at(std::size_t column, const std::string& message, std::string hint) {
  return {"event list, column " + std::to_string(column) + ": " + message, std::move(hint)};
}

Number number_of(std::string_view digits, unsigned base) {
  if (digits.empty()) return {0, BadNumber::NoNumber};
  Number number;
  for (const char c : digits) {
    const char low = arch::lower(c);
    const unsigned digit = low >= '0' && low <= '9'   ? static_cast<unsigned>(low - '0')
                           : low >= 'a' && low <= 'f' ? static_cast<unsigned>(low - 'a') + 10U
                                                      : 16U;
    if (digit >= base) return {0, BadNumber::NoNumber};
    if (number.value > (~std::uint64_t{0} - digit) / base) number.bad = BadNumber::TooLarge;
    number.value = number.value * base + digit;
  }
  return number;
}

bool starts_hex(std::string_view text) { return text.size() >= 2 && text[0] == '0' && arch::lower(text[1]) == 'x'; }

Result<std::uint64_t> number_in(Text text, std::string_view key, std::uint64_t most) {
  const Number number = starts_hex(text.bytes) ? number_of(text.bytes.substr(2), 16) : number_of(text.bytes, 10);
  const std::string what = std::string(key) + "=" + std::string(text.bytes.substr(0, 40));
  if (number.bad == BadNumber::NoNumber) return at(text.column, quoted(text.bytes) + " is not a number");
  if (number.bad || number.value > most)
    return at(text.column, what + " is too large: at most 0x" + in_hex(most) + " fits");
  return number.value;
}

}  // namespace zs::session::event_list
