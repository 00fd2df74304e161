#include "engine/translate/accumulators.h"

#include <emmintrin.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"

namespace zs::engine {
namespace {

/// Records of which sums of 16 bits cannot wrap: each brings at most 255.
constexpr std::size_t kSummedAtOnce = 256;

/// Eight sums of 32 bits.
class WideSums {
 public:
  /// Of which they cannot wrap.
  static constexpr std::size_t kMostRecords = std::size_t{1} << 24;

  WideSums() = default;
  static WideSums all(std::uint32_t value) {
    return {_mm_set1_epi32(static_cast<int>(value)), _mm_set1_epi32(static_cast<int>(value))};
  }
  static WideSums load(const std::uint32_t* sums) {
    const auto* const from = reinterpret_cast<const __m128i*>(sums);
    return {_mm_loadu_si128(from), _mm_loadu_si128(from + 1)};
  }
  void store(std::uint32_t* sums) const {
    auto* const to = reinterpret_cast<__m128i*>(sums);
    _mm_storeu_si128(to, low_);
    _mm_storeu_si128(to + 1, high_);
  }
  /// Eight sums of 16 bits.
  void add(__m128i narrow) {
    const __m128i zero = _mm_setzero_si128();
    low_ = _mm_add_epi32(low_, _mm_unpacklo_epi16(narrow, zero));
    high_ = _mm_add_epi32(high_, _mm_unpackhi_epi16(narrow, zero));
  }
  WideSums plus(const WideSums& b) const { return {_mm_add_epi32(low_, b.low_), _mm_add_epi32(high_, b.high_)}; }
  WideSums minus(const WideSums& b) const { return {_mm_sub_epi32(low_, b.low_), _mm_sub_epi32(high_, b.high_)}; }
  WideSums quarter() const { return {_mm_srli_epi32(low_, 2), _mm_srli_epi32(high_, 2)}; }
  /// Each at most what it is in `most`, both below 2^31.
  bool within(const WideSums& most) const {
    return _mm_movemask_epi8(_mm_or_si128(_mm_cmpgt_epi32(low_, most.low_), _mm_cmpgt_epi32(high_, most.high_))) == 0;
  }
  /// In 16 bits with a sign, INT16_MAX at most.
  __m128i narrow() const { return _mm_packs_epi32(low_, high_); }

 private:
  WideSums(__m128i low, __m128i high) : low_(low), high_(high) {}
  __m128i low_ = _mm_setzero_si128(), high_ = _mm_setzero_si128();
};

/// The rows of one group of accumulators.
class RowReader {
 public:
  RowReader(const void* rows, std::size_t group, std::size_t groups)
      : rows_(static_cast<const __m128i*>(rows) + group), groups_(groups) {}
  __m128i row(std::uint32_t id) const { return _mm_load_si128(rows_ + id * groups_); }
  /// Of at most kSummedAtOnce records, in 16 bits.
  __m128i sum(std::span<const std::uint32_t> ids) const {
    return groups_ == 1 ? sum(ids, [this](std::uint32_t id) { return _mm_load_si128(rows_ + id); })
                        : sum(ids, [this](std::uint32_t id) { return row(id); });
  }

 private:
  template <typename Row>
  static __m128i sum(std::span<const std::uint32_t> ids, Row row) {
    __m128i a = _mm_setzero_si128(), b = a;
    const std::uint32_t* at = ids.data();
    const std::uint32_t* const end = at + ids.size();
    for (; end - at >= 4; at += 4) {
      a = _mm_add_epi16(a, _mm_add_epi16(row(at[0]), row(at[1])));
      b = _mm_add_epi16(b, _mm_add_epi16(row(at[2]), row(at[3])));
    }
    for (; at != end; ++at) a = _mm_add_epi16(a, row(*at));
    return _mm_add_epi16(a, b);
  }

  const __m128i* rows_;
  std::size_t groups_;
};

}  // namespace

std::span<const std::uint32_t> FactCounts::of(const arch::InsnFacts& facts, bool taken) {
  static_assert(sizeof facts == 8);
  const auto bits = std::bit_cast<std::uint64_t>(facts);
  const std::uint64_t wanted = bits | std::uint64_t{taken} << 62 | std::uint64_t{1} << 63;  // rep_string is bit 56
  const std::size_t at = (wanted * 0x9E3779B97F4A7C15u) >> 55;
  static_assert(std::uint64_t{kEntries} << 55 == 0);
  std::uint32_t* counts = counts_.data() + at * accumulators_.size();
  if (entries_[at] != wanted) {
    entries_[at] = wanted;
    arch::Retired retired;
    static_cast<arch::InsnFacts&>(retired) = facts;
    retired.taken = taken;
    // What a REP string does to memory is known only when it has run.
    retired.load_count = facts.rep_string ? 0 : facts.loads;
    retired.store_count = facts.rep_string ? 0 : facts.stores;
    for (std::size_t accumulator = 0; accumulator < accumulators_.size(); ++accumulator)
      counts[accumulator] = accumulators_.counted(accumulator) ? accumulators_[accumulator].count(retired) : 0;
  }
  return {counts, accumulators_.size()};
}

void CountTable::add_exit(std::span<const std::uint32_t> counts, unsigned least_words) {
  const std::size_t exit = rows_.size() / groups_;
  rows_.resize(rows_.size() + groups_);
  words_.push_back(1);
  set_exit(static_cast<std::uint32_t>(exit), counts, least_words);
}

void CountTable::set_exit(std::uint32_t exit, std::span<const std::uint32_t> counts, unsigned least_words) {
  CHECK(counts.size() == accumulators_);
  for (std::size_t accumulator = 0; accumulator < accumulators_; ++accumulator) {
    CHECK(counts[accumulator] < 256);
    rows_[exit * groups_ + accumulator / 8].accumulator[accumulator % 8] =
        static_cast<std::uint16_t>(counts[accumulator]);
    most_[accumulator] = std::max(most_[accumulator], counts[accumulator]);
  }
  std::uint32_t words = std::max(least_words, 1u);
  for (std::size_t accumulator = 0; accumulator < accumulators_; ++accumulator) {
    if (units_[accumulator] != 0)
      words = std::max(words, (counts[accumulator] + units_[accumulator] - 1) / units_[accumulator]);
  }
  words_[exit] = static_cast<std::uint8_t>(words);
  most_words_ = std::max(most_words_, words);
}

void CountTable::save(SnapshotWriter& out, SnapshotFacts& facts) const {
  out.add(Part::CountRows, rows_);
  out.add(Part::CountWords, words_);
  out.add(Part::CountMost, std::span<const std::uint32_t>(most_));
  facts.most_words = most_words_;
}

bool CountTable::restore(const Snapshot& from, const SnapshotFacts& facts, std::size_t exits) {
  std::vector<std::uint32_t> most;
  if (!from.put(Part::CountRows, rows_) || !from.put(Part::CountWords, words_) || !from.read(Part::CountMost, most))
    return false;
  if (rows_.size() != exits * groups_ || words_.size() != exits || most.size() != most_.size()) return false;
  most_ = std::move(most);
  most_words_ = facts.most_words;
  return true;
}

void CountTable::sum(std::span<const std::uint32_t> ids, std::span<std::uint64_t> totals) const {
  for (std::size_t group = 0; group < groups_; ++group) sum_group(group, ids, totals);
}

void CountTable::sum_group(std::size_t group, std::span<const std::uint32_t> ids,
                           std::span<std::uint64_t> totals) const {
  const RowReader rows(rows_.data(), group, groups_);
  for (std::size_t at = 0; at < ids.size();) {
    const std::size_t end = std::min(ids.size(), at + WideSums::kMostRecords);
    WideSums wide;
    for (; at < end; at += kSummedAtOnce) wide.add(rows.sum(ids.subspan(at, std::min(kSummedAtOnce, end - at))));
    Eight sums;
    wide.store(sums.data());
    for (std::size_t accumulator = 0; accumulator < accumulators_of(group); ++accumulator)
      totals[group * 8 + accumulator] += sums[accumulator];
  }
}

// Four at a time, the last of them masked: where a probe comes cannot be foreseen, so one branch asks for it and no
// loop ends there.
// The first group of accumulators finds where to stop, the others follow it there.
std::size_t CountTable::add_up_to_probed(std::span<const std::uint32_t> records,
                                         std::span<std::uint32_t> running) const {
  constexpr std::size_t kOfTwo = 2 * kSummedAtOnce;  // two sums
  static_assert(kProbedRecord == 1u << 31, "the bit that MOVMSKPS takes");
  alignas(16) static constexpr std::uint16_t kFirst[4][8] = {{}, {0xFFFF}, {0xFFFF, 0xFFFF}, {0xFFFF, 0xFFFF, 0xFFFF}};
  const __m128i zero = _mm_setzero_si128();
  std::size_t count = records.size();
  for (std::size_t group = 0; group < groups_; ++group) {
    const RowReader rows(rows_.data(), group, groups_);
    const auto row = [&](std::size_t at) { return rows.row(records[at] & ~kProbedRecord); };
    WideSums sums = WideSums::load(running.data() + group * 8);
    __m128i a = zero, b = zero;
    std::size_t at = 0, end = 0;
    for (bool probed = false; !probed && at < count;) {
      end = std::min(count, at + kOfTwo);
      for (; at + 4 <= end; at += 4) {
        const auto four = _mm_castsi128_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(&records[at])));
        const auto probes = static_cast<unsigned>(_mm_movemask_ps(four));
        if (probes != 0) {
          const auto whole = static_cast<unsigned>(std::countr_zero(probes));
          const auto if_before = [&](unsigned i) {
            return _mm_and_si128(row(at + i), _mm_set1_epi16(static_cast<short>(kFirst[whole][i])));
          };
          a = _mm_add_epi16(a, _mm_add_epi16(if_before(0), if_before(2)));
          b = _mm_add_epi16(b, if_before(1));
          at += whole;
          probed = true;
          break;
        }
        a = _mm_add_epi16(a, _mm_add_epi16(row(at), row(at + 2)));
        b = _mm_add_epi16(b, _mm_add_epi16(row(at + 1), row(at + 3)));
      }
      for (; !probed && at < end; ++at) {
        probed = (records[at] & kProbedRecord) != 0;
        if (probed) break;
        a = _mm_add_epi16(a, row(at));
      }
      sums.add(std::exchange(a, zero));
      sums.add(std::exchange(b, zero));
    }
    count = at;
    sums.store(running.data() + group * 8);
  }
  return count;
}

// Which records overflow nothing is found in the groups that have an accumulator close enough, one after the other:
// each looks no further than the one before, so the sums of the last are what is wanted.
std::size_t CountTable::add_within(std::span<const std::uint32_t> ids, std::span<const std::uint64_t> room,
                                   std::span<std::uint64_t> totals) const {
  CHECK(ids.size() <= kMostWithin, ids.size());
  constexpr std::uint64_t kFar = std::uint64_t{1} << 30;  // beyond what so many records can bring
  static_assert(kMostWithin * 255 < kFar);
  std::size_t last = groups_;
  Eight sums;
  for (std::size_t group = 0; group < groups_; ++group) {
    Eight left;
    left.fill(kFar);
    bool close = false;
    for (std::size_t accumulator = 0; accumulator < accumulators_of(group); ++accumulator) {
      const std::uint64_t here = room[group * 8 + accumulator] - totals[group * 8 + accumulator];
      if (here >= kFar) continue;
      left[accumulator] = static_cast<std::uint32_t>(here);
      close = true;
    }
    if (!close) continue;
    ids = ids.first(sum_within(group, ids, left, sums));
    last = group;
  }
  for (std::size_t group = 0; group < groups_; ++group) {
    if (group != last) {
      sum_group(group, ids, totals);
      continue;
    }
    for (std::size_t accumulator = 0; accumulator < accumulators_of(group); ++accumulator)
      totals[group * 8 + accumulator] += sums[accumulator];
  }
  return ids.size();
}

// Whole stretches, until the one before says that the next will pass what is left, or it does; then in small steps, and
// at last one by one. So a search costs little more than the sum of what it passes.
std::size_t CountTable::sum_within(std::size_t group, std::span<const std::uint32_t> ids, const Eight& left,
                                   Eight& sums) const {
  constexpr std::size_t kShortStretch = 128, kStep = 16;  // of the former sums are positive in 16 bits with a sign
  static_assert(kShortStretch * 255 <= INT16_MAX && kShortStretch % kStep == 0);
  const RowReader rows(rows_.data(), group, groups_);
  const WideSums most = WideSums::load(left.data());
  WideSums sum, growth = WideSums::all(kSummedAtOnce * 4);  // of instructions in a record, about
  std::size_t at = 0;
  while (at < ids.size()) {
    const auto rest = ids.subspan(at);
    if (sum.plus(growth).plus(growth.quarter()).within(most)) {
      const auto stretch = rest.first(std::min(kSummedAtOnce, rest.size()));
      WideSums next = sum;
      next.add(rows.sum(stretch));
      if (next.within(most)) {
        growth = next.minus(sum);
        sum = next;
        at += stretch.size();
        continue;
      }
    }
    const auto stretch = rest.first(std::min(kShortStretch, rest.size()));
    const __m128i most_more = most.minus(sum).narrow();
    const auto is_within = [&](__m128i more) { return _mm_movemask_epi8(_mm_cmpgt_epi16(more, most_more)) == 0; };
    __m128i more = _mm_setzero_si128();
    std::size_t within = 0;
    for (; within + kStep <= stretch.size(); within += kStep) {
      const __m128i with_step = _mm_add_epi16(more, rows.sum(stretch.subspan(within, kStep)));
      if (!is_within(with_step)) break;
      more = with_step;
    }
    bool full = false;
    for (const std::uint32_t id : stretch.subspan(within, std::min(kStep, stretch.size() - within))) {
      const __m128i with_record = _mm_add_epi16(more, rows.row(id));
      full = !is_within(with_record);
      if (full) break;
      more = with_record;
      ++within;
    }
    sum.add(more);
    at += within;
    if (full) break;
  }
  sum.store(sums.data());
  return at;
}

}  // namespace zs::engine
