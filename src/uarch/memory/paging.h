// From linear pages to frames: the TLBs of a core, and the walks through paging entries, which lie in the caches like
// data. Internal to uarch; hierarchy.h says what `Parts` are.
#pragma once

#include <algorithm>
#include <cstdint>

#include "uarch/cache/line.h"
#include "uarch/memory/memory_system.h"
#include "uarch/memory/private_levels.h"
#include "uarch/tlb/lru_table.h"
#include "uarch/tlb/page_map.h"
#include "uarch/tlb/tlb.h"

namespace zs::uarch {

template <typename Parts>
class Paging : public PrivateLevels<Parts> {
 protected:
  using Base = PrivateLevels<Parts>;
  using Filter = MemorySystem::Filter;
  using Base::Base, MemorySystem::filters_, MemorySystem::kNone, CoherentLevels<Parts>::kWalkEvents, Base::cores_,
      Base::count, Base::large_pages_, Base::pages_, Base::parameters_;
  using typename Base::Core, typename Base::Side, typename Base::TlbType, typename Base::Translated, typename Base::Use,
      typename CoherentLevels<Parts>::WalkEvents;

  Translated translate(unsigned core, std::uint64_t page, std::uint64_t now, Side side) {
    return translate(core, page, now, side, first_tlb(*cores_[core], side).find(page, false));
  }
  /// frame  the page's, in the first-level TLB; null: it is not there
  Translated translate(unsigned core, std::uint64_t page, std::uint64_t now, Side side, const Frame* frame) {
    if (frame != nullptr) {
      if (side == Side::Fetch) remember_page(core, page);
      return {.frame = *frame};
    }
    return look_up(core, page, now, side);
  }

  TlbType& first_tlb(Core& own, Side side) const {
    if (side == Side::Fetch) return own.itlb;
    return side == Side::Store && parameters_.dtlb_stores != 0 ? own.dtlb_stores : own.dtlb;
  }

  /// Of a small page that the first-level TLB does not have.
  [[gnu::noinline]] Translated look_up(unsigned core, std::uint64_t page, std::uint64_t now, Side side) {
    Core& own = *cores_[core];
    TlbType& first = first_tlb(own, side);
    const auto within = static_cast<Frame>(page & (kSmallPagesPerLarge - 1));
    if (large_pages_) {
      if (const Frame* frame = first.find(page, true)) {
        if (side == Side::Fetch) forget_pages_of_large(core, page);
        return {.frame = *frame | within};
      }
    }

    const WalkEvents& events = kWalkEvents[static_cast<std::size_t>(side)];
    if (!large_pages_) {
      if (const Frame* const frame = own.stlb.find(page, false)) {
        const Translated result{*frame, parameters_.stlb_hit_cycles, TlbOutcome::StlbHit};
        count(core, events.stlb_hit);
        insert_page(core, side, page, false, result.frame);
        if (side == Side::Fetch) remember_page(core, page);
        return result;
      }
    }
    const Translation mapped = pages_.translate(page);
    const Frame tagged = mapped.large ? mapped.frame & ~static_cast<Frame>(kSmallPagesPerLarge - 1) : mapped.frame;
    Translated result{mapped.frame, parameters_.stlb_hit_cycles, TlbOutcome::StlbHit};
    if (own.stlb.find(page, mapped.large) != nullptr) {
      count(core, events.stlb_hit);
    } else {
      const std::uint64_t begin = walker_free_at(core, now + result.latency);
      const std::uint64_t done = walk(core, page, begin, mapped.large);
      count(core, events.walk);
      count(core, events.cycles, done - begin);
      count(core, mapped.large ? CoreSignal::WalkCompleted2M : CoreSignal::WalkCompleted4K);
      if (side == Side::Load) count(core, mapped.large ? CoreSignal::DtlbLoadWalk2M : CoreSignal::DtlbLoadWalk4K);
      result.latency = static_cast<std::uint32_t>(done - now);
      result.outcome = TlbOutcome::Walk;
      own.stlb.insert(page, mapped.large, tagged);
    }
    insert_page(core, side, page, mapped.large, tagged);
    if (side == Side::Fetch) {
      if (mapped.large) {
        forget_pages_of_large(core, page);
      } else {
        remember_page(core, page);
      }
    }
    return result;
  }

  /// Into the first-level TLB. No line of what leaves it is hot there any more.
  void insert_page(unsigned core, Side side, std::uint64_t page, bool large, Frame frame) {
    Core& own = *cores_[core];
    TlbType& tlb = first_tlb(own, side);
    if constexpr (!Parts::kInlinePath) {
      tlb.insert(page, large, frame);
    } else {
      const std::uint64_t gone = tlb.insert(page, large, frame);
      if (gone == LruTable::kNoKey) return;
      if (side == Side::Fetch) {
        own.l1i.forget_hot_page(gone, false, true);
      } else {
        const bool both = parameters_.dtlb_stores == 0;
        own.l1d.forget_hot_page(gone, !both && side == Side::Store, !both && side == Side::Load);
      }
    }
  }

  /// When a walk that is wanted from `now` on begins. What waits for a walker is no walk under way: the events of
  /// walk cycles count those, at most one a walker in each cycle.
  std::uint64_t walker_free_at(unsigned core, std::uint64_t now) const {
    return std::max(now, *std::ranges::min_element(cores_[core]->walkers));
  }

  /// Reads the paging entries that no cache of them holds, one after the other. Returns when it is done.
  /// start   walker_free_at(), of the walker that takes it
  /// source: paging-structure caches, SDM vol. 3A, "Caching Translation Information"; 2 cycles beside the reads are
  /// chosen.
  std::uint64_t walk(unsigned core, std::uint64_t page, std::uint64_t start, bool large) {
    Core& own = *cores_[core];
    std::uint64_t at = start + 2;
    // walk_caches[i] skips the read of the entries above level i.
    const unsigned last = large ? 1 : 0;
    unsigned level = last;
    while (level < 3 && own.walk_caches[level].find(page >> kLargePageShift * (level + 1)) == nullptr) ++level;
    for (;; --level) {
      const Line line = pages_.entry_line(page, static_cast<TableLevel>(level));
      at += this->template use_line<Use::Walk>(core, line, kNone, at).latency;
      if (level == last) break;
      own.walk_caches[level - 1].insert(page >> kLargePageShift * level, 0);
    }
    *std::ranges::min_element(own.walkers) = at;
    return at;
  }

  /// The page of instructions was touched: it is the newest of its set of the TLB.
  void remember_page(unsigned core, std::uint64_t page) {
    if constexpr (Parts::kInlinePath) {
      Filter& filter = filters_[core];
      filter.code_pages[page & filter.code_page_mask] = page;
      ++filter.code_known;
    }
  }
  /// A 2 MiB page is not skipped: a page of 4 KiB says nothing of its place in the order.
  void forget_pages_of_large(unsigned core, std::uint64_t page) {
    if constexpr (Parts::kInlinePath) {
      Filter& filter = filters_[core];
      filter.code_pages[page >> kLargePageShift & filter.code_page_mask] = kNone;
      ++filter.code_known;
    }
  }
};

}  // namespace zs::uarch
