#include "engine/run/moved_code.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <vector>

namespace zs::engine {
namespace {

/// A file that is mapped: its headers and the index of its functions in one page, code in those behind it.
class MovedCodeTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kIndex = 0x200, kCode = kPageSize;

  void SetUp() override {
    ASSERT_NE(image_, MAP_FAILED);
    std::memcpy(image_, ELFMAG, SELFMAG);
    auto* const header = static_cast<Elf64_Ehdr*>(image_);
    header->e_phoff = sizeof(Elf64_Ehdr);
    header->e_phnum = 2;
    auto* const segments = reinterpret_cast<Elf64_Phdr*>(header + 1);
    segments[0].p_type = PT_LOAD;
    segments[0].p_vaddr = kLinked;
    segments[1].p_type = PT_GNU_EH_FRAME;
    segments[1].p_vaddr = kLinked + kIndex;
    const auto file = std::make_shared<MappedFile>();
    mappings_.add({.start = start(), .end = start() + kCode, .prot = PROT_READ, .kind = MapKind::File, .file = file});
    mappings_.add({.start = start() + kCode,
                   .end = start() + kSize,
                   .prot = PROT_READ | PROT_EXEC,
                   .offset = kCode,
                   .kind = MapKind::File,
                   .file = file});
  }
  ~MovedCodeTest() override { munmap(image_, kSize); }

  /// Functions at random places, some of them not aligned.
  void make_functions() {
    for (std::uint64_t at = start() + kCode; at < start() + kSize; at += 1 + draw_() % 200) {
      functions_.push_back(draw_() % 2 != 0 ? at : at / 16 * 16 + 16);
      at = functions_.back();
    }
    while (functions_.back() >= start() + kSize) functions_.pop_back();
    auto* const head = static_cast<std::uint8_t*>(image_) + kIndex;
    const std::uint8_t kind[] = {1, 0x1B, 0x03, 0x3B};
    const auto count = static_cast<std::uint32_t>(functions_.size());
    std::memcpy(head, kind, sizeof kind);
    std::memcpy(head + 8, &count, sizeof count);
    ASSERT_LT(kIndex + 12 + 8 * functions_.size(), kCode);
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      const auto distance = static_cast<std::int32_t>(functions_[i] - start() - kIndex);
      std::memcpy(head + 12 + 8 * i, &distance, sizeof distance);
    }
  }
  std::uint64_t start() const { return reinterpret_cast<std::uint64_t>(image_); }
  std::uint64_t end_of(std::size_t function) const {
    return function + 1 < functions_.size() ? functions_[function + 1] : start() + kSize;
  }

  static constexpr std::uint64_t kSize = 8 * kPageSize, kLinked = 0x400000;
  void* image_ = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  Mappings mappings_;
  std::mt19937_64 draw_{static_cast<std::uint64_t>(testing::UnitTest::GetInstance()->random_seed())};
  std::vector<std::uint64_t> functions_;
};

TEST_F(MovedCodeTest, FunctionsChangePlacesAndStayWhole) {
  make_functions();
  std::set<std::vector<std::uint64_t>> seen;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    MovedCode moved(mappings_, seed), again(mappings_, seed);
    std::vector<std::uint64_t> places;
    std::vector<AddressRange> taken;
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      const std::uint64_t first = functions_[i], place = moved(first);
      EXPECT_EQ(place % 16, first % 16);
      EXPECT_EQ(again(first), place);
      EXPECT_EQ(moved(end_of(i) - 1) - place, end_of(i) - 1 - first);
      EXPECT_EQ(moved.original(place), first);
      EXPECT_EQ(moved.original(moved(end_of(i) - 1)), end_of(i) - 1);
      places.push_back(place);
      taken.push_back({place, place + end_of(i) - first});
    }
    std::ranges::sort(taken, {}, &AddressRange::start);
    for (std::size_t i = 1; i < taken.size(); ++i) EXPECT_GE(taken[i].start, taken[i - 1].end);
    EXPECT_LE(taken.back().end, start() + kSize + kPageSize + 16 * functions_.size());
    seen.insert(places);
  }
  EXPECT_EQ(seen.size(), 20U);
}

TEST_F(MovedCodeTest, WithoutAPlacementAndWhereNoFunctionsAreKnownCodeStays) {
  MovedCode none(mappings_, 1);
  EXPECT_EQ(none(start() + kCode + 5), start() + kCode + 5);
  make_functions();
  MovedCode stays(mappings_, 0), moved(mappings_, 1);
  EXPECT_EQ(stays(functions_.front()), functions_.front());
  EXPECT_EQ(moved(0), 0U);
  EXPECT_EQ(moved(start()), start());  // no code
  EXPECT_EQ(moved(0x1234), 0x1234U);
  EXPECT_EQ(moved.original(0x1234), 0x1234U);
}

TEST_F(MovedCodeTest, ADamagedIndexTellsOfNoFunctions) {
  make_functions();
  auto* const head = static_cast<std::uint8_t*>(image_) + kIndex;
  for (const unsigned at : {0U, 1U, 2U, 3U, 11U}) {
    head[at] ^= 0x80U;
    MovedCode moved(mappings_, 1);
    EXPECT_EQ(moved(functions_.front()), functions_.front()) << at;
    head[at] ^= 0x80U;
  }
}

}  // namespace
}  // namespace zs::engine
