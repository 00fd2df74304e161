// Instructions for tests, from their bytes.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "isa/decode.h"

namespace zs::isa {

inline Insn of(std::initializer_list<std::uint8_t> bytes) {
  const std::vector<std::uint8_t> code(bytes);
  const auto insn = decode(0x1000, code);
  EXPECT_TRUE(insn.has_value());
  return insn.value_or(Insn{});
}

}  // namespace zs::isa
