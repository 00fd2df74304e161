// CRC-32C of 64-bit values: the hash of the predictors, because the processor has an instruction for it. A processor
// without SSE4.2 computes the same by table, so a recording does not depend on where it was made.
#pragma once

#include <array>
#include <cstdint>

#include "arch/this_processor.h"

namespace zs::uarch {

namespace detail {

/// kCrcTables[i][b]: byte b, followed by i zero bytes.
inline constexpr auto kCrcTables = [] {
  constexpr std::uint32_t polynomial = 0x82F6'3B78;  // Castagnoli's, reflected
  std::array<std::array<std::uint32_t, 256>, 8> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ polynomial : crc >> 1;
    tables[0][byte] = crc;
  }
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    for (std::size_t i = 1; i < 8; ++i)
      tables[i][byte] = tables[i - 1][byte] >> 8 ^ tables[0][tables[i - 1][byte] & 0xFF];
  }
  return tables;
}();

inline const bool kHasCrcInstruction = (arch::leaf_here(1).ecx >> 20 & 1) != 0;  // SSE4.2

}  // namespace detail

/// By table: what crc32c() answers everywhere.
constexpr std::uint32_t crc32c_by_table(std::uint32_t seed, std::uint64_t value) {
  value ^= seed;
  std::uint32_t crc = 0;
  for (std::size_t i = 0; i < 8; ++i) crc ^= detail::kCrcTables[7 - i][value >> (8 * i) & 0xFF];
  return crc;
}

/// Where the processor has it.
inline std::uint32_t crc32c_by_instruction(std::uint32_t seed, std::uint64_t value) {
  std::uint64_t crc = seed;
  // An intrinsic would need the whole caller compiled for SSE4.2.
  asm("crc32q %1, %0" : "+r"(crc) : "rm"(value));
  return static_cast<std::uint32_t>(crc);
}

inline std::uint32_t crc32c(std::uint32_t seed, std::uint64_t value) {
  return detail::kHasCrcInstruction ? crc32c_by_instruction(seed, value) : crc32c_by_table(seed, value);
}

}  // namespace zs::uarch
