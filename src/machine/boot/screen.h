// The text screen as people and programs read it: 80 columns, as many rows as were written (the 32 KiB at B8000H hold
// 204; bare-metal programs write below row 24 when there is much to say).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace zs::machine {

class PhysicalMemory;

inline constexpr unsigned kColumns = 80;
inline constexpr unsigned kVisibleRows = 25;

struct ScreenRow {
  std::array<std::uint8_t, kColumns> characters{};  // code page 437
  std::array<std::uint8_t, kColumns> attributes{};
  /// UTF-8, without the spaces at the end.
  std::string text() const;
};

/// Rows up to the last that is not blank.
std::vector<ScreenRow> screen_rows(const PhysicalMemory& memory);

/// One line a row.
std::string screen_text(const PhysicalMemory& memory);

/// A character of code page 437 as UTF-8; NUL is a space, as on the screen.
std::string utf8_of_cp437(std::uint8_t character);

}  // namespace zs::machine
