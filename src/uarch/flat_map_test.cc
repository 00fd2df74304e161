#include "uarch/flat_map.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>

#include "uarch/reference/memory_kernels.h"

namespace zs::uarch {
namespace {

TEST(FlatMap, DoesWhatAnOrderedMapDoes) {
  FlatMap<std::uint32_t> flat;
  std::map<std::uint64_t, std::uint32_t> ordered;
  Random chance(1);
  for (std::uint32_t i = 0; i < 300'000; ++i) {
    // Keys that come again, close together and far apart; the range grows and shrinks.
    const std::uint64_t range = i / 50'000 % 2 == 0 ? 3000 : 200;
    const std::uint64_t key = chance.below(range) * (chance.below(2) == 0 ? 1 : 4096);
    switch (chance.below(3)) {
      case 0:
        flat[key] = i;
        ordered[key] = i;
        break;
      case 1:
        flat.erase(key);
        ordered.erase(key);
        break;
      default: {
        const std::uint32_t* found = flat.find(key);
        const auto expected = ordered.find(key);
        ASSERT_EQ(found != nullptr, expected != ordered.end()) << i;
        if (found != nullptr) {
          ASSERT_EQ(*found, expected->second) << i;
        }
      }
    }
    ASSERT_EQ(flat.size(), ordered.size());
  }
  for (const auto& [key, value] : ordered) EXPECT_EQ(*flat.find(key), value);
}

TEST(FlatMap, RemovesWhatAPredicateSays) {
  FlatMap<std::uint32_t> flat;
  for (std::uint32_t key = 0; key < 10'000; ++key) flat[key * 4096] = key;
  flat.erase_if([](std::uint64_t key) { return key / 4096 % 3 == 0; });
  EXPECT_EQ(flat.size(), 6666u);
  for (std::uint32_t key = 0; key < 10'000; ++key) {
    const std::uint32_t* found = flat.find(key * 4096);
    ASSERT_EQ(found != nullptr, key % 3 != 0) << key;
    if (found != nullptr) {
      EXPECT_EQ(*found, key);
    }
  }
}

}  // namespace
}  // namespace zs::uarch
