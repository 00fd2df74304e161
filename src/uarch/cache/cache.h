// A set-associative cache: tags of 32 bits, four of them compared at once, flags and policy state in arrays of their own.
// It holds lines and their order; what a miss leads to, hierarchy.h knows.
//
// SSE2 and not AVX2: every x86-64 processor has it, so no choice has to be made, and eight tags at once save less than a tenth of a
// hit that the inline path leaves out (BM_Cache_Compare16 against BM_Memory_L1Hit) and nothing of a miss.
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
#include <vector>

#include "uarch/cache/hot_lines.h"
#include "uarch/cache/line.h"
#include "uarch/cache/set_index.h"
#include "uarch/replacement/any_policy.h"

namespace zs::uarch {

/// What an inline path needs of a small cache: which lines are quick, that is, a hit of them does nothing but touch them. Who has
/// the cache says so of each line, Cache::set_quick(); a line that comes in is not.
struct QuickLines {
  static constexpr unsigned kMostWays = 16;
  using Ways = std::array<std::uint16_t, 2>;  // bit w: loads that hit way w; stores

  const Line* tags;     // [set][slot]
  PolicyState* states;  // [set]
  const Ways* quick;    // [set]
  std::uint32_t set_mask = 0;
  std::uint32_t slots = 0;  // of a set
  bool wide = false;        // more than 8 ways
  TouchMasks masks;
  HotLines* hot = nullptr;

  /// Touches the line if it is there, and quick, which makes it hot. linear: its linear address / 64; store: 0 or 1
  bool hit(Line line, std::uint64_t linear, unsigned store) const {
    const std::uint32_t set = line & set_mask;
    const auto* const at = reinterpret_cast<const __m128i*>(tags + std::size_t{set} * slots);
    const __m128i wanted = _mm_set1_epi32(static_cast<int>(line));
    const auto equal = [at, wanted](unsigned vector) { return _mm_cmpeq_epi32(_mm_loadu_si128(at + vector), wanted); };
    const __m128i low = _mm_packs_epi32(equal(0), equal(1));
    const __m128i high = wide ? _mm_packs_epi32(equal(2), equal(3)) : _mm_setzero_si128();
    const auto found = static_cast<unsigned>(_mm_movemask_epi8(_mm_packs_epi16(low, high)));
    const unsigned quick_ones = found & quick[set][store];
    if (quick_ones == 0) return false;
    const auto way = static_cast<unsigned>(std::countr_zero(quick_ones));
    states[set] = (states[set] & masks.keep[way]) | masks.set[way];
    if (hot != nullptr) hot->add(linear, set * slots + way, store, states[set], masks.keep[way], masks.set[way]);
    return true;
  }

  /// Of no cache: nothing hits.
  static const QuickLines& none() {
    alignas(16) static constexpr std::array<Line, kMostWays> empty{};
    static constexpr Ways no_quick{};
    static PolicyState state = 0;
    static const QuickLines lines{.tags = empty.data(), .states = &state, .quick = &no_quick, .masks = {}};
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
        shift_(static_cast<unsigned>(std::bit_width(parameters.ways - 1))),
        storage_((std::size_t{index_.sets()} << shift_) + 2 * kLineBytes / sizeof(Line), kNoLine),
        tags_(aligned(storage_)),
        flags_(storage_.size(), kSharedLine),
        states_(index_.sets(), policy_.initial()),
        filled_(index_.sets(), 0) {}

  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  Slot find(Line line) const {
    const Slot first = index_(line) << shift_;
    const __m128i wanted = _mm_set1_epi32(static_cast<int>(line));
    const auto* at = reinterpret_cast<const __m128i*>(&tags_[first]);
    for (unsigned way = 0; way < ways_; way += 8, at += 2) {
      const __m128i low = _mm_cmpeq_epi32(_mm_loadu_si128(at), wanted);
      const __m128i high = _mm_cmpeq_epi32(_mm_loadu_si128(at + 1), wanted);
      const int equal = _mm_movemask_epi8(_mm_packs_epi32(low, high));
      if (equal != 0) return first + way + static_cast<unsigned>(std::countr_zero(static_cast<unsigned>(equal))) / 2;
    }
    return kNoSlot;
  }

  void touch(Slot slot) { policy_.hit(states_[slot >> shift_], slot & ((1U << shift_) - 1)); }

  /// Puts in a line that is not there.
  EvictedLine insert(Line line, LineFlags flags) {
    const std::uint32_t set = index_(line);
    const unsigned way = policy_.victim(states_[set], filled_[set]);
    filled_[set] |= WayMask{1} << way;
    const Slot slot = (set << shift_) + way;
    const EvictedLine evicted{tags_[slot], flags_[slot]};
    tags_[slot] = line;
    flags_[slot] = flags;
    policy_.inserted(states_[set], way);
    set_quick(slot, false, false);
    newest_ = slot;
    return evicted;
  }
  /// Where the line is that was put in last.
  Slot newest() const { return newest_; }
  std::size_t slots() const { return std::size_t{index_.sets()} << shift_; }

  void remove(Slot slot) {
    tags_[slot] = kNoLine;
    flags_[slot] = kSharedLine;
    filled_[slot >> shift_] &= ~(WayMask{1} << (slot & ((1U << shift_) - 1)));
    set_quick(slot, false, false);
  }

  /// The inline path of this cache, from now on; QuickLines::none() where its shape or policy has none.
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
    quick_.assign(index_.sets(), {});
    return {.tags = tags_,
            .states = states_.data(),
            .quick = quick_.data(),
            .set_mask = index_.sets() - 1,
            .slots = 1U << shift_,
            .wide = ways_ > 8,
            .masks = *masks,
            .hot = nullptr};
  }
  /// Lines that were hit that way are hot from now on, until they are no longer quick.
  HotLines& keep_hot_lines() {
    hot_ = std::make_unique<HotLines>(slots());
    return *hot_;
  }
  /// Linear addresses have changed their meaning.
  void forget_hot_lines() {
    if (hot_ != nullptr) hot_->drop_all();
  }
  void set_quick(Slot slot, bool loads, bool stores) {
    if (quick_.empty()) return;
    const unsigned way = slot & ((1U << shift_) - 1);
    QuickLines::Ways& ways = quick_[slot >> shift_];
    const auto was = std::bit_cast<std::uint32_t>(ways);
    const std::uint32_t now = (loads ? 1U : 0U) | (stores ? 0x1'0000U : 0U);
    ways = std::bit_cast<QuickLines::Ways>((was & ~(0x1'0001U << way)) | now << way);
    if (hot_ != nullptr) hot_->drop(slot, loads, stores);
  }

  /// use(line) for each line that is there.
  template <typename Use>
  void for_each(Use use) const {
    for (Slot slot = 0; slot < index_.sets() << shift_; ++slot) {
      if ((slot & ((1U << shift_) - 1)) < ways_ && tags_[slot] != kNoLine) use(tags_[slot]);
    }
  }

  LineFlags flags(Slot slot) const { return flags_[slot]; }
  void set_flags(Slot slot, LineFlags flags) { flags_[slot] = flags; }
  std::uint32_t set_of(Line line) const { return index_(line); }

 private:
  static Policy make_policy(const CacheParameters& parameters) {
    if constexpr (std::is_constructible_v<Policy, PolicySpec, unsigned>) {
      return Policy(parameters.policy, parameters.ways);
    } else {
      return Policy(parameters.ways);
    }
  }

  /// Room for the last vector stays behind.
  static Line* aligned(std::vector<Line>& storage) {
    const auto address = reinterpret_cast<std::uintptr_t>(storage.data());
    return storage.data() + (align_up(address, kLineBytes) - address) / sizeof(Line);
  }

  SetIndex index_;
  Policy policy_;
  unsigned ways_;
  unsigned
      shift_;  // a set has 2^shift_ slots; what is beyond the ways is kNoLine, and behind the set are lines of others
  std::vector<Line> storage_;
  Line* tags_;  // [set][slot] within storage_, so that a set of 16 ways is one line of the host
  std::vector<LineFlags> flags_;
  std::vector<PolicyState> states_;  // [set]
  std::vector<WayMask> filled_;      // [set]: ways that hold a line
  Slot newest_ = 0;
  std::vector<QuickLines::Ways> quick_;  // [set], as QuickLines has it; empty: nobody asks
  std::unique_ptr<HotLines> hot_;        // null: likewise
};

}  // namespace zs::uarch
