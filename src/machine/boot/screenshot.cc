#include "machine/boot/screenshot.h"

#include <zlib.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "base/check.h"
#include "machine/devices/vga.h"
#include "machine/memory.h"

namespace zs::machine {
namespace {

void put_big_endian(ByteWriter& out, std::uint32_t word) { out.write(__builtin_bswap32(word)); }

void put_chunk(ByteWriter& out, std::string_view type, Bytes data) {
  ByteWriter body;
  body.write_bytes(std::as_bytes(std::span(type)));
  body.write_bytes(data);
  put_big_endian(out, static_cast<std::uint32_t>(data.size()));
  out.write_bytes(body.bytes());
  const auto* const first = reinterpret_cast<const Bytef*>(body.bytes().data());
  put_big_endian(out, static_cast<std::uint32_t>(crc32(0, first, static_cast<uInt>(body.size()))));
}

/// Six bits as eight.
std::uint8_t widen(std::uint8_t part) { return static_cast<std::uint8_t>(part << 2 | part >> 4); }

}  // namespace

Result<std::vector<std::byte>> screenshot(const PhysicalMemory& memory, const Vga& vga) {
  if (vga.shows() == Vga::Shows::Text) {
    return Error{"--screenshot: the screen shows text, and there is no picture of it",
                 "standard output has the text; --screen json has the colours too"};
  }
  if (vga.shows() == Vga::Shows::OtherGraphics) {
    return Error{"--screenshot: the screen is in a graphics mode that is not drawn",
                 "mode 13h (320 x 200 in 256 colours) is"};
  }
  constexpr std::size_t kPixels = std::size_t{Vga::kWidth} * Vga::kHeight;
  std::vector<std::uint8_t> memory_bytes(kVgaGraphicsBytes);
  (void)memory.read(kVgaGraphics, std::as_writable_bytes(std::span(memory_bytes)));
  std::vector<std::uint8_t> rows;  // each after its filter: none
  rows.reserve(kPixels + Vga::kHeight);
  for (unsigned row = 0; row < Vga::kHeight; ++row) {
    rows.push_back(0);
    for (unsigned column = 0; column < Vga::kWidth; ++column) {
      rows.push_back(memory_bytes[(vga.first_byte() + row * Vga::kWidth + column) % kVgaGraphicsBytes]);
    }
  }
  std::vector<std::byte> packed(compressBound(rows.size()));
  uLongf packed_bytes = packed.size();
  const int done = compress2(reinterpret_cast<Bytef*>(packed.data()), &packed_bytes, rows.data(), rows.size(), 9);
  CHECK(done == Z_OK, done);
  packed.resize(packed_bytes);

  ByteWriter header, palette, out;
  put_big_endian(header, Vga::kWidth);
  put_big_endian(header, Vga::kHeight);
  constexpr std::array<std::uint8_t, 5> kIndexed{8, 3, 0, 0, 0};  // 8 bits, palette; deflate, filters, not interlaced
  header.write_bytes(std::as_bytes(std::span(kIndexed)));
  for (unsigned n = 0; n < 256; ++n) {
    const Vga::Colour c = vga.shown_colour(n);
    for (const std::uint8_t part : {c.red, c.green, c.blue}) palette.write(widen(part));
  }
  constexpr std::array<std::uint8_t, 8> kSignature{0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
  out.write_bytes(std::as_bytes(std::span(kSignature)));
  put_chunk(out, "IHDR", header.bytes());
  put_chunk(out, "PLTE", palette.bytes());
  put_chunk(out, "IDAT", packed);
  put_chunk(out, "IEND", {});
  return out.release();
}

}  // namespace zs::machine
