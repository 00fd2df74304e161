#include "engine/lanes.h"

#include <emmintrin.h>

#include <algorithm>
#include <bit>
#include <utility>

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

// Four at a time, the last of them masked: where a mark comes cannot be foreseen, so one branch asks for it and no loop ends there.
// The first group of lanes finds where to stop, the others follow it there.
std::size_t CountTable::add_up_to_marked(std::span<const std::uint32_t> records,
                                         std::span<std::uint32_t> running) const {
  constexpr std::size_t kStretch = 512;  // of two sums of 16 bits, as above
  static_assert(kMarkedRecord == 1u << 31, "the bit that MOVMSKPS takes");
  alignas(16) static constexpr std::uint16_t kFirst[4][8] = {{}, {0xFFFF}, {0xFFFF, 0xFFFF}, {0xFFFF, 0xFFFF, 0xFFFF}};
  const __m128i zero = _mm_setzero_si128();
  std::size_t count = records.size();
  for (std::size_t group = 0; group < groups_; ++group) {
    const Row* rows = rows_.data() + group;
    const auto row = [&](std::size_t at) {
      const std::size_t exit = records[at] & ~kMarkedRecord;
      return _mm_load_si128(reinterpret_cast<const __m128i*>(rows + exit * groups_));
    };
    auto* const sums = reinterpret_cast<__m128i*>(running.data() + group * 8);
    __m128i low = _mm_loadu_si128(sums), high = _mm_loadu_si128(sums + 1);
    __m128i a = zero, b = zero;
    const auto widen = [&](__m128i stretch) {
      low = _mm_add_epi32(low, _mm_unpacklo_epi16(stretch, zero));
      high = _mm_add_epi32(high, _mm_unpackhi_epi16(stretch, zero));
    };
    std::size_t at = 0, end = 0;
    for (bool marked = false; !marked && at < count;) {
      end = std::min(count, at + kStretch);
      for (; at + 4 <= end; at += 4) {
        const auto four = _mm_castsi128_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(&records[at])));
        const auto marks = static_cast<unsigned>(_mm_movemask_ps(four));
        if (marks != 0) {
          const auto whole = static_cast<unsigned>(std::countr_zero(marks));
          const auto if_before = [&](unsigned i) {
            return _mm_and_si128(row(at + i), _mm_set1_epi16(static_cast<short>(kFirst[whole][i])));
          };
          a = _mm_add_epi16(a, _mm_add_epi16(if_before(0), if_before(2)));
          b = _mm_add_epi16(b, if_before(1));
          at += whole;
          marked = true;
          break;
        }
        a = _mm_add_epi16(a, _mm_add_epi16(row(at), row(at + 2)));
        b = _mm_add_epi16(b, _mm_add_epi16(row(at + 1), row(at + 3)));
      }
      for (; !marked && at < end; ++at) {
        marked = (records[at] & kMarkedRecord) != 0;
        if (marked) break;
        a = _mm_add_epi16(a, row(at));
      }
      widen(std::exchange(a, zero));
      widen(std::exchange(b, zero));
    }
    count = at;
    _mm_storeu_si128(sums, low);
    _mm_storeu_si128(sums + 1, high);
  }
  return count;
}

std::size_t CountTable::add_within(std::span<const std::uint32_t> ids, std::span<const std::uint64_t> room,
                                   std::span<std::uint64_t> totals) const {
  CHECK(ids.size() <= kFew, ids.size());
  // The groups one after the other: each adds no further than the one before. Room above 16 bits is not used up by so few.
  std::size_t count = ids.size();
  for (std::size_t group = 0; group < groups_; ++group) {
    const Row* rows = rows_.data() + group;
    const auto row = [&](std::size_t at) {
      return _mm_load_si128(reinterpret_cast<const __m128i*>(rows + ids[at] * groups_));
    };
    alignas(16) std::uint16_t left[8] = {};
    const std::size_t lanes = std::min<std::size_t>(8, lanes_ - group * 8);
    for (std::size_t lane = 0; lane < lanes; ++lane)
      left[lane] = static_cast<std::uint16_t>(
          std::min<std::uint64_t>(room[group * 8 + lane] - totals[group * 8 + lane], UINT16_MAX));
    const __m128i most = _mm_load_si128(reinterpret_cast<const __m128i*>(left)), zero = _mm_setzero_si128();
    __m128i sum = zero;
    for (std::size_t at = 0; at < count; ++at) {
      sum = _mm_add_epi16(sum, row(at));
      const __m128i beyond = _mm_cmpeq_epi16(_mm_subs_epu16(sum, most), zero);
      if (_mm_movemask_epi8(beyond) != 0xFFFF) count = at;
    }
  }
  sum(ids.first(count), totals);
  return count;
}

}  // namespace zs::engine
