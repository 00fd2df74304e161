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
/// chosen: cycles before the first stint, in which what somebody has already arrives.
constexpr std::uint64_t kHeadStart = 10'000;

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
    clock_ = kHeadStart + stints_.front()->begin;
    open();
  }
  bool done() const { return stint_ == stints_.size(); }
  unsigned core() const { return core_; }
  std::uint64_t clock() const { return clock_; }
  /// A store has fetched a line that is not there yet: what the thread does until then waits for the same fetch.
  bool awaits_line() const { return clock_ < arrives_; }

  void step(MemorySystem& memory, const LineLayout& layout, std::uint32_t l1_cycles) {
    const LineUse& use = log_.uses[uses_[use_]];
    const bool blocks = !use.writes() || (use.access & kLocks) != 0;
    const Access access{.linear = kBase + layout[use.offset] * kLineDistance + use.offset,
                        .now = clock_,
                        .bytes = use.bytes,
                        .instruction = uses_[use_],
                        .earliest = clock_,
                        .retires = clock_,
                        .ready = clock_};
    std::uint64_t waits = 0;
    if ((use.access & kLocks) != 0) {
      waits = memory.locked(core_, access).latency;
    } else if (use.writes()) {
      const Outcome outcome = memory.store(core_, access);
      waits = outcome.waited;
      if (outcome.source != Source::L1 && outcome.source != Source::FillBuffer)
        arrives_ = clock_ + waits + outcome.latency;
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
    const std::uint64_t inside = stint.end - stint.begin;
    work_ = inside - std::min(inside, std::uint64_t{stint.held_up} + (uses_.size() > 1 ? waited_ : 0));
  }

  /// Cycles that the thread had other things to do between this access and the next one.
  std::uint64_t work_after(bool blocks) {
    const Stint& stint = *stints_[stint_];
    const std::uint64_t steps = uses_.size() - 1;
    if (use_ < steps) return work_ * (use_ + 1) / steps - work_ * use_ / steps;
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
  std::uint64_t work_ = 0;           // cycles from its first access to its last one in which nothing held the thread up
  std::uint64_t clock_ = 0, arrives_ = 0;
  bool overlaps_ = false;
};

/// What somebody had before the log begins: the line, as one piece; so of the new lines those of which it is known to
/// use a byte, and all that anybody uses if nothing is known of it.
class FirstHolder {
 public:
  FirstHolder(const LineLog& log, const LineLayout& layout) {
    const auto add = [&](const LineUse& use) { lines_.emplace(layout[use.offset], use.offset); };
    for (const LineUse& use : log.uses) {
      if (use.thread == log.first_holder) add(use);
    }
    if (!lines_.empty()) return;
    for (const LineUse& use : log.uses) add(use);
  }
  void fetch(MemorySystem& memory, unsigned core, bool owned) const {
    for (const auto& [line, offset] : lines_) {
      const Access access{.linear = kBase + line * kLineDistance + offset, .bytes = 1, .earliest = 0};
      if (owned) {
        memory.store(core, access);
      } else {
        memory.load(core, access);
      }
    }
  }

 private:
  std::map<std::uint8_t, std::uint8_t> lines_;  // a byte of each
};

/// first: the first of each use of each line. They come once, however fast the threads run: one thread has made what
/// another one takes, or looks at it when all is over.
struct Counted {
  SharingCounts all, first;
  void add(const LineLog& line) {
    all.hand_overs += line.hand_overs;
    all.hitm += line.hitm;
    all.waited += line.waited;
    for (const LineUse& use : line.uses) {
      first.hand_overs += use.hand_overs != 0 ? 1 : 0;
      first.hitm += use.hitm != 0 ? 1 : 0;
    }
  }
};

Counted play(const LineLog& log, const LineLayout& layout, const MemoryParameters& parameters) {
  std::map<std::uint16_t, std::unique_ptr<Player>> players;
  const auto core_of = [](std::size_t number) { return static_cast<unsigned>(number % kMaxCores); };
  for (const Stint& stint : log.stints) {
    auto& player = players[stint.thread];
    if (player == nullptr) player = std::make_unique<Player>(log, core_of(players.size() - 1));
    player->add(stint);
  }
  if (players.empty()) return {};
  for (auto& [thread, player] : players) player->start();

  SharingLog seen({.lines = kLineBytes, .stints = 0, .uses_of_line = log.uses.size()});
  const auto cores = static_cast<unsigned>(std::min<std::size_t>(players.size() + 1, kMaxCores));
  const auto memory = MemorySystem::make(
      parameters, {.cores = cores, .prefetch = false, .sharing = &seen, .directory_from_start = true});
  if (log.first_holder != kNobody) {
    const auto holder = players.find(log.first_holder);
    FirstHolder(log, layout)
        .fetch(*memory, holder != players.end() ? holder->second->core() : core_of(players.size()), log.first_owned);
  }
  for (;;) {
    Player* next = nullptr;
    for (auto& [thread, player] : players) {
      if (!player->done() && (next == nullptr || player->clock() < next->clock())) next = player.get();
    }
    if (next == nullptr) break;
    do {
      next->step(*memory, layout, parameters.l1d.load_to_use_cycles);
    } while (!next->done() && next->awaits_line());
  }
  Counted counted;
  for (const LineLog& line : seen.lines()) counted.add(line);
  return counted;
}

}  // namespace

SharingCounts replay(const LineLog& log, const LineLayout& layout, const MemoryParameters& parameters) {
  return play(log, layout, parameters).all;
}

SharingCounts predicted(const LineLog& log, const LineLayout& layout, const MemoryParameters& parameters) {
  Counted logged;
  logged.add(log);
  const Counted then = play(log, LineLayout{}, parameters);
  const Counted now = play(log, layout, parameters);
  const auto less = [](std::uint64_t all, std::uint64_t first) { return all - std::min(all, first); };
  const auto scaled = [](std::uint64_t counted, std::uint64_t before, std::uint64_t after) -> std::uint64_t {
    if (after == 0) return 0;
    if (before == 0) return after;
    return static_cast<std::uint64_t>(
        std::llround(static_cast<double>(counted) * static_cast<double>(after) / static_cast<double>(before)));
  };
  const auto left = [&](std::uint64_t SharingCounts::*count) {
    return now.first.*count + scaled(less(logged.all.*count, logged.first.*count),
                                     less(then.all.*count, then.first.*count), less(now.all.*count, now.first.*count));
  };
  const std::uint64_t hand_overs = left(&SharingCounts::hand_overs);
  // A load that finds the line modified is a hand-over.
  return {.hand_overs = hand_overs,
          .hitm = std::min(hand_overs, left(&SharingCounts::hitm)),
          .waited = scaled(log.waited, then.all.waited, now.all.waited)};
}

}  // namespace zs::uarch
