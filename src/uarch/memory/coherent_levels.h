// What all cores of a memory system share, and what each has: the last-level cache, memory, and the questions that
// cores ask each other; and of a core's own levels what others may take from it. Internal to uarch; hierarchy.h says
// what `Parts` are.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "uarch/cache/line.h"
#include "uarch/cache/way.h"
#include "uarch/coherence/directory.h"
#include "uarch/memory/last_level_sample.h"
#include "uarch/memory/memory_system.h"
#include "uarch/prefetch/l1_prefetchers.h"
#include "uarch/prefetch/streamer.h"
#include "uarch/tlb/page_map.h"
#include "uarch/tlb/tlb.h"

namespace zs::uarch {

template <typename Parts>
class CoherentLevels : public MemorySystem {
 protected:
  CoherentLevels(const MemoryParameters& parameters, const MemoryOptions& options)
      : MemorySystem(parameters, options),
        parameters_(parameters),
        prefetch_(options.prefetch),
        several_(options.cores > 1 && options.directory_from_start),
        pages_(options.seed),
        llc_(parameters.llc),
        sample_(options.sampled ? std::make_unique<LastLevelSample>(parameters, options.cores) : nullptr) {
    for (unsigned core = 0; core < options.cores; ++core) cores_.push_back(std::make_unique<Core>(parameters));
  }

  using L1 = typename Parts::L1;
  using L1i = typename Parts::L1i;
  using L2 = typename Parts::L2;
  using Llc = typename Parts::Llc;
  using TlbType = BasicTlb<typename Parts::Table>;

  /// What asks for a line.
  enum class Use : std::uint8_t { Load, LockedLoad, Store, Prefetch, PrefetchForWrite, Walk };
  static constexpr bool writes(Use use) {
    return use == Use::Store || use == Use::LockedLoad || use == Use::PrefetchForWrite;
  }
  static constexpr bool is_load(Use use) { return use == Use::Load || use == Use::LockedLoad; }

  /// The same, as L2 sees it.
  enum class Request : std::uint8_t { Read, Rfo, Code, Prefetch, Walk };
  static constexpr Request request_of(Use use) {
    if (use == Use::Walk) return Request::Walk;
    if (use == Use::Prefetch) return Request::Prefetch;
    return writes(use) ? Request::Rfo : Request::Read;
  }

  enum class Side : std::uint8_t { Load, Store, Fetch };

  struct HitMiss {
    CoreSignal hit, miss;
  };
  static constexpr HitMiss kL2Events[] = {
      {CoreSignal::L2DemandReadHit, CoreSignal::L2DemandReadMiss},
      {CoreSignal::L2RfoHit, CoreSignal::L2RfoMiss},
      {CoreSignal::L2CodeHit, CoreSignal::L2CodeMiss},
      {CoreSignal::L2PrefetchHit, CoreSignal::L2PrefetchMiss},
      {CoreSignal::L2WalkHit, CoreSignal::L2WalkMiss},
  };
  struct WalkEvents {
    CoreSignal stlb_hit, walk, cycles;
  };
  static constexpr WalkEvents kWalkEvents[] = {
      {CoreSignal::DtlbLoadStlbHit, CoreSignal::DtlbLoadWalk, CoreSignal::DtlbLoadWalkCycles},
      {CoreSignal::DtlbStoreStlbHit, CoreSignal::DtlbStoreWalk, CoreSignal::DtlbStoreWalkCycles},
      {CoreSignal::ItlbStlbHit, CoreSignal::ItlbWalk, CoreSignal::ItlbWalkCycles},
  };

  struct Translated {
    Frame frame = 0;
    std::uint32_t latency = 0;
    TlbOutcome outcome = TlbOutcome::Hit;
  };
  struct Used {
    std::uint32_t latency = 0;
    Source source = Source::L1;
    Source whence = Source::FillBuffer;  // as Outcome has it
  };
  struct Arrival {
    std::uint64_t complete = 0;
    Source source = Source::L1;
    LineFlags flags = kExclusive;
  };

  struct Core {
    explicit Core(const MemoryParameters& p)
        : l1i(p.l1i),
          l1d(p.l1d),
          l2(p.l2),
          itlb(p.itlb),
          dtlb(p.dtlb),
          stlb(p.stlb),
          dtlb_stores(TlbParameters{.entries_4k = p.dtlb_stores, .ways_4k = p.dtlb_stores, .shared_2m = true}),
          walk_caches{Table(p.pde_cache, p.pde_cache), Table(4, 4), Table(4, 4)},
          walkers(p.page_walkers, 0),
          fills(p.fill_buffers),
          requests(p.superqueue),
          stores(p.store_buffer, p.store_retire_cycles),
          streamer(p.prefetch) {
      if constexpr (Parts::kInlinePath) arrives.resize(l1d.slots(), 0);
    }

    using Table = typename Parts::Table;
    L1i l1i;
    L1 l1d;
    L2 l2;
    TlbType itlb, dtlb, stlb, dtlb_stores;
    // Paging entries by what they map: 2 MiB, 1 GiB, 512 GiB. chosen: 4 entries of the latter two.
    std::array<Table, 3> walk_caches;
    std::vector<std::uint64_t> walkers;  // when each is free
    typename Parts::Pending fills;
    // When the line in each slot of L1D is complete, as `fills` has it, so that nobody has to search there; kAsk:
    // several requests for it are under way.
    std::vector<std::uint64_t> arrives;
    static constexpr std::uint64_t kAsk = ~std::uint64_t{0};
    typename Parts::Pending requests;
    typename Parts::Stores stores;
    NextLinePrefetcher next_line;
    StridePrefetcher strides;
    Streamer streamer;
    struct Whence {
      Line line = kNoLine;
      Source source = Source::FillBuffer;
    };
    std::array<Whence, 64> whence{};    // of lines that were asked for last, by their lowest bits
    Line combining = kNoLine;           // of the last streaming store
    std::uint64_t streaming_until = 0;  // no fill of one is under way from then on
    std::uint64_t dispatched = 0;       // no access from now on is dispatched before that
    std::uint64_t instruction = 0;      // whose access is the newest
    Way to_l2, to_llc, to_memory;
    Line open_row = kNoLine;
  };

  /// `core` does something that may reach beyond itself. As long as only one core ever has, nobody can ask what it
  /// holds, and no directory is kept; it is made when a second one comes.
  void enter(unsigned core) {
    if ((used_ & core_bit(core)) == 0) [[unlikely]]
      enter_first(core);
  }
  /// With this access.
  void enter(unsigned core, const Access& access) {
    enter(core);
    Core& own = *cores_[core];
    own.dispatched = std::min(access.earliest, access.now);
    own.instruction = access.instruction_address();
  }
  [[gnu::noinline]] void enter_first(unsigned core) {
    if (used_ != 0 && !several_) {
      several_ = true;
      const auto first = static_cast<unsigned>(std::countr_zero(used_));
      const auto held = [this](Line line) { directory_.set(line, {used_, true}); };
      if (parameters_.llc_role == LlcRole::Inclusive) {
        llc_.for_each(held);
      } else {
        const Core& own = *cores_[first];
        own.l1d.for_each(held);
        own.l1i.for_each(held);
        own.l2.for_each(held);
      }
    }
    used_ |= core_bit(core);
  }

  void count(unsigned core, CoreSignal event, std::uint64_t n = 1) { (*counts_[core])[event] += n; }

  auto& stores_of(unsigned core) {
    if constexpr (Parts::kInlinePath) {
      return filters_[core].stores;
    } else {
      return cores_[core]->stores;
    }
  }

  // --- what is under way to L1D, and what the inline path may answer for ---

  /// When the line in a slot of L1D is complete; 0 if it is not under way at `now`.
  template <typename Slot>
  static std::uint64_t under_way(const Core& own, Slot slot, Line line, std::uint64_t now) {
    if constexpr (Parts::kInlinePath) {
      const std::uint64_t complete = own.arrives[slot];
      if (complete != Core::kAsk) return complete > now ? complete : 0;
    }
    return own.fills.complete(line, now);
  }
  /// The line in a slot of L1D was asked for.
  template <typename Slot>
  static void add_fill(Core& own, Slot slot, Line line, std::uint64_t complete, Source whence) {
    own.whence[line % own.whence.size()] = {line, whence};
    if constexpr (Parts::kInlinePath) {
      const bool again = own.fills.complete(line, own.dispatched) != 0;
      own.arrives[slot] = again ? Core::kAsk : complete;
    }
    own.fills.add(line, complete, own.dispatched);
  }
  static Source whence_of(const Core& own, Line line) {
    const auto& last = own.whence[line % own.whence.size()];
    return last.line == line ? last.source : Source::FillBuffer;
  }
  /// The same, of the line that was put in last. A request for it from when it was there before was forgotten when it
  /// left; one that fills another buffer than that of a line of L1D is a streaming store's.
  static void add_fill(Core& own, Line line, std::uint64_t complete, Source whence) {
    own.whence[line % own.whence.size()] = {line, whence};
    if constexpr (Parts::kInlinePath) {
      if (own.streaming_until > own.dispatched) [[unlikely]]
        return add_fill(own, own.l1d.newest(), line, complete, whence);
      own.arrives[own.l1d.newest()] = complete;
    }
    own.fills.add(line, complete, own.dispatched);
  }
  /// The line that was in a slot of L1D leaves it.
  template <typename Slot>
  static void forget_fill(Core& own, Slot slot, Line line) {
    if constexpr (Parts::kInlinePath) {
      if (own.arrives[slot] <= own.dispatched) return;  // it is complete for whoever asks from now on
    }
    own.fills.forget(line, own.dispatched);
  }

  [[gnu::always_inline]] std::uint64_t wait_for_fill_buffer(unsigned core, std::uint64_t now) {
    const std::uint64_t start = cores_[core]->fills.free_at(now);
    if (start > now) count(core, CoreSignal::FillBufferFull, start - now);
    return start;
  }

  /// What the inline path may answer for: quick  nothing is awaited of the line that a touch would set off
  template <typename Slot>
  static void remember_line(Core& own, Slot slot, LineFlags flags, bool quick) {
    if constexpr (Parts::kInlinePath) {
      quick = quick && (flags & kPrefetched) == 0;
      own.l1d.set_quick(slot, quick, quick && (flags & kDirty) != 0);
    }
  }
  /// The line of instructions was put in just now, and its page is in the TLB: most are fetched again before they
  /// leave.
  void expect_code(unsigned core, std::uint64_t linear_line) {
    if constexpr (Parts::kInlinePath) {
      if (!second_touch_is_idle(parameters_.l1i.policy.kind)) return;
      L1i& lines = cores_[core]->l1i;
      lines.set_quick(lines.newest(), true, false);
      const MemorySystem::Filter& own = filters_[core];
      const LruTable::Hint* const hint = own.code_tlb.touch(linear_line / kLinesPerPage);
      if (own.code_lines.hot != nullptr && hint != nullptr)
        own.code_lines.make_hot(lines.newest(), linear_line, 0, hint->slot);
    }
  }
  /// It left, or another one came into its set.
  void forget_code(unsigned core, Line line) {
    if constexpr (Parts::kInlinePath) {
      filters_[core].code[line_in_page(line)] = kNone;
      ++filters_[core].code_known;
    }
  }

  // --- LLC, other cores, memory ---

  /// The line is not in this core's L2: from LLC, from another core, or from memory.
  /// fetched: it is of instructions, or of page tables
  Arrival ask_beyond_l2(unsigned core, Line line, std::uint64_t now, bool exclusive, bool fetched) {
    Core& own = *cores_[core];
    const auto set = llc_.set_of(line);
    count(core, CoreSignal::LlcReference);
    std::uint64_t start = own.to_llc.take(now, parameters_.llc_gap_cycles);

    Snooped snooped;
    if (several_) {
      start = contended_.free_at(line, start, longest_queue());
      snooped = snoop(core, line, start, exclusive);
    }

    Arrival arrival{.flags = snooped.shared ? kSharedLine : kExclusive};
    const auto slot = llc_.find(line, set);
    // What lies there is of the units alone, where only they were told.
    const bool hit = !stale_ ? slot != Llc::kNoSlot : fetched || sample_->in_llc(line, own.instruction);
    if (slot != Llc::kNoSlot) llc_.touch(slot);
    if (hit) {
      arrival.source = snooped.asked ? Source::L3SnoopMiss : Source::L3;
      arrival.complete = start + parameters_.llc.load_to_use_cycles;
      // A victim cache gives the line away, and what it knew of memory goes with it.
      if (parameters_.llc_role == LlcRole::Victim && !snooped.shared && slot != Llc::kNoSlot) {
        arrival.flags = arrival.flags | (llc_.flags(slot) & kDirty ? kDirty : kSharedLine);
        llc_.remove(slot);
      }
    }
    if (snooped.found) {
      arrival.source = snooped.dirty ? Source::L3Hitm : Source::L3SnoopHit;
      arrival.complete = snooped.complete;
      if (exclusive && snooped.dirty) arrival.flags = arrival.flags | kDirty;
    } else if (!hit) {
      count(core, CoreSignal::LlcMiss);
      arrival.source = Source::Dram;
      arrival.complete = memory_line(core, line, start);
    }
    if (slot == Llc::kNoSlot && parameters_.llc_role == LlcRole::Inclusive) insert_llc(core, line, set, kSharedLine);
    if (several_) {
      Holders holders = exclusive ? Holders{} : directory_.holders(line);
      holders.sharers |= core_bit(core);
      holders.exclusive = !snooped.shared;
      directory_.set(line, holders);
    }
    return arrival;
  }

  /// Cycles in which each core gets a line that all of them want, with room for a few requests of each.
  std::uint64_t longest_queue() const { return std::uint64_t{4} * cores_.size() * parameters_.hitm_cycles; }

  /// What the other cores had to say.
  struct Snooped {
    bool asked = false;
    bool found = false;   // the data comes from a core
    bool dirty = false;   // which had it modified
    bool shared = false;  // others still hold the line
    std::uint64_t complete = 0;
  };

  Snooped snoop(unsigned core, Line line, std::uint64_t now, bool exclusive) {
    Snooped snooped;
    const Holders before = directory_.holders(line);
    const CoreMask others = before.others(core);
    if (others == 0) return snooped;
    // Shared lines are read without asking anybody where LLC has them.
    if (!exclusive && !before.exclusive && llc_.find(line) != Llc::kNoSlot) {
      snooped.shared = true;
      return snooped;
    }
    snooped.asked = true;
    CoreMask present = 0;
    for (CoreMask left = others; left != 0; left &= left - 1) {
      const auto other = static_cast<unsigned>(std::countr_zero(left));
      if (!holds(other, line)) continue;
      present |= core_bit(other);
      const bool was_dirty = exclusive ? invalidate(other, line) : before.exclusive && downgrade(other, line);
      snooped.dirty = snooped.dirty || was_dirty;
    }
    Holders after = before;
    after.sharers = exclusive ? 0 : present | (before.sharers & core_bit(core));
    after.exclusive = false;
    directory_.set(line, after);
    if (present == 0) return snooped;
    snooped.found = true;
    snooped.shared = !exclusive;
    if (!exclusive && snooped.dirty) write_to_llc(core, line, true);
    const std::uint32_t latency = snooped.dirty ? parameters_.hitm_cycles : parameters_.snoop_hit_cycles;
    if (exclusive) count(core, snooped.dirty ? CoreSignal::RfoHitm : CoreSignal::RfoSnoopHit);
    const bool by_write = exclusive || snooped.dirty;
    snooped.complete = by_write ? contended_.transfer(line, now, latency, {present, before.exclusive}) : now + latency;
    return snooped;
  }

  /// A core that holds a line shared wants to write it. Returns when it may.
  std::uint64_t upgrade(unsigned core, Line line, std::uint64_t now) {
    Core& own = *cores_[core];
    const std::uint64_t start = contended_.free_at(line, now, longest_queue());
    const Snooped snooped = snoop(core, line, start, true);
    directory_.set(line, {core_bit(core), true});
    if (const auto slot = own.l2.find(line); slot != L2::kNoSlot) {
      own.l2.set_flags(slot, own.l2.flags(slot) | kExclusive);
    }
    return snooped.found ? snooped.complete : start + parameters_.llc.load_to_use_cycles;
  }

  /// A line from memory. Lines of the row that was opened last are faster: the latency of a burst, not of an
  /// activation.
  std::uint64_t memory_line(unsigned core, Line line, std::uint64_t now) {
    Core& own = *cores_[core];
    const std::uint64_t start = own.to_memory.take(now, parameters_.dram_gap_cycles);
    constexpr unsigned kRowBits = 7;  // chosen: 8 KiB
    const Line row = line >> kRowBits;
    const bool open = row == own.open_row;
    own.open_row = row;
    return start + (open ? parameters_.dram_cycles * parameters_.dram_row_percent / 100 : parameters_.dram_cycles);
  }

  void write_to_memory(unsigned core) { cores_[core]->to_memory.add(parameters_.dram_gap_cycles); }

  void insert_llc(unsigned core, Line line, typename Llc::Set set, LineFlags flags) {
    const EvictedLine evicted = llc_.insert(line, set, flags);
    if (evicted.line == kNoLine) return;
    bool dirty = (evicted.flags & kDirty) != 0;
    if (parameters_.llc_role == LlcRole::Inclusive) {
      dirty = invalidate_in_cores(evicted.line) || dirty;
      if (several_) directory_.forget(evicted.line);
    }
    if (dirty) write_to_memory(core);
  }

  /// A core's line goes to LLC: a victim, a modified line, or both.
  void write_to_llc(unsigned core, Line line, bool dirty) {
    const LineFlags flags = dirty ? kDirty : kSharedLine;
    const auto set = llc_.set_of(line);
    if (const auto slot = llc_.find(line, set); slot != Llc::kNoSlot) {
      llc_.set_flags(slot, llc_.flags(slot) | flags);
    } else {
      insert_llc(core, line, set, flags);
    }
  }

  // --- a core's own copies ---

  bool holds(unsigned core, Line line) const {
    const Core& own = *cores_[core];
    return own.l1d.find(line) != L1::kNoSlot || own.l2.find(line) != L2::kNoSlot || own.l1i.find(line) != L1i::kNoSlot;
  }

  /// The directory of a victim LLC hears when a core has lost a line; an inclusive one does not, and asks in vain
  /// later.
  void left_silently(unsigned core, Line line) {
    if (several_ && parameters_.llc_role == LlcRole::Victim && !holds(core, line)) directory_.left(line, core);
  }

  /// Returns whether L1D had it modified.
  bool take_from_l1(unsigned core, Line line) {
    Core& own = *cores_[core];
    bool dirty = false;
    if (const auto slot = own.l1d.find(line); slot != L1::kNoSlot) {
      dirty = (own.l1d.flags(slot) & kDirty) != 0;
      own.l1d.remove(slot);
      forget_fill(own, slot, line);
    }
    if (const auto slot = own.l1i.find(line); slot != L1i::kNoSlot) {
      own.l1i.remove(slot);
      forget_code(core, line);
    }
    return dirty;
  }

  /// Takes the line from the core. Returns whether it was modified there.
  bool invalidate(unsigned core, Line line) {
    Core& own = *cores_[core];
    bool dirty = take_from_l1(core, line);
    if (const auto slot = own.l2.find(line); slot != L2::kNoSlot) {
      dirty = dirty || (own.l2.flags(slot) & kDirty) != 0;
      own.l2.remove(slot);
      own.requests.forget(line, own.dispatched);
    }
    return dirty;
  }

  /// The core keeps the line, but to read. Returns whether it was modified there.
  bool downgrade(unsigned core, Line line) {
    Core& own = *cores_[core];
    bool dirty = false;
    if (const auto slot = own.l1d.find(line); slot != L1::kNoSlot) {
      dirty = (own.l1d.flags(slot) & kDirty) != 0;
      const LineFlags left = without(own.l1d.flags(slot), kExclusive | kDirty);
      own.l1d.set_flags(slot, left);
      remember_line(own, slot, left, false);
    }
    if (const auto slot = own.l2.find(line); slot != L2::kNoSlot) {
      dirty = dirty || (own.l2.flags(slot) & kDirty) != 0;
      own.l2.set_flags(slot, without(own.l2.flags(slot), kExclusive | kDirty));
    }
    return dirty;
  }

  /// No core holds the line any more. Returns whether one had it modified.
  bool invalidate_in_cores(Line line) {
    bool dirty = false;
    for (CoreMask left = used_; left != 0; left &= left - 1)
      dirty = invalidate(static_cast<unsigned>(std::countr_zero(left)), line) || dirty;
    return dirty;
  }

  /// No cache holds the line any more; what was modified went to memory.
  void invalidate_everywhere(unsigned core, Line line) {
    bool dirty = invalidate_in_cores(line);
    if (const auto slot = llc_.find(line); slot != Llc::kNoSlot) {
      dirty = dirty || (llc_.flags(slot) & kDirty) != 0;
      llc_.remove(slot);
    }
    if (several_) directory_.forget(line);
    if (dirty) write_to_memory(core);
  }

  MemoryParameters parameters_;
  bool prefetch_;
  bool several_;       // the directory knows what cores hold
  CoreMask used_ = 0;  // cores that have done anything
  bool large_pages_ = false;
  PageMap pages_;
  Llc llc_;
  std::unique_ptr<LastLevelSample> sample_;  // MemoryOptions::sampled
  bool stale_ = false;                       // what LLC holds is not what it would
  Directory directory_;
  ContendedLines contended_;
  std::vector<std::unique_ptr<Core>> cores_;
};

}  // namespace zs::uarch
