#include "uarch/memory/memory_system.h"

#include <algorithm>

#include "base/check.h"
#include "uarch/cache/cache.h"
#include "uarch/cache/pending_fills.h"
#include "uarch/memory/hierarchy.h"
#include "uarch/replacement/any_policy.h"

namespace zs::uarch {

namespace {

template <ReplacementPolicy L1iPolicy, ReplacementPolicy L1Policy, ReplacementPolicy L2Policy,
          ReplacementPolicy LlcPolicy>
struct FastParts {
  using L1i = Cache<L1iPolicy>;
  using L1 = Cache<L1Policy>;
  using L2 = Cache<L2Policy>;
  using Llc = Cache<LlcPolicy>;
  using Table = LruTable;
  using Pending = PendingFills;
  using Stores = StoreBuffer;
  static constexpr bool kInlinePath = true;
};

/// A memory system whose caches have their policies' code in them.
struct Made {
  PolicyKind l1d, l2, llc;  // with trees in L1I
  std::unique_ptr<MemorySystem> (*make)(const MemoryParameters& parameters, const MemoryOptions& options);
};

template <typename Parts>
std::unique_ptr<MemorySystem> make_of(const MemoryParameters& parameters, const MemoryOptions& options) {
  return std::make_unique<Hierarchy<Parts>>(parameters, options);
}

using Tree = TreePlruPolicy;
using enum PolicyKind;
constexpr Made kMade[] = {
    {TreePlru, TreePlru, BitPlru, make_of<FastParts<Tree, Tree, Tree, BitPlruPolicy>>},  // westmere
    {TreePlru, TreePlru, Qlru, make_of<FastParts<Tree, Tree, Tree, QlruPolicy>>},        // haswell
    {TreePlru, Qlru, Qlru, make_of<FastParts<Tree, Tree, QlruPolicy, QlruPolicy>>},      // skylake-server
    {ThreePlru4, Qlru, Qlru, make_of<FastParts<Tree, ThreePlru4Policy, QlruPolicy, QlruPolicy>>},
    {TreePlru, TreePlru, Srrip, make_of<FastParts<Tree, Tree, Tree, SrripPolicy>>},  // zen4
};

}  // namespace

MemorySystem::Filter::Filter(const MemoryParameters& parameters, unsigned core)
    : InlineCounts{.code_page_mask =
                       std::min<std::uint64_t>(parameters.itlb.entries_4k / parameters.itlb.ways_4k, kLinesPerPage) - 1,
                   .code_known = std::uint64_t{core} << 56},
      store_tlb(parameters.dtlb_stores != 0 ? 1 : 0),
      code_may_leave(parameters.l2_includes_l1 || parameters.llc_role == LlcRole::Inclusive),
      stores(parameters.store_buffer, parameters.store_retire_cycles) {
  static LruTable nothing(0, 0);
  tlbs[0] = tlbs[1] = code_tlb = QuickPages(nothing);
  forget_code();
}

void MemorySystem::Filter::forget_code() {
  code.fill(kNone);
  code_pages.fill(kNone);
  fetched = kNone;
  ++code_known;
}

MemorySystem::MemorySystem(const MemoryParameters& parameters, const MemoryOptions& options, bool inline_path)
    : own_counts_(options.cores),
      l1_cycles_(parameters.l1d.load_to_use_cycles),
      forwarding_(parameters),
      store_buffer_(options.store_buffer && inline_path),
      sharing_(options.sharing) {
  CHECK(inconsistency(parameters) == nullptr);
  CHECK(options.cores >= 1 && options.cores <= kMaxCores, options.cores);
  for (unsigned core = 0; core < options.cores; ++core) filters_.emplace_back(parameters, core);
  for (CoreSignals& signals : own_counts_) counts_.push_back(&signals);
}

const CoreSignals& MemorySystem::counts(unsigned core) {
  Filter& filter = filters_[core];
  CoreSignals& counts = *counts_[core];
  counts[CoreSignal::Loads] += filter.loads;
  counts[CoreSignal::LoadL1Hit] += filter.loads;
  counts[CoreSignal::Stores] += filter.written;
  counts[CoreSignal::FetchHit] += filter.fetches;
  filter.loads = filter.written = filter.fetches = 0;
  return counts;
}

void MemorySystem::count_into(unsigned core, CoreSignals* signals) {
  counts(core);
  counts_[core] = signals != nullptr ? signals : &own_counts_[core];
}

std::unique_ptr<MemorySystem> MemorySystem::make(const MemoryParameters& parameters, const MemoryOptions& options) {
  for (const Made& made : kMade) {
    if (parameters.l1i.policy.kind == TreePlru && parameters.l1d.policy.kind == made.l1d &&
        parameters.l2.policy.kind == made.l2 && parameters.llc.policy.kind == made.llc) {
      return made.make(parameters, options);
    }
  }
  // Only a what-if has others.
  return make_of<FastParts<AnyPolicy, AnyPolicy, AnyPolicy, AnyPolicy>>(parameters, options);
}

}  // namespace zs::uarch
