#include "cli/linux/btf.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace zs::cli {
namespace {

constexpr std::string_view kNames("\0task\0a\0inner\0b\0", 16);
constexpr std::uint32_t kTask = 1, kA = 6, kInner = 8, kB = 14;

/// The types are an int; a structure without a name, whose `b` lies at byte 4; `task`, which has `a`, such a structure
/// at byte 8, and `inner`, a constant one, at byte 16.
/// returns  zeros, a smaller BTF, zeros, that one
std::vector<std::byte> memory() {
  constexpr std::uint32_t kInt = 1u << 24, kConst = 10u << 24, kStruct = 4u << 24;
  const std::vector<std::uint32_t> types = {0,     kInt,        4,  32,                                   // 1
                                            0,     kStruct | 1, 8,  kB, 1, 32,                            // 2
                                            kTask, kStruct | 3, 24, kA, 1, 0,  0, 2, 64, kInner, 4, 128,  // 3
                                            0,     kConst,      2};                                       // 4
  std::vector<std::byte> bytes;
  const auto put = [&bytes](std::span<const std::byte> more) { bytes.insert(bytes.end(), more.begin(), more.end()); };
  const auto put_btf = [&put](std::span<const std::uint32_t> of_types) {
    const auto size = static_cast<std::uint32_t>(of_types.size_bytes());
    const std::uint32_t header[] = {0x0001EB9F, 24, 0, size, size, static_cast<std::uint32_t>(kNames.size())};
    put(std::as_bytes(std::span(header)));
    put(std::as_bytes(of_types));
    put(std::as_bytes(std::span(kNames)));
  };
  bytes.resize(40);
  put_btf(std::span(types).first(4));
  bytes.resize(bytes.size() + 8);
  put_btf(types);
  return bytes;
}

TEST(Btf, SaysWhereMembersLieThoseOfMembersAndOfStructuresWithoutANameToo) {
  const auto all = memory();
  const auto btf = Btf::find_in(all);
  ASSERT_TRUE(btf);
  EXPECT_EQ(btf->offset_of("task", "a"), 0u);
  EXPECT_EQ(btf->offset_of("task", "b"), 12u);
  EXPECT_EQ(btf->offset_of("task", "inner"), 16u);
  EXPECT_EQ(btf->offset_of("task", "inner.b"), 20u);
}

TEST(Btf, WhatIsNotThereHasNoPlace) {
  const auto all = memory();
  const auto btf = Btf::find_in(all);
  ASSERT_TRUE(btf);
  for (const char* const path : {"c", "inner.a", "a.b"}) EXPECT_FALSE(btf->offset_of("task", path)) << path;
  EXPECT_FALSE(btf->offset_of("file", "a"));
}

TEST(Btf, OneThatIsCutShortIsNoneAndBytesOfAnyKindAreRead) {
  const auto all = memory();
  EXPECT_FALSE(Btf::find_in(Bytes(all).first(60)));
  for (std::size_t at = 24; at < all.size(); ++at) {
    auto damaged = all;
    damaged[at] = std::byte{0xFF};
    if (const auto btf = Btf::find_in(damaged)) (void)btf->offset_of("task", "inner.b");
  }
}

}  // namespace
}  // namespace zs::cli
