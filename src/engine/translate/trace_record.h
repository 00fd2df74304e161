// What an exit of a block appends to the trace.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/check.h"

namespace zs::engine {

/// How a block's exits tell the trace what retired.
enum class TraceForm : std::uint8_t {
  Records,  // one exit id per block executed
  Spaced,   // the same, behind as many words as the block may bring a counter closer to its overflow (CountTable)
  Budget,   // the pointer itself advances by the one accumulator's count
};

/// A record of a spaced trace: the exit, and how many words before it the one before lies. So reading back waits for
/// one load per record, not for a table as well.
struct SpacedRecord {
  static constexpr unsigned kWordBits = 6;
  static constexpr std::size_t kMostExits = std::size_t{1} << (32 - kWordBits);
  static std::uint32_t make(std::uint32_t exit, std::uint32_t words) {
    CHECK(words < 1u << kWordBits && exit < 1u << (32 - kWordBits), words, exit);
    return exit << kWordBits | words;
  }
  static std::uint32_t exit(std::uint32_t record) { return record >> kWordBits; }
  static std::uint32_t words(std::uint32_t record) { return record & ((1u << kWordBits) - 1); }
};

/// What an append's store starts with: mov dword [r11], imm32 (the exit's id), or with a displacement of four bytes
/// where the pointer is biased.
inline constexpr std::uint8_t kAppend[] = {0x41, 0xC7, 0x03}, kBiasedAppend[] = {0x41, 0xC7, 0x83};
/// Where in the append at `pc` its record stands.
constexpr std::uint64_t record_of_append(std::uint64_t pc, bool biased) {
  return pc + (biased ? sizeof kBiasedAppend + 4 : sizeof kAppend);
}

}  // namespace zs::engine
