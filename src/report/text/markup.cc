#include "report/text/markup.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace zs::report {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

struct Form {
  unsigned char mask, lead;  // of the first byte
  std::size_t bytes;
  std::uint32_t least;  // smaller ones have a shorter form
};
constexpr std::array<Form, 4> kForms = {{
    {0x80, 0x00, 1, 0x20},
    {0xE0, 0xC0, 2, 0x80},
    {0xF0, 0xE0, 3, 0x800},
    {0xF8, 0xF0, 4, 0x10000},
}};

/// Bytes of the character at the front, or 0 if it is none that markup may hold.
std::size_t character_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  for (const Form& form : kForms) {
    if ((first & form.mask) != form.lead) continue;
    if (text.size() < form.bytes) return 0;
    std::uint32_t code = first & static_cast<unsigned char>(~form.mask);
    for (std::size_t i = 1; i < form.bytes; ++i) {
      const auto next = static_cast<unsigned char>(text[i]);
      if ((next & 0xC0) != 0x80) return 0;
      code = code << 6 | (next & 0x3F);
    }
    const bool control = code == 0x7F || (code >= 0x80 && code < 0xA0);
    const bool surrogate = code >= 0xD800 && code < 0xE000;
    const bool outside = code > 0x10FFFF || code == 0xFFFE || code == 0xFFFF;
    return code < form.least || control || surrogate || outside ? 0 : form.bytes;
  }
  return 0;
}

struct Escape {
  char letter;
  std::string_view text;
};
constexpr std::array<Escape, 4> kMarkup = {{{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}}};
constexpr std::array<Escape, 12> kMarkdown = {{{'&', "&amp;"},
                                               {'<', "&lt;"},
                                               {'>', "&gt;"},
                                               {'|', "\\|"},
                                               {'\\', "\\\\"},
                                               {'`', "\\`"},
                                               {'*', "\\*"},
                                               {'_', "\\_"},
                                               {'~', "\\~"},
                                               {'[', "\\["},
                                               {']', "\\]"},
                                               {'@', "&#64;"}}};

std::string escaped(std::string_view text, std::span<const Escape> escapes) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const auto escape = std::ranges::find(escapes, text.front(), &Escape::letter);
    out += escape != escapes.end() ? escape->text : length == 0 ? kReplacement : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

}  // namespace

std::string markup_text(std::string_view text) { return escaped(text, kMarkup); }
std::string markdown_text(std::string_view text) { return escaped(text, kMarkdown); }
std::string printable_text(std::string_view text) { return escaped(text, {}); }

}  // namespace zs::report
