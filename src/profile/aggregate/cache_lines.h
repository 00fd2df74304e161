// Samples of loads and stores by cache line, and within a line by place and instruction: what `perf c2c report` counts.
// A load that found its line modified in another core (HITM) tells of a line that threads fight over.
// source: Linux 6.1, tools/perf/util/mem-events.c, c2c_decode_stats(), which this counts like.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "profile/perf_data/perf_data_reader.h"
#include "profile/symbols/symbolizer.h"

namespace zs::profile {

/// How many samples were what; perf's names in comments where ours say more.
struct AccessCounts {
  std::uint64_t entries = 0;
  std::uint64_t locked = 0, stores = 0, store_l1_hits = 0, store_l1_misses = 0, store_unknown = 0;  // st_na
  std::uint64_t store_uncached = 0, store_no_address = 0;
  std::uint64_t loads = 0, load_no_address = 0, uncached = 0, io = 0, load_miss = 0;
  std::uint64_t fill_buffer = 0, l1 = 0, l2 = 0, llc = 0;  // llc: without HITM
  std::uint64_t local_hitm = 0, remote_hitm = 0, remote_hit = 0;
  std::uint64_t local_dram = 0, remote_dram = 0, shared = 0, exclusive = 0;
  std::uint64_t blocked_data = 0, blocked_address = 0;
  std::uint64_t local_peer = 0, remote_peer = 0;  // another core had the line, nobody says whether modified: ARM
  std::uint64_t unmapped = 0, unparsed = 0;

  std::uint64_t hitm() const { return local_hitm + remote_hitm; }
  std::uint64_t peer() const { return local_peer + remote_peer; }
  /// Loads and stores of which nobody knows where their data lies.
  std::uint64_t no_address() const { return load_no_address + store_no_address; }
  /// All loads and stores of a line that found it somewhere.
  std::uint64_t records() const;
  AccessCounts& operator+=(const AccessCounts& more);

  /// returns  whether the sample belongs to a line
  bool add(std::uint64_t data_source, bool has_address, bool mapped);
};

/// Cycles of loads, of one kind.
struct MeanCycles {
  std::uint64_t cycles = 0, loads = 0;
  std::uint64_t mean() const { return loads == 0 ? 0 : cycles / loads; }
};

/// Accesses of one place in a line, by one instruction or by what it is told apart by.
struct LinePlace {
  std::uint32_t offset = 0;
  std::int32_t pid = 0;
  std::set<std::int32_t> threads;
  std::set<std::uint32_t> cpus;
  Location code;  // of its first sample
  AccessCounts counts;
  MeanCycles remote_hitm, local_hitm, remote_peer, local_peer, other_loads;
};

struct CacheLine {
  std::uint64_t address = 0;  // linear, of its first byte
  std::int32_t pid = 0;
  std::set<std::int32_t> threads;
  AccessCounts counts;
  std::vector<LinePlace> places;  // by offset, then as they came
};

/// What tells places of a line apart, beside their offset.
struct PlaceKeys {
  bool instruction = true, pid = false, tid = false, dso = false;
};
/// "iaddr,tid": perf's words; an Error names those that there are.
Result<PlaceKeys> parse_place_keys(std::string_view text);

/// By which loads lines are ranked.
/// Peer: those whose line another core had, modified or not
enum class HitmKind : std::uint8_t { Total, Local, Remote, Peer };

struct CacheLines {
  AccessCounts all;  // of every sample
  std::uint64_t samples = 0;
  std::vector<CacheLine> lines;      // those with the most HITM first; of equals, the lower address
  HitmKind order = HitmKind::Total;  // by which they are ranked
  AddressSpaces spaces;              // after the last record
};

struct CacheLineOptions {
  PlaceKeys keys;
  std::optional<HitmKind> order;  // nothing: total, or peer where no load found its line modified, but a peer's
  std::uint64_t line_bytes = 64;  // 128: neighbours are one, as the adjacent-line prefetcher sees them
};

CacheLines cache_lines(const PerfDataReader& reader, Symbolizer& symbolizer, const CacheLineOptions& options);

std::uint64_t hitm_of(const AccessCounts& counts, HitmKind kind);

}  // namespace zs::profile
