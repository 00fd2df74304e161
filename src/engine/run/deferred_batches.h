// What a thread did that is not counted yet, because its core has not played it (DeferredTrace).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "arch/core_feed.h"
#include "arch/core_signals.h"
#include "arch/retired.h"

namespace zs::engine {

/// One instruction of a path, as far as a counter asks.
struct DeferredInsn {
  std::uint64_t pc = 0;
  arch::InsnFacts facts;
  bool taken = false;
  std::uint8_t data_bytes = 0, store_bytes = 0;  // arch::Retired
};

struct DeferredPath {
  std::vector<DeferredInsn> insns;
  std::vector<std::uint32_t> counts;  // what they bring, by accumulator
  std::uint64_t next = 0;             // where it goes on; 0: an indirect branch says it
};

/// Paths that ran one behind the other, or an instruction that ran alone.
struct DeferredBatch {
  struct Step {
    arch::Retired retired;  // but for what the model says of it
    arch::RegisterFile after;
  };
  std::shared_ptr<const void> keeps;  // what `paths` points to
  std::vector<const DeferredPath*> paths;
  std::uint64_t next = 0;  // where the thread went on behind them
  std::optional<Step> step;

  std::size_t runs() const { return step ? 1 : paths.size(); }
};

/// Of one thread, oldest first.
struct DeferredBatches {
  std::deque<DeferredBatch> batches;
  std::deque<arch::CoreSignals> ends;         // of its core, behind each batch that it has played
  std::deque<arch::WatchedOutcome> outcomes;  // of what it has played
  std::uint64_t runs = 0;                     // in front of the first batch, as WatchedOutcome::run counts them
  arch::CoreSignals before;                   // of its core, behind what was counted last
};

}  // namespace zs::engine
