#include "report/text/fit.h"

#include <algorithm>
#include <numeric>

namespace zs::report {
namespace {

bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

/// How long the colour is that begins there ("\\033[2m"), which takes no room; 0: none does.
std::size_t colour_at(std::string_view text, std::size_t at) {
  if (text.substr(at, 2) != "\033[") return 0;
  const std::size_t end = text.find('m', at);
  return end == std::string_view::npos ? 0 : end + 1 - at;
}

/// The bytes of the first `count` characters, and of the colours before the next.
std::size_t bytes_of_first(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  while (at < text.size()) {
    if (const std::size_t colour = colour_at(text, at); colour != 0) {
      at += colour;
      continue;
    }
    if (begins_character(text[at]) && count-- == 0) break;
    ++at;
  }
  return at;
}

constexpr std::string_view kGap = "..";

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t colour = colour_at(text, at);
    width += colour == 0 && begins_character(text[at]) ? 1 : 0;
    at += std::max<std::size_t>(colour, 1);
  }
  return width;
}

std::string shortened(std::string_view text, std::size_t width) {
  const std::size_t characters = display_width(text);
  if (characters <= width) return std::string(text);
  if (width <= kGap.size()) return std::string(text.substr(0, bytes_of_first(text, width)));
  const std::size_t kept = width - kGap.size();
  const std::size_t front = (kept + 1) / 2, back = kept / 2;
  std::string out(text.substr(0, bytes_of_first(text, front)));
  out += kGap;
  out += text.substr(bytes_of_first(text, characters - back));
  return out;
}

std::string without_tabs(std::string_view text) {
  constexpr std::size_t kTab = 8;
  std::string out;
  std::size_t column = 0;
  for (const char c : text) {
    const std::size_t blanks = c == '\t' ? kTab - column % kTab : 0;
    out.append(blanks, ' ');
    if (blanks == 0) out += c;
    column += blanks != 0 ? blanks : begins_character(c) ? 1 : 0;
  }
  return out;
}

namespace {

/// How many bytes of a line come before its break: up to the last blank that leaves it narrow enough, else as many as
/// fit.
std::size_t bytes_before_break(std::string_view line, std::size_t width, std::size_t indent) {
  const std::size_t most = bytes_of_first(line, width);
  const std::size_t blank = line.substr(0, most + 1).find_last_of(' ');
  return blank == std::string_view::npos || blank <= indent ? most : blank;
}

std::string folded_line(std::string_view line, std::size_t width) {
  const std::size_t text = std::min(line.find_first_not_of(" #"), line.size());
  std::string indent = std::string(line.substr(0, text)) + "  ";
  if (width <= 2 * indent.size()) indent = "    ";
  std::string out;
  std::string rest(line);
  while (display_width(rest) > width && width > 2 * indent.size()) {
    const std::size_t before = bytes_before_break(rest, width, indent.size());
    out += rest.substr(0, before) + "\n";
    rest.erase(0, std::min(rest.find_first_not_of(' ', before), rest.size()));
    rest.insert(0, indent);
  }
  return out + rest;
}

}  // namespace

std::string folded(std::string_view text, std::size_t width) {
  if (width == 0) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    out += folded_line(text.substr(0, end), width);
    if (end == std::string_view::npos) break;
    out += '\n';
    text.remove_prefix(end + 1);
  }
  return out;
}

std::string cut_off(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width <= kGap.size()) return std::string(text.substr(0, bytes_of_first(text, width)));
  return std::string(text.substr(0, bytes_of_first(text, width - kGap.size()))).append(kGap);
}

std::vector<std::size_t> fitting_widths(const std::vector<ColumnRoom>& columns, std::size_t gap, std::size_t room) {
  std::size_t count = columns.size();
  const auto least_of = [&] {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += columns[i].least + gap;
    return sum;
  };
  while (count > 1 && least_of() > room) --count;
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < count; ++i) widths.push_back(columns[i].wanted);
  const auto sum = [&] { return std::accumulate(widths.begin(), widths.end(), widths.size() * gap); };
  while (sum() > room) {
    std::size_t widest = count;
    for (std::size_t i = 0; i < count; ++i) {
      if (widths[i] > columns[i].least && (widest == count || widths[i] > widths[widest])) widest = i;
    }
    if (widest == count) break;
    --widths[widest];
  }
  return widths;
}

}  // namespace zs::report
