#include "machine/last_level_cache.h"

#include <utility>

#include "arch/retired.h"
#include "base/units.h"
#include "uarch/cache/cache.h"
#include "uarch/replacement/lru.h"

namespace zs::machine {
namespace {

using arch::CoreSignal;
using uarch::Line;

constexpr uarch::CacheParameters kFront{.bytes = 256_KiB, .ways = 8}, kLast{.bytes = 2_MiB, .ways = 16};

Line line_of(std::uint64_t physical) { return static_cast<Line>(physical >> uarch::kLineBits); }

}  // namespace

struct LastLevelCache::Levels {
  using Cache = uarch::Cache<uarch::LruPolicy>;
  Cache front{kFront}, last{kLast};
};

LastLevelCache::LastLevelCache() = default;
LastLevelCache::~LastLevelCache() = default;

bool LastLevelCache::counts(const arch::EventMeaning& event) {
  return arch::depends_on(event, CoreSignal::LlcReference) || arch::depends_on(event, CoreSignal::LlcMiss);
}

void LastLevelCache::access(std::uint64_t physical) {
  if (levels_ == nullptr) levels_ = std::make_unique<Levels>();
  using Cache = Levels::Cache;
  Cache &front = levels_->front, &last = levels_->last;
  const Line line = line_of(physical), pair = line ^ 1;
  if (const Cache::Slot slot = front.find(line); slot != Cache::kNoSlot) {
    front.touch(slot);
    return;
  }
  ++signals_[CoreSignal::LlcReference];
  const auto bring = [](Cache& cache, Line wanted) {
    if (const Cache::Slot slot = cache.find(wanted); slot != Cache::kNoSlot) {
      cache.touch(slot);
      return true;
    }
    (void)cache.insert(wanted, uarch::kSharedLine);
    return false;
  };
  if (!bring(last, line)) {
    ++signals_[CoreSignal::LlcMiss];
    bring(last, pair);
  }
  bring(front, line);
  if (last.find(pair) != Cache::kNoSlot) bring(front, pair);
}

void LastLevelCache::flush_line(std::uint64_t physical) {
  if (levels_ == nullptr) return;
  for (Levels::Cache* const cache : {&levels_->front, &levels_->last}) {
    if (const auto slot = cache->find(line_of(physical)); slot != Levels::Cache::kNoSlot) cache->remove(slot);
  }
}

void LastLevelCache::flush_all() { levels_.reset(); }

arch::CoreSignals LastLevelCache::take_signals() { return std::exchange(signals_, {}); }

}  // namespace zs::machine
