#include "engine/lanes.h"

#include <emmintrin.h>

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace zs::engine {

std::span<const std::uint32_t> FactCounts::of(const arch::InsnFacts& facts, bool taken) {
  static_assert(sizeof facts == 8);
  const auto bits = std::bit_cast<std::uint64_t>(facts);
  const std::uint64_t wanted = bits | std::uint64_t{taken} << 62 | std::uint64_t{1} << 63;  // rep_string is bit 56
  const std::size_t at = (wanted * 0x9E3779B97F4A7C15u) >> 55;
  static_assert(std::uint64_t{kEntries} << 55 == 0);
  std::uint32_t* counts = counts_.data() + at * lanes_.size();
  if (entries_[at] != wanted) {
    entries_[at] = wanted;
    arch::Retired retired;
    static_cast<arch::InsnFacts&>(retired) = facts;
    retired.taken = taken;
    // What a REP string does to memory is known only when it has run.
    retired.load_count = facts.rep_string ? 0 : facts.loads;
    retired.store_count = facts.rep_string ? 0 : facts.stores;
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
      counts[lane] = lanes_.modelled(lane) ? 0 : lanes_[lane].count(retired);
  }
  return {counts, lanes_.size()};
}

void CountTable::add_exit(std::span<const std::uint32_t> counts, unsigned least_words) {
  const std::size_t exit = rows_.size() / groups_;
  rows_.resize(rows_.size() + groups_);
  words_.push_back(1);
  set_exit(static_cast<std::uint32_t>(exit), counts, least_words);
}

void CountTable::set_exit(std::uint32_t exit, std::span<const std::uint32_t> counts, unsigned least_words) {
  CHECK(counts.size() == lanes_);
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    CHECK(counts[lane] < 256);
    rows_[exit * groups_ + lane / 8].lane[lane % 8] = static_cast<std::uint16_t>(counts[lane]);
    most_[lane] = std::max(most_[lane], counts[lane]);
  }
  std::uint32_t words = std::max(least_words, 1u);
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    if (units_[lane] != 0) words = std::max(words, (counts[lane] + units_[lane] - 1) / units_[lane]);
  }
  words_[exit] = static_cast<std::uint8_t>(words);
  most_words_ = std::max(most_words_, words);
}

void CountTable::sum(std::span<const std::uint32_t> ids, std::span<std::uint64_t> totals) const {
  // 16-bit sums of at most 255 each cannot wrap within 256 records.
  constexpr std::size_t kStretch = 256;
  for (std::size_t group = 0; group < groups_; ++group) {
    const Row* rows = rows_.data() + group;
    const std::size_t lanes = std::min<std::size_t>(8, lanes_ - group * 8);
    for (std::size_t at = 0; at < ids.size();) {
      const std::size_t end = std::min(ids.size(), at + kStretch);
      __m128i a = _mm_setzero_si128();
      __m128i b = _mm_setzero_si128();
      for (; at + 2 <= end; at += 2) {
        a = _mm_add_epi16(a, _mm_load_si128(reinterpret_cast<const __m128i*>(rows + ids[at] * groups_)));
        b = _mm_add_epi16(b, _mm_load_si128(reinterpret_cast<const __m128i*>(rows + ids[at + 1] * groups_)));
      }
      if (at < end) a = _mm_add_epi16(a, _mm_load_si128(reinterpret_cast<const __m128i*>(rows + ids[at++] * groups_)));
      alignas(16) std::uint16_t sums[2][8];
      _mm_store_si128(reinterpret_cast<__m128i*>(sums[0]), a);
      _mm_store_si128(reinterpret_cast<__m128i*>(sums[1]), b);
      for (std::size_t lane = 0; lane < lanes; ++lane)
        totals[group * 8 + lane] += std::uint64_t{sums[0][lane]} + sums[1][lane];
    }
  }
}

}  // namespace zs::engine
