// The structures of the memory side once more, plainly: lists that are searched from one end to the other. For tests
// only. A hierarchy built of them has no inline path, no packed state and no tables, and must give the same outcome at
// every access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "uarch/cache/line.h"
#include "uarch/cache/set_index.h"
#include "uarch/memory/hierarchy.h"
#include "uarch/reference/plain_policy.h"
#include "uarch/store_buffer/store_buffer.h"

namespace zs::uarch {

class PlainCache {
 public:
  using Slot = std::uint32_t;
  static constexpr Slot kNoSlot = ~Slot{0};

  explicit PlainCache(const CacheParameters& parameters)
      : index_(parameters), ways_(parameters.ways), entries_(parameters.sets() * parameters.ways) {
    for (std::uint64_t set = 0; set < parameters.sets(); ++set) {
      policies_.push_back(plain_policy(parameters.policy, parameters.ways));
    }
  }

  using Set = std::uint32_t;
  Set set_of(Line line) const { return index_(line); }
  Slot find(Line line, Set) const { return find(line); }
  EvictedLine insert(Line line, Set, LineFlags flags) { return insert(line, flags); }
  Slot find(Line line) const {
    for (std::uint32_t way = 0; way < ways_; ++way) {
      const Slot slot = index_(line) * ways_ + way;
      if (entries_[slot].line == line) return slot;
    }
    return kNoSlot;
  }
  void touch(Slot slot) { policies_[slot / ways_]->hit(slot % ways_); }
  EvictedLine insert(Line line, LineFlags flags) {
    const std::uint32_t set = index_(line);
    std::vector<std::size_t> empty;
    for (std::uint32_t way = 0; way < ways_; ++way) {
      if (entries_[set * ways_ + way].line == kNoLine) empty.push_back(way);
    }
    const std::size_t way = empty.empty() ? policies_[set]->victim() : policies_[set]->choose_empty(empty);
    const EvictedLine evicted = std::exchange(entries_[set * ways_ + way], {line, flags});
    policies_[set]->inserted(way);
    return evicted;
  }
  template <typename Use>
  void for_each(Use use) const {
    for (const EvictedLine& entry : entries_) {
      if (entry.line != kNoLine) use(entry.line);
    }
  }
  void remove(Slot slot) { entries_[slot] = {}; }
  LineFlags flags(Slot slot) const { return entries_[slot].flags; }
  void set_flags(Slot slot, LineFlags flags) { entries_[slot].flags = flags; }

 private:
  SetIndex index_;
  std::uint32_t ways_;
  std::vector<EvictedLine> entries_;
  std::vector<std::unique_ptr<PlainPolicy>> policies_;
};

class PlainTable {
 public:
  PlainTable(std::uint32_t entries, std::uint32_t ways) : ways_(ways), sets_(entries == 0 ? 0 : entries / ways) {}

  const Frame* find(std::uint64_t key) {
    if (sets_.empty()) return nullptr;
    auto& newest_first = sets_[key % sets_.size()];
    for (auto at = newest_first.begin(); at != newest_first.end(); ++at) {
      if (at->first != key) continue;
      newest_first.splice(newest_first.begin(), newest_first, at);
      return &newest_first.front().second;
    }
    return nullptr;
  }
  void insert(std::uint64_t key, Frame frame) {
    if (sets_.empty()) return;
    auto& newest_first = sets_[key % sets_.size()];
    newest_first.emplace_front(key, frame);
    if (newest_first.size() > ways_) newest_first.pop_back();
  }
  void clear() {
    for (auto& set : sets_) set.clear();
  }

 private:
  std::size_t ways_;
  std::vector<std::list<std::pair<std::uint64_t, Frame>>> sets_;
};

class PlainPending {
 public:
  explicit PlainPending(std::uint32_t entries) : entries_(entries) {}

  std::uint64_t complete(Line line, std::uint64_t now) const {
    for (const auto& [pending, completes] : under_way_) {
      if (pending == line && completes > now) return completes;
    }
    return 0;
  }
  /// The first moment, from `now` on, at which an entry is free: `now`, or when one of the lines arrives.
  std::uint64_t free_at(std::uint64_t now) const {
    if (!full(now)) return now;
    std::uint64_t first = UINT64_MAX;
    for (const auto& entry : under_way_) {
      if (entry.second > now && !full(entry.second)) first = std::min(first, entry.second);
    }
    return first;
  }
  bool full(std::uint64_t now) const { return outstanding(now) >= entries_; }
  std::size_t outstanding(std::uint64_t now) const {
    std::size_t n = 0;
    for (const auto& entry : under_way_) n += entry.second > now ? 1 : 0;
    return n;
  }
  void add(Line line, std::uint64_t completes, std::uint64_t dispatched) {
    std::erase_if(under_way_, [dispatched](const auto& entry) { return entry.second <= dispatched; });
    under_way_.emplace_back(line, completes);
  }
  void forget(Line line, std::uint64_t /*dispatched*/) {
    for (auto& entry : under_way_) {
      if (entry.first == line) entry.first = kNoLine;
    }
  }

 private:
  std::size_t entries_;
  std::vector<std::pair<Line, std::uint64_t>> under_way_;
};

class PlainStores {
 public:
  PlainStores(std::uint32_t entries, std::uint32_t retire_cycles) : entries_(entries), retire_cycles_(retire_cycles) {}

  std::uint64_t free_at(std::uint64_t now) const {
    if (stores_.size() < entries_) return now;
    return std::max(now, stores_.front().commits);
  }
  std::uint64_t push(const BufferedStore& store, std::uint64_t now, std::uint64_t owned) {
    last_commit_ = std::max({last_commit_ + 1, now + retire_cycles_, owned, store.ready, held_});
    drained_ = std::max({drained_ + 1, owned, store.ready, held_});
    if (store.linear / kLineBytes != (store.linear + store.bytes - 1) / kLineBytes) {
      ++last_commit_;
      ++drained_;
    }
    stores_.push_back({store, last_commit_, drained_});
    if (stores_.size() > entries_) stores_.pop_front();
    return last_commit_;
  }
  void hold(std::uint64_t cycle) { held_ = std::max(held_, cycle); }
  std::uint64_t drain(std::uint64_t now) {
    stores_.clear();
    const std::uint64_t empty = std::max(now, drained_);
    last_commit_ = std::min(last_commit_, empty);
    return empty;
  }
  /// Youngest first: the first whose bytes meet the load's, modulo 4 KiB, decides.
  Met meet(std::uint64_t linear, std::uint32_t bytes, std::uint64_t now, std::uint16_t place) const {
    for (auto store = stores_.rbegin(); store != stores_.rend(); ++store) {
      if (store->commits <= now) continue;
      bool same_low_bits = false;
      bool same_byte = false;
      std::uint32_t covered = 0;
      for (std::uint64_t load = linear; load < linear + bytes; ++load) {
        bool has = false;
        for (std::uint64_t stored = store->linear; stored < store->linear + store->bytes; ++stored) {
          same_low_bits = same_low_bits || stored % 4096 == load % 4096;
          has = has || stored == load;
        }
        same_byte = same_byte || has;
        covered += has ? 1 : 0;
      }
      const bool same = place != 0 && store->place != 0 && store->linear == linear && store->bytes == bytes;
      if (covered == bytes) return {Forwarding::Forwarded, store->ready, same, same && store->place == place};
      if (same_byte) return {Forwarding::Blocked, store->drained, false, false};
      if (same_low_bits) return {Forwarding::Alias, 0, false, false};
    }
    return {};
  }

 private:
  struct Entry : BufferedStore {
    std::uint64_t commits, drained;
  };
  std::size_t entries_;
  std::uint32_t retire_cycles_;
  std::uint64_t last_commit_ = 0, drained_ = 0, held_ = 0;
  std::deque<Entry> stores_;
};

struct PlainParts {
  using L1 = PlainCache;
  using L1i = PlainCache;
  using L2 = PlainCache;
  using Llc = PlainCache;
  using Table = PlainTable;
  using Pending = PlainPending;
  using Stores = PlainStores;
  static constexpr bool kInlinePath = false;
};

}  // namespace zs::uarch
