#include "engine/memory/mappings.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "engine/memory/test_mappings.h"

namespace zs::engine {
namespace {

using ::testing::ElementsAre;

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
  EXPECT_EQ(mappings.prot_at(start_of(0)), std::uint32_t{PROT_NONE});
  EXPECT_EQ(mappings.prot_at(start_of(64) - 1), std::uint32_t{PROT_READ | PROT_EXEC});
  EXPECT_TRUE(mappings.is_executable(start_of(1)));
  EXPECT_FALSE(mappings.is_executable(start_of(128)));
  EXPECT_EQ(mappings.next_boundary(start_of(0)), start_of(1));
  EXPECT_EQ(mappings.next_boundary(start_of(1)), start_of(64));
  EXPECT_EQ(mappings.next_boundary(start_of(64)), start_of(128));
  EXPECT_EQ(mappings.next_boundary(start_of(200)), kTaskSize);
  EXPECT_EQ(mappings.at_or_after(start_of(70))->start, start_of(128));
  EXPECT_EQ(mappings.at_or_after(start_of(200)), nullptr);
}

TEST(Mappings, MakesOneOfNeighboursThatTheKernelWouldMerge) {
  const auto file = std::make_shared<MappedFile>(MappedFile{.path = "/file", .inode = 7});
  Mappings mappings;
  mappings.add(pages(0, 1));
  mappings.add(pages(2, 3));
  mappings.add(pages(1, 2));  // between the two
  mappings.add(pages(3, 4, PROT_READ));
  mappings.add(file_pages(10, 12, 0, file));
  mappings.add(file_pages(12, 13, start_of(2), file));
  mappings.add(file_pages(13, 14, start_of(9), file));
  EXPECT_THAT(ranges(mappings),
              ElementsAre(AddressRange{0, 3}, AddressRange{3, 4}, AddressRange{10, 13}, AddressRange{13, 14}));
}

TEST(Mappings, OfAFileThatLiesBesideNothingIsAskedTwice) {
  const auto file_of = [](const char* path, const GuestMapping* beside) {
    const int fd = open(path, O_RDONLY);
    auto file = describe_file(fd, beside);
    close(fd);
    return file;
  };
  const GuestMapping beside = file_pages(10, 12, 0, file_of("/etc/passwd", nullptr));
  ASSERT_TRUE(beside.file && beside.file->has_one_name) << "or this machine's /etc/passwd has two names";
  EXPECT_EQ(file_of("/etc/passwd", &beside), beside.file);
  EXPECT_NE(file_of("/etc/group", &beside), beside.file);
  const GuestMapping anonymous = pages(10, 12);
  EXPECT_EQ(file_of("/etc/passwd", &anonymous)->path, "/etc/passwd");
}

TEST(Mappings, SplitsWhatReachesOutOfAChangedRangeAndKeepsItsPlaceInTheFile) {
  const auto file = std::make_shared<MappedFile>(MappedFile{.path = "/file", .inode = 7});
  Mappings mappings;
  mappings.add(file_pages(10, 20, start_of(5), file));
  mappings.update({start_of(12), start_of(14)}, [](GuestMapping& mapping) { mapping.prot = PROT_READ; });
  EXPECT_THAT(ranges(mappings), ElementsAre(AddressRange{10, 12}, AddressRange{12, 14}, AddressRange{14, 20}));
  EXPECT_EQ(mappings.find(start_of(12))->offset, start_of(7));
  EXPECT_EQ(mappings.find(start_of(14))->offset, start_of(9));
  mappings.update({start_of(12), start_of(14)}, [](GuestMapping& mapping) { mapping.prot = kReadWrite; });
  EXPECT_THAT(ranges(mappings), ElementsAre(AddressRange{10, 20}));
  mappings.erase({start_of(13), start_of(15)});
  EXPECT_THAT(ranges(mappings), ElementsAre(AddressRange{10, 13}, AddressRange{15, 20}));
  EXPECT_EQ(mappings.find(start_of(15))->offset, start_of(10));
}

TEST(Mappings, TellsWhatOfARangeIsFreeAndWhatIsTheProgramsToChange) {
  Mappings mappings;
  mappings.add(pages(2, 4));
  mappings.add(pages(4, 6, PROT_READ));
  GuestMapping vdso = pages(8, 9, PROT_READ);
  vdso.kind = MapKind::Vdso;
  mappings.add(vdso);
  const AddressRange range{start_of(3), start_of(10)};
  EXPECT_THAT(mappings.gaps(range),
              ElementsAre(AddressRange{start_of(6), start_of(8)}, AddressRange{start_of(9), start_of(10)}));
  EXPECT_THAT(mappings.owned(range), ElementsAre(AddressRange{start_of(3), start_of(6)}));
  EXPECT_EQ(mappings.owned_bytes(range), start_of(3));
  const std::vector<GuestMapping> cut = mappings.pieces(range);
  ASSERT_EQ(cut.size(), 3u);
  EXPECT_EQ(cut[0].range(), (AddressRange{start_of(3), start_of(4)}));
  EXPECT_EQ(cut[2].range(), (AddressRange{start_of(8), start_of(9)}));
  EXPECT_TRUE(mappings.none_in({start_of(6), start_of(8)}));
  EXPECT_FALSE(mappings.none_in({start_of(6), start_of(8) + 1}));
}

TEST(Mappings, KnowsWhetherTheKernelMayMoveOneWhateverBecomesOfItsParts) {
  Mappings mappings;
  GuestMapping stack = pages(4, 8);
  stack.flags |= MAP_GROWSDOWN;
  mappings.add(stack);
  mappings.erase({start_of(5), start_of(6)});
  EXPECT_TRUE(mappings.any_grows_down());
  mappings.erase({start_of(4), start_of(5)});
  EXPECT_TRUE(mappings.any_grows_down());
  mappings.erase({start_of(6), start_of(8)});
  EXPECT_FALSE(mappings.any_grows_down());
}

// Against a list with one entry for each page.
TEST(Mappings, AgreesWithAListOfPages) {
  std::mt19937 random(1);
  Mappings mappings;
  std::map<std::uint64_t, std::uint32_t> plain;
  for (int step = 0; step < 5000; ++step) {
    const std::uint64_t first = random() % 60, last = first + 1 + random() % 8;
    const AddressRange range{start_of(first), start_of(last)};
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
      ASSERT_EQ(mappings.is_mapped(start_of(at)), expected != plain.end()) << step << ", page " << at;
      if (expected == plain.end()) continue;
      ASSERT_EQ(mappings.prot_at(start_of(at)), expected->second) << step << ", page " << at;
      const auto before = plain.find(at - 1);
      pieces += before == plain.end() || before->second != expected->second ? 1 : 0;
    }
    ASSERT_EQ(mappings.size(), pieces) << step;
  }
}

}  // namespace
}  // namespace zs::engine
