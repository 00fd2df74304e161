// The memory side of all modelled cores: caches, TLBs, prefetchers, store buffers, coherence. Whoever knows a program's
// accesses (a batch of the engine's trace) tells them one by one, in program order per core, and gets for each where
// the data was, what the translation cost and when it arrives.
//
// Order between cores: accesses may be told core by core in stretches as long as no contended line is among them;
// before an access to one (is_contended) the caller goes on with the core whose clock is lowest. Clocks are the
// caller's: `now` never runs back on a core.
//
// The path for a hit is inline: it touches the page in the TLB and the line in L1D, where that line is *quick*: nothing
// but the touch would happen. It stops being so when it leaves, stops being writable or modified (for stores), or
// something is awaited of it.
// For instructions it is shorter: the line that was touched last in each set of L1I, the page in each set of the TLB. A
// second touch of either changes no replacement state, so leaving it out is not an approximation.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <vector>

#include "arch/core_signals.h"
#include "uarch/cache/cache.h"
#include "uarch/memory_parameters.h"
#include "uarch/store_buffer/store_buffer.h"
#include "uarch/tlb/lru_table.h"

namespace zs::uarch {

using arch::CoreSignal;
using arch::CoreSignals;

class SharingLog;

/// Where a load's data really was; see CoreSignal for the retired-load events.
enum class Source : std::uint8_t {
  L1,
  FillBuffer,   // on its way to L1D when the load came
  L2,           // also: on its way to L2, by prefetch
  L3,           // no other core asked
  L3SnoopMiss,  // asked, found nothing
  L3SnoopHit,   // another core had it clean
  L3Hitm,       // another core had it modified
  Dram,
};

/// What counts a retired load once, in the order of Source.
inline constexpr CoreSignal kLoadFrom[] = {
    CoreSignal::LoadL1Hit,     CoreSignal::LoadFillBuffer, CoreSignal::LoadL2Hit,  CoreSignal::LoadL3HitNone,
    CoreSignal::LoadL3HitMiss, CoreSignal::LoadL3SnoopHit, CoreSignal::LoadL3Hitm, CoreSignal::LoadDram,
};
static_assert(std::size(kLoadFrom) == static_cast<std::size_t>(Source::Dram) + 1);

enum class TlbOutcome : std::uint8_t { Hit, StlbHit, Walk };

struct Access {
  std::uint64_t linear = 0;       // address
  std::uint64_t now = 0;          // core cycle of its dispatch, when its address is known
  std::uint32_t bytes = 0;        // 1 or more
  std::uint32_t instruction = 0;  // a number of the instruction, the same at every execution
  // Program order is not the order of dispatch: an older load may wait for its address.
  std::uint64_t earliest = ~std::uint64_t{0};  // no later access of this core is dispatched before that, or `now`
  std::uint64_t retires = 0;                   // of a store: everything older is complete before that
  std::uint64_t ready = 0;                     // of a store: its data is known
  std::uint16_t place = 0;                     // how its address is written, as InstructionShape has it
  std::uint16_t instruction_high =
      0;  // bits 32 to 47 of its instruction's address, of which `instruction` has the lower

  std::uint64_t instruction_address() const { return std::uint64_t{instruction_high} << 32 | instruction; }
};

/// What a store that hits tells the store buffer, as Access has it.
struct StoreFacts {
  std::uint64_t now = 0, retires = 0, ready = 0;
  std::uint16_t place = 0;
};

struct Outcome {
  std::uint32_t latency = 0;  // cycles from dispatch to the data; of a store, until its line is writable in L1D
  std::uint32_t waited =
      0;  // of a store: cycles that it waited for an entry of the store buffer, not part of `latency`
  Source source = Source::L1;
  Source whence = Source::FillBuffer;  // where a line of a fill buffer comes from; FillBuffer: nobody knows any more
  TlbOutcome tlb = TlbOutcome::Hit;
  Forwarding forwarding = Forwarding::None;
  bool split = false;  // crossed a line

  /// Of a load: how often it takes a load port once more, for its other line, and where it is tried again.
  std::uint32_t begun_again() const { return (split ? 2U : 1U) * (forwarding == Forwarding::Alias ? 2U : 1U) - 1U; }
  bool operator==(const Outcome&) const = default;
};
static_assert(sizeof(Outcome) <= 16);  // two registers

enum class LoadKind : std::uint8_t {
  Plain,
  Locked,  // a locked read-modify-write: takes the line for writing
};

enum class PrefetchHint : std::uint8_t { T0, T1, Nta, W };  // T1: also T2; W: PREFETCHW

struct MemoryOptions {
  unsigned cores = 1;
  std::uint64_t seed = 1;  // of the frames' order
  bool prefetch = true;    // the hardware prefetchers
  // Only units of the program are told of, and of what lies between some lines (arch::LineSample).
  bool sampled = false;
  // Keeps what cores do to lines that they fight over; null: nobody does. It must outlive the memory system.
  SharingLog* sharing = nullptr;
  // true: also while only one core has done anything, when nobody can tell; for tests.
  bool directory_from_start = false;
};

/// A plain load or store of one to kLineBytes bytes that is looked at together with others.
class AccessDescriptor {
 public:
  constexpr AccessDescriptor() = default;
  constexpr AccessDescriptor(std::uint32_t bytes, bool store)
      : bits_(static_cast<std::uint8_t>((bytes - 1) | (store ? 0x80 : 0))) {}

  constexpr std::uint32_t bytes() const { return last() + 1; }
  constexpr std::uint32_t last() const { return bits_ & 0x3FU; }  // of its bytes, from 0
  constexpr unsigned store() const { return bits_ >> 7; }

 private:
  std::uint8_t bits_ = 0;
};

class MemorySystem {
 public:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  /// parameters  consistent (inconsistency() is null)
  static std::unique_ptr<MemorySystem> make(const MemoryParameters& parameters, const MemoryOptions& options);

  virtual ~MemorySystem() = default;
  MemorySystem(const MemorySystem&) = delete;
  MemorySystem& operator=(const MemorySystem&) = delete;

  Outcome load(unsigned core, const Access& access) {
    const std::uint32_t cycles = plain_load(core, access.linear, access.bytes, access.now);
    if (cycles != 0) return {.latency = cycles};
    const Outcome forwarded = forwarded_load(core, access.linear, access.bytes, access.now, access.place);
    return forwarded.latency != 0 ? forwarded : slow_load(core, access, LoadKind::Plain);
  }
  /// The load, if the inline path answers for it whenever it is dispatched. Returns its cycles; 0: nothing happened
  /// yet, and plain_load() is to be asked.
  std::uint32_t timeless_load(unsigned core, std::uint64_t linear, std::uint32_t bytes) {
    Filter& filter = filters_[core];
    if (filter.stores.may_ever_meet(linear, bytes)) return 0;
    if (!filter.hits(linear, bytes, 0)) return 0;
    ++filter.loads;
    return l1_cycles_;
  }
  /// The load, if the inline path answers for it: an L1 hit without further ado. Returns its cycles; 0: nothing
  /// happened yet, and other_load() is to be asked.
  std::uint32_t plain_load(unsigned core, std::uint64_t linear, std::uint32_t bytes, std::uint64_t now) {
    Filter& filter = filters_[core];
    if (filter.stores.may_meet(linear, bytes, now)) return 0;
    if (!filter.hits(linear, bytes, 0)) return 0;
    ++filter.loads;
    return l1_cycles_;
  }
  /// The load, if a store forwards to it and the TLB has its page; latency 0: nothing happened yet.
  Outcome forwarded_load(unsigned core, std::uint64_t linear, std::uint32_t bytes, std::uint64_t now,
                         std::uint16_t place) {
    Filter& filter = filters_[core];
    if (!filter.stores.may_meet(linear, bytes, now)) return {};
    const Met met = filter.stores.meet(linear, bytes, now, place);
    if (met.how != Forwarding::Forwarded || filter.tlbs[0].touch(linear >> kPageBits) == nullptr) return {};
    ++filter.loads;
    ++(*counts_[core])[CoreSignal::ForwardedLoads];
    return {.latency = forwarding_.latency_of(met, now, 0), .forwarding = Forwarding::Forwarded};
  }
  /// The same for quiet hits, behind plain_load() or plain_store(). since: as quiet_hit() has it
  std::uint32_t quiet_load(unsigned core, std::uint64_t linear, std::uint32_t bytes, std::uint64_t now,
                           std::uint64_t since) {
    Filter& own = filters_[core];
    if (bytes == 0 || bytes > kLineBytes || own.stores.may_meet(linear, bytes, now) ||
        !quiet_hit(core, linear, AccessDescriptor(bytes, false), since))
      return 0;
    ++own.loads;
    return l1_cycles_;
  }
  /// The load, if it is a plain or a quiet hit whenever it is dispatched from cycle `since` on, 1 to kLineBytes bytes.
  /// It is not counted.
  bool early_load(unsigned core, std::uint64_t linear, std::uint32_t bytes, std::uint64_t since) {
    Filter& own = filters_[core];
    return !own.stores.may_meet_from(linear, bytes, since) &&
           (own.hits(linear, bytes, 0) || quiet_hit(core, linear, AccessDescriptor(bytes, false), since));
  }
  bool quiet_store(unsigned core, std::uint64_t linear, std::uint32_t bytes, const StoreFacts& facts,
                   std::uint64_t since, std::uint32_t& waited) {
    if (bytes == 0 || bytes > kLineBytes || !quiet_hit(core, linear, AccessDescriptor(bytes, true), since))
      return false;
    pass_store(filters_[core], linear, bytes, facts, waited);
    return true;
  }
  Outcome other_load(unsigned core, const Access& access) { return slow_load(core, access, LoadKind::Plain); }

  Outcome store(unsigned core, const Access& access) {
    std::uint32_t waited = 0;
    if (plain_store(core, access.linear, access.bytes, {access.now, access.retires, access.ready, access.place},
                    waited)) {
      return {.latency = l1_cycles_, .waited = waited};
    }
    return slow_store(core, access);
  }
  /// The store, if the inline path answers for it. waited: as Outcome has it; false: nothing happened yet, and
  /// other_store() is to be asked.
  bool plain_store(unsigned core, std::uint64_t linear, std::uint32_t bytes, const StoreFacts& facts,
                   std::uint32_t& waited) {
    Filter& filter = filters_[core];
    if (!filter.hits(linear, bytes, 1)) return false;
    pass_store(filter, linear, bytes, facts, waited);
    return true;
  }
  /// A store that Filter::hits() has answered for, and that is counted. Returns Outcome::waited.
  std::uint32_t pass_plain_store(unsigned core, std::uint64_t linear, std::uint32_t bytes, const StoreFacts& facts) {
    return pass_to_buffer(filters_[core].stores, linear, bytes, facts);
  }
  Outcome other_store(unsigned core, const Access& access) { return slow_store(core, access); }

  /// A locked read-modify-write, load and store in one: it waits until the store buffer is empty and leaves nothing in
  /// it.
  Outcome locked(unsigned core, const Access& access) { return slow_load(core, access, LoadKind::Locked); }

  /// Instructions of the line of `linear` are fetched; latency: how long the front end waits, 0 for a hit. Sequential
  /// fetches from one line are one.
  Outcome fetch(unsigned core, std::uint64_t linear, std::uint64_t now) {
    Filter& filter = filters_[core];
    const std::uint64_t line = linear >> kLineBits;
    if (filter.fetched == line) return {};
    if (filter.is_newest(line)) {
      filter.fetched = line;
      ++filter.fetches;
      return {};
    }
    if (filter.fetch_hits(line)) return {};
    return slow_fetch(core, linear, now);
  }

  /// An access that is not plain but yet hits L1D and the TLB and sets nothing off, if it does; that is not counted.
  /// since  no access from now on is dispatched before that cycle
  virtual bool quiet_hit(unsigned core, std::uint64_t linear, AccessDescriptor look, std::uint64_t since) = 0;

  /// PREFETCHh. It never walks pages that the program has not touched and never waits for a fill buffer.
  virtual void software_prefetch(unsigned core, const Access& access, PrefetchHint hint) = 0;
  /// MOVNT*: past the caches, into a fill buffer that combines writes to one line.
  virtual Outcome streaming_store(unsigned core, const Access& access) = 0;
  /// CLFLUSH, CLFLUSHOPT.
  virtual void flush(unsigned core, std::uint64_t linear) = 0;

  /// Whether cores fight over the line at `linear`: the caller lets the core with the lowest clock go first.
  virtual bool is_contended(std::uint64_t linear, std::uint64_t now) = 0;
  /// MemoryOptions::sharing.
  SharingLog* sharing() const { return sharing_; }
  /// Whether any line is.
  virtual bool any_contended(std::uint64_t now) const = 0;

  /// Pages of [first, last) that are touched for the first time from now on lie in 2 MiB pages.
  virtual void use_large_pages(std::uint64_t first, std::uint64_t last) = 0;
  /// Not any more.
  virtual void use_small_pages(std::uint64_t first, std::uint64_t last) = 0;
  /// With MemoryOptions::sampled. The core accessed this, of the lines of arch::LineSample, while nothing else is told.
  virtual void accessed(unsigned core, std::uint64_t linear) = 0;
  /// A stretch is over in which that was all. sampled: and if there was none, that is so
  virtual void skipped(bool sampled) = 0;
  /// arch::CoreFeed::beyond_l2(), of all cores.
  virtual std::vector<std::uint64_t> beyond_l2() = 0;

  /// [first, last) is unmapped or remapped: translations go on every core.
  virtual void unmap(std::uint64_t first, std::uint64_t last) = 0;

  /// Of a core's inline path, what code of its own counts with. Lines are linear.
  struct InlineCounts {
    std::uint64_t fetched = kNone;                      // the line fetched last of all
    std::uint64_t loads = 0, written = 0, fetches = 0;  // that went this way and are not counted yet
    // By place in its page: the line of instructions fetched last; by set of the TLB, the page.
    std::array<std::uint64_t, kLinesPerPage> code, code_pages;
    std::uint64_t code_page_mask;  // sets of that TLB - 1, at most 63
    std::uint64_t code_known;      // changes whenever an entry of `code` or `code_pages` does; no two cores' are equal
    std::uint64_t stamp = 0;       // the newest of the core's first-level TLBs
  };

  /// What a core's inline path needs, together. Lines and pages are linear.
  struct Filter : InlineCounts {
    /// Whether it answers for the fetch of each of `count` lines. Nothing happens yet.
    /// known  the caller's, of these lines: when that was last so; ~0 at first
    bool are_plain(std::uint64_t first, std::uint8_t count, std::uint64_t& known) const {
      if (known == code_known) return true;
      for (std::uint64_t line = first; line != first + count; ++line) {
        if (!is_newest(line)) return false;
      }
      known = code_known;
      return true;
    }
    /// Fetches for which are_plain() happen.
    void pass(std::uint64_t first, std::uint8_t count) {
      fetches += count - (fetched == first ? 1U : 0U);
      fetched = first + count - 1;
    }
    /// Whether the line of instructions is the newest of its set of L1I, and its page of its set of the TLB.
    bool is_newest(std::uint64_t line) const {
      const std::uint64_t page = line / kLinesPerPage;
      return code[line % kLinesPerPage] == line && code_pages[page & code_page_mask] == page;
    }
    /// Fetches the line if that hits L1I and the TLB.
    bool fetch_hits(std::uint64_t line) {
      if (!touch_code(line)) return false;
      fetched = line;
      ++fetches;
      return true;
    }
    /// The same, but that it is not counted and nobody knows that it is the line fetched last.
    bool touch_code(std::uint64_t line) {
      const std::uint64_t page = line / kLinesPerPage;
      const WayHint& hot = hot_code[line % WayHints::kEntries];
      const bool is_hot = hot.line[0] == line;
      const LruTable::Hint* const hint = is_hot ? nullptr : code_tlb.touch(page);
      if (!is_hot && hint == nullptr) return false;
      code_pages[page & code_page_mask] = page;
      ++code_known;
      if (is_hot) {
        code_tlb.touch_slot(hot.page[0]);
        hot.touch();
      } else if (!code_lines.hit(line_of(hint->frame, line), line, 0, hint->slot)) {
        return false;
      }
      code[line % kLinesPerPage] = line;
      return true;
    }
    /// Touches what a load or store hits, if it does so quietly: nothing else is to be done but to count it. Otherwise
    /// nothing has happened that the access will not do again. store: 0 or 1
    [[gnu::always_inline]] bool hits(std::uint64_t linear, std::uint32_t bytes, unsigned store) const {
      const WayHint& hot = way_hints[(linear >> kLineBits) % WayHints::kEntries];
      // An access of two lines is not that of a line which has its place in the table.
      if (hot.line[store] != (linear + bytes - 1) >> kLineBits) return hits_tags(linear, bytes, store);
      tlbs[store & store_tlb].touch_slot(hot.page[store]);
      hot.touch();
      return true;
    }
    /// The same for lines that are not hot, which makes them so.
    [[gnu::noinline]] bool hits_tags(std::uint64_t linear, std::uint32_t bytes, unsigned store) const {
      if (linear % kLineBytes + bytes > kLineBytes) return false;
      const LruTable::Hint* const hint = tlbs[store & store_tlb].touch(linear >> kPageBits);
      return hint != nullptr &&
             data_lines.hit(line_of(hint->frame, linear >> kLineBits), linear >> kLineBits, store, hint->slot);
    }
    /// Counts accesses that were plain, or quiet hits.
    void count(std::uint64_t hit_loads, std::uint64_t hit_stores) {
      loads += hit_loads;
      written += hit_stores;
    }

    QuickLines data_lines = QuickLines::none(), code_lines = QuickLines::none();
    const WayHint* way_hints = WayHints::none();
    const WayHint* hot_code = WayHints::none();  // of instructions
    QuickPages tlbs[2];                          // of loads; of stores where they have one of their own
    QuickPages code_tlb;                         // small pages of instructions
    unsigned store_tlb;                          // which of `tlbs` stores use: 0 or 1
    StoreBuffer stores;

    Filter(const MemoryParameters& parameters, unsigned core);
    void forget_code();
  };

  Filter& filter(unsigned core) { return filters_[core]; }

  unsigned cores() const { return static_cast<unsigned>(filters_.size()); }
  /// Everything that `core` has counted since it began, or since it counts elsewhere.
  const CoreSignals& counts(unsigned core);
  /// From now on `core` adds what it counts to `signals`, which are up to date whenever counts(core) was asked for.
  /// null: to its own again.
  void count_into(unsigned core, CoreSignals* signals);

 protected:
  MemorySystem(const MemoryParameters& parameters, const MemoryOptions& options);

  /// What a load takes that meets a store and is no alias.
  struct ForwardingTimes {
    std::uint32_t l1, forward, blocked;
    bool renames, alike_only;

    explicit ForwardingTimes(const MemoryParameters& p)
        : l1(p.l1d.load_to_use_cycles),
          forward(p.forward_cycles),
          blocked(p.forward_cycles + p.blocked_forward_cycles),
          renames(p.renames_memory),
          alike_only(p.renames_alike_only) {}
    /// translation  cycles that its page took
    std::uint32_t latency_of(const Met& met, std::uint64_t now, std::uint32_t translation) const {
      const std::uint32_t wait =
          met.ready > now + translation ? static_cast<std::uint32_t>(met.ready - now) : translation;
      if (renames && (alike_only ? met.alike : met.same_bytes)) return std::max(wait, l1);
      return wait + (met.how == Forwarding::Blocked ? blocked : forward);
    }
  };

  /// A store that hits.
  void pass_store(Filter& own, std::uint64_t linear, std::uint32_t bytes, const StoreFacts& facts,
                  std::uint32_t& waited) const {
    ++own.written;
    waited = pass_to_buffer(own.stores, linear, bytes, facts);
  }
  std::uint32_t pass_to_buffer(StoreBuffer& stores, std::uint64_t linear, std::uint32_t bytes,
                               const StoreFacts& facts) const {
    const std::uint64_t start = stores.free_at(facts.now);
    stores.push({linear, facts.ready, bytes, facts.place}, start, std::max(start + l1_cycles_, facts.retires));
    return static_cast<std::uint32_t>(start - facts.now);
  }

  virtual Outcome slow_load(unsigned core, const Access& access, LoadKind kind) = 0;
  virtual Outcome slow_store(unsigned core, const Access& access) = 0;
  virtual Outcome slow_fetch(unsigned core, std::uint64_t linear, std::uint64_t now) = 0;

  std::vector<Filter> filters_;
  std::vector<CoreSignals> own_counts_;  // of cores that do not count elsewhere
  std::vector<CoreSignals*> counts_;
  std::uint32_t l1_cycles_;
  ForwardingTimes forwarding_;
  SharingLog* sharing_;
};

}  // namespace zs::uarch
