// The text screen as people and programs read it: 80 or 40 columns, as many rows as were written (the 32 KiB at B8000H
// hold 204 of 80; bare-metal programs write below row 24 when there is much to say).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace zs::machine {

class PhysicalMemory;

inline constexpr unsigned kColumns = 80;
inline constexpr unsigned kVisibleRows = 25;

struct ScreenRow {
  std::vector<std::uint8_t> characters;  // code page 437
  std::vector<std::uint8_t> attributes;  // as many
  /// UTF-8, without the spaces at the end.
  std::string text() const;
};

/// Rows up to the last that is not blank. cells: character, attribute, character, ...
std::vector<ScreenRow> screen_rows(std::span<const std::uint8_t> cells, unsigned columns);
/// Those of the text memory.
std::vector<ScreenRow> screen_rows(const PhysicalMemory& memory, unsigned columns = kColumns);

/// One line a row.
std::string screen_text(const std::vector<ScreenRow>& rows);

/// A character of code page 437 as UTF-8; NUL is a space, as on the screen.
std::string utf8_of_cp437(std::uint8_t character);

}  // namespace zs::machine
