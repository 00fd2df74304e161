#include "session/memory/block_table.h"

#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <random>

namespace zs::session {
namespace {

using Block = BlockTable::Block;

/// The same, plainly.
class PlainTable {
 public:
  void add(const Block& block) {
    std::erase_if(blocks_, [&](const auto& one) {
      const Block& other = one.second;
      if (other.start == block.start) return true;
      return other.start < block.start ? block.start - other.start < other.size
                                       : other.start - block.start < block.size;
    });
    blocks_[block.start] = block;
  }
  void remove(std::uint64_t start) { blocks_.erase(start); }
  std::optional<Block> at(std::uint64_t start) const {
    const auto found = blocks_.find(start);
    return found == blocks_.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<Block> find(std::uint64_t address) const {
    for (const auto& [start, block] : blocks_) {
      if (address - start < block.size) return block;
    }
    return std::nullopt;
  }

 private:
  std::map<std::uint64_t, Block> blocks_;
};

TEST(BlockTable, FindsWhatAPlainTableFinds) {
  constexpr std::uint64_t kBase = 0x2000'0000'0000 - 0x8000, kRange = 0x60000;  // over several stretches
  for (const unsigned seed : {1U, 2U, 3U}) {
    std::mt19937_64 random(seed);
    BlockTable table;
    PlainTable plain;
    for (std::uint64_t i = 1; i < 4000; ++i) {
      const std::uint64_t address = kBase + random() % kRange;
      switch (random() % 4) {
        case 0: {
          // Small ones, empty ones, and such as reach over whole stretches.
          const std::uint64_t size = random() % 50 == 0 ? random() % 0x30000 : random() % 300;
          const Block block{.start = address, .size = size, .number = i, .site = static_cast<std::uint32_t>(i % 7)};
          table.add(block);
          plain.add(block);
          break;
        }
        case 1:
          if (const auto found = plain.find(address)) {
            table.remove(found->start);
            plain.remove(found->start);
          }
          break;
        case 2: ASSERT_EQ(table.at(address), plain.at(address)) << i; break;
        default: break;
      }
      ASSERT_EQ(table.find(address), plain.find(address)) << seed << ' ' << i;
      if (const auto found = plain.find(address)) {
        ASSERT_EQ(table.at(found->start), found) << seed << ' ' << i;
      }
    }
  }
}

TEST(BlockTable, HoldsTheLargestNumbers) {
  BlockTable table;
  const Block block{.start = 0x7FFF'FFFF'F000,
                    .size = (std::uint64_t{1} << BlockTable::kSizeBits) - 1,
                    .number = (std::uint64_t{1} << BlockTable::kNumberBits) - 1,
                    .site = (1U << BlockTable::kSiteBits) - 1};
  table.add(block);
  EXPECT_EQ(table.find(block.start + block.size - 1), block);
  EXPECT_EQ(table.find(block.start + block.size), std::nullopt);
}

TEST(BlockTable, IsEmptyAgainWhenAllAreRemoved) {
  BlockTable table;
  for (std::uint64_t start = 0; start < 1'000'000; start += 100)
    table.add({.start = start, .size = 100, .number = start});
  for (std::uint64_t start = 0; start < 1'000'000; start += 100) {
    ASSERT_EQ(table.find(start + 99)->number, start);
    table.remove(start);
    ASSERT_EQ(table.find(start), std::nullopt);
  }
}

}  // namespace
}  // namespace zs::session
