#include "uarch/sharing/line_replay.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <vector>

#include "uarch/coherence/sharing_log.h"
#include "uarch/memory/memory_system.h"

namespace zs::uarch {
namespace {

constexpr std::uint64_t kBase = 0x1000'0000;
/// chosen: far enough apart that no prefetcher brings one with the other.
constexpr std::uint64_t kLineDistance = 256;
/// Accesses of a stint that are played: more of them, all hits, change nothing but the time it takes.
constexpr std::uint64_t kMostAccesses = 2048;

/// The accesses of a stint, spread evenly, the first part first.
std::vector<std::uint32_t> uses_of(const LineLog& log, const Stint& stint) {
  const auto parts = std::span(log.parts).subspan(stint.first_part, stint.parts);
  std::uint64_t all = 0;
  for (const StintPart& part : parts) all += part.count;
  const std::uint64_t scale = (all + kMostAccesses - 1) / kMostAccesses;
  struct Share {
    std::uint32_t use;
    std::uint64_t count, done = 0;
  };
  std::vector<Share> shares;
  std::uint64_t left = 0;
  for (const StintPart& part : parts) {
    shares.push_back(
        {.use = part.use, .count = std::max<std::uint64_t>(1, part.count / std::max<std::uint64_t>(1, scale))});
    left += shares.back().count;
  }
  std::vector<std::uint32_t> uses;
  for (; left != 0; --left) {
    Share* next = nullptr;
    for (Share& share : shares) {
      if (share.done == share.count) continue;
      if (next == nullptr || share.done * next->count < next->done * share.count) next = &share;
    }
    ++next->done;
    uses.push_back(next->use);
  }
  return uses;
}

/// A thread on its way through its stints.
class Player {
 public:
  Player(const LineLog& log, unsigned core) : log_(log), core_(core) {}
  void add(const Stint& stint) { stints_.push_back(&stint); }
  /// No stint will be added any more.
  void start() {
    clock_ = stints_.front()->begin;
    open();
  }
  bool done() const { return stint_ == stints_.size(); }
  std::uint64_t clock() const { return clock_; }

  void step(MemorySystem& memory, const LineLayout& layout, std::uint32_t l1_cycles) {
    const LineUse& use = log_.uses[uses_[use_]];
    const bool blocks = !use.writes() || (use.access & kLocks) != 0;
    const Access access{.linear = kBase + layout[use.offset] * kLineDistance + use.offset,
                        .now = clock_,
                        .bytes = use.bytes,
                        .instruction = static_cast<std::uint32_t>(use.instruction),
                        .earliest = clock_,
                        .retires = clock_,
                        .ready = clock_};
    std::uint64_t waits = 0;
    if ((use.access & kLocks) != 0) {
      waits = memory.locked(core_, access).latency;
    } else if (use.writes()) {
      waits = memory.store(core_, access).waited;
    } else {
      waits = memory.load(core_, access).latency;
    }
    const std::uint64_t beyond = blocks ? waits - std::min<std::uint64_t>(waits, l1_cycles) : waits;
    clock_ += work_after(blocks) + (overlaps_ ? 0 : beyond);
    overlaps_ = false;
    if (++use_ < uses_.size()) return;
    ++stint_;
    if (!done()) open();
  }

 private:
  void open() {
    const Stint& stint = *stints_[stint_];
    uses_ = uses_of(log_, stint);
    use_ = 0;
    const LineUse& first = log_.uses[uses_.front()];
    waited_ = !first.writes() || (first.access & kLocks) != 0 ? stint.waited : 0;
  }

  /// Cycles that the thread had other things to do between this access and the next one.
  std::uint64_t work_after(bool blocks) {
    const Stint& stint = *stints_[stint_];
    const std::uint64_t steps = uses_.size() - 1;
    const std::uint64_t inside = stint.end - stint.begin;
    if (use_ < steps) return (inside - std::min(inside, waited_)) / steps;
    if (stint_ + 1 == stints_.size()) return 0;
    const std::uint64_t next = stints_[stint_ + 1]->begin;
    const std::uint64_t gap = next - std::min(next, stint.end);
    if (steps != 0 || !blocks) return gap;
    // The next access did not wait for this one.
    if (gap < waited_) {
      overlaps_ = true;
      return gap;
    }
    return gap - waited_;
  }

  const LineLog& log_;
  unsigned core_;
  std::vector<const Stint*> stints_;
  std::size_t stint_ = 0, use_ = 0;
  std::vector<std::uint32_t> uses_;  // of the stint
  std::uint64_t waited_ = 0;         // by its first access, where that held the thread up
  std::uint64_t clock_ = 0;
  bool overlaps_ = false;
};

}  // namespace

SharingCounts replay(const LineLog& log, const LineLayout& layout, const MemoryParameters& parameters) {
  std::map<std::uint16_t, std::unique_ptr<Player>> players;
  for (const Stint& stint : log.stints) {
    auto& player = players[stint.thread];
    if (player == nullptr) {
      const auto core = static_cast<unsigned>((players.size() - 1) % kMaxCores);
      player = std::make_unique<Player>(log, core);
    }
    player->add(stint);
  }
  if (players.empty()) return {};
  for (auto& [thread, player] : players) player->start();

  SharingLog seen({.lines = kLineBytes, .stints = 0, .uses_of_line = 0});
  const auto cores = static_cast<unsigned>(std::min<std::size_t>(players.size(), kMaxCores));
  const auto memory = MemorySystem::make(
      parameters, {.cores = cores, .prefetch = false, .sharing = &seen, .directory_from_start = true});
  for (;;) {
    Player* next = nullptr;
    for (auto& [thread, player] : players) {
      if (!player->done() && (next == nullptr || player->clock() < next->clock())) next = player.get();
    }
    if (next == nullptr) break;
    next->step(*memory, layout, parameters.l1d.load_to_use_cycles);
  }
  SharingCounts counts;
  for (const LineLog& line : seen.lines()) {
    counts.hand_overs += line.hand_overs;
    counts.hitm += line.hitm;
    counts.waited += line.waited;
  }
  return counts;
}

SharingCounts predicted(const LineLog& log, const LineLayout& layout, const MemoryParameters& parameters) {
  const SharingCounts then = replay(log, LineLayout{}, parameters);
  const SharingCounts now = replay(log, layout, parameters);
  const auto scaled = [](std::uint64_t counted, std::uint64_t before, std::uint64_t after) -> std::uint64_t {
    if (after == 0) return 0;
    if (before == 0) return after;
    return static_cast<std::uint64_t>(
        std::llround(static_cast<double>(counted) * static_cast<double>(after) / static_cast<double>(before)));
  };
  const std::uint64_t hand_overs = scaled(log.hand_overs, then.hand_overs, now.hand_overs);
  // A load that finds the line modified is a hand-over.
  return {.hand_overs = hand_overs,
          .hitm = std::min(hand_overs, scaled(log.hitm, then.hitm, now.hitm)),
          .waited = scaled(log.waited, then.waited, now.waited)};
}

}  // namespace zs::uarch
