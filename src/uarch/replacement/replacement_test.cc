// The contract that every policy keeps, the published vectors and steady states, and the plain policies as a second
// opinion.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "uarch/reference/plain_policy.h"
#include "uarch/replacement/any_policy.h"

namespace zs::uarch {
namespace {

struct Sized {
  const char* policy;
  unsigned ways;
  PolicySpec spec() const { return parse_policy(policy).value(); }
};

constexpr Sized kSized[] = {
    {"lru", 1},
    {"lru", 4},
    {"lru", 8},
    {"lru", 16},
    {"tree-plru", 2},
    {"tree-plru", 4},
    {"tree-plru", 8},
    {"tree-plru", 16},
    {"tree-plru", 32},
    {"three-plru4", 12},
    {"bit-plru", 2},
    {"bit-plru", 16},
    {"bit-plru", 32},
    {"srrip", 8},
    {"srrip", 11},
    {"srrip", 16},
    {"qlru_h00_m1_r0_u1", 8},
    {"qlru_h00_m1_r0_u1", 20},
    {"qlru_h00_m1_r2_u1", 4},
    {"qlru_h00_m1_r2_u1", 16},
    {"qlru_h11_m1_r0_u0", 11},
    {"qlru_h11_m1_r0_u0", 16},
    {"qlru_h11_m1_r0_u0", 32},
    {"qlru_h11_m1_r1_u2", 12},
    {"qlru_h21_m2_r1_u3", 8},
};

/// One set of a cache.
class Set {
 public:
  explicit Set(const Sized& sized)
      : policy_(sized.spec(), sized.ways), state_(policy_.initial()), blocks_(sized.ways) {}

  bool access(std::uint64_t block) {
    for (unsigned way = 0; way < blocks_.size(); ++way) {
      if (blocks_[way] == block) {
        policy_.hit(state_, way);
        return true;
      }
    }
    last_way_ = policy_.victim(state_, filled());
    blocks_[last_way_] = block;
    policy_.inserted(state_, last_way_);
    return false;
  }
  WayMask filled() const {
    WayMask mask = 0;
    for (unsigned way = 0; way < blocks_.size(); ++way) mask |= WayMask{blocks_[way].has_value()} << way;
    return mask;
  }
  void invalidate(unsigned way) { blocks_[way].reset(); }
  unsigned last_way() const { return last_way_; }
  const std::vector<std::optional<std::uint64_t>>& blocks() const { return blocks_; }
  PolicyState state() const { return state_; }

 private:
  AnyPolicy policy_;
  PolicyState state_;
  std::vector<std::optional<std::uint64_t>> blocks_;
  unsigned last_way_ = 0;
};

class PlainSet {
 public:
  explicit PlainSet(const Sized& sized) : policy_(plain_policy(sized.spec(), sized.ways)), blocks_(sized.ways) {}

  bool access(std::uint64_t block) {
    for (std::size_t way = 0; way < blocks_.size(); ++way) {
      if (blocks_[way] == block) {
        policy_->hit(way);
        return true;
      }
    }
    std::vector<std::size_t> empty;
    for (std::size_t way = 0; way < blocks_.size(); ++way) {
      if (!blocks_[way].has_value()) empty.push_back(way);
    }
    const std::size_t way = empty.empty() ? policy_->victim() : policy_->choose_empty(empty);
    blocks_[way] = block;
    policy_->inserted(way);
    return false;
  }
  void invalidate(std::size_t way) { blocks_[way].reset(); }
  const std::vector<std::optional<std::uint64_t>>& blocks() const { return blocks_; }

 private:
  std::unique_ptr<PlainPolicy> policy_;
  std::vector<std::optional<std::uint64_t>> blocks_;
};

/// The generator that the published vectors name.
class Draws {
 public:
  std::uint64_t next() {
    const std::uint64_t drawn = x_ >> 33;
    x_ = x_ * 6364136223846793005 + 1442695040888963407;
    return drawn;
  }

 private:
  std::uint64_t x_ = std::uint64_t{12345} * 6364136223846793005 + 1442695040888963407;
};

class ReplacementContract : public testing::TestWithParam<Sized> {};

TEST_P(ReplacementContract, FillsEveryWayBeforeItEvicts) {
  Set set(GetParam());
  for (unsigned block = 0; block < GetParam().ways; ++block) EXPECT_FALSE(set.access(block));
  EXPECT_EQ(set.filled(), all_ways(GetParam().ways));
  for (unsigned block = 0; block < GetParam().ways; ++block) EXPECT_TRUE(set.access(block));
}

TEST_P(ReplacementContract, FillsAnInvalidatedWayBeforeItEvicts) {
  if (!prefers_empty_ways(GetParam().spec().kind)) return;  // a tree goes where its nodes point
  Set set(GetParam());
  Draws draws;
  for (unsigned i = 0; i < 1000; ++i) set.access(draws.next() % (2 * GetParam().ways));
  for (unsigned way = 0; way < GetParam().ways; ++way) {
    set.invalidate(way);
    EXPECT_FALSE(set.access(1'000'000 + way));
    EXPECT_EQ(set.last_way(), way);
  }
}

TEST_P(ReplacementContract, TheVictimIsAWay) {
  Set set(GetParam());
  Draws draws;
  for (unsigned i = 0; i < 10'000; ++i) {
    set.access(draws.next() % (3 * GetParam().ways));
    ASSERT_LT(set.last_way(), GetParam().ways);
  }
}

TEST_P(ReplacementContract, ASecondTouchIsIdleWhereAFilterReliesOnIt) {
  Set set(GetParam());
  Draws draws;
  for (unsigned i = 0; i < 10'000; ++i) {
    const std::uint64_t block = draws.next() % (2 * GetParam().ways);
    set.access(block);
    set.access(block);  // SRRIP: an insertion is no touch
    const PolicyState once = set.state();
    set.access(block);
    if (second_touch_is_idle(GetParam().spec().kind)) {
      ASSERT_EQ(set.state(), once);
    }
  }
}

TEST_P(ReplacementContract, AgreesWithThePlainPolicyAtEveryAccess) {
  Set fast(GetParam());
  PlainSet plain(GetParam());
  Draws draws;
  const unsigned ways = GetParam().ways;
  for (unsigned i = 0; i < 100'000; ++i) {
    const std::uint64_t drawn = draws.next();
    // Random over a changing range, cyclic walks just past the capacity, and now and then an invalidation.
    const std::uint64_t block = i / 1000 % 2 == 0 ? drawn % (ways + i / 10'000) : i % (ways + 1 + i / 20'000);
    ASSERT_EQ(fast.access(block), plain.access(block)) << "access " << i;
    ASSERT_EQ(fast.blocks(), plain.blocks()) << "access " << i;
    if (drawn % 97 == 0) {
      fast.invalidate(static_cast<unsigned>(drawn / 97 % ways));
      plain.invalidate(static_cast<std::size_t>(drawn / 97 % ways));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, ReplacementContract, testing::ValuesIn(kSized), [](const auto& sized) {
  std::string name = std::string(sized.param.policy) + "_" + std::to_string(sized.param.ways);
  for (char& letter : name) {
    if (letter == '-') letter = '_';
  }
  return name;
});

/// The miss fraction of a cyclic walk over `blocks` blocks, after a hundred rounds.
double steady_misses(const Sized& sized, unsigned blocks) {
  Set set(sized);
  constexpr unsigned kRounds = 10'000;
  unsigned misses = 0;
  for (unsigned round = 0; round < 100 + kRounds; ++round) {
    for (unsigned block = 0; block < blocks; ++block) misses += !set.access(block) && round >= 100 ? 1 : 0;
  }
  return static_cast<double>(misses) / (kRounds * blocks);
}

// Published for cyclic walks of one line more than fits.
TEST(Replacement, CyclicWalksHaveTheirSteadyMissFraction) {
  EXPECT_EQ(steady_misses({"lru", 8}, 9), 1.0);
  EXPECT_EQ(steady_misses({"tree-plru", 8}, 9), 1.0);
  EXPECT_EQ(steady_misses({"tree-plru", 8}, 10), 1.0);
  EXPECT_EQ(steady_misses({"tree-plru", 8}, 12), 1.0);
  EXPECT_EQ(steady_misses({"three-plru4", 12}, 13), 1.0);
  EXPECT_NEAR(steady_misses({"bit-plru", 16}, 17), 0.5334, 0.0001);  // 8/15; published from a walk of finite length
  EXPECT_EQ(steady_misses({"qlru_h11_m1_r0_u0", 16}, 17), 1.0);
}

struct Vector {
  Sized sized;
  unsigned blocks;
  unsigned hits;          // of 4096 accesses
  std::uint64_t pattern;  // of the first 64, the first in the top bit
};

constexpr Vector kVectors[] = {
    {{"lru", 8}, 10, 3278, 0x074d'ddfd'beae'dbfd},
    {{"tree-plru", 8}, 10, 3300, 0x074d'ddff'be96'dffd},
    {{"three-plru4", 12}, 16, 3071, 0x01ea'a5fc'f7ff'b7ba},
    {{"bit-plru", 16}, 20, 3249, 0x0204'9d7d'a6ae'fdb5},
    {{"qlru_h00_m1_r2_u1", 4}, 6, 2727, 0x395f'517f'c78e'0cab},
    {{"qlru_h00_m1_r0_u1", 8}, 12, 2750, 0x094b'd62f'cfbc'549a},
    {{"qlru_h11_m1_r0_u0", 16}, 24, 2724, 0x0043'5e9f'd67c'5602},
};

TEST(Replacement, TheVectorsComeOutExactly) {
  for (const Vector& vector : kVectors) {
    Set set(vector.sized);
    Draws draws;
    unsigned hits = 0;
    std::uint64_t pattern = 0;
    for (unsigned i = 0; i < 4096; ++i) {
      const bool hit = set.access(draws.next() % vector.blocks);
      hits += hit ? 1 : 0;
      if (i < 64) pattern = pattern << 1 | (hit ? 1 : 0);
    }
    EXPECT_EQ(hits, vector.hits) << vector.sized.policy;
    EXPECT_EQ(pattern, vector.pattern) << vector.sized.policy;
  }
}

TEST(Replacement, NamesThatAreNoneAreNotParsed) {
  for (const char* name : {"", "LRU", "plru", "qlru_h11_m1_r0_u", "qlru_h11_m1_r0_u00", "qlru_h41_m1_r0_u0",
                           "qlru_h11_m1_r3_u0", "qlru_h11_m1_r0_u4", "qlru_h1x_m1_r0_u0"}) {
    EXPECT_FALSE(parse_policy(name).has_value()) << name;
  }
  // R0 and R2 need a way of age 3, and only U0 and U1 see to it.
  EXPECT_FALSE(parse_policy("qlru_h11_m1_r0_u2").has_value());
  EXPECT_FALSE(parse_policy("qlru_h11_m1_r2_u3").has_value());
  EXPECT_TRUE(parse_policy("qlru_h11_m1_r1_u2").has_value());
}

}  // namespace
}  // namespace zs::uarch
