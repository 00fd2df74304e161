// What happens when the inline path of MemorySystem does not answer: the walk through TLBs, L1, L2, LLC, other cores and
// memory, with everything that a miss sets off. Internal to uarch.
//
// `Parts` names the structures it is built of: the fast ones (memory_system.cc), or plain ones that tests compare them with,
// access by access. The rules are the same then, and only here.
//
// Time: every access comes with its cycle. A line is in the tags from its request on; fill buffers and superqueue say until when
// it is under way. Bandwidth is a least distance between two lines, per core: queues that cores share are not modelled, because
// cores are told in stretches and a core that is behind would wait for one that is ahead.
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
#include "uarch/memory_system.h"
#include "uarch/prefetch/l1_prefetchers.h"
#include "uarch/prefetch/streamer.h"
#include "uarch/tlb/page_map.h"
#include "uarch/tlb/tlb.h"

namespace zs::uarch {

template <typename Parts>
class Hierarchy final : public MemorySystem {
 public:
  Hierarchy(const MemoryParameters& parameters, const MemoryOptions& options)
      : MemorySystem(parameters, options, Parts::kInlinePath),
        parameters_(parameters),
        prefetch_(options.prefetch),
        buffers_stores_(options.store_buffer),
        several_(options.cores > 1 && options.directory_from_start),
        pages_(options.seed),
        llc_(parameters.llc) {
    for (unsigned core = 0; core < options.cores; ++core) {
      cores_.push_back(std::make_unique<Core>(parameters));
      if constexpr (Parts::kInlinePath) {
        Core& own = *cores_.back();
        Filter& filter = filters_[core];
        filter.data_lines = own.l1d.quick_lines();
        filter.hot_lines = filter.data_lines.hot_lines();
        for (auto* const tlb : {&own.dtlb, &own.dtlb_stores, &own.itlb}) tlb->small_pages().share_stamps(filter.stamp);
        filter.tlbs[0] = QuickPages(own.dtlb.small_pages());
        filter.tlbs[1] = QuickPages(own.dtlb_stores.small_pages());
        filter.code_tlb = QuickPages(own.itlb.small_pages());
        // A second touch is left out of L1I.
        if (second_touch_is_idle(parameters.l1i.policy.kind)) filter.code_lines = own.l1i.quick_lines();
        filter.hot_code = filter.code_lines.hot_lines();
      }
    }
  }

  void software_prefetch(unsigned core, const Access& access, PrefetchHint hint) override {
    enter(core);
    cores_[core]->dispatched = earliest_of(access);
    count(core, CoreSignal::SoftwarePrefetches);
    const std::uint64_t page = access.linear >> kPageBits;
    if (!pages_.known(page)) return;
    const Translated translated = translate(core, page, access.now, Side::Load);
    const Line line = line_of(translated.frame, access.linear >> kLineBits);
    const std::uint64_t now = access.now + translated.latency;
    if (hint == PrefetchHint::T1) {
      prefetch_into_l2(core, line, now);
    } else {
      const bool write = hint == PrefetchHint::W;
      if (write) {
        use_line<Use::PrefetchForWrite>(core, line, access.linear, now);
      } else {
        use_line<Use::Prefetch>(core, line, access.linear, now);
      }
    }
  }

  Outcome streaming_store(unsigned core, const Access& access) override {
    enter(core);
    cores_[core]->dispatched = earliest_of(access);
    count(core, CoreSignal::StreamingStores);
    Core& own = *cores_[core];
    auto& stores = stores_of(core);
    const std::uint64_t begin = buffers_stores_ ? stores.free_at(access.now) : access.now;
    const Translated translated = translate(core, access.linear >> kPageBits, begin, Side::Store);
    const Line line = line_of(translated.frame, access.linear >> kLineBits);
    std::uint64_t start = begin + translated.latency;
    if (line != own.combining) {  // otherwise the buffer that combines is open still
      own.combining = line;
      invalidate_everywhere(core, line);
      start = wait_for_fill_buffer(core, start);
      const std::uint64_t complete = memory_line(core, line, start);
      own.streaming_until = std::max(own.streaming_until, complete);
      own.fills.add(line, complete, own.dispatched);
    }
    // It leaves the store buffer for a fill buffer.
    if (buffers_stores_) stores.push(buffered(access), begin, std::max(start, access.retires));
    return {.latency = static_cast<std::uint32_t>(start - begin) + parameters_.l1d.load_to_use_cycles,
            .waited = static_cast<std::uint32_t>(begin - access.now),
            .source = Source::Dram,
            .tlb = translated.outcome};
  }

  void flush(unsigned core, std::uint64_t linear) override {
    count(core, CoreSignal::FlushedLines);
    if (!pages_.known(linear >> kPageBits)) return;
    invalidate_everywhere(core, line_of(pages_.translate(linear >> kPageBits).frame, linear >> kLineBits));
  }

  bool any_contended(std::uint64_t now) const override { return contended_.any(now); }

  // What is touched here and turns out to lead further is touched again then, which changes no order.
  bool quiet_hit(unsigned core, std::uint64_t linear, Look look, std::uint64_t since) override {
    if constexpr (!Parts::kInlinePath) {
      return false;
    } else {
      const Side side = look.store() != 0 ? Side::Store : Side::Load;
      if (linear % kLineBytes + look.last() >= kLineBytes || contended_.any(since)) return false;
      return pass_quietly(*cores_[core], look_at(*cores_[core], linear, side), linear, side, since);
    }
  }

  std::uint32_t quiet_or_other_load(unsigned core, const Access& access) override {
    return quiet_or_other<Side::Load>(core, access);
  }
  std::uint32_t quiet_or_other_store(unsigned core, const Access& access) override {
    return quiet_or_other<Side::Store>(core, access);
  }

  bool is_contended(std::uint64_t linear, std::uint64_t now) override {
    if (!several_ || !contended_.any(now) || !pages_.known(linear >> kPageBits)) return false;
    return contended_.find(line_of(pages_.translate(linear >> kPageBits).frame, linear >> kLineBits), now) != nullptr;
  }

  void use_large_pages(std::uint64_t first, std::uint64_t last) override {
    large_pages_ = true;
    pages_.use_large_pages(align_up(first, 1U << kPageBits) >> kPageBits, last >> kPageBits);
  }

  void unmap(std::uint64_t first, std::uint64_t last) override {
    pages_.unmap(first >> kPageBits, align_up(last, 1U << kPageBits) >> kPageBits);
    for (unsigned core = 0; core < cores_.size(); ++core) {
      Core& own = *cores_[core];
      for (auto* tlb : {&own.itlb, &own.dtlb, &own.stlb}) tlb->clear();
      own.dtlb_stores.clear();
      if constexpr (Parts::kInlinePath) {
        own.l1d.forget_hot_lines();
        own.l1i.forget_hot_lines();
      }
      filters_[core].forget_code();
    }
  }

 protected:
  Outcome slow_load(unsigned core, const Access& access, LoadKind kind) override {
    const Looked looked = look_at_page(*cores_[core], access.linear, Side::Load);
    return kind == LoadKind::Locked ? load_as<Use::LockedLoad>(core, access, looked)
                                    : load_as<Use::Load>(core, access, looked);
  }

  Outcome slow_store(unsigned core, const Access& access) override {
    return store_as(core, access, look_at_page(*cores_[core], access.linear, Side::Store));
  }

  Outcome slow_fetch(unsigned core, std::uint64_t linear, std::uint64_t now) override {
    enter(core);
    cores_[core]->dispatched = now;
    Core& own = *cores_[core];
    filters_[core].fetched = linear >> kLineBits;
    const Translated translated = translate(core, linear >> kPageBits, now, Side::Fetch);
    const Line line = line_of(translated.frame, linear >> kLineBits);
    Outcome outcome{.latency = translated.latency, .tlb = translated.outcome};
    if (const auto slot = own.l1i.find(line); slot != L1i::kNoSlot) {
      own.l1i.touch(slot);
      count(core, CoreSignal::FetchHit);
      remember_code(core, slot, linear >> kLineBits);
      return outcome;
    }
    count(core, CoreSignal::FetchMiss);
    const std::uint64_t start = now + translated.latency;
    const Arrival arrival = request(core, line, start, Request::Code);
    const EvictedLine evicted = own.l1i.insert(line, kSharedLine);
    forget_code(core, line);
    expect_code(core, linear >> kLineBits);
    if (evicted.line != kNoLine) left_silently(core, evicted.line);
    outcome.latency += static_cast<std::uint32_t>(arrival.complete - start);
    outcome.source = arrival.source;
    return outcome;
  }

 private:
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
  static constexpr CoreSignal kLoadFrom[] = {
      CoreSignal::LoadL1Hit,     CoreSignal::LoadFillBuffer, CoreSignal::LoadL2Hit,  CoreSignal::LoadL3HitNone,
      CoreSignal::LoadL3HitMiss, CoreSignal::LoadL3SnoopHit, CoreSignal::LoadL3Hitm, CoreSignal::LoadDram,
  };

  struct Translated {
    Frame frame = 0;
    std::uint32_t latency = 0;
    TlbOutcome outcome = TlbOutcome::Hit;
  };
  struct Used {
    std::uint32_t latency = 0;
    Source source = Source::L1;
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
    // When the line in each slot of L1D is complete, as `fills` has it, so that nobody has to search there; kAsk: several requests for it
    // are under way.
    std::vector<std::uint64_t> arrives;
    static constexpr std::uint64_t kAsk = ~std::uint64_t{0};
    typename Parts::Pending requests;
    typename Parts::Stores stores;
    NextLinePrefetcher next_line;
    StridePrefetcher strides;
    Streamer streamer;
    Line combining = kNoLine;           // of the last streaming store
    std::uint64_t streaming_until = 0;  // no fill of one is under way from then on
    std::uint64_t dispatched = 0;       // no access from now on is dispatched before that
    Way to_l2, to_llc, to_memory;
    Line open_row = kNoLine;
  };

  /// `core` does something that may reach beyond itself. As long as only one core ever has, nobody can ask what it holds, and no
  /// directory is kept; it is made when a second one comes.
  void enter(unsigned core) {
    if ((used_ & core_bit(core)) == 0) [[unlikely]]
      enter_first(core);
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

  static std::uint64_t earliest_of(const Access& access) { return std::min(access.earliest, access.now); }

  void count(unsigned core, CoreSignal event, std::uint64_t n = 1) { (*counts_[core])[event] += n; }

  auto& stores_of(unsigned core) {
    if constexpr (Parts::kInlinePath) {
      return filters_[core].stores;
    } else {
      return cores_[core]->stores;
    }
  }

  /// What was found of an access before anything else happened.
  struct Looked {
    const Frame* frame = nullptr;          // of its page, in the first-level TLB; null: not there
    bool knows_slot = false;               // it is one line for which no other core contends, and then:
    typename L1::Slot slot = L1::kNoSlot;  // where it is in L1D
    Line line = kNoLine;
  };
  Looked look_at_page(Core& own, std::uint64_t linear, Side side) const {
    return {.frame = first_tlb(own, side).find(linear >> kPageBits, false)};
  }
  /// Of an access of one line for which no other core contends.
  [[gnu::always_inline]] Looked look_at(Core& own, std::uint64_t linear, Side side) const {
    Looked looked = look_at_page(own, linear, side);
    if (looked.frame == nullptr) return looked;
    looked.knows_slot = true;
    looked.line = line_of(*looked.frame, linear >> kLineBits);
    looked.slot = own.l1d.find(looked.line);
    return looked;
  }

  /// quiet_hit(), of an access that was looked at.
  [[gnu::always_inline]] static bool pass_quietly(Core& own, const Looked& looked, std::uint64_t linear, Side side,
                                                  std::uint64_t since) {
    if (looked.slot == L1::kNoSlot) return false;
    LineFlags flags = own.l1d.flags(looked.slot);
    const LineFlags allowed = side == Side::Store ? flags & (kPrefetched | kExclusive) : flags & kPrefetched;
    if (allowed != (side == Side::Store ? kExclusive : kSharedLine)) return false;
    if (own.next_line.awaits(linear) || under_way(own, looked.slot, looked.line, since) != 0) return false;
    own.l1d.touch(looked.slot);
    if (side == Side::Store) {
      flags = flags | kDirty;
      own.l1d.set_flags(looked.slot, flags);
    }
    remember_line(own, looked.slot, flags, true);
    return true;
  }

  /// An access of a quick line, which is hot then.
  [[gnu::always_inline]] bool passes_at_once(unsigned core, const Looked& looked, std::uint64_t linear, Side side) {
    if constexpr (!Parts::kInlinePath) {
      return false;
    } else {
      const Filter& filter = filters_[core];
      const unsigned store = side == Side::Store ? 1 : 0;
      if (looked.slot == L1::kNoSlot || !filter.data_lines.is_quick(looked.slot, store)) return false;
      const std::uint32_t page = filter.tlbs[store & filter.store_tlb].slot_of(linear >> kPageBits);
      filter.data_lines.touch(looked.slot, linear >> kLineBits, store, page);
      return true;
    }
  }

  template <Side kSide>
  [[gnu::always_inline]] std::uint32_t quiet_or_other(unsigned core, const Access& access) {
    Core& own = *cores_[core];
    Looked looked;
    const bool one_line = access.linear % kLineBytes + access.bytes <= kLineBytes;
    if (Parts::kInlinePath && one_line) {
      looked = look_at(own, access.linear, kSide);
      if (passes_at_once(core, looked, access.linear, kSide)) return 0;
      if (contended_.any(access.earliest)) {
        looked = {.frame = looked.frame};
      } else if (pass_quietly(own, looked, access.linear, kSide, access.earliest)) {
        passes_at_once(core, looked, access.linear, kSide);  // it is hot from now on
        return 0;
      }
    } else {
      looked = look_at_page(own, access.linear, kSide);
    }
    if constexpr (kSide == Side::Store) {
      return store_as(core, access, looked).latency;
    } else {
      return load_as<Use::Load>(core, access, looked).latency;
    }
  }

  static BufferedStore buffered(const Access& access) {
    return {access.linear, access.ready, access.bytes, access.place};
  }

  [[gnu::always_inline]] Outcome store_as(unsigned core, const Access& access, const Looked& looked) {
    enter(core);
    cores_[core]->dispatched = earliest_of(access);
    count(core, CoreSignal::Stores);
    auto& stores = stores_of(core);
    const std::uint64_t begin = buffers_stores_ ? stores.free_at(access.now) : access.now;
    const Translated translated = translate(core, access.linear >> kPageBits, begin, Side::Store, looked.frame);
    Outcome outcome = use_lines<Use::Store>(core, access, translated, begin + translated.latency, looked);
    outcome.latency += translated.latency;
    if (buffers_stores_) {
      outcome.waited = static_cast<std::uint32_t>(begin - access.now);
      stores.push(buffered(access), begin, std::max(begin + outcome.latency, access.retires));
    }
    if (outcome.split) [[unlikely]]
      count(core, CoreSignal::SplitStores);
    if (outcome.tlb == TlbOutcome::Walk) [[unlikely]]
      count(core, CoreSignal::StoreStlbMiss);
    return outcome;
  }

  /// A load, or a locked read-modify-write.
  template <Use kUse>
  [[gnu::always_inline]] Outcome load_as(unsigned core, const Access& access, const Looked& looked) {
    constexpr bool kLocked = kUse == Use::LockedLoad;
    enter(core);
    cores_[core]->dispatched = earliest_of(access);
    count(core, CoreSignal::Loads);
    if (kLocked) {
      count(core, CoreSignal::LockedLoads);
      count(core, CoreSignal::Stores);
    }
    auto& stores = stores_of(core);
    const Translated translated = translate(core, access.linear >> kPageBits, access.now, Side::Load, looked.frame);
    std::uint32_t latency = translated.latency;

    Forwarding forwarding = Forwarding::None;
    if (!kLocked && buffers_stores_) {
      const Met met = stores.meet(access.linear, access.bytes, access.now, access.place);
      forwarding = met.how;
      switch (forwarding) {
        case Forwarding::None: break;
        case Forwarding::Alias:
          count(core, CoreSignal::AddressAlias);
          latency += parameters_.alias_cycles;
          break;
        case Forwarding::Forwarded:
        case Forwarding::Blocked: {
          const bool blocked = forwarding == Forwarding::Blocked;
          count(core, blocked ? CoreSignal::ForwardBlocked : CoreSignal::ForwardedLoads);
          count(core, CoreSignal::LoadL1Hit);
          if (translated.outcome == TlbOutcome::Walk) count(core, CoreSignal::LoadStlbMiss);
          latency = forwarding_.latency_of(met, access.now, latency);
          return {.latency = latency, .tlb = translated.outcome, .forwarding = forwarding};
        }
      }
    }

    std::uint64_t start = access.now + latency;
    if (kLocked && buffers_stores_) start = stores.drain(start);
    Outcome outcome = use_lines<kUse>(core, access, translated, start, looked);
    outcome.forwarding = forwarding;
    outcome.latency += static_cast<std::uint32_t>(start - access.now);
    if (kLocked) outcome.latency += parameters_.lock_cycles - parameters_.l1d.load_to_use_cycles;
    if (outcome.split) [[unlikely]]
      count(core, CoreSignal::SplitLoads);
    if (outcome.tlb == TlbOutcome::Walk) [[unlikely]]
      count(core, CoreSignal::LoadStlbMiss);
    const bool as_l1 = kLocked && parameters_.locked_loads_count_as_l1;
    count(core, kLoadFrom[static_cast<std::size_t>(as_l1 ? Source::L1 : outcome.source)]);
    return outcome;
  }

  // --- translation ---

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
      const std::uint32_t cycles = walk(core, page, now + result.latency, mapped.large);
      count(core, events.walk);
      count(core, events.cycles, cycles);
      count(core, mapped.large ? CoreSignal::WalkCompleted2M : CoreSignal::WalkCompleted4K);
      if (side == Side::Load) count(core, mapped.large ? CoreSignal::DtlbLoadWalk2M : CoreSignal::DtlbLoadWalk4K);
      result.latency += cycles;
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

  /// Reads the paging entries that no cache of them holds, one after the other. Returns cycles.
  /// source: paging-structure caches, SDM vol. 3A, "Caching Translation Information"; 2 cycles beside the reads are chosen.
  std::uint32_t walk(unsigned core, std::uint64_t page, std::uint64_t now, bool large) {
    Core& own = *cores_[core];
    const auto walker = std::ranges::min_element(own.walkers);
    const std::uint64_t start = std::max(now, *walker);
    std::uint64_t at = start + 2;
    // walk_caches[i] skips the read of the entries above level i.
    const unsigned last = large ? 1 : 0;
    unsigned level = last;
    while (level < 3 && own.walk_caches[level].find(page >> kLargePageShift * (level + 1)) == nullptr) ++level;
    for (;; --level) {
      const Line line = pages_.entry_line(page, static_cast<TableLevel>(level));
      at += use_line<Use::Walk>(core, line, kNone, at).latency;
      if (level == last) break;
      own.walk_caches[level - 1].insert(page >> kLargePageShift * level, 0);
    }
    *walker = at;
    return static_cast<std::uint32_t>(at - now);
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

  // --- L1D ---

  /// All lines of an access: the one that comes last decides. The latency counts from `start`.
  template <Use kUse>
  [[gnu::always_inline]] Outcome use_lines(unsigned core, const Access& access, const Translated& first,
                                           std::uint64_t start, const Looked& looked) {
    if (looked.knows_slot) {
      const Used used =
          use_slot<kUse>(core, looked.slot, nullptr, looked.line, access.linear, start, access.instruction);
      return {.latency = used.latency, .source = used.source, .tlb = first.outcome};
    }
    const Line line = line_of(first.frame, access.linear >> kLineBits);
    if (access.linear % kLineBytes + access.bytes > kLineBytes) [[unlikely]]
      return use_split<kUse>(core, access, first, start);
    const Used used = use_line<kUse>(core, line, access.linear, start, access.instruction);
    return {.latency = used.latency, .source = used.source, .tlb = first.outcome};
  }
  template <Use kUse>
  [[gnu::noinline]] Outcome use_split(unsigned core, const Access& access, const Translated& first,
                                      std::uint64_t start) {
    Used used = use_line<kUse>(core, line_of(first.frame, access.linear >> kLineBits), access.linear, start,
                               access.instruction);
    Outcome outcome{.tlb = first.outcome, .split = true};
    const std::uint64_t last = access.linear + access.bytes - 1;
    for (std::uint64_t linear = (access.linear | (kLineBytes - 1)) + 1; linear <= last; linear += kLineBytes) {
      Translated translated{.frame = first.frame};
      if (linear >> kPageBits != access.linear >> kPageBits) {
        translated = translate(core, linear >> kPageBits, start, kUse == Use::Store ? Side::Store : Side::Load);
        outcome.tlb = std::max(outcome.tlb, translated.outcome);
      }
      const Line line = line_of(translated.frame, linear >> kLineBits);
      const Used next = use_line<kUse>(core, line, linear, start + translated.latency, access.instruction);
      if (translated.latency + next.latency > used.latency) {
        used = {translated.latency + next.latency, next.source};
      }
    }
    outcome.latency = used.latency + parameters_.split_cycles;
    outcome.source = used.source;
    return outcome;
  }

  /// One line through L1D. linear: kNone for page walks, which have none.
  template <Use kUse>
  [[gnu::always_inline]] Used use_line(unsigned core, Line line, std::uint64_t linear, std::uint64_t now,
                                       std::uint32_t instruction = 0) {
    constexpr Use use = kUse;
    const std::uint32_t l1_cycles = parameters_.l1d.load_to_use_cycles;
    const Contention* const contention = several_ ? contended_.find(line, now) : nullptr;
    if (contention != nullptr && now < contention->grace_until) {
      const CoreMask allowed = writes(use) ? contention->grace_writer : contention->grace_readers;
      if ((allowed & core_bit(core)) != 0) return {l1_cycles, Source::L1};
    }
    return use_slot<kUse>(core, cores_[core]->l1d.find(line), contention, line, linear, now, instruction);
  }
  /// The same, where it is known where the line is in L1D. contention: of the line; null: none
  template <Use kUse>
  [[gnu::always_inline]] Used use_slot(unsigned core, typename L1::Slot slot, const Contention* contention, Line line,
                                       std::uint64_t linear, std::uint64_t now, std::uint32_t instruction) {
    constexpr Use use = kUse;
    Core& own = *cores_[core];
    const std::uint32_t l1_cycles = parameters_.l1d.load_to_use_cycles;
    if (slot != L1::kNoSlot) {
      own.l1d.touch(slot);
      LineFlags flags = own.l1d.flags(slot);
      const bool first_use = (flags & kPrefetched) != 0 && use != Use::Walk;
      std::uint64_t complete = under_way(own, slot, line, now);
      if (writes(use)) {
        if ((flags & kExclusive) == 0) {
          count(core, CoreSignal::L2RfoHit);
          complete = std::max(complete, upgrade(core, line, wait_for_fill_buffer(core, now)));
          own.fills.forget(line, own.dispatched);
          add_fill(own, slot, line, complete);
        }
        flags = flags | kExclusive | (use == Use::PrefetchForWrite ? kSharedLine : kDirty);
      }
      if (first_use) flags = without(flags, kPrefetched);
      own.l1d.set_flags(slot, flags);
      // Later accesses may be dispatched before this one, which has waited for its translation, gets here.
      const bool settled = complete == 0 && under_way(own, slot, line, own.dispatched) == 0;
      remember_line(own, slot, flags, settled && contention == nullptr && !first_use);
      const bool wants_next = use != Use::Walk && own.next_line.hit(linear);
      if (first_use && is_load(use)) {
        own.next_line.missed(linear);
        prefetch_stride(core, line, linear, now, instruction);
      }
      if (wants_next && parameters_.prefetch.next_line) prefetch_into_l1(core, line, linear, linear + kLineBytes, now);
      if (complete == 0) return {l1_cycles, Source::L1};
      return {std::max(l1_cycles, static_cast<std::uint32_t>(complete - now)), Source::FillBuffer};
    }

    return miss<kUse>(core, line, linear, now, instruction);
  }

  template <Use kUse>
  [[gnu::noinline]] Used miss(unsigned core, Line line, std::uint64_t linear, std::uint64_t now,
                              std::uint32_t instruction) {
    constexpr Use use = kUse;
    Core& own = *cores_[core];
    own.l2.expect(own.l2.set_of(line));
    const std::uint64_t start = wait_for_fill_buffer(core, now);
    const Arrival arrival = request(core, line, start, request_of(use));
    LineFlags flags = without(arrival.flags, kDirty);  // the L2 keeps that
    if (writes(use)) flags = flags | kExclusive | (use == Use::PrefetchForWrite ? kSharedLine : kDirty);
    install(core, line, flags);
    add_fill(own, line, arrival.complete);
    if (is_load(use)) {
      count(core, CoreSignal::FillBufferPending, arrival.complete - start);
      own.next_line.missed(linear);
      prefetch_stride(core, line, linear, now, instruction);
    }
    return {static_cast<std::uint32_t>(arrival.complete - now), arrival.source};
  }

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
  static void add_fill(Core& own, Slot slot, Line line, std::uint64_t complete) {
    if constexpr (Parts::kInlinePath) {
      const bool again = own.fills.complete(line, own.dispatched) != 0;
      own.arrives[slot] = again ? Core::kAsk : complete;
    }
    own.fills.add(line, complete, own.dispatched);
  }
  /// The same, of the line that was put in last. A request for it from when it was there before was forgotten when it left; one that fills
  /// another buffer than that of a line of L1D is a streaming store's.
  static void add_fill(Core& own, Line line, std::uint64_t complete) {
    if constexpr (Parts::kInlinePath) {
      if (own.streaming_until > own.dispatched) [[unlikely]]
        return add_fill(own, own.l1d.newest(), line, complete);
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
  /// The line of instructions was touched: it is the newest of its set.
  template <typename Slot>
  void remember_code(unsigned core, Slot slot, std::uint64_t linear_line) {
    if constexpr (Parts::kInlinePath) {
      if (!second_touch_is_idle(parameters_.l1i.policy.kind)) return;
      cores_[core]->l1i.set_quick(slot, true, false);
      filters_[core].code[line_in_page(linear_line)] = linear_line;
      ++filters_[core].code_known;
    }
  }
  /// It was put in just now, and its page is in the TLB: most are fetched again before they leave.
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

  /// Puts a line into L1D; what it throws out goes to L2 if it is modified.
  [[gnu::always_inline]] void install(unsigned core, Line line, LineFlags flags) {
    Core& own = *cores_[core];
    count(core, CoreSignal::L1dReplacement);
    const EvictedLine evicted = own.l1d.insert(line, flags);
    if (evicted.line == kNoLine) return;
    if constexpr (Parts::kInlinePath) {
      forget_fill(own, own.l1d.newest(), evicted.line);
    } else {
      forget_fill(own, 0, evicted.line);
    }
    if ((evicted.flags & kDirty) == 0) {
      left_silently(core, evicted.line);
      return;
    }
    count(core, CoreSignal::L1dModifiedEvicted);
    own.to_l2.add(parameters_.l2_gap_cycles);
    if (const auto slot = own.l2.find(evicted.line); slot != L2::kNoSlot) {
      own.l2.set_flags(slot, without(evicted.flags, kPrefetched));
    } else {
      insert_l2(core, evicted.line, without(evicted.flags, kPrefetched));
    }
  }

  // --- prefetch ---

  [[gnu::always_inline]] void prefetch_stride(unsigned core, Line line, std::uint64_t linear, std::uint64_t now,
                                              std::uint32_t instruction) {
    if (!prefetch_ || !parameters_.prefetch.ip_stride) return;
    const std::uint64_t target = cores_[core]->strides.missed(instruction, linear);
    if (target != 0) prefetch_into_l1(core, line, linear, target, now);
  }

  /// linear  what asks, in `line`; `target` is prefetched if it lies in the same page, and a fill buffer is free
  void prefetch_into_l1(unsigned core, Line line, std::uint64_t linear, std::uint64_t target, std::uint64_t now) {
    Core& own = *cores_[core];
    if (!prefetch_ || target >> kPageBits != linear >> kPageBits) return;
    const Line wanted = line - line_in_page(line) + line_in_page(target >> kLineBits);
    if (own.l1d.find(wanted) != L1::kNoSlot || own.fills.full(now) || owned_elsewhere(core, wanted)) return;
    const Arrival arrival = request(core, wanted, now, Request::Prefetch);
    install(core, wanted, without(arrival.flags, kDirty) | kPrefetched);
    add_fill(own, wanted, arrival.complete);
  }

  /// Returns false if there is no room for the request.
  bool prefetch_into_l2(unsigned core, Line line, std::uint64_t now) {
    Core& own = *cores_[core];
    if (own.l2.find(line) != L2::kNoSlot || owned_elsewhere(core, line)) return true;
    if (own.requests.full(now)) return false;
    expect_beyond_l2(own, line);
    count(core, CoreSignal::L2OwnPrefetchMiss);
    const Arrival arrival = beyond_l2(core, line, now, false);
    own.requests.add(line, arrival.complete, own.dispatched);
    insert_l2(core, line, arrival.flags | kPrefetched);
    return true;
  }

  /// chosen: a prefetch takes no line from a core that may write it.
  bool owned_elsewhere(unsigned core, Line line) const {
    if (!several_) return false;
    const Holders holders = directory_.holders(line);
    return holders.exclusive && holders.others(core) != 0;
  }

  // --- L2 ---

  /// L1D or L1I asks L2.
  [[gnu::always_inline]] Arrival request(unsigned core, Line line, std::uint64_t now, Request request) {
    Core& own = *cores_[core];
    const HitMiss& events = kL2Events[static_cast<std::size_t>(request)];
    const bool exclusive = request == Request::Rfo;
    Arrival arrival{.source = Source::L2};
    if (const auto slot = own.l2.find(line); slot != L2::kNoSlot) {
      count(core, events.hit);
      own.l2.touch(slot);
      arrival.flags = without(own.l2.flags(slot), kPrefetched);
      own.l2.set_flags(slot, arrival.flags);
      const std::uint64_t start = own.to_l2.take(now, parameters_.l2_gap_cycles);
      arrival.complete = std::max(start + parameters_.l2.load_to_use_cycles, own.requests.complete(line, now));
      if (exclusive && (arrival.flags & kExclusive) == 0) {
        arrival.complete = std::max(arrival.complete, upgrade(core, line, now));
        arrival.flags = arrival.flags | kExclusive;
      }
      prefetch_behind_l2(core, line, now, false);
      return arrival;
    }
    expect_beyond_l2(own, line);
    count(core, events.miss);
    const std::uint64_t start = own.requests.free_at(now);
    arrival = beyond_l2(core, line, start, exclusive);
    own.requests.add(line, arrival.complete, own.dispatched);
    insert_l2(core, line, arrival.flags);
    prefetch_behind_l2(core, line, now, request != Request::Prefetch);
    return arrival;
  }

  /// What an access of L2 sets off.
  [[gnu::always_inline]] void prefetch_behind_l2(unsigned core, Line line, std::uint64_t now, bool demand_miss) {
    if (!prefetch_) return;
    Core& own = *cores_[core];
    // The other line of a pair only while the way to memory is free: otherwise random stores would halve their own bandwidth.
    if (demand_miss && parameters_.prefetch.adjacent && own.to_memory.queue(now) <= parameters_.dram_gap_cycles) {
      prefetch_into_l2(core, line ^ 1, now);
    }
    own.streamer.access(line, [this, core, now](Line next) { return prefetch_into_l2(core, next, now); });
  }

  /// The line will come into L2; what it throws out may go to LLC.
  [[gnu::always_inline]] void expect_beyond_l2(const Core& own, Line line) const {
    llc_.expect(llc_.set_of(own.l2.victim(own.l2.set_of(line))));
  }

  void insert_l2(unsigned core, Line line, LineFlags flags) {
    Core& own = *cores_[core];
    count(core, CoreSignal::L2LinesIn);
    EvictedLine evicted = own.l2.insert(line, flags);
    if (evicted.line == kNoLine) return;
    own.requests.forget(evicted.line, own.dispatched);
    if (parameters_.l2_includes_l1) {
      if (take_from_l1(core, evicted.line)) evicted.flags = evicted.flags | kDirty;
    }
    const bool dirty = (evicted.flags & kDirty) != 0;
    const bool victim = parameters_.llc_role == LlcRole::Victim;
    count(core, dirty || victim ? CoreSignal::L2LinesOutNonSilent : CoreSignal::L2LinesOutSilent);
    if (dirty || victim) own.to_llc.add(parameters_.llc_gap_cycles);
    if (victim || dirty) write_to_llc(core, evicted.line, dirty);
    if (victim) left_silently(core, evicted.line);
  }

  // --- LLC, other cores, memory ---

  /// The line is not in this core's L2: from LLC, from another core, or from memory.
  Arrival beyond_l2(unsigned core, Line line, std::uint64_t now, bool exclusive) {
    Core& own = *cores_[core];
    const auto set = llc_.set_of(line);
    llc_.expect(set);
    count(core, CoreSignal::LlcReference);
    std::uint64_t start = own.to_llc.take(now, parameters_.llc_gap_cycles);

    Snooped snooped;
    if (several_) {
      if (const Contention* contention = contended_.find(line, start)) start = std::max(start, contention->busy_until);
      snooped = snoop(core, line, start, exclusive);
    }

    Arrival arrival{.flags = snooped.shared ? kSharedLine : kExclusive};
    const auto slot = llc_.find(line, set);
    const bool hit = slot != Llc::kNoSlot;
    if (hit) {
      llc_.touch(slot);
      arrival.source = snooped.asked ? Source::L3SnoopMiss : Source::L3;
      arrival.complete = start + parameters_.llc.load_to_use_cycles;
      // A victim cache gives the line away, and what it knew of memory goes with it.
      if (parameters_.llc_role == LlcRole::Victim && !snooped.shared) {
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
    if (!hit && parameters_.llc_role == LlcRole::Inclusive) insert_llc(core, line, set, kSharedLine);
    if (several_) {
      Holders holders = exclusive ? Holders{} : directory_.holders(line);
      holders.sharers |= core_bit(core);
      holders.exclusive = !snooped.shared;
      directory_.set(line, holders);
    }
    return arrival;
  }

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
    std::uint64_t start = now;
    if (const Contention* contention = contended_.find(line, now)) start = std::max(start, contention->busy_until);
    const Snooped snooped = snoop(core, line, start, true);
    directory_.set(line, {core_bit(core), true});
    if (const auto slot = own.l2.find(line); slot != L2::kNoSlot) {
      own.l2.set_flags(slot, own.l2.flags(slot) | kExclusive);
    }
    return snooped.found ? snooped.complete : start + parameters_.llc.load_to_use_cycles;
  }

  /// A line from memory. Lines of the row that was opened last are faster: the latency of a burst, not of an activation.
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

  /// The directory of a victim LLC hears when a core has lost a line; an inclusive one does not, and asks in vain later.
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
  bool buffers_stores_;
  bool several_;       // the directory knows what cores hold
  CoreMask used_ = 0;  // cores that have done anything
  bool large_pages_ = false;
  PageMap pages_;
  Llc llc_;
  Directory directory_;
  ContendedLines contended_;
  std::vector<std::unique_ptr<Core>> cores_;
};

}  // namespace zs::uarch
