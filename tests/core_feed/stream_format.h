// The stream of core_feed_run --stream and zs-oracle --accesses: for each retired instruction a StreamInstruction, then
// its accesses, loads before stores, elements one by one. Little-endian. What is wider than a line comes in pieces of a
// line.
#pragma once

#include <cstdint>

namespace zs {

struct StreamInstruction {
  std::uint64_t pc = 0;
  std::uint32_t accesses = 0;
  std::uint8_t length = 0;
  std::uint8_t taken = 0;
  std::uint8_t padding[2] = {};
};
static_assert(sizeof(StreamInstruction) == 16);

struct StreamAccess {
  std::uint64_t address = 0;
  std::uint16_t bytes = 0;
  std::uint8_t kind = 0;  // arch::AccessKind
  std::uint8_t padding[5] = {};
};
static_assert(sizeof(StreamAccess) == 16);

}  // namespace zs
