#include "machine/devices/keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "machine/clock.h"

namespace zs::machine {
namespace {

// By scan code. NUL: no character.
constexpr std::string_view kPlain{
    "\0\x1B"
    "1234567890-=\b\tqwertyuiop[]\r\0asdfghjkl;'`\0\\zxcvbnm,./\0*\0 ",
    0x3A};
constexpr std::string_view kShifted{
    "\0\x1B"
    "!@#$%^&*()_+\b\0QWERTYUIOP{}\r\0ASDFGHJKL:\"~\0|ZXCVBNM<>?\0*\0 ",
    0x3A};
static_assert(kPlain[0x10] == 'q' && kPlain[0x1E] == 'a' && kPlain[0x2C] == 'z' && kPlain[0x39] == ' ');
static_assert(kShifted[0x10] == 'Q' && kShifted[0x1E] == 'A' && kShifted[0x2C] == 'Z' && kShifted[0x39] == ' ');

struct NamedKey {
  std::string_view name;
  std::uint8_t code;
  bool extended = false;
};
constexpr NamedKey kNamed[] = {
    {"Enter", 0x1C},     {"Esc", 0x01},        {"Tab", 0x0F},        {"Backspace", 0x0E},   {"Space", 0x39},
    {"Up", 0x48, true},  {"Down", 0x50, true}, {"Left", 0x4B, true}, {"Right", 0x4D, true}, {"Home", 0x47, true},
    {"End", 0x4F, true}, {"PgUp", 0x49, true}, {"PgDn", 0x51, true}, {"Ins", 0x52, true},   {"Del", 0x53, true},
    {"F1", 0x3B},        {"F2", 0x3C},         {"F3", 0x3D},         {"F4", 0x3E},          {"F5", 0x3F},
    {"F6", 0x40},        {"F7", 0x41},         {"F8", 0x42},         {"F9", 0x43},          {"F10", 0x44},
    {"F11", 0x57},       {"F12", 0x58},
};

/// chosen: fifty keys a second, so that who drains the keyboard before it asks loses none.
constexpr std::uint64_t kBetweenKeys = kTscHz / 50;

/// Pressed one after the other, and let go the other way round.
KeyStroke chord(std::initializer_list<std::uint8_t> held, std::uint8_t key, bool extended) {
  KeyStroke stroke{.codes = held, .pause = kBetweenKeys};
  for (const std::uint8_t release : {std::uint8_t{0}, std::uint8_t{kScanReleased}}) {
    if (extended) stroke.codes.push_back(kScanExtended);
    stroke.codes.push_back(key | release);
  }
  for (const std::uint8_t modifier : held) stroke.codes.push_back(modifier | kScanReleased);
  return stroke;
}

bool append_character(char character, std::initializer_list<std::uint8_t> held, std::vector<KeyStroke>& strokes) {
  if (character == '\n') character = '\r';
  if (character == '\0') return false;
  if (const auto at = kPlain.find(character); at != std::string_view::npos) {
    strokes.push_back(chord(held, static_cast<std::uint8_t>(at), false));
    return true;
  }
  const auto at = kShifted.find(character);
  if (at == std::string_view::npos || held.size() != 0) return false;
  strokes.push_back(chord({kScanLeftShift}, static_cast<std::uint8_t>(at), false));
  return true;
}

bool append_named(std::string_view name, std::vector<KeyStroke>& strokes) {
  if (name == "Wait") {
    strokes.push_back({{}, kTscHz});
    return true;
  }
  if (name.size() == 3 && name.starts_with("C-")) return append_character(name[2], {kScanControl}, strokes);
  if (name.size() == 3 && name.starts_with("A-")) return append_character(name[2], {kScanAlt}, strokes);
  const auto* const key = std::ranges::find(kNamed, name, &NamedKey::name);
  if (key == std::end(kNamed)) return false;
  strokes.push_back(chord({}, key->code, key->extended));
  return true;
}

}  // namespace

char character_of_key(std::uint8_t scan, bool shift) {
  return scan < kPlain.size() ? (shift ? kShifted : kPlain)[scan] : '\0';
}

Result<std::vector<KeyStroke>> key_strokes(std::string_view text) {
  std::vector<KeyStroke> strokes;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool escaped = text.substr(at).starts_with("<<");
    if (text[at] != '<' || escaped) {
      if (!append_character(text[at], {}, strokes)) {
        return Error{
            fmt::format("byte {:02x}h of the text is no key of a US keyboard", static_cast<unsigned char>(text[at])),
            ""};
      }
      at += escaped ? 1 : 0;
      continue;
    }
    const std::size_t end = text.find('>', at);
    const std::string_view name = text.substr(at + 1, end == std::string_view::npos ? end : end - at - 1);
    if (end == std::string_view::npos || !append_named(name, strokes)) {
      return Error{fmt::format("<{}>: no key of that name", name),
                   "names: Enter, Esc, Up, F1, C-c, A-x, Wait (a second) and their like; << types <"};
    }
    at = end;
  }
  return strokes;
}

}  // namespace zs::machine
