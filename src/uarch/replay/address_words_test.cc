#include "uarch/replay/address_words.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace zs::uarch {
namespace {

using arch::AddressTerm;

constexpr std::uint64_t kDown = std::uint64_t{1} << 63;

std::vector<std::uint64_t> words(const std::vector<AddressTerm>& terms, const std::vector<std::uint64_t>& slots,
                                 const arch::SlotValues& bases = {}) {
  std::vector<AddressTerm> padded = terms;
  padded.resize(terms.size() + PathAddresses::kTogether, {.base = 0});
  const PathAddresses addresses = path_addresses(std::span<const AddressTerm>(padded).first(terms.size()));
  std::vector<std::uint64_t> out(addresses.most_words(bases.listed.size()));
  const std::uint64_t* const end = write_words(addresses, slots.data(), bases, out.data());
  out.resize(static_cast<std::size_t>(end - out.data()));
  // However many there are of it, each is what it is alone.
  std::vector<std::uint64_t> any(out.size());
  EXPECT_EQ(write_any_words(terms, slots.data(), bases, any.data()), any.data() + any.size());
  EXPECT_EQ(any, out);
  return out;
}
using Words = std::vector<std::uint64_t>;

TEST(AddressWords, SumsSlotsAndConstants) {
  EXPECT_EQ(words({{.displacement = 8, .base = 1}}, {100, 200}), Words({208}));
  EXPECT_EQ(
      words({{.displacement = -8, .base = 1}, {.base = 0}, {.displacement = 1, .base = 0}, {.base = 1}, {.base = 0}},
            {100, 200}),
      Words({192, 100, 101, 200, 100}));
  EXPECT_EQ(words({{.displacement = 8, .base = 1, .index = 0, .scale = 4}, {.base = 0}}, {100, 200}),
            Words({608, 100}));
  EXPECT_EQ(words({{.displacement = 5, .index = 0, .scale = 8}}, {100}), Words({805}));
  EXPECT_EQ(words({{.displacement = 77}}, {}), Words({77}));
  EXPECT_EQ(words({}, {}), Words());
}

TEST(AddressWords, AddsBasesOfSegmentsBehindTheCutTo32Bits) {
  const arch::SlotValues bases{.fs = 0x5000'0000'0000, .gs = 0x6000'0000'0000, .listed = {}};
  EXPECT_EQ(words({{.displacement = 0x28, .flags = AddressTerm::kFs}}, {}, bases), Words({0x5000'0000'0028}));
  EXPECT_EQ(words({{.base = 0, .flags = AddressTerm::kGs}}, {7}, bases), Words({0x6000'0000'0007}));
  EXPECT_EQ(words({{.displacement = 3, .base = 0, .flags = AddressTerm::kAddress32 | AddressTerm::kFs}},
                  {0x1'FFFF'FFFE}, bases),
            Words({0x5000'0000'0001}));
}

TEST(AddressWords, TakesPartsOfSlots) {
  EXPECT_EQ(words({{.base = 0, .flags = AddressTerm::kLowByte, .part = 1}}, {1000, 0x1234}), Words({1000 + 0x34}));
  // Bit 100 of a string of words of eight bytes is in the second, bit -1 in the one before the first.
  EXPECT_EQ(words({{.base = 0, .flags = AddressTerm::kBitString, .part = 1, .bytes = 8}}, {1000, 100}), Words({1008}));
  EXPECT_EQ(words({{.base = 0, .flags = AddressTerm::kBitString, .part = 1, .bytes = 4}}, {1000, 0xFFFF'FFFF}),
            Words({996}));
}

TEST(AddressWords, CountsElementsByHowFarTheRegisterMoved) {
  const AddressTerm term{.base = 0, .index = 1, .flags = AddressTerm::kRepeated, .bytes = 4};
  EXPECT_EQ(words({term}, {1000, 1040}), Words({1000, 10}));
  EXPECT_EQ(words({term}, {1000, 960}), Words({1000, 10 | kDown}));
  EXPECT_EQ(words({term, {.base = 2}}, {1000, 1000, 5}), Words({1000, 0, 5}));
  AddressTerm narrow = term;
  narrow.flags |= AddressTerm::kAddress32;
  EXPECT_EQ(words({narrow}, {0xFFFF'FFF8, 8}), Words({0xFFFF'FFF8, 4}));
}

TEST(AddressWords, PassesListedWordsOnInTheirOrder) {
  const std::uint64_t listed[] = {2, 10, 20, 0, 1, 30};
  const AddressTerm list{.flags = AddressTerm::kListed, .bytes = 4};
  EXPECT_EQ(words({list, {.base = 0}, list, list}, {5}, {.listed = listed}), Words({2, 10, 20, 5, 0, 1, 30}));
}

}  // namespace
}  // namespace zs::uarch
