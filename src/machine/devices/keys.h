// The keys of a US keyboard: what scan codes of set 1 they send, what a text makes of them, and what characters a BIOS
// makes of the codes.
// source: IBM AT Technical Reference, "Keyboard", "Scan Code Set 1".
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace zs::machine {

enum ScanCode : std::uint8_t {
  kScanControl = 0x1D,
  kScanLeftShift = 0x2A,
  kScanRightShift = 0x36,
  kScanAlt = 0x38,
  kScanReleased = 0x80,  // added to the code of a key that is let go
  kScanExtended = 0xE0,  // comes before the code of a key that the first keyboards had not
};

/// The character of a key without its release bit; 0: none.
char character_of_key(std::uint8_t scan, bool shift);

/// What the typist does one after the other: the codes of one key, pressed and let go, after a pause.
struct KeyStroke {
  std::vector<std::uint8_t> codes;
  std::uint64_t pause = 0;  // ticks of the clock
};

/// The strokes that type a text: its characters; a new line is Enter; <Enter>, <Up>, <F1>, <C-c> (control), <A-x> (alt)
/// are keys by name, <Wait> is a second, << is <.
Result<std::vector<KeyStroke>> key_strokes(std::string_view text);

}  // namespace zs::machine
