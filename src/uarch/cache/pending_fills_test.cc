// Lines under way against a plain list of them.
#include "uarch/cache/pending_fills.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "uarch/chance.h"
#include "uarch/reference/plain_parts.h"

namespace zs::uarch {
namespace {

/// Requests of program order, some of which have waited; few lines, so that some are asked for twice.
/// latency  of most; dispatched  cycles between two
void expect_alike(std::uint32_t entries, std::uint64_t latency, std::uint64_t dispatched, int count,
                  std::uint64_t seed) {
  PendingFills fills(entries);
  PlainPending plain(entries);
  Random random(seed);
  std::uint64_t earliest = 0;
  for (int i = 0; i < count; ++i) {
    earliest += random.below(dispatched + 1);
    const std::uint64_t now = earliest + random.below(latency);
    const auto line = static_cast<Line>(random.below(2 * entries + 2) * 4096);
    ASSERT_EQ(fills.complete(line, now), plain.complete(line, now)) << i;
    ASSERT_EQ(fills.full(now), plain.full(now)) << i;
    const std::uint64_t start = fills.free_at(now);
    ASSERT_EQ(start, plain.free_at(now)) << i;
    if (random.below(8) == 0) {
      fills.forget(line, earliest);
      plain.forget(line, earliest);
    } else {
      const std::uint64_t complete = start + 1 + random.below(4) * latency / 2;
      fills.add(line, complete, earliest);
      plain.add(line, complete, earliest);
      const auto other = static_cast<Line>(random.below(2 * entries + 2) * 4096);
      ASSERT_EQ(fills.complete(other, earliest), plain.complete(other, earliest)) << i;
    }
  }
}

TEST(PendingFills, AreThoseOfAPlainList) {
  for (const std::uint32_t entries : {1U, 10U, 12U, 48U})
    expect_alike(entries, 300, 2 * 300 / entries, 20'000, entries);
}

TEST(PendingFills, AreStillWhenManyMoreWaitThanThereIsRoomFor) {
  for (const std::uint32_t entries : {1U, 10U}) expect_alike(entries, 40, 0, 300, entries);
}

}  // namespace
}  // namespace zs::uarch
