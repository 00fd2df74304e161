#include "profile/aggregate/cache_lines.h"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <tuple>
#include <utility>

#include "arch/records/perf_mem.h"
#include "base/items.h"

namespace zs::profile {
namespace {

namespace mem = arch::perf_mem;

/// All its fields are counts.
using CountArray = std::array<std::uint64_t, sizeof(AccessCounts) / sizeof(std::uint64_t)>;

/// What says where a place is told apart.
using PlaceKey = std::tuple<std::uint32_t, std::uint64_t, std::int32_t, std::int32_t, const Dso*>;

struct LineInMaking {
  CacheLine line;
  std::map<PlaceKey, std::size_t> places;
};

void add_load(AccessCounts& counts, mem::Word source) {
  const bool hitm = source.has(mem::kSnoopHitm), hit = source.has(mem::kSnoopHit), peer = source.has(mem::kPeer);
  const auto any = [&](mem::Word one) { return (source.bits & one.bits) != 0; };
  const auto from_memory = [&](std::uint64_t& dram) {
    ++dram;
    ++(hit ? counts.shared : counts.exclusive);
  };
  const bool remote = source.has(mem::kRemote);
  if (any(mem::kHit)) {
    counts.uncached += any(mem::kUncached) ? 1 : 0;
    counts.io += any(mem::kIo) ? 1 : 0;
    counts.fill_buffer += any(mem::kFillBuffer) ? 1 : 0;
    counts.l1 += any(mem::kL1) ? 1 : 0;
    counts.l2 += any(mem::kL2) ? 1 : 0;
    if (any(mem::kL3)) ++(hitm ? counts.local_hitm : counts.llc);
    if (peer && any(mem::kL2 | mem::kL3)) ++counts.local_peer;
    if (any(mem::kLocalRam)) from_memory(counts.local_dram);
    if (any(mem::kRemoteRam1 | mem::kRemoteRam2) || remote) from_memory(counts.remote_dram);
  }
  if (any(mem::kRemoteCache1 | mem::kRemoteCache2) || remote) {
    if (hit) {
      ++counts.remote_hit;
    } else if (hitm) {
      ++counts.remote_hitm;
    } else if (peer) {
      ++counts.remote_hit;
      ++counts.remote_peer;
    }
  }
  counts.load_miss += any(mem::kMiss) ? 1 : 0;
}

void add_store(AccessCounts& counts, mem::Word source) {
  const auto any = [&](mem::Word one) { return (source.bits & one.bits) != 0; };
  if (any(mem::kHit)) {
    counts.store_uncached += any(mem::kUncached) ? 1 : 0;
    counts.store_l1_hits += any(mem::kL1) ? 1 : 0;
  }
  counts.store_l1_misses += any(mem::kMiss) && any(mem::kL1) ? 1 : 0;
  counts.store_unknown += any(mem::kLevelNa) ? 1 : 0;
}

/// The load's cycles go where perf counts them: to the first of these that it is.
constexpr std::pair<std::uint64_t AccessCounts::*, MeanCycles LinePlace::*> kCyclesOf[] = {
    {&AccessCounts::remote_hitm, &LinePlace::remote_hitm}, {&AccessCounts::local_hitm, &LinePlace::local_hitm},
    {&AccessCounts::remote_peer, &LinePlace::remote_peer}, {&AccessCounts::local_peer, &LinePlace::local_peer},
    {&AccessCounts::loads, &LinePlace::other_loads},
};

void add_cycles(LinePlace& place, const AccessCounts& one, std::uint64_t cycles) {
  for (const auto& [count, mean] : kCyclesOf) {
    if (one.*count == 0) continue;
    (place.*mean).cycles += cycles;
    ++(place.*mean).loads;
    return;
  }
}

}  // namespace

AccessCounts& AccessCounts::operator+=(const AccessCounts& more) {
  auto sums = std::bit_cast<CountArray>(*this);
  const auto added = std::bit_cast<CountArray>(more);
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += added[i];
  return *this = std::bit_cast<AccessCounts>(sums);
}

std::uint64_t AccessCounts::records() const {
  return local_dram + remote_dram + hitm() + remote_hit + stores + fill_buffer + l1 + l2 + llc + io + uncached;
}

bool AccessCounts::add(std::uint64_t data_source, bool has_address, bool mapped) {
  const mem::Word source{data_source};
  ++entries;
  locked += source.has(mem::kLocked) ? 1 : 0;
  blocked_data += source.has(mem::kBlockedByData) ? 1 : 0;
  blocked_address += source.has(mem::kBlockedByAddress) ? 1 : 0;
  if (source.has(mem::kLoad)) {
    ++loads;
    if (!has_address) {
      ++load_no_address;
      return false;
    }
    add_load(*this, source);
  } else if (source.has(mem::kStore)) {
    ++stores;
    if (!has_address) {
      ++store_no_address;
      return false;
    }
    add_store(*this, source);
  } else {
    ++unparsed;
    return false;
  }
  unmapped += mapped ? 0 : 1;
  return mapped;
}

std::uint64_t hitm_of(const AccessCounts& counts, HitmKind kind) {
  switch (kind) {
    case HitmKind::Total: break;
    case HitmKind::Local: return counts.local_hitm;
    case HitmKind::Remote: return counts.remote_hitm;
    case HitmKind::Peer: return counts.peer();
  }
  return counts.hitm();
}

Result<PlaceKeys> parse_place_keys(std::string_view text) {
  static constexpr std::pair<std::string_view, bool PlaceKeys::*> kWords[] = {
      {"iaddr", &PlaceKeys::instruction}, {"pid", &PlaceKeys::pid}, {"tid", &PlaceKeys::tid}, {"dso", &PlaceKeys::dso}};
  PlaceKeys keys{.instruction = false};
  for (const std::string_view word : items_of(text)) {
    const auto* const known = std::ranges::find(kWords, word, [](const auto& row) { return row.first; });
    if (known == std::end(kWords))
      return Error{"cannot coalesce by '" + std::string(word) + "'", "the words are: pid, tid, iaddr, dso"};
    keys.*known->second = true;
  }
  return keys;
}

CacheLines cache_lines(const PerfDataReader& reader, Symbolizer& symbolizer, const CacheLineOptions& options) {
  CacheLines all;
  std::map<std::pair<std::uint64_t, std::int32_t>, LineInMaking> lines;
  for_each_sample(reader, all.spaces, [&](const SampleRecord& taken) {
    const session::Sample& sample = taken.sample;
    ++all.samples;
    const Location code = symbolizer.locate(all.spaces, sample.pid, sample.ip, taken.cpumode);
    const bool mapped = code.dso != nullptr && all.spaces.find(sample.pid, sample.address) != nullptr;
    AccessCounts one;
    const bool in_a_line = one.add(sample.data_source, sample.address != 0, mapped);
    all.all += one;
    if (!in_a_line) return;
    const std::uint64_t address = sample.address / options.line_bytes * options.line_bytes;
    LineInMaking& made = lines[{address, sample.pid}];
    made.line.address = address;
    made.line.pid = sample.pid;
    made.line.counts += one;
    made.line.threads.insert(sample.tid);
    const auto offset = static_cast<std::uint32_t>(sample.address - address);
    const PlaceKeys& keys = options.keys;
    const auto [found, fresh] =
        made.places.try_emplace(PlaceKey{offset, keys.instruction ? sample.ip : 0, keys.pid ? sample.pid : 0,
                                         keys.tid ? sample.tid : 0, keys.dso ? code.dso : nullptr},
                                made.line.places.size());
    if (fresh) made.line.places.push_back({.offset = offset, .pid = sample.pid, .code = code});
    LinePlace& place = made.line.places[found->second];
    place.counts += one;
    place.threads.insert(sample.tid);
    place.cpus.insert(sample.cpu);
    add_cycles(place, one, sample.latency);
  });
  for (auto& [key, made] : lines) {
    std::ranges::stable_sort(made.line.places, {}, &LinePlace::offset);
    all.lines.push_back(std::move(made.line));
  }
  const bool only_peers = all.all.hitm() == 0 && all.all.peer() != 0;
  all.order = options.order.value_or(only_peers ? HitmKind::Peer : HitmKind::Total);
  std::ranges::stable_sort(all.lines, [&](const CacheLine& a, const CacheLine& b) {
    return hitm_of(a.counts, all.order) > hitm_of(b.counts, all.order);
  });
  return all;
}

}  // namespace zs::profile
