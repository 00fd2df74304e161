// INT 10H. Text modes are 80 x 25 in colour; of graphics there is mode 13H, in which characters are not drawn: this
// BIOS has no font. VBE is not there: AH=4FH comes back with AL other than 4FH.
#include <algorithm>
#include <array>
#include <span>

#include "machine/boot/bios.h"
#include "machine/boot/bios_data_area.h"
#include "machine/boot/screen.h"
#include "machine/devices/vga.h"
#include "machine/memory.h"

namespace zs::machine {
namespace {

constexpr std::uint8_t kPlain = 0x07;
constexpr std::uint8_t kGraphicsMode = 0x13;
constexpr std::uint8_t kKeepMemory = 0x80;  // with AH=00H: the picture is not cleared
constexpr std::uint64_t kTextCells = std::uint64_t{kVisibleRows} * kColumns;

}  // namespace

bool Bios::text_mode() const { return memory_.load<std::uint8_t>(kVideoMode) != kGraphicsMode; }

/// Modes 0 to 3 and 7 are all 80 x 25 in colour here.
void Bios::set_video_mode(std::uint8_t mode) {
  const bool keep = (mode & kKeepMemory) != 0;
  mode &= static_cast<std::uint8_t>(~kKeepMemory);
  const bool graphics = mode == kGraphicsMode;
  vga_.set_mode(graphics ? kGraphicsMode : std::uint8_t{3});
  memory_.store<std::uint8_t>(kVideoMode, mode);
  memory_.store<std::uint16_t>(kVideoColumns, graphics ? kColumns / 2 : kColumns);
  memory_.store<std::uint16_t>(kCursor, 0);
  if (keep) return;
  if (!graphics) return scroll(0, 0, kVisibleRows - 1, kColumns - 1, 0, kPlain, false);
  const std::array<std::byte, kPageBytes> zeros{};
  for (std::uint64_t page = 0; page < kVgaGraphicsBytes; page += kPageBytes) (void)store(kVgaGraphics + page, zeros);
}

void Bios::scroll(unsigned top, unsigned left, unsigned bottom, unsigned right, unsigned lines, std::uint8_t attribute,
                  bool down) {
  bottom = std::min(bottom, kVisibleRows - 1);
  right = std::min(right, kColumns - 1);
  if (top > bottom || left > right || !text_mode()) return;
  const unsigned height = bottom - top + 1;
  if (lines == 0 || lines > height) lines = height;
  const auto cell = [left](unsigned row) { return kVgaText + (row * kColumns + left) * 2; };
  std::array<std::uint16_t, kColumns> buffer{};
  const auto cells = std::as_writable_bytes(std::span(buffer).first(right - left + 1));
  for (unsigned i = 0; i < height; ++i) {
    const unsigned row = down ? bottom - i : top + i;
    if (i + lines < height) {
      (void)memory_.read(cell(down ? row - lines : row + lines), cells);
    } else {
      buffer.fill(static_cast<std::uint16_t>(attribute << 8 | ' '));
    }
    (void)memory_.write(cell(row), cells);
  }
  host_.memory_written(kVgaText, kTextCells * 2);
}

void Bios::teletype(std::uint8_t character) {
  unsigned column = memory_.load<std::uint8_t>(kCursor), row = memory_.load<std::uint8_t>(kCursor + 1);
  switch (character) {
    case '\a': break;
    case '\b': column = column > 0 ? column - 1 : 0; break;
    case '\n': ++row; break;
    case '\r': column = 0; break;
    default:
      if (row < kVisibleRows && column < kColumns && text_mode()) {
        const std::uint64_t cell = kVgaText + (row * kColumns + column) * 2;
        memory_.store<std::uint8_t>(cell, character);
        if (memory_.load<std::uint8_t>(cell + 1) == 0) memory_.store<std::uint8_t>(cell + 1, kPlain);
        host_.memory_written(cell, 2);
      }
      if (++column >= kColumns) {
        column = 0;
        ++row;
      }
  }
  if (row >= kVisibleRows) {
    scroll(0, 0, kVisibleRows - 1, kColumns - 1, 1, kPlain, false);
    row = kVisibleRows - 1;
  }
  memory_.store<std::uint16_t>(kCursor, static_cast<std::uint16_t>(row << 8 | column));
}

/// AH = 09H, 0AH: CX times at the cursor, which stays.
void Bios::put_characters(BiosCall& call, bool with_attribute) {
  const unsigned column = memory_.load<std::uint8_t>(kCursor), row = memory_.load<std::uint8_t>(kCursor + 1);
  const std::uint64_t first = std::uint64_t{row} * kColumns + column;
  for (std::uint64_t n = 0; n < call.cx() && first + n < kTextCells; ++n) {
    const std::uint64_t cell = kVgaText + (first + n) * 2;
    memory_.store<std::uint8_t>(cell, call.al());
    if (with_attribute) memory_.store<std::uint8_t>(cell + 1, static_cast<std::uint8_t>(call.ebx));
    host_.memory_written(cell, 2);
  }
}

/// AH = 13H: CX characters at ES:BP from row DH, column DL. AL bit 0: the cursor follows; bit 1: attributes between
/// them.
void Bios::put_string(BiosCall& call) {
  const auto before = memory_.load<std::uint16_t>(kCursor);
  const bool attributes = (call.al() & 2) != 0;
  memory_.store<std::uint16_t>(kCursor, call.dx());
  std::uint64_t from = real_address(call.es, static_cast<std::uint16_t>(call.ebp));
  for (unsigned n = 0; n < call.cx(); ++n) {
    const auto character = memory_.load<std::uint8_t>(from++);
    const std::uint8_t attribute =
        attributes ? memory_.load<std::uint8_t>(from++) : static_cast<std::uint8_t>(call.ebx);
    const unsigned column = memory_.load<std::uint8_t>(kCursor), row = memory_.load<std::uint8_t>(kCursor + 1);
    const bool shows = character != '\a' && character != '\b' && character != '\n' && character != '\r';
    if (shows && row < kVisibleRows && column < kColumns && text_mode()) {
      memory_.store<std::uint8_t>(kVgaText + (row * kColumns + column) * 2 + 1, attribute);
    }
    teletype(character);
  }
  if ((call.al() & 1) == 0) memory_.store<std::uint16_t>(kCursor, before);
}

/// AH = 0CH, 0DH in mode 13H.
void Bios::pixel(BiosCall& call, bool write) {
  constexpr unsigned kWidth = Vga::kWidth, kHeight = Vga::kHeight;
  if (text_mode() || call.cx() >= kWidth || call.dx() >= kHeight) return;
  const std::uint64_t at = kVgaGraphics + std::uint64_t{call.dx()} * kWidth + call.cx();
  if (!write) return call.set_al(memory_.load<std::uint8_t>(at));
  memory_.store<std::uint8_t>(at, call.al());
  host_.memory_written(at, 1);
}

/// AH = 10H: the colour registers; what concerns the attribute controller is without effect here.
void Bios::palette(BiosCall& call) {
  const auto colour = [](unsigned red, unsigned green, unsigned blue) {
    return Vga::Colour{static_cast<std::uint8_t>(red & 63), static_cast<std::uint8_t>(green & 63),
                       static_cast<std::uint8_t>(blue & 63)};
  };
  const std::uint64_t table = real_address(call.es, call.dx());
  switch (call.al()) {
    case 0x10: vga_.set_colour(call.bx() & 0xFF, colour(call.dx() >> 8, call.cx() >> 8, call.cx() & 0xFF)); return;
    case 0x12:
      for (unsigned n = 0; n < call.cx() && call.bx() + n < 256; ++n) {
        const auto part = [&](unsigned k) { return memory_.load<std::uint8_t>(table + n * 3 + k); };
        vga_.set_colour(call.bx() + n, colour(part(0), part(1), part(2)));
      }
      return;
    case 0x15: {
      const Vga::Colour c = vga_.colour(call.bx() & 0xFF);
      call.set_dx((call.dx() & 0xFF) | c.red << 8);
      call.set_cx(c.green << 8 | c.blue);
      return;
    }
    case 0x00:
    case 0x01:
    case 0x02:
    case 0x03: return;
    default: not_here(0x10, call);
  }
}

void Bios::video(BiosCall& call) {
  switch (call.ah()) {
    case 0x00: {
      const unsigned mode = call.al() & 0x7Fu;
      if (mode > 3 && mode != 7 && mode != kGraphicsMode) return not_here(0x10, call);
      return set_video_mode(call.al());
    }
    case 0x01: memory_.store(kCursorShape, call.cx()); return;
    case 0x02: memory_.store(kCursor, call.dx()); return;
    case 0x03:
      call.set_dx(memory_.load<std::uint16_t>(kCursor));
      call.set_cx(memory_.load<std::uint16_t>(kCursorShape));
      return;
    case 0x05: return call.al() == 0 ? void() : not_here(0x10, call);  // one page
    case 0x06:
    case 0x07:
      scroll(call.cx() >> 8, call.cx() & 0xFFu, call.dx() >> 8, call.dx() & 0xFFu, call.al(),
             static_cast<std::uint8_t>(call.bx() >> 8), call.ah() == 0x07);
      return;
    case 0x08: {
      const unsigned column = memory_.load<std::uint8_t>(kCursor), row = memory_.load<std::uint8_t>(kCursor + 1);
      call.set_ax(memory_.load<std::uint16_t>(kVgaText + (row * kColumns + column) * 2));
      return;
    }
    case 0x09:
    case 0x0A: return text_mode() ? put_characters(call, call.ah() == 0x09) : void();
    case 0x0B: return;  // border and CGA palette
    case 0x0C:
    case 0x0D: return pixel(call, call.ah() == 0x0C);
    case 0x0E: teletype(call.al()); return;
    case 0x0F:
      call.set_ax(memory_.load<std::uint8_t>(kVideoColumns) << 8 | memory_.load<std::uint8_t>(kVideoMode));
      call.set_bx(call.bx() & 0xFF);
      return;
    case 0x10: return palette(call);
    case 0x12:
      if ((call.bx() & 0xFF) != 0x10) return not_here(0x10, call);
      call.set_bx(3);  // colour, 256 KiB
      call.set_cx(9);
      return;
    case 0x13: return put_string(call);
    case 0x1A:
      if (call.al() != 0) return not_here(0x10, call);
      call.set_ax(0x1A);
      call.set_bx(8);  // VGA with a colour display
      return;
    default: not_here(0x10, call);
  }
}

}  // namespace zs::machine
