#include "machine/boot/screen.h"

#include <array>
#include <span>

#include "machine/memory.h"

namespace zs::machine {
namespace {

// source: IBM PC character generator; Unicode's mapping "CP437".
// clang-format off
constexpr std::array<std::uint16_t, 32> kLow = {
    0x0020, 0x263A, 0x263B, 0x2665, 0x2666, 0x2663, 0x2660, 0x2022, 0x25D8, 0x25CB, 0x25D9, 0x2642, 0x2640, 0x266A, 0x266B, 0x263C,
    0x25BA, 0x25C4, 0x2195, 0x203C, 0x00B6, 0x00A7, 0x25AC, 0x21A8, 0x2191, 0x2193, 0x2192, 0x2190, 0x221F, 0x2194, 0x25B2, 0x25BC};
constexpr std::array<std::uint16_t, 129> kHigh = {
    0x2302, 0x00C7, 0x00FC, 0x00E9, 0x00E2, 0x00E4, 0x00E0, 0x00E5, 0x00E7, 0x00EA, 0x00EB, 0x00E8, 0x00EF, 0x00EE, 0x00EC, 0x00C4,
    0x00C5, 0x00C9, 0x00E6, 0x00C6, 0x00F4, 0x00F6, 0x00F2, 0x00FB, 0x00F9, 0x00FF, 0x00D6, 0x00DC, 0x00A2, 0x00A3, 0x00A5, 0x20A7,
    0x0192, 0x00E1, 0x00ED, 0x00F3, 0x00FA, 0x00F1, 0x00D1, 0x00AA, 0x00BA, 0x00BF, 0x2310, 0x00AC, 0x00BD, 0x00BC, 0x00A1, 0x00AB,
    0x00BB, 0x2591, 0x2592, 0x2593, 0x2502, 0x2524, 0x2561, 0x2562, 0x2556, 0x2555, 0x2563, 0x2551, 0x2557, 0x255D, 0x255C, 0x255B,
    0x2510, 0x2514, 0x2534, 0x252C, 0x251C, 0x2500, 0x253C, 0x255E, 0x255F, 0x255A, 0x2554, 0x2569, 0x2566, 0x2560, 0x2550, 0x256C,
    0x2567, 0x2568, 0x2564, 0x2565, 0x2559, 0x2558, 0x2552, 0x2553, 0x256B, 0x256A, 0x2518, 0x250C, 0x2588, 0x2584, 0x258C, 0x2590,
    0x2580, 0x03B1, 0x00DF, 0x0393, 0x03C0, 0x03A3, 0x03C3, 0x00B5, 0x03C4, 0x03A6, 0x0398, 0x03A9, 0x03B4, 0x221E, 0x03C6, 0x03B5,
    0x2229, 0x2261, 0x00B1, 0x2265, 0x2264, 0x2320, 0x2321, 0x00F7, 0x2248, 0x00B0, 0x2219, 0x00B7, 0x221A, 0x207F, 0x00B2, 0x25A0,
    0x0020};
// clang-format on

/// NUL, space and the no-break space.
bool blank(std::uint8_t character) { return character == 0 || character == ' ' || character == 0xFF; }

}  // namespace

std::string utf8_of_cp437(std::uint8_t character) {
  if (character >= 0x20 && character < 0x7F) return std::string(1, static_cast<char>(character));
  const unsigned code = character < 0x20 ? kLow[character] : kHigh[character - 0x7Fu];
  if (code < 0x80) return std::string(1, static_cast<char>(code));
  if (code < 0x800) return {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
  return {static_cast<char>(0xE0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3F)),
          static_cast<char>(0x80 | (code & 0x3F))};
}

std::string ScreenRow::text() const {
  std::string line;
  for (const std::uint8_t character : characters) line += utf8_of_cp437(character);
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::vector<ScreenRow> screen_rows(std::span<const std::uint8_t> cells, unsigned columns) {
  const std::size_t row_bytes = std::size_t{columns} * 2;
  std::size_t last = cells.size() / row_bytes * row_bytes;  // behind the last character that shows
  while (last != 0 && blank(cells[last - 2])) last -= 2;
  std::vector<ScreenRow> rows((last + row_bytes - 1) / row_bytes);
  const std::uint8_t* cell = cells.data();
  for (ScreenRow& row : rows) {
    for (unsigned column = 0; column < columns; ++column, cell += 2) {
      row.characters.push_back(cell[0]);
      row.attributes.push_back(cell[1]);
    }
  }
  return rows;
}

std::vector<ScreenRow> screen_rows(const PhysicalMemory& memory, unsigned columns) {
  std::array<std::uint8_t, kVgaTextBytes> cells{};
  (void)memory.read(kVgaText, std::as_writable_bytes(std::span(cells)));
  return screen_rows(cells, columns);
}

std::string screen_text(const std::vector<ScreenRow>& rows) {
  std::string text;
  for (const ScreenRow& row : rows) text += row.text() + "\n";
  return text;
}

}  // namespace zs::machine
