// A core's L1D and L2: hits, misses and what the prefetchers make of them. Internal to uarch; hierarchy.h says what
// `Parts` are.
#pragma once

#include <algorithm>
#include <cstdint>

#include "uarch/cache/line.h"
#include "uarch/memory/coherent_levels.h"
#include "uarch/memory/memory_system.h"

namespace zs::uarch {

template <typename Parts>
class PrivateLevels : public CoherentLevels<Parts> {
 protected:
  using Base = CoherentLevels<Parts>;
  using Base::add_fill, Base::ask_beyond_l2, Base::Base, Base::contended_, Base::cores_, Base::count, Base::directory_,
      Base::forget_fill, Base::is_load, Base::kL2Events, Base::left_silently, Base::parameters_, Base::prefetch_,
      Base::remember_line, Base::request_of, Base::sample_, Base::several_, Base::stale_, Base::take_from_l1,
      Base::under_way, Base::upgrade, Base::wait_for_fill_buffer, Base::whence_of, Base::write_to_llc, Base::writes,
      MemorySystem::kNone;
  using typename Base::Arrival, typename Base::Core, typename Base::HitMiss, typename Base::L1, typename Base::L2,
      typename Base::Request, typename Base::Use, typename Base::Used;

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
          add_fill(own, slot, line, complete, Source::L3SnoopHit);
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
        if (!parameters_.prefetch.streamer_sees_prefetches && prefetch_) follow_stream(core, line, now);
        follow_stride(core, line, linear, now, std::max(complete, now + l1_cycles), instruction);
      }
      if (wants_next && parameters_.prefetch.next_line) prefetch_into_l1(core, line, linear, linear + kLineBytes, now);
      if (complete == 0) return {l1_cycles, Source::L1};
      return {std::max(l1_cycles, static_cast<std::uint32_t>(complete - now)), Source::FillBuffer,
              whence_of(own, line)};
    }

    return miss<kUse>(core, line, linear, now, instruction);
  }

  template <Use kUse>
  [[gnu::noinline]] Used miss(unsigned core, Line line, std::uint64_t linear, std::uint64_t now,
                              std::uint32_t instruction) {
    constexpr Use use = kUse;
    Core& own = *cores_[core];
    if (is_load(use) && fetch_expected(core, line, now, instruction)) [[unlikely]]
      return use_line<kUse>(core, line, linear, now, instruction);
    const std::uint64_t start = wait_for_fill_buffer(core, now);
    const Arrival arrival = request(core, line, start, request_of(use));
    LineFlags flags = without(arrival.flags, kDirty);  // the L2 keeps that
    if (writes(use)) flags = flags | kExclusive | (use == Use::PrefetchForWrite ? kSharedLine : kDirty);
    install(core, line, flags);
    add_fill(own, line, arrival.complete, arrival.source);
    if (is_load(use)) {
      count(core, CoreSignal::FillBufferPending, arrival.complete - start);
      own.next_line.missed(linear);
      follow_stride(core, line, linear, now, arrival.complete, instruction);
    }
    return {static_cast<std::uint32_t>(arrival.complete - now), arrival.source};
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

  /// A load of `linear`, in `line`, missed, or used a prefetched line first; its data comes at `arrives`.
  [[gnu::always_inline]] void follow_stride(unsigned core, Line line, std::uint64_t linear, std::uint64_t now,
                                            std::uint64_t arrives, std::uint32_t instruction) {
    if (!prefetch_ || !parameters_.prefetch.ip_stride) return;
    StridePrefetcher& strides = cores_[core]->strides;
    if (parameters_.prefetch.ip_stride_waits) {
      const std::uint64_t target = strides.missed(instruction, linear);
      if (target != 0) strides.expect(instruction, {line_of_page(line, target), arrives});
    } else {
      strides.run_ahead(instruction, linear, parameters_.prefetch.ip_stride_ahead, [&](std::uint64_t target) {
        if (cores_[core]->fills.full(now)) return false;
        prefetch_line_into_l1(core, line_of_page(line, target), now, 0);
        return true;
      });
    }
  }
  /// A load misses: what its instruction's stride led to was asked for when the load before had its data. It is done
  /// only now, with the time that has passed since then taken off, so that no request comes from the past. Returns
  /// whether it is `line` and on its way.
  [[gnu::always_inline]] bool fetch_expected(unsigned core, Line line, std::uint64_t now, std::uint32_t instruction) {
    if (!prefetch_ || !parameters_.prefetch.ip_stride_waits) return false;
    const StridePrefetcher::Expected expected = cores_[core]->strides.take(instruction, now);
    return expected.line != kNoLine && prefetch_line_into_l1(core, expected.line, now, now - expected.since) &&
           expected.line == line;
  }

  /// linear  what asks, in `line`; `target` is prefetched if it lies in the same page, and a fill buffer is free
  void prefetch_into_l1(unsigned core, Line line, std::uint64_t linear, std::uint64_t target, std::uint64_t now) {
    if (!prefetch_ || target >> kPageBits != linear >> kPageBits) return;
    prefetch_line_into_l1(core, line_of_page(line, target), now, 0);
  }
  static Line line_of_page(Line line, std::uint64_t target) {
    return line - line_in_page(line) + line_in_page(target >> kLineBits);
  }
  /// ago  how long before `now` the line was asked for. Returns whether it is on its way.
  bool prefetch_line_into_l1(unsigned core, Line wanted, std::uint64_t now, std::uint64_t ago) {
    Core& own = *cores_[core];
    if (own.l1d.find(wanted) != L1::kNoSlot || own.fills.full(now) || owned_elsewhere(core, wanted)) return false;
    const Arrival arrival = request(core, wanted, now, Request::Prefetch);
    install(core, wanted, without(arrival.flags, kDirty) | kPrefetched);
    add_fill(own, wanted, std::max(now, arrival.complete - std::min(ago, arrival.complete)), arrival.source);
    return true;
  }

  /// L1 has asked for the line.
  [[gnu::always_inline]] void report_to_sample(unsigned core, Line line) {
    if (LastLevelSample::has(line) && sample_ != nullptr) sample_->access(core, line);
  }

  /// L2 asks for a line, because of the access under way.
  void note_asker(unsigned core) {
    if (sample_ != nullptr) [[unlikely]]
      sample_->askers().note(cores_[core]->instruction);
  }

  /// L2 has not the line, but would have it if it had been told of everything.
  bool is_unseen_in_l2(unsigned core, Line line) {
    return stale_ && sample_->in_l2(core, line, cores_[core]->instruction);
  }

  /// Returns false if there is no room for the request.
  bool prefetch_into_l2(unsigned core, Line line, std::uint64_t now) {
    Core& own = *cores_[core];
    if (own.l2.find(line) != L2::kNoSlot || owned_elsewhere(core, line)) return true;
    if (own.requests.full(now)) return false;
    note_asker(core);
    if (is_unseen_in_l2(core, line)) {
      insert_l2(core, line, kExclusive);
      return true;
    }
    count(core, CoreSignal::L2OwnPrefetchMiss);
    const Arrival arrival = ask_beyond_l2(core, line, now, false, false);
    report_to_sample(core, line);
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
      report_to_sample(core, line);
      own.l2.touch(slot);
      arrival.flags = without(own.l2.flags(slot), kPrefetched);
      own.l2.set_flags(slot, arrival.flags);
      const std::uint64_t start = own.to_l2.take(now, parameters_.l2_gap_cycles);
      arrival.complete = std::max(start + parameters_.l2.load_to_use_cycles, own.requests.complete(line, now));
      if (exclusive && (arrival.flags & kExclusive) == 0) {
        arrival.complete = std::max(arrival.complete, upgrade(core, line, now));
        arrival.flags = arrival.flags | kExclusive;
      }
      prefetch_behind_l2(core, line, now, request, false);
      return arrival;
    }
    const bool fetched = request == Request::Code || request == Request::Walk;
    if (!fetched) note_asker(core);
    if (!fetched && is_unseen_in_l2(core, line)) {
      count(core, events.hit);
      report_to_sample(core, line);
      arrival.complete = own.to_l2.take(now, parameters_.l2_gap_cycles) + parameters_.l2.load_to_use_cycles;
      arrival.flags = kExclusive;
      insert_l2(core, line, arrival.flags);
      return arrival;
    }
    count(core, events.miss);
    const std::uint64_t start = own.requests.free_at(now);
    arrival = ask_beyond_l2(core, line, start, exclusive, fetched);
    report_to_sample(core, line);
    own.requests.add(line, arrival.complete, own.dispatched);
    insert_l2(core, line, arrival.flags);
    prefetch_behind_l2(core, line, now, request, true);
    return arrival;
  }

  /// What an access of L2 sets off.
  [[gnu::always_inline]] void prefetch_behind_l2(unsigned core, Line line, std::uint64_t now, Request request,
                                                 bool missed) {
    if (!prefetch_) return;
    Core& own = *cores_[core];
    const bool demand = request != Request::Prefetch;
    // The other line of a pair only while the way to memory is free: otherwise random stores would halve their own
    // bandwidth.
    if (demand && missed && parameters_.prefetch.adjacent && own.to_memory.queue(now) <= parameters_.dram_gap_cycles) {
      prefetch_into_l2(core, line ^ 1, now);
    }
    if (demand || parameters_.prefetch.streamer_sees_prefetches) follow_stream(core, line, now);
  }
  void follow_stream(unsigned core, Line line, std::uint64_t now) {
    cores_[core]->streamer.access(line, [this, core, now](Line next) { return prefetch_into_l2(core, next, now); });
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
};

}  // namespace zs::uarch
