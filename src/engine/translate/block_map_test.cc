#include "engine/translate/block_map.h"

#include <gtest/gtest.h>

namespace zs::engine {
namespace {

TEST(BlockMap, AnEmptyMapFindsNothing) { EXPECT_EQ(BlockMap().find(0x401000, Variant::Full), kNone); }

TEST(BlockMap, KeepsVariantsOfOneAddressApart) {
  BlockMap map;
  map.set(0x401000, Variant::Full, 1);
  map.set(0x401000, Variant::Step, 2);
  EXPECT_EQ(map.find(0x401000, Variant::Full), 1u);
  EXPECT_EQ(map.find(0x401000, Variant::Step), 2u);
  EXPECT_EQ(map.find(0x401001, Variant::Full), kNone);
}

TEST(BlockMap, TheNewestBlockOfAnAddressIsFound) {
  BlockMap map;
  map.set(0x401000, Variant::Full, 1);
  map.set(0x401000, Variant::Full, 7);
  EXPECT_EQ(map.find(0x401000, Variant::Full), 7u);
}

TEST(BlockMap, WhatIsForgottenIsGoneAndTheRestStays) {
  BlockMap map;
  constexpr std::uint32_t kMany = 100'000;  // grows several times, and places collide
  for (std::uint32_t i = 0; i < kMany; ++i) map.set(0x10000000 + 3 * std::uint64_t{i}, Variant::Full, i);
  for (std::uint32_t i = 0; i < kMany; i += 3) map.forget(0x10000000 + 3 * std::uint64_t{i}, Variant::Full);
  for (std::uint32_t i = 0; i < kMany; ++i)
    ASSERT_EQ(map.find(0x10000000 + 3 * std::uint64_t{i}, Variant::Full), i % 3 == 0 ? kNone : i) << i;
}

TEST(BlockMap, AForgottenAddressCanBeSetAgain) {
  BlockMap map;
  map.set(5, Variant::Full, 1);
  map.forget(5, Variant::Full);
  map.set(5, Variant::Full, 2);
  EXPECT_EQ(map.find(5, Variant::Full), 2u);
}

TEST(BlockMap, AClearedMapIsEmpty) {
  BlockMap map;
  for (std::uint32_t i = 0; i < 10'000; ++i) map.set(i, Variant::Full, i);
  map.clear();
  for (std::uint32_t i = 0; i < 10'000; ++i) ASSERT_EQ(map.find(i, Variant::Full), kNone);
}

}  // namespace
}  // namespace zs::engine
