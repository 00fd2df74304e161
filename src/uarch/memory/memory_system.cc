#include "uarch/memory/memory_system.h"

#include <algorithm>

#include "base/check.h"
#include "uarch/cache/cache.h"
#include "uarch/cache/pending_fills.h"
#include "uarch/memory/hierarchy.h"
#include "uarch/replacement/any_policy.h"

namespace zs::uarch {

namespace {

/// Nearly all accesses go to the first level, so there the policies' code is in the cache's.
template <ReplacementPolicy L1iPolicy, ReplacementPolicy L1Policy>
struct FastParts {
  using L1i = Cache<L1iPolicy>;
  using L1 = Cache<L1Policy>;
  using L2 = Cache<AnyPolicy>;
  using Llc = Cache<AnyPolicy>;
  using Table = LruTable;
  using Pending = PendingFills;
  using Stores = StoreBuffer;
  static constexpr bool kInlinePath = true;
};

template <typename... FirstLevel>
std::unique_ptr<MemorySystem> make_of(const MemoryParameters& parameters, const MemoryOptions& options) {
  return std::make_unique<Hierarchy<FastParts<FirstLevel...>>>(parameters, options);
}

}  // namespace

MemorySystem::Filter::Filter(const MemoryParameters& parameters, unsigned core)
    : InlineCounts{.code_page_mask =
                       std::min<std::uint64_t>(parameters.itlb.entries_4k / parameters.itlb.ways_4k, kLinesPerPage) - 1,
                   .code_known = std::uint64_t{core} << 56},
      store_tlb(parameters.dtlb_stores != 0 ? 1 : 0),
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

MemorySystem::MemorySystem(const MemoryParameters& parameters, const MemoryOptions& options)
    : own_counts_(options.cores),
      l1_cycles_(parameters.l1d.load_to_use_cycles),
      forwarding_(parameters),
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
  const PolicyKind l1d = parameters.l1d.policy.kind;
  if (parameters.l1i.policy.kind == PolicyKind::TreePlru) {
    if (l1d == PolicyKind::TreePlru) return make_of<TreePlruPolicy, TreePlruPolicy>(parameters, options);
    if (l1d == PolicyKind::ThreePlru4) return make_of<TreePlruPolicy, ThreePlru4Policy>(parameters, options);
  }
  return make_of<AnyPolicy, AnyPolicy>(parameters, options);  // only a what-if has others
}

}  // namespace zs::uarch
