#include "profile/types/data_types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "profile/types/test_debug_image.h"

namespace zs::profile {
namespace {

using testing::DebugImage;
using ::testing::ElementsAre;
using testing::Entry;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace zs::profile::testing;  // how attributes are called

constexpr std::string_view kRet = "\xC3";

/// A variable of that type, whose entry stands in the unit.
void add_variable(DebugImage& debug, Entry type, std::uint8_t place) {
  debug.entry(DW_TAG_variable,
              {named("variable"), typed(type), located({DW_OP_addr, place, 0x40, 0x40, 0, 0, 0, 0, 0})});
}

constexpr ImageAddress kVariable{0x404010};

/// The type of the image's only variable.
struct Opened {
  explicit Opened(DebugImage& debug) : image(debug.open()), types(*image) {
    const auto* const variable = types.variable_at(kVariable);
    if (variable != nullptr) type = variable->type;
  }
  std::vector<std::string> fields() {
    std::vector<std::string> all;
    for (const DataTypes::Field& field : types.fields_of(type, DataTypes::Depth::Fields))
      all.push_back(std::to_string(field.offset) + " " + field.type + " " + field.name);
    return all;
  }
  std::unique_ptr<ElfImage> image;
  DataTypes types;
  DataTypes::Type type = 0;
};

/// As rustc writes it: enum Shape { Circle { radius: long }, Square(long, long) }, or what the test puts into it.
class Enum {
 public:
  Enum(DebugImage& debug, std::uint64_t size) : debug_(debug) {
    word_ = debug.long_type();
    const Entry discriminant = debug.reserve();
    type_ = debug.begin(DW_TAG_structure_type, {named("Shape"), sized(size)});
    debug.begin(DW_TAG_variant_part, {refers(DW_AT_discr, discriminant)});
    debug.entry(discriminant, DW_TAG_member, {typed(word_), at_offset(0)});
  }
  struct Member {
    const char* name;
    std::uint64_t offset;
  };
  void add(const char* name, std::uint64_t value, std::uint64_t size, const std::vector<Member>& members) {
    const Entry type = debug_.reserve();
    debug_.begin(DW_TAG_variant, {number_of(DW_AT_discr_value, value)});
    debug_.entry(DW_TAG_member, {named(name), typed(type), at_offset(0)});
    debug_.end();
    inner_.push_back({type, name, size, members});
  }
  Entry finish() {
    debug_.end();
    for (const Inner& one : inner_) {
      debug_.begin(one.type, DW_TAG_structure_type, {named(one.name), sized(one.size)});
      for (const Member& member : one.members)
        debug_.entry(DW_TAG_member, {named(member.name), typed(word_), at_offset(member.offset)});
      debug_.end();
    }
    debug_.end();
    return type_;
  }

 private:
  struct Inner {
    Entry type;
    const char* name;
    std::uint64_t size;
    std::vector<Member> members;
  };
  DebugImage& debug_;
  Entry word_ = 0, type_ = 0;
  std::vector<Inner> inner_;
};

TEST(DataTypes, AnEnumWithDataHasItsDiscriminantAndWhatEachVariantHasThere) {
  DebugImage debug{std::string(kRet)};
  Enum shape(debug, 24);
  shape.add("Circle", 0, 24, {{"radius", 8}});
  shape.add("Square", 1, 24, {{"side", 8}, {"count", 16}});
  shape.add("Nothing", 2, 24, {});
  add_variable(debug, shape.finish(), 0x10);
  Opened opened(debug);
  EXPECT_EQ(opened.types.member_at(opened.type, 0).path, ".(discriminant)");
  EXPECT_EQ(opened.types.member_at(opened.type, 9), (Member{".Circle.radius|Square.side", 8, 8}));
  EXPECT_EQ(opened.types.member_at(opened.type, 16), (Member{".Square.count", 16, 8}));
  EXPECT_THAT(opened.fields(),
              ElementsAre("0 long .(discriminant)", "8 long .Circle.radius|Square.side", "16 long .Square.count"));
}

TEST(DataTypes, ADiscriminantWithinTheDataOfAVariantIsThatData) {
  DebugImage debug{std::string(kRet)};
  Enum option(debug, 8);
  option.add("None", 0, 8, {});
  option.add("Some", 1, 8, {{"__0", 0}});
  add_variable(debug, option.finish(), 0x10);
  Opened opened(debug);
  EXPECT_EQ(opened.types.member_at(opened.type, 0), (Member{".Some.__0", 0, 8}));
  EXPECT_THAT(opened.fields(), ElementsAre("0 long .Some.__0"));
}

TEST(DataTypes, AVariableOfThreadsLiesInTheBlockThatEndsAtTheThreadPointer) {
  DebugImage debug{std::string(kRet)};
  const Entry word = debug.long_type();
  debug.entry(DW_TAG_variable, {named("mine"), typed(word),
                                located({DW_OP_const8u, 48, 0, 0, 0, 0, 0, 0, 0, DW_OP_GNU_push_tls_address})});
  Opened opened(debug);
  ASSERT_EQ(opened.image->thread_offset(-16), DebugImage::kThreadBytes - 16);
  EXPECT_EQ(opened.image->thread_offset(0), std::nullopt);
  EXPECT_EQ(opened.image->thread_offset(-65), std::nullopt);
  const auto* const variable = opened.types.thread_variable_at(*opened.image->thread_offset(-12));
  ASSERT_NE(variable, nullptr);
  EXPECT_EQ(variable->name, "mine");
  EXPECT_EQ(opened.types.name_of(variable->type), "long");
  EXPECT_EQ(opened.types.thread_variable_at(40), nullptr);
  EXPECT_EQ(opened.types.variable_at(ImageAddress{48}), nullptr);
}

TEST(DataTypes, BitFieldsAreFoundFromEitherEndOfTheirUnit) {
  DebugImage debug{std::string(kRet)};
  const Entry word = debug.entry(DW_TAG_base_type, {named("unsigned"), sized(4)});
  const Entry flags = debug.begin(DW_TAG_structure_type, {named("flags"), sized(4)});
  debug.entry(DW_TAG_member, {named("kind"), typed(word), sized(4), number_of(DW_AT_bit_size, 3),
                              number_of(DW_AT_bit_offset, 29), at_offset(0)});
  debug.entry(DW_TAG_member, {named("used"), typed(word), sized(4), number_of(DW_AT_bit_size, 5),
                              number_of(DW_AT_bit_offset, 24), at_offset(0)});
  debug.entry(DW_TAG_member,
              {named("rest"), typed(word), number_of(DW_AT_bit_size, 24), number_of(DW_AT_data_bit_offset, 8)});
  debug.end();
  add_variable(debug, flags, 0x10);
  Opened opened(debug);
  EXPECT_EQ(opened.types.member_at(opened.type, 0), (Member{".kind|used", 0, 1}));
  EXPECT_EQ(opened.types.member_at(opened.type, 2), (Member{".rest", 1, 3}));
}

TEST(DataTypes, ATypeWithoutANameIsSaidToHaveNone) {
  DebugImage debug{std::string(kRet)};
  add_variable(debug, debug.entry(DW_TAG_base_type, {named(""), sized(4)}), 0x10);
  Opened opened(debug);
  EXPECT_EQ(opened.types.name_of(opened.type), "?");
}

TEST(DataTypes, AStructThatContainsItselfTwiceHasAnEnd) {
  DebugImage debug{std::string(kRet)};
  const Entry self = debug.reserve();
  debug.begin(self, DW_TAG_structure_type, {named("self"), sized(16)});
  debug.entry(DW_TAG_member, {named("a"), typed(self), at_offset(0)});
  debug.entry(DW_TAG_member, {named("b"), typed(self), at_offset(0)});
  debug.end();
  add_variable(debug, self, 0x10);
  Opened opened(debug);
  EXPECT_THAT(opened.types.fields_of(opened.type, DataTypes::Depth::Members), SizeIs(2));
  EXPECT_THAT(opened.fields(), ElementsAre("0 struct self .a", "0 struct self .b"));
  EXPECT_EQ(opened.types.member_at(opened.type, 3), (Member{"", 0, 16}));
}

TEST(DataTypes, EmptyStructsThatContainTheNextOneTwiceAreCountedOnce) {
  DebugImage debug{std::string(kRet)};
  constexpr int kLevels = 60;
  std::vector<Entry> levels;
  for (int i = 0; i < kLevels; ++i) levels.push_back(debug.reserve());
  for (std::size_t i = 0; i < levels.size(); ++i) {
    debug.begin(levels[i], DW_TAG_structure_type, {named("level"), sized(1)});
    if (i + 1 < levels.size()) {
      for (const char* const name : {"a", "b"})
        debug.entry(DW_TAG_member, {named(name), typed(levels[i + 1]), at_offset(0)});
    }
    debug.end();
  }
  add_variable(debug, levels[0], 0x10);
  Opened opened(debug);
  EXPECT_THAT(opened.fields(), IsEmpty());
}

TEST(DataTypes, StructsThatEachContainTheNextOneTwiceHaveNoMoreFieldsThanAReportCanShow) {
  DebugImage debug{std::string(kRet)};
  const Entry word = debug.long_type();
  constexpr int kLevels = 40;
  std::vector<Entry> levels;
  for (int i = 0; i < kLevels; ++i) levels.push_back(debug.reserve());
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const std::uint64_t size = std::uint64_t{8} << (levels.size() - i);
    debug.begin(levels[i], DW_TAG_structure_type, {named("level"), sized(size)});
    const Entry inner = i + 1 < levels.size() ? levels[i + 1] : word;
    debug.entry(DW_TAG_member, {named("a"), typed(inner), at_offset(0)});
    debug.entry(DW_TAG_member, {named("b"), typed(inner), at_offset(size / 2)});
    debug.end();
  }
  add_variable(debug, levels[0], 0x10);
  Opened opened(debug);
  EXPECT_LT(opened.types.fields_of(opened.type, DataTypes::Depth::Fields).size(), 1U << 17);
  EXPECT_THAT(opened.types.fields_of(opened.type, DataTypes::Depth::Members), SizeIs(2));
}

TEST(DataTypes, ASizeThatNoProcessorAddressesIsNone) {
  DebugImage debug{std::string(kRet)};
  const Entry huge = debug.entry(DW_TAG_base_type, {named("huge"), sized(~std::uint64_t{0})});
  add_variable(debug, huge, 0x10);
  Opened opened(debug);
  EXPECT_EQ(opened.types.variable_at(kVariable), nullptr);
}

TEST(DataTypes, AnEntryWhoseSiblingIsTheFirstOfItsOwnChildrenIsGoneThroughOnce) {
  DebugImage debug{std::string(kRet)};
  const Entry word = debug.long_type();
  constexpr int kLevels = 60;
  std::vector<Entry> levels;
  for (int i = 0; i <= kLevels; ++i) levels.push_back(debug.reserve());
  for (int i = 0; i < kLevels; ++i)
    debug.begin(levels[static_cast<std::size_t>(i)], DW_TAG_namespace,
                {refers(DW_AT_sibling, levels[static_cast<std::size_t>(i) + 1])});
  debug.entry(levels.back(), DW_TAG_variable,
              {named("inner"), typed(word), located({DW_OP_addr, 0x10, 0x40, 0x40, 0, 0, 0, 0, 0})});
  for (int i = 0; i < kLevels; ++i) debug.end();
  Opened opened(debug);
  ASSERT_NE(opened.types.variable_at(kVariable), nullptr);
  EXPECT_EQ(opened.types.variable_at(kVariable)->name, "inner");
}

TEST(DataTypes, AnEntryThatIsItsOwnSiblingEndsTheWalk) {
  DebugImage debug{std::string(kRet)};
  const Entry word = debug.long_type();
  const Entry again = debug.reserve();
  debug.begin(again, DW_TAG_namespace, {refers(DW_AT_sibling, again)});
  debug.end();
  add_variable(debug, word, 0x10);
  Opened opened(debug);
  EXPECT_EQ(opened.types.variable_at(ImageAddress{0x404090}), nullptr);
}

}  // namespace
}  // namespace zs::profile
