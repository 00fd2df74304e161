#include "engine/loader/script.h"

namespace zs::engine {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool ends_word(char c) { return is_blank(c) || c == '\0'; }

}  // namespace

std::optional<ScriptLine> parse_script_line(std::string_view head) {
  if (!is_script(head)) return std::nullopt;
  std::string line(head.substr(0, kScriptHeadBytes));
  line.resize(kScriptHeadBytes, '\0');  // as the kernel's buffer
  std::size_t end = line.find('\n');
  std::size_t at = 2;
  if (end == std::string::npos) {
    // No line end: fine if the interpreter's name does end within the buffer.
    end = kScriptHeadBytes - 1;
    std::size_t name = at;
    while (name < end && is_blank(line[name])) ++name;
    std::size_t after = name;
    while (after < end && !ends_word(line[after])) ++after;
    if (name == end || after == end) return std::nullopt;
  }
  while (end > at && is_blank(line[end - 1])) --end;
  while (at < end && is_blank(line[at])) ++at;
  if (at == end) return std::nullopt;

  ScriptLine result;
  std::size_t word_end = at;
  while (word_end < end && !ends_word(line[word_end])) ++word_end;
  result.interpreter = line.substr(at, word_end - at);
  if (result.interpreter.empty()) return std::nullopt;
  if (word_end < end && line[word_end] != '\0') {
    std::size_t argument = word_end;
    while (argument < end && is_blank(line[argument])) ++argument;
    if (argument < end) {
      const std::string text = line.substr(argument, end - argument);
      result.argument = text.substr(0, text.find('\0'));
    }
  }
  return result;
}

}  // namespace zs::engine
