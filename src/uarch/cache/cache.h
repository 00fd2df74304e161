// A set-associative cache: tags of 32 bits, four of them compared at once, and what else is known of a set in an array
// of its own.
// It holds lines and their order; what a miss leads to, hierarchy.h knows.
//
// SSE2 and not AVX2: every x86-64 processor has it, so no choice has to be made, and eight tags at once save less than
// a tenth of a hit that the inline path leaves out (BM_Cache_Compare16 against BM_Memory_L1Hit) and nothing of a miss.
#pragma once

#include <emmintrin.h>

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>

#include "base/check.h"
#include "base/units.h"
#include "uarch/cache/host_array.h"
#include "uarch/cache/line.h"
#include "uarch/cache/set_index.h"
#include "uarch/cache/way_hints.h"
#include "uarch/replacement/any_policy.h"

namespace zs::uarch {

/// What a cache keeps of 16 ways beside their tags: half a line of the host's memory, because that of a large cache is
/// in none of the host's caches.
struct alignas(32) CacheSet {
  static constexpr unsigned kWays = 16;
  using Quick = std::array<std::uint16_t, 2>;  // bit w: loads that hit way w; stores

  // Of the whole set; where it has more ways, in its first.
  PolicyState state = 0;
  WayMask filled = 0;  // ways that hold a line
  Quick quick{};       // ways that are quick, of the first 16

  std::array<LineFlags, kWays> flags{};
};
static_assert(sizeof(CacheSet) == 32);

/// Which of 16 ways, or of 8 where they are not `wide`, hold the line: bit w for way w. Which it is nobody can predict,
/// so that no branch
/// depends on it. tags  of way 0, aligned to 16 bytes
[[gnu::always_inline]] inline unsigned ways_holding(const Line* tags, Line line, bool wide) {
  const auto* const at = reinterpret_cast<const __m128i*>(tags);
  const __m128i wanted = _mm_set1_epi32(static_cast<int>(line));
  const auto equal = [at, wanted](unsigned vector) { return _mm_cmpeq_epi32(_mm_load_si128(at + vector), wanted); };
  const __m128i low = _mm_packs_epi32(equal(0), equal(1));
  const __m128i high = wide ? _mm_packs_epi32(equal(2), equal(3)) : _mm_setzero_si128();
  return static_cast<unsigned>(_mm_movemask_epi8(_mm_packs_epi16(low, high)));
}

/// What an inline path needs of a small cache: which lines are quick, that is, a hit of them does nothing but touch
/// them. Who has the cache says so of each line, Cache::set_quick(); a line that comes in is not.
struct QuickLines {
  static constexpr unsigned kMostWays = CacheSet::kWays;

  const Line* tags;  // [set][slot]
  CacheSet* sets;    // [set]
  std::uint32_t set_mask = 0;
  bool wide = false;  // more than 8 ways
  TouchMasks masks;
  WayHints* hot = nullptr;  // null: nothing is quick

  const WayHint* way_hints() const { return hot != nullptr ? hot->entries() : WayHints::none(); }

  /// Touches the line if it is there, and quick, which makes it hot. linear: its linear address / 64; store: 0 or 1;
  /// page: the slot of its page in the TLB
  bool hit(Line line, std::uint64_t linear, unsigned store, std::uint32_t page) const {
    const std::uint32_t set = line & set_mask;
    const unsigned quick_ones = ways_holding(tags + std::size_t{set} * kMostWays, line, wide) & sets[set].quick[store];
    if (quick_ones == 0) return false;
    const auto way = static_cast<unsigned>(std::countr_zero(quick_ones));
    touch(set * kMostWays + way, linear, store, page);
    return true;
  }
  /// hit() of a line that is quick.
  void touch(std::uint32_t slot, std::uint64_t linear, unsigned store, std::uint32_t page) const {
    PolicyState& state = sets[slot / kMostWays].state;
    const std::uint32_t way = slot % kMostWays;
    state = (state & masks.keep[way]) | masks.set[way];
    make_hot(slot, linear, store, page);
  }
  /// From its next touch on.
  void make_hot(std::uint32_t slot, std::uint64_t linear, unsigned store, std::uint32_t page) const {
    const std::uint32_t way = slot % kMostWays;
    hot->add(linear, slot, store, sets[slot / kMostWays].state, masks.keep[way], masks.set[way], page);
  }

  /// Of no cache: nothing hits.
  static const QuickLines& none() {
    alignas(16) static constexpr std::array<Line, kMostWays> empty{};
    static CacheSet set;
    static const QuickLines lines{.tags = empty.data(), .sets = &set, .masks = {}};
    return lines;
  }
};

template <ReplacementPolicy Policy>
class Cache {
 public:
  /// Where a line is; valid until the cache changes.
  using Slot = std::uint32_t;
  static constexpr Slot kNoSlot = ~Slot{0};

  explicit Cache(const CacheParameters& parameters)
      : index_(parameters),
        policy_(make_policy(parameters)),
        ways_(parameters.ways),
        slots_of_set_(static_cast<Slot>(align_up(ways_, CacheSet::kWays))),
        tags_(slots(), kNoLine),
        sets_(slots() / CacheSet::kWays, CacheSet{.state = policy_.initial()}) {
    CHECK(is_power_of_two(slots_of_set_), ways_);
  }

  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  /// Which set a line belongs to; for who asks several things of it.
  using Set = Slot;
  Set set_of(Line line) const { return index_(line) * slots_of_set_; }

  Slot find(Line line) const { return find(line, set_of(line)); }
  [[gnu::always_inline]] Slot find(Line line, Set first) const {
    for (Slot slot = first; slot != first + slots_of_set_; slot += CacheSet::kWays) {
      const unsigned found = ways_holding(&tags_[slot], line, ways_ > 8);
      if (found != 0) return slot + static_cast<unsigned>(std::countr_zero(found));
    }
    return kNoSlot;
  }

  [[gnu::always_inline]] void touch(Slot slot) { policy_.hit(set_at(slot).state, way_of(slot)); }

  /// Puts in a line that is not there.
  EvictedLine insert(Line line, LineFlags flags) { return insert(line, set_of(line), flags); }
  [[gnu::always_inline]] EvictedLine insert(Line line, Set first, LineFlags flags) {
    CacheSet& set = set_at(first);
    const unsigned way = policy_.victim(set.state, set.filled);
    set.filled |= WayMask{1} << way;
    const Slot slot = first + way;
    const EvictedLine evicted{tags_[slot], this->flags(slot)};
    tags_[slot] = line;
    set_flags(slot, flags);
    policy_.inserted(set.state, way);
    set_quick(slot, false, false);
    newest_ = slot;
    return evicted;
  }
  /// Where the line is that was put in last.
  Slot newest() const { return newest_; }
  std::size_t slots() const { return std::size_t{index_.sets()} * slots_of_set_; }

  [[gnu::always_inline]] void remove(Slot slot) {
    tags_[slot] = kNoLine;
    set_flags(slot, kSharedLine);
    set_at(slot).filled &= ~(WayMask{1} << way_of(slot));
    set_quick(slot, false, false);
  }

  /// The inline path of this cache, from now on; QuickLines::none() where its shape or policy has none. Lines that were
  /// hit that way are hot, until they are no longer quick.
  QuickLines quick_lines() {
    const auto masks = [this]() -> std::optional<TouchMasks> {
      if constexpr (requires {
                      { policy_.touch_masks() } -> std::same_as<TouchMasks>;
                    }) {
        return ways_ <= TouchMasks::kMostWays ? std::optional(policy_.touch_masks()) : std::nullopt;
      } else if constexpr (requires { policy_.touch_masks(); }) {
        return policy_.touch_masks();
      } else {
        return std::nullopt;
      }
    }();
    if (!masks || ways_ > QuickLines::kMostWays || !index_.is_plain()) return QuickLines::none();
    CHECK(WayHint::can_touch(*masks));
    hot_ = std::make_unique<WayHints>(slots());
    return {.tags = tags_.data(),
            .sets = sets_.data(),
            .set_mask = index_.sets() - 1,
            .wide = ways_ > 8,
            .masks = *masks,
            .hot = hot_.get()};
  }
  /// Linear addresses have changed their meaning.
  void forget_way_hints() {
    if (hot_ != nullptr) hot_->drop_all();
  }
  /// A page has left the TLB; loads, stores: of others than these.
  void forget_hot_page(std::uint64_t page, bool loads, bool stores) {
    if (hot_ != nullptr) hot_->drop_page(page, loads, stores);
  }
  void set_quick(Slot slot, bool loads, bool stores) {
    if (hot_ == nullptr) return;
    const unsigned way = way_of(slot);
    CacheSet::Quick& quick = set_at(slot).quick;
    const auto was = std::bit_cast<std::uint32_t>(quick);
    const std::uint32_t now = (loads ? 1U : 0U) | (stores ? 0x1'0000U : 0U);
    quick = std::bit_cast<CacheSet::Quick>((was & ~(0x1'0001U << way)) | now << way);
    hot_->drop(slot, loads, stores);
  }

  /// use(line) for each line that is there.
  template <typename Use>
  void for_each(Use use) const {
    for (const Line line : tags_) {
      if (line != kNoLine) use(line);
    }
  }

  LineFlags flags(Slot slot) const { return sets_[slot / CacheSet::kWays].flags[slot % CacheSet::kWays]; }
  void set_flags(Slot slot, LineFlags flags) { sets_[slot / CacheSet::kWays].flags[slot % CacheSet::kWays] = flags; }

 private:
  static Policy make_policy(const CacheParameters& parameters) {
    if constexpr (std::is_constructible_v<Policy, PolicySpec, unsigned>) {
      return Policy(parameters.policy, parameters.ways);
    } else if constexpr (std::is_constructible_v<Policy, unsigned, QlruRule>) {
      return Policy(parameters.ways, parameters.policy.rule);
    } else {
      return Policy(parameters.ways);
    }
  }

  unsigned way_of(Slot slot) const { return slot & (slots_of_set_ - 1); }
  CacheSet& set_at(Slot slot) { return sets_[(slot & ~(slots_of_set_ - 1)) / CacheSet::kWays]; }

  SetIndex index_;
  Policy policy_;
  unsigned ways_;
  Slot slots_of_set_;         // 16 or 32; what is beyond the ways is kNoLine
  HostArray<Line> tags_;      // [set][slot], so that a set of 16 ways is one line of the host
  HostArray<CacheSet> sets_;  // [set], or two for each
  Slot newest_ = 0;
  std::unique_ptr<WayHints> hot_;  // null: nobody asks which lines are quick
};

}  // namespace zs::uarch
