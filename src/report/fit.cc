#include "report/fit.h"

#include <algorithm>
#include <numeric>

namespace zs::report {
namespace {

bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

/// The bytes of the first `count` characters.
std::size_t bytes_of_first(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if (begins_character(text[at]) && count-- == 0) break;
  }
  return at;
}

constexpr std::string_view kGap = "..";

}  // namespace

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
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

/// A line with colours is left to who coloured it: it is no prose.
std::string folded_line(std::string_view line, std::size_t width) {
  if (line.find('\033') != std::string_view::npos) return std::string(line);
  const std::size_t text = std::min(line.find_first_not_of(" #"), line.size());
  const std::string indent = std::string(line.substr(0, text)) + "  ";
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
