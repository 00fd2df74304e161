// What happens when the inline path of MemorySystem does not answer: the walk through TLBs, L1, L2, LLC, other cores
// and memory, with everything that a miss sets off. Internal to uarch.
//
// `Parts` names the structures it is built of: the fast ones (memory_system.cc), or plain ones that tests compare them
// with, access by access. The rules are the same then, and only here.
//
// Time: every access comes with its cycle. A line is in the tags from its request on; fill buffers and superqueue say
// until when it is under way. Bandwidth is a least distance between two lines, per core: queues that cores share are
// not modelled, because cores are told in stretches and a core that is behind would wait for one that is ahead.
//
// It is built in floors, one class on the other: CoherentLevels, PrivateLevels, Paging, and here what an access is made
// of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "uarch/cache/line.h"
#include "uarch/coherence/sharing_log.h"
#include "uarch/memory/memory_system.h"
#include "uarch/memory/paging.h"
#include "uarch/tlb/lru_table.h"

namespace zs::uarch {

template <typename Parts>
class Hierarchy final : public Paging<Parts> {
  using Base = Paging<Parts>;

 public:
  Hierarchy(const MemoryParameters& parameters, const MemoryOptions& options) : Base(parameters, options) {
    if constexpr (Parts::kInlinePath) {
      for (unsigned core = 0; core < options.cores; ++core) show_inline_path(core);
    }
  }

  void software_prefetch(unsigned core, const Access& access, PrefetchHint hint) override {
    enter(core, access);
    count(core, CoreSignal::SoftwarePrefetches);
    if (parameters_.retired.prefetches) {
      count(core, CoreSignal::Loads);
      count(core, CoreSignal::LoadL1Hit);
    }
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
        this->template use_line<Use::PrefetchForWrite>(core, line, access.linear, now);
      } else {
        this->template use_line<Use::Prefetch>(core, line, access.linear, now);
      }
    }
  }

  Outcome streaming_store(unsigned core, const Access& access) override {
    enter(core, access);
    count(core, CoreSignal::StreamingStores);
    Core& own = *cores_[core];
    auto& stores = stores_of(core);
    const std::uint64_t begin = stores.free_at(access.now);
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
    stores.push(buffered(access), begin, std::max(start, access.retires));
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
  bool quiet_hit(unsigned core, std::uint64_t linear, AccessDescriptor look, std::uint64_t since) override {
    if constexpr (!Parts::kInlinePath) {
      return false;
    } else {
      const Side side = look.store() != 0 ? Side::Store : Side::Load;
      if (linear % kLineBytes + look.last() >= kLineBytes || contended_.any(since)) return false;
      Core& own = *cores_[core];
      const Frame* const frame = frame_of(own, linear, side);
      if (frame == nullptr) return false;
      const Line line = line_of(*frame, linear >> kLineBits);
      return pass_quietly(own, own.l1d.find(line), line, linear, side, since);
    }
  }

  bool is_contended(std::uint64_t linear, std::uint64_t now) override {
    if (!several_ || !contended_.any(now) || !pages_.known(linear >> kPageBits)) return false;
    return contended_.find(line_of(pages_.translate(linear >> kPageBits).frame, linear >> kLineBits), now) != nullptr;
  }

  void use_large_pages(std::uint64_t first, std::uint64_t last) override {
    large_pages_ = true;
    pages_.use_large_pages(align_up(first, 1U << kPageBits) >> kPageBits, last >> kPageBits);
  }
  void use_small_pages(std::uint64_t first, std::uint64_t last) override {
    pages_.use_small_pages(first >> kPageBits, align_up(last, 1U << kPageBits) >> kPageBits);
  }

  void accessed(unsigned core, std::uint64_t linear) override {
    if (sample_ == nullptr) return;
    const Frame frame = pages_.translate(linear >> kPageBits).frame;
    sample_->access(core, line_of(frame, linear >> kLineBits));
  }

  void skipped(bool sampled) override {
    if (sample_ == nullptr) return;
    sample_->end_stretch();
    stale_ = sampled;
  }
  std::vector<std::uint64_t> beyond_l2() override {
    return sample_ == nullptr ? std::vector<std::uint64_t>() : sample_->askers().take();
  }

  void unmap(std::uint64_t first, std::uint64_t last) override {
    pages_.unmap(first >> kPageBits, align_up(last, 1U << kPageBits) >> kPageBits);
    for (unsigned core = 0; core < cores_.size(); ++core) {
      Core& own = *cores_[core];
      for (auto* tlb : {&own.itlb, &own.dtlb, &own.stlb}) tlb->clear();
      own.dtlb_stores.clear();
      if constexpr (Parts::kInlinePath) {
        own.l1d.forget_way_hints();
        own.l1i.forget_way_hints();
      }
      filters_[core].forget_code();
    }
  }

 protected:
  Outcome slow_load(unsigned core, const Access& access, LoadKind kind) override {
    return kind == LoadKind::Locked ? load_as<Use::LockedLoad>(core, access) : load_as<Use::Load>(core, access);
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
  using Filter = MemorySystem::Filter;
  using Base::contended_, Base::cores_, Base::count, Base::enter, Base::expect_code, Base::first_tlb, Base::forget_code,
      Base::invalidate_everywhere, Base::large_pages_, Base::left_silently, Base::memory_line, Base::pages_,
      Base::parameters_, Base::prefetch_into_l2, Base::remember_line, Base::request, Base::sample_, Base::several_,
      Base::stale_, Base::translate, Base::under_way, Base::wait_for_fill_buffer, MemorySystem::filters_,
      MemorySystem::forwarding_, MemorySystem::sharing_, CoherentLevels<Parts>::stores_of;
  using typename Base::Arrival, typename Base::Core, typename Base::L1, typename Base::L1i, typename Base::L2,
      typename Base::Request, typename Base::Side, typename Base::Translated, typename Base::Use, typename Base::Used;

  /// What the inline path needs of the core's structures.
  void show_inline_path(unsigned core) {
    Core& own = *cores_[core];
    Filter& filter = filters_[core];
    filter.data_lines = own.l1d.quick_lines();
    filter.way_hints = filter.data_lines.way_hints();
    for (auto* const tlb : {&own.dtlb, &own.dtlb_stores, &own.itlb}) tlb->small_pages().share_stamps(filter.stamp);
    filter.tlbs[0] = QuickPages(own.dtlb.small_pages());
    filter.tlbs[1] = QuickPages(own.dtlb_stores.small_pages());
    filter.code_tlb = QuickPages(own.itlb.small_pages());
    // A second touch is left out of L1I.
    if (second_touch_is_idle(parameters_.l1i.policy.kind)) filter.code_lines = own.l1i.quick_lines();
    filter.hot_code = filter.code_lines.way_hints();
  }

  /// Of the page of an access, in the first-level TLB; null: it is not there.
  const Frame* frame_of(Core& own, std::uint64_t linear, Side side) const {
    return first_tlb(own, side).find(linear >> kPageBits, false);
  }

  /// quiet_hit() of a line that is in that slot of L1D.
  static bool pass_quietly(Core& own, typename L1::Slot slot, Line line, std::uint64_t linear, Side side,
                           std::uint64_t since) {
    if (slot == L1::kNoSlot) return false;
    LineFlags flags = own.l1d.flags(slot);
    const LineFlags allowed = side == Side::Store ? flags & (kPrefetched | kExclusive) : flags & kPrefetched;
    if (allowed != (side == Side::Store ? kExclusive : kSharedLine)) return false;
    if (own.next_line.awaits(linear) || under_way(own, slot, line, since) != 0) return false;
    own.l1d.touch(slot);
    if (side == Side::Store) {
      flags = flags | kDirty;
      own.l1d.set_flags(slot, flags);
    }
    remember_line(own, slot, flags, true);
    return true;
  }

  static BufferedStore buffered(const Access& access) {
    return {access.linear, access.ready, access.bytes, access.place};
  }

  Outcome slow_store(unsigned core, const Access& access) override {
    const Frame* const frame = frame_of(*cores_[core], access.linear, Side::Store);
    enter(core, access);
    count(core, CoreSignal::Stores);
    auto& stores = stores_of(core);
    const std::uint64_t begin = stores.free_at(access.now);
    const Translated translated = translate(core, access.linear >> kPageBits, begin, Side::Store, frame);
    Outcome outcome = use_lines<Use::Store>(core, access, translated, begin + translated.latency);
    outcome.latency += translated.latency;
    outcome.waited = static_cast<std::uint32_t>(begin - access.now);
    stores.push(buffered(access), begin, std::max(begin + outcome.latency, access.retires));
    if (outcome.split) [[unlikely]]
      count(core, CoreSignal::SplitStores);
    if (outcome.tlb == TlbOutcome::Walk) [[unlikely]]
      count(core, CoreSignal::StoreStlbMiss);
    return outcome;
  }

  /// A load, or a locked read-modify-write.
  template <Use kUse>
  [[gnu::always_inline]] Outcome load_as(unsigned core, const Access& access) {
    constexpr bool kLocked = kUse == Use::LockedLoad;
    const Frame* const frame = frame_of(*cores_[core], access.linear, Side::Load);
    enter(core, access);
    count(core, CoreSignal::Loads);
    if (kLocked) {
      count(core, CoreSignal::LockedLoads);
      count(core, CoreSignal::Stores);
    }
    auto& stores = stores_of(core);
    const Translated translated = translate(core, access.linear >> kPageBits, access.now, Side::Load, frame);
    std::uint32_t latency = translated.latency;

    Forwarding forwarding = Forwarding::None;
    if (!kLocked) {
      const Met met = stores.meet(access.linear, access.bytes, access.now, access.place);
      if (met.how != Forwarding::Alias || parameters_.alias_cycles != 0) forwarding = met.how;
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
          if (blocked) stores.hold(access.now + latency);
          return {.latency = latency, .tlb = translated.outcome, .forwarding = forwarding};
        }
      }
    }

    std::uint64_t start = access.now + latency;
    if (kLocked) start = stores.drain(start);
    Outcome outcome = use_lines<kUse>(core, access, translated, start);
    outcome.forwarding = forwarding;
    outcome.latency += static_cast<std::uint32_t>(start - access.now);
    if (kLocked) outcome.latency += parameters_.lock_cycles - parameters_.l1d.load_to_use_cycles;
    if (outcome.split) [[unlikely]] {
      count(core, CoreSignal::SplitLoads);
      if (kLocked) {
        count(core, CoreSignal::SplitStores);
        outcome.latency += parameters_.split_lock_cycles;
      }
    }
    if (outcome.tlb == TlbOutcome::Walk) [[unlikely]]
      count(core, CoreSignal::LoadStlbMiss);
    const bool as_l1 = kLocked && parameters_.retired.locked_as_l1;
    count(core, kLoadFrom[static_cast<std::size_t>(as_l1 ? Source::L1 : outcome.source)]);
    return outcome;
  }

  /// All lines of an access: the one that comes last decides. The latency counts from `start`.
  template <Use kUse>
  [[gnu::always_inline]] Outcome use_lines(unsigned core, const Access& access, const Translated& first,
                                           std::uint64_t start) {
    if (sharing_ != nullptr && several_) [[unlikely]]
      return use_and_note<kUse>(core, access, first, start);
    return use_unnoted<kUse>(core, access, first, start);
  }
  /// The same, and the log hears of it if cores fight over its lines.
  template <Use kUse>
  [[gnu::noinline]] Outcome use_and_note(unsigned core, const Access& access, const Translated& first,
                                         std::uint64_t start) {
    const auto line_at = [this](std::uint64_t linear) {
      return line_of(pages_.translate(linear >> kPageBits).frame, linear >> kLineBits);
    };
    const std::uint64_t last = access.linear + access.bytes - 1;
    const std::uint64_t next = (access.linear | (kLineBytes - 1)) + 1;  // of the line behind the first
    const bool split = next <= last;
    const std::uint64_t before = contended_.transfers(line_of(first.frame, access.linear >> kLineBits));
    const std::uint64_t before_next = split ? contended_.transfers(line_at(next)) : 0;
    const Outcome outcome = use_unnoted<kUse>(core, access, first, start);
    if (!contended_.any(start)) return outcome;
    const auto note = [&](std::uint64_t linear, std::uint64_t bytes, std::uint64_t transfers) {
      const Line line = line_at(linear);
      const Contention* const contention = contended_.find(line, start);
      if (contention == nullptr) return;
      const bool moved = contended_.transfers(line) != transfers;
      const std::uint32_t l1_cycles = parameters_.l1d.load_to_use_cycles;
      const Source source = outcome.source;
      constexpr std::uint8_t kAccess = kUse == Use::Store  ? kWrites
                                       : kUse == Use::Load ? kReads
                                                           : kReads | kWrites | kLocks;
      sharing_->accessed(core, {.linear = linear,
                                .now = access.now,
                                .instruction = access.instruction_address(),
                                .waited = outcome.latency > l1_cycles ? outcome.latency - l1_cycles : 0,
                                .held_up = kUse == Use::Load ? 0 : static_cast<std::uint32_t>(start - access.now),
                                .bytes = static_cast<std::uint8_t>(bytes),
                                .access = kAccess,
                                .fetched = source != Source::L1 && source != Source::FillBuffer,
                                .handed_over = moved,
                                .hitm = kUse != Use::Store && source == Source::L3Hitm && moved,
                                .from = moved ? contention->grace_readers : 0,
                                .owned = moved && contention->grace_writer != 0});
    };
    note(access.linear, std::min(last + 1, next) - access.linear, before);
    if (split) note(next, std::min<std::uint64_t>(last + 1 - next, kLineBytes), before_next);
    return outcome;
  }
  template <Use kUse>
  [[gnu::always_inline]] Outcome use_unnoted(unsigned core, const Access& access, const Translated& first,
                                             std::uint64_t start) {
    const Line line = line_of(first.frame, access.linear >> kLineBits);
    if (access.linear % kLineBytes + access.bytes > kLineBytes) [[unlikely]]
      return use_split<kUse>(core, access, first, start);
    const Used used = this->template use_line<kUse>(core, line, access.linear, start, access.instruction);
    return {.latency = used.latency, .source = used.source, .whence = used.whence, .tlb = first.outcome};
  }
  template <Use kUse>
  [[gnu::noinline]] Outcome use_split(unsigned core, const Access& access, const Translated& first,
                                      std::uint64_t start) {
    Used used = this->template use_line<kUse>(core, line_of(first.frame, access.linear >> kLineBits), access.linear,
                                              start, access.instruction);
    Outcome outcome{.tlb = first.outcome, .split = true};
    const std::uint64_t last = access.linear + access.bytes - 1;
    for (std::uint64_t linear = (access.linear | (kLineBytes - 1)) + 1; linear <= last; linear += kLineBytes) {
      Translated translated{.frame = first.frame};
      if (linear >> kPageBits != access.linear >> kPageBits) {
        translated = translate(core, linear >> kPageBits, start, kUse == Use::Store ? Side::Store : Side::Load);
        outcome.tlb = std::max(outcome.tlb, translated.outcome);
      }
      const Line line = line_of(translated.frame, linear >> kLineBits);
      const Used next =
          this->template use_line<kUse>(core, line, linear, start + translated.latency, access.instruction);
      if (translated.latency + next.latency > used.latency) {
        used = {translated.latency + next.latency, next.source, next.whence};
      }
    }
    outcome.latency = used.latency + parameters_.split_cycles;
    if (kUse != Use::Store && last >> kPageBits != access.linear >> kPageBits)
      outcome.latency += parameters_.page_split_cycles;
    outcome.source = used.source;
    outcome.whence = used.whence;
    return outcome;
  }
};

}  // namespace zs::uarch
