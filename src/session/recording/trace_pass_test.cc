#include "session/recording/trace_pass.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <vector>

#include "arch/records/bts.h"

namespace zs::session {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::size_t kMany = 100;

engine::Mapping mapping(std::uint64_t start, std::uint64_t length, std::uint64_t offset, std::uint64_t inode = 7,
                        std::uint32_t protection = PROT_READ | PROT_EXEC) {
  return {.start = start, .length = length, .file_offset = offset, .protection = protection, .inode = inode};
}

/// Branches to the address behind the one that they come from.
std::vector<std::byte> branches(const std::vector<std::uint64_t>& froms) {
  std::vector<std::byte> records;
  for (const std::uint64_t from : froms) {
    const arch::BtsRecord record{.from = from, .to = from + 1, .flags = 0};
    const auto bytes = std::as_bytes(std::span(&record, 1));
    records.insert(records.end(), bytes.begin(), bytes.end());
  }
  return records;
}

std::vector<std::uint64_t> froms_of(const std::vector<std::byte>& records) {
  std::vector<std::uint64_t> froms;
  for (std::size_t at = 0; at < records.size(); at += sizeof(arch::BtsRecord)) {
    arch::BtsRecord record;
    std::memcpy(&record, records.data() + at, sizeof record);
    froms.push_back(record.from);
  }
  return froms;
}

TraceFilter range(std::uint64_t offset, std::uint64_t bytes) {
  return {.ranges = {{.file = {.inode = 7}, .offset = offset, .bytes = bytes}}};
}

TEST(TracedCode, IsWhereTheFileIsMapped) {
  const TraceFilter filter = range(0x1800, 0x1000);
  TracedCode code(filter);
  EXPECT_FALSE(code.has(0x1800));
  code.mapped(mapping(0x50'1000, 0x1000, 0x1000));
  code.mapped(mapping(0x60'2000, 0x1000, 0x2000));
  code.mapped(mapping(0x70'1000, 0x2000, 0x1000, 8));                          // another file
  code.mapped(mapping(0x80'1000, 0x2000, 0x1000, 7, PROT_READ | PROT_WRITE));  // no code
  for (const auto& [address, inside] : std::vector<std::pair<std::uint64_t, bool>>{{0x50'17FF, false},
                                                                                   {0x50'1800, true},
                                                                                   {0x50'1FFF, true},
                                                                                   {0x50'2000, false},
                                                                                   {0x60'1FFF, false},
                                                                                   {0x60'2000, true},
                                                                                   {0x60'27FF, true},
                                                                                   {0x60'2800, false},
                                                                                   {0x70'1800, false},
                                                                                   {0x80'1800, false}})
    EXPECT_EQ(code.has(address), inside) << std::hex << address;
}

TEST(TracedCode, IsGoneWhereSomethingElseIsMapped) {
  const TraceFilter filter = range(0, 0x4000);
  TracedCode code(filter);
  code.mapped(mapping(0x50'0000, 0x4000, 0));
  code.mapped(mapping(0x50'1000, 0x1000, 0, 8));
  for (const auto& [address, inside] : std::vector<std::pair<std::uint64_t, bool>>{
           {0x50'0FFF, true}, {0x50'1000, false}, {0x50'1FFF, false}, {0x50'2000, true}, {0x50'3FFF, true}})
    EXPECT_EQ(code.has(address), inside) << std::hex << address;
}

struct PassTest : public testing::Test {
  static std::vector<std::uint64_t> passed(TracePass& pass, const std::vector<std::uint64_t>& froms) {
    pass.take(branches(froms));
    return froms_of(pass.passed(1, kMany));
  }
};

TEST_F(PassTest, BranchesThatLeaveOrEnterTheRangeWithAGapBeforeOthers) {
  const TraceFilter filter = range(0x10, 0x10);
  TracedCode code(filter);
  code.mapped(mapping(0x1000, 0x1000, 0));
  TracePass pass(filter, code, 1, "p");
  // 0x100F leads to 0x1010. The first has none before it.
  EXPECT_THAT(passed(pass, {0x1000, 0x1010, 0x101F, 0x1020, 0x1030, 0x100F}), ElementsAre(0x1010, 0x101F, 0, 0x100F));
  EXPECT_THAT(passed(pass, {0x1030}), IsEmpty());
  EXPECT_THAT(passed(pass, {0x1011}), ElementsAre(0, 0x1011));
  EXPECT_EQ(pass.filtered(), 4U);
}

TEST_F(PassTest, ThreadsByNameOrByNumber) {
  const TraceFilter filter{.threads = {"worker", "3"}};
  const TracedCode code(filter);
  TracePass third(filter, code, 3, "any");
  EXPECT_THAT(passed(third, {1}), ElementsAre(1));
  TracePass other(filter, code, 2, "main");
  EXPECT_THAT(passed(other, {1}), IsEmpty());
  other.renamed("worker");
  EXPECT_THAT(passed(other, {2}), ElementsAre(2));
  other.renamed("main");
  EXPECT_THAT(passed(other, {3}), IsEmpty());
  other.renamed("worker");
  EXPECT_THAT(passed(other, {4}), ElementsAre(0, 4));
}

TEST_F(PassTest, WaitForOthersAndAreCutNoGapFromItsBranch) {
  const TraceFilter filter{.threads = {"on"}};
  const TracedCode code(filter);
  TracePass pass(filter, code, 1, "on");
  pass.take(branches({1, 2}));
  pass.renamed("off");
  pass.take(branches({3}));
  pass.renamed("on");
  pass.take(branches({4, 5}));
  EXPECT_THAT(pass.passed(6, kMany), IsEmpty());
  EXPECT_THAT(froms_of(pass.passed(1, 3)), ElementsAre(1, 2));
  EXPECT_THAT(froms_of(pass.passed(1, 3)), ElementsAre(0, 4, 5));
  EXPECT_THAT(pass.passed(1, 3), IsEmpty());
}

}  // namespace
}  // namespace zs::session
