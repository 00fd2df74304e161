#include "uarch/memory_events.h"

#include <iterator>

#include "base/check.h"

namespace zs::uarch {

namespace {

constexpr std::string_view kNames[] = {
    "loads",
    "load-l1-hit",
    "load-fill-buffer",
    "load-l2-hit",
    "load-l3-hit-none",
    "load-l3-hit-miss",
    "load-l3-snoop-hit",
    "load-l3-hitm",
    "load-dram",
    "locked-loads",
    "split-loads",
    "load-stlb-miss",
    "stores",
    "split-stores",
    "store-stlb-miss",
    "streaming-stores",
    "software-prefetches",
    "flushed-lines",
    "l1d-replacement",
    "l1d-modified-evicted",
    "fill-buffer-pending",
    "fill-buffer-full",
    "l2-demand-read-hit",
    "l2-demand-read-miss",
    "l2-rfo-hit",
    "l2-rfo-miss",
    "l2-code-hit",
    "l2-code-miss",
    "l2-prefetch-hit",
    "l2-prefetch-miss",
    "l2-walk-hit",
    "l2-walk-miss",
    "l2-lines-in",
    "l2-lines-out-silent",
    "l2-lines-out-non-silent",
    "llc-reference",
    "llc-miss",
    "rfo-snoop-hit",
    "rfo-hitm",
    "dtlb-load-stlb-hit",
    "dtlb-load-walk",
    "dtlb-load-walk-cycles",
    "dtlb-store-stlb-hit",
    "dtlb-store-walk",
    "dtlb-store-walk-cycles",
    "itlb-stlb-hit",
    "itlb-walk",
    "itlb-walk-cycles",
    "walk-completed-4k",
    "walk-completed-2m",
    "fetch-hit",
    "fetch-miss",
    "forwarded-loads",
    "forward-blocked",
    "address-alias",
};
static_assert(std::size(kNames) == kMemoryEvents);

}  // namespace

std::string_view memory_event_name(MemoryEvent event) {
  const auto row = static_cast<std::size_t>(event);
  CHECK(row < kMemoryEvents, row);
  return kNames[row];
}

}  // namespace zs::uarch
