// INT 10H. Text modes are of 80 or 40 columns, in colour; graphics modes are CGA's 4 to 6, and 13H. Their characters
// are not drawn, since this BIOS has no font, but kept (Bios::drawn_text). VBE is not there: AH=4FH comes back with AL
// other than 4FH.
#include <algorithm>
#include <array>
#include <iterator>

#include "machine/boot/bios.h"
#include "machine/boot/bios_data_area.h"
#include "machine/boot/screen.h"
#include "machine/devices/vga.h"
#include "machine/memory.h"

namespace zs::machine {
namespace {

constexpr std::uint8_t kPlain = 0x07;
constexpr std::uint8_t kKeepMemory = 0x80;  // with AH=00H: the picture is not cleared

/// A mode that AH=00H sets: what its text has, and its pixels.
struct VideoMode {
  std::uint8_t number;
  std::uint8_t registers;  // Vga::set_mode
  std::uint8_t columns;
  std::uint8_t bits = 0;  // of a pixel; 0: text
  std::uint16_t width = 0;
};
constexpr VideoMode kModes[] = {{0, 1, 40},         {1, 1, 40},         {2, 3, 80},
                                {3, 3, 80},         {4, 4, 40, 2, 320}, {5, 4, 40, 2, 320},
                                {6, 6, 80, 1, 640}, {7, 3, 80},         {0x13, 0x13, 40, 8, 320}};
const VideoMode* find_mode(std::uint8_t number) {
  const auto* const mode = std::ranges::find(kModes, number, &VideoMode::number);
  return mode == std::end(kModes) ? nullptr : mode;
}

}  // namespace

bool Bios::text_mode() const {
  const VideoMode* const mode = find_mode(memory_.load<std::uint8_t>(kVideoMode));
  return mode == nullptr || mode->bits == 0;
}

unsigned Bios::columns() const {
  return memory_.load<std::uint16_t>(kVideoColumns) == kColumns / 2 ? kColumns / 2 : kColumns;
}

std::uint16_t Bios::cell(unsigned row, unsigned column) const {
  const std::size_t at = (std::size_t{row} * columns() + column) * 2;
  if (text_mode()) return memory_.load<std::uint16_t>(kVgaText + at);
  return at + 1 < drawn_text_.size() ? static_cast<std::uint16_t>(drawn_text_[at] | drawn_text_[at + 1] << 8) : 0;
}

void Bios::set_cell(unsigned row, unsigned column, std::uint16_t value) {
  const std::size_t at = (std::size_t{row} * columns() + column) * 2;
  if (text_mode()) {
    memory_.store<std::uint16_t>(kVgaText + at, value);
    host_.memory_written(kVgaText + at, 2);
  } else if (at + 1 < drawn_text_.size()) {
    drawn_text_[at] = static_cast<std::uint8_t>(value);
    drawn_text_[at + 1] = static_cast<std::uint8_t>(value >> 8);
  }
}

/// Mode 7 is 80 x 25 in colour here.
void Bios::set_video_mode(std::uint8_t number) {
  const bool keep = (number & kKeepMemory) != 0;
  const VideoMode* const mode = find_mode(number & ~kKeepMemory);
  if (mode == nullptr) return;
  vga_.set_mode(mode->registers);
  memory_.store<std::uint8_t>(kVideoMode, mode->number);
  memory_.store<std::uint16_t>(kVideoColumns, mode->columns);
  memory_.store<std::uint16_t>(kCursor, 0);
  drawn_text_.assign(mode->bits == 0 ? 0 : std::size_t{kVisibleRows} * mode->columns * 2, 0);
  if (keep) return;
  if (mode->bits == 0) return scroll(0, 0, kVisibleRows - 1, mode->columns - 1u, 0, kPlain, false);
  const std::array<std::byte, kPageBytes> zeros{};
  constexpr std::uint64_t kCgaBytes = 0x4000;
  const std::uint64_t first = mode->bits == 8 ? kVgaGraphics : kVgaText;
  const std::uint64_t bytes = mode->bits == 8 ? kVgaGraphicsBytes : kCgaBytes;
  for (std::uint64_t page = 0; page < bytes; page += kPageBytes) (void)store(first + page, zeros);
}

void Bios::scroll(unsigned top, unsigned left, unsigned bottom, unsigned right, unsigned lines, std::uint8_t attribute,
                  bool down) {
  bottom = std::min(bottom, kVisibleRows - 1);
  right = std::min(right, columns() - 1);
  if (top > bottom || left > right) return;
  const unsigned height = bottom - top + 1;
  if (lines == 0 || lines > height) lines = height;
  const auto blank = static_cast<std::uint16_t>(attribute << 8 | ' ');
  for (unsigned i = 0; i < height; ++i) {
    const unsigned row = down ? bottom - i : top + i;
    for (unsigned column = left; column <= right; ++column) {
      set_cell(row, column, i + lines < height ? cell(down ? row - lines : row + lines, column) : blank);
    }
  }
}

void Bios::teletype(std::uint8_t character) {
  unsigned column = memory_.load<std::uint8_t>(kCursor), row = memory_.load<std::uint8_t>(kCursor + 1);
  switch (character) {
    case '\a': break;
    case '\b': column = column > 0 ? column - 1 : 0; break;
    case '\n': ++row; break;
    case '\r': column = 0; break;
    default:
      if (row < kVisibleRows && column < columns()) {
        const unsigned attribute = cell(row, column) >> 8;
        set_cell(row, column, static_cast<std::uint16_t>((attribute == 0 ? kPlain : attribute) << 8 | character));
      }
      if (++column >= columns()) {
        column = 0;
        ++row;
      }
  }
  if (row >= kVisibleRows) {
    scroll(0, 0, kVisibleRows - 1, columns() - 1, 1, kPlain, false);
    row = kVisibleRows - 1;
  }
  memory_.store<std::uint16_t>(kCursor, static_cast<std::uint16_t>(row << 8 | column));
}

/// AH = 09H, 0AH: CX times at the cursor, which stays.
void Bios::put_characters(BiosCall& call, bool with_attribute) {
  const unsigned column = memory_.load<std::uint8_t>(kCursor), row = memory_.load<std::uint8_t>(kCursor + 1);
  const unsigned first = row * columns() + column;
  for (unsigned n = 0; n < call.cx() && first + n < kVisibleRows * columns(); ++n) {
    const unsigned at_row = (first + n) / columns(), at_column = (first + n) % columns();
    const unsigned attribute = with_attribute ? call.bx() & 0xFFu : cell(at_row, at_column) >> 8;
    set_cell(at_row, at_column, static_cast<std::uint16_t>(attribute << 8 | call.al()));
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
    if (shows && row < kVisibleRows && column < columns()) {
      set_cell(row, column, static_cast<std::uint16_t>(attribute << 8));
    }
    teletype(character);
  }
  if ((call.al() & 1) == 0) memory_.store<std::uint16_t>(kCursor, before);
}

/// AH = 0CH, 0DH. Rows of CGA's modes lie in two halves of the memory, the even ones and the odd ones.
void Bios::pixel(BiosCall& call, bool write) {
  const VideoMode* const mode = find_mode(memory_.load<std::uint8_t>(kVideoMode));
  if (mode == nullptr || mode->bits == 0 || call.cx() >= mode->width || call.dx() >= Vga::kHeight) return;
  const unsigned bits = mode->bits, x = call.cx(), y = call.dx(), mask = (1u << bits) - 1;
  const std::uint64_t at = bits == 8 ? kVgaGraphics + std::uint64_t{y} * mode->width + x
                                     : kVgaText + (y % 2) * 0x2000u + y / 2 * 80 + x * bits / 8;
  const unsigned shift = 8 - bits - x * bits % 8;
  const auto old = memory_.load<std::uint8_t>(at);
  if (!write) return call.set_al(old >> shift & mask);
  const bool exclusive = bits != 8 && (call.al() & 0x80) != 0;
  const unsigned wanted = (call.al() & mask) << shift;
  memory_.store<std::uint8_t>(at,
                              static_cast<std::uint8_t>(exclusive ? old ^ wanted : (old & ~(mask << shift)) | wanted));
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
      if (find_mode(call.al() & ~kKeepMemory) == nullptr) return not_here(0x10, call);
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
      call.set_ax(cell(row, column));
      return;
    }
    case 0x09:
    case 0x0A: return put_characters(call, call.ah() == 0x09);
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
