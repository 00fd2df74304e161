#include "engine/memory/mappings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace zs::engine {
namespace {

using testing::ElementsAre;

constexpr std::uint32_t kRw = PROT_READ | PROT_WRITE;

constexpr std::uint64_t page(std::uint64_t number) { return number * kPageSize; }

GuestMapping pages(std::uint64_t first, std::uint64_t last, std::uint32_t prot = kRw) {
  return {.start = page(first), .end = page(last), .prot = prot, .flags = MAP_PRIVATE | MAP_ANONYMOUS};
}

GuestMapping file_pages(std::uint64_t first, std::uint64_t last, std::uint64_t offset,
                        const std::shared_ptr<const MappedFile>& file) {
  GuestMapping mapping = pages(first, last);
  mapping.kind = MapKind::File;
  mapping.flags = MAP_PRIVATE;
  mapping.offset = offset;
  mapping.file = file;
  return mapping;
}

std::vector<AddressRange> ranges(const Mappings& mappings) {
  std::vector<AddressRange> all;
  mappings.for_each([&](const GuestMapping& each) { all.push_back({each.start / kPageSize, each.end / kPageSize}); });
  return all;
}

TEST(Mappings, AnswersForEveryAddress) {
  Mappings mappings;
  mappings.add(pages(1, 64, PROT_READ | PROT_EXEC));
  mappings.add(pages(128, 129));
  EXPECT_EQ(mappings.prot_at(page(0)), std::uint32_t{PROT_NONE});
  EXPECT_EQ(mappings.prot_at(page(64) - 1), std::uint32_t{PROT_READ | PROT_EXEC});
  EXPECT_TRUE(mappings.is_executable(page(1)));
  EXPECT_FALSE(mappings.is_executable(page(128)));
  EXPECT_EQ(mappings.next_boundary(page(0)), page(1));
  EXPECT_EQ(mappings.next_boundary(page(1)), page(64));
  EXPECT_EQ(mappings.next_boundary(page(64)), page(128));
  EXPECT_EQ(mappings.next_boundary(page(200)), kTaskSize);
  EXPECT_EQ(mappings.at_or_after(page(70))->start, page(128));
  EXPECT_EQ(mappings.at_or_after(page(200)), nullptr);
}

TEST(Mappings, MakesOneOfNeighboursThatTheKernelWouldMerge) {
  const auto file = std::make_shared<MappedFile>(MappedFile{.path = "/file", .inode = 7});
  Mappings mappings;
  mappings.add(pages(0, 1));
  mappings.add(pages(2, 3));
  mappings.add(pages(1, 2));  // between the two
  mappings.add(pages(3, 4, PROT_READ));
  mappings.add(file_pages(10, 12, 0, file));
  mappings.add(file_pages(12, 13, page(2), file));
  mappings.add(file_pages(13, 14, page(9), file));
  EXPECT_THAT(ranges(mappings),
              ElementsAre(AddressRange{0, 3}, AddressRange{3, 4}, AddressRange{10, 13}, AddressRange{13, 14}));
}

TEST(Mappings, SplitsWhatReachesOutOfAChangedRangeAndKeepsItsPlaceInTheFile) {
  const auto file = std::make_shared<MappedFile>(MappedFile{.path = "/file", .inode = 7});
  Mappings mappings;
  mappings.add(file_pages(10, 20, page(5), file));
  mappings.update({page(12), page(14)}, [](GuestMapping& mapping) { mapping.prot = PROT_READ; });
  EXPECT_THAT(ranges(mappings), ElementsAre(AddressRange{10, 12}, AddressRange{12, 14}, AddressRange{14, 20}));
  EXPECT_EQ(mappings.find(page(12))->offset, page(7));
  EXPECT_EQ(mappings.find(page(14))->offset, page(9));
  mappings.update({page(12), page(14)}, [](GuestMapping& mapping) { mapping.prot = kRw; });
  EXPECT_THAT(ranges(mappings), ElementsAre(AddressRange{10, 20}));
  mappings.erase({page(13), page(15)});
  EXPECT_THAT(ranges(mappings), ElementsAre(AddressRange{10, 13}, AddressRange{15, 20}));
  EXPECT_EQ(mappings.find(page(15))->offset, page(10));
}

TEST(Mappings, TellsWhatOfARangeIsFreeAndWhatIsTheProgramsToChange) {
  Mappings mappings;
  mappings.add(pages(2, 4));
  mappings.add(pages(4, 6, PROT_READ));
  GuestMapping vdso = pages(8, 9, PROT_READ);
  vdso.kind = MapKind::Vdso;
  mappings.add(vdso);
  const AddressRange range{page(3), page(10)};
  EXPECT_THAT(mappings.gaps(range), ElementsAre(AddressRange{page(6), page(8)}, AddressRange{page(9), page(10)}));
  EXPECT_THAT(mappings.owned(range), ElementsAre(AddressRange{page(3), page(6)}));
  EXPECT_EQ(mappings.owned_bytes(range), page(3));
  const std::vector<GuestMapping> cut = mappings.pieces(range);
  ASSERT_EQ(cut.size(), 3u);
  EXPECT_EQ(cut[0].range(), (AddressRange{page(3), page(4)}));
  EXPECT_EQ(cut[2].range(), (AddressRange{page(8), page(9)}));
  EXPECT_TRUE(mappings.none_in({page(6), page(8)}));
  EXPECT_FALSE(mappings.none_in({page(6), page(8) + 1}));
}

TEST(Mappings, KnowsWhetherTheKernelMayMoveOneWhateverBecomesOfItsParts) {
  Mappings mappings;
  GuestMapping stack = pages(4, 8);
  stack.flags |= MAP_GROWSDOWN;
  mappings.add(stack);
  mappings.erase({page(5), page(6)});
  EXPECT_TRUE(mappings.any_grows_down());
  mappings.erase({page(4), page(5)});
  EXPECT_TRUE(mappings.any_grows_down());
  mappings.erase({page(6), page(8)});
  EXPECT_FALSE(mappings.any_grows_down());
}

// Against a list with one entry for each page.
TEST(Mappings, AgreesWithAListOfPages) {
  std::mt19937 random(1);
  Mappings mappings;
  std::map<std::uint64_t, std::uint32_t> plain;
  for (int step = 0; step < 5000; ++step) {
    const std::uint64_t first = random() % 60, last = first + 1 + random() % 8;
    const AddressRange range{page(first), page(last)};
    const auto prot = static_cast<std::uint32_t>(random() % 3);
    switch (random() % 3) {
      case 0:
        mappings.erase(range);
        for (std::uint64_t at = first; at < last; ++at) plain.erase(at);
        break;
      case 1:
        for (const AddressRange gap : mappings.gaps(range))
          mappings.add(pages(gap.start / kPageSize, gap.end / kPageSize, prot));
        for (std::uint64_t at = first; at < last; ++at) plain.try_emplace(at, prot);
        break;
      default:
        mappings.update(range, [prot](GuestMapping& mapping) { mapping.prot = prot; });
        for (std::uint64_t at = first; at < last; ++at) {
          if (plain.contains(at)) plain[at] = prot;
        }
    }
    std::size_t pieces = 0;
    for (std::uint64_t at = 0; at < 70; ++at) {
      const auto expected = plain.find(at);
      ASSERT_EQ(mappings.is_mapped(page(at)), expected != plain.end()) << step << ", page " << at;
      if (expected == plain.end()) continue;
      ASSERT_EQ(mappings.prot_at(page(at)), expected->second) << step << ", page " << at;
      const auto before = plain.find(at - 1);
      pieces += before == plain.end() || before->second != expected->second ? 1 : 0;
    }
    ASSERT_EQ(mappings.size(), pieces) << step;
  }
}

}  // namespace
}  // namespace zs::engine
