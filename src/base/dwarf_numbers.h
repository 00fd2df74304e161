// Numbers and pointers as DWARF and .eh_frame write them.
// source: DWARF 5, "Variable Length Data"; Linux Standard Base Core, "DWARF Exception Header Encoding".
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace zs {

inline std::uint64_t read_uleb(ByteReader& in) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; in.ok(); shift += 7) {
    const auto byte = in.read<std::uint8_t>();
    if (shift < 64) value |= std::uint64_t{byte & 0x7FU} << shift;
    if ((byte & 0x80) == 0) break;
  }
  return value;
}

inline std::int64_t read_sleb(ByteReader& in) {
  std::uint64_t value = 0;
  unsigned shift = 0;
  while (in.ok()) {
    const auto byte = in.read<std::uint8_t>();
    if (shift < 64) value |= std::uint64_t{byte & 0x7FU} << shift;
    shift += 7;
    if ((byte & 0x80) != 0) continue;
    if (shift < 64 && (byte & 0x40) != 0) value |= ~std::uint64_t{0} << shift;
    break;
  }
  return static_cast<std::int64_t>(value);
}

/// How a pointer is written: its form in the low half, what is added in the high one.
struct PointerEncoding {
  static constexpr std::uint8_t kOmitted = 0xFF, kFormMask = 0x0F, kBaseMask = 0x70, kIndirect = 0x80;
  static constexpr std::uint8_t kPcRelative = 0x10, kDataRelative = 0x30;
  std::uint8_t bits = 0;

  /// The same number, of nothing added: a size.
  PointerEncoding form() const { return {static_cast<std::uint8_t>(bits & kFormMask)}; }
};

/// Whose offset() is the address of what it reads. An indirect pointer's address is given, not what lies there.
/// data_base  what data-relative pointers count from
inline std::uint64_t read_pointer(ByteReader& in, PointerEncoding encoding, std::uint64_t data_base = 0) {
  const std::uint64_t here = in.offset();
  std::uint64_t value = 0;
  switch (encoding.bits & PointerEncoding::kFormMask) {
    case 0x00:
    case 0x04:
    case 0x0C: value = in.read<std::uint64_t>(); break;
    case 0x01: value = read_uleb(in); break;
    case 0x02: value = in.read<std::uint16_t>(); break;
    case 0x03: value = in.read<std::uint32_t>(); break;
    case 0x09: value = static_cast<std::uint64_t>(read_sleb(in)); break;
    case 0x0A: value = static_cast<std::uint64_t>(std::int64_t{in.read<std::int16_t>()}); break;
    case 0x0B: value = static_cast<std::uint64_t>(std::int64_t{in.read<std::int32_t>()}); break;
    default: in.fail("unknown form of pointers"); return 0;
  }
  switch (encoding.bits & PointerEncoding::kBaseMask) {
    case 0: break;
    case PointerEncoding::kPcRelative: value += here; break;
    case PointerEncoding::kDataRelative: value += data_base; break;
    default: in.fail("unknown base of pointers"); return 0;
  }
  return value;
}

}  // namespace zs
