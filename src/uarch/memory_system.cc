#include "uarch/memory_system.h"

#include <algorithm>

#include "base/check.h"
#include "uarch/cache/cache.h"
#include "uarch/cache/pending_fills.h"
#include "uarch/hierarchy.h"
#include "uarch/replacement/any_policy.h"

namespace zs::uarch {

namespace {

template <ReplacementPolicy L1Policy>
struct FastParts {
  using L1 = Cache<L1Policy>;
  using Outer = Cache<AnyPolicy>;
  using Table = LruTable;
  using Pending = PendingFills;
  using Stores = StoreBuffer;
  static constexpr bool kInlinePath = true;
};

}  // namespace

MemorySystem::Filter::Filter(const MemoryParameters& parameters, unsigned core)
    : InlineCounts{.code_page_mask =
                       std::min<std::uint64_t>(parameters.itlb.entries_4k / parameters.itlb.ways_4k, kLinesPerPage) -
                       1},
      store_tlb(parameters.dtlb_stores != 0 ? 1 : 0),
      code_may_leave(parameters.l2_includes_l1 || parameters.llc_role == LlcRole::Inclusive),
      code_known(std::uint64_t{core} << 56),
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
      store_buffer_(options.store_buffer && inline_path) {
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
  switch (parameters.l1d.policy.kind) {
    case PolicyKind::TreePlru: return std::make_unique<Hierarchy<FastParts<TreePlruPolicy>>>(parameters, options);
    case PolicyKind::ThreePlru4: return std::make_unique<Hierarchy<FastParts<ThreePlru4Policy>>>(parameters, options);
    default: break;  // only a what-if has another one
  }
  return std::make_unique<Hierarchy<FastParts<AnyPolicy>>>(parameters, options);
}

}  // namespace zs::uarch
