// Where the data of a sampled access was, and the word by which a PEBS record says so. What the word's bits mean
// depends on the processor's generation and on the event that made the record: the load-latency facility names a place,
// most events of stores only whether the line was in L1D, and other events nothing.
//
// `perf_data_src` is the same fact as Linux hands it to perf. Where the manual and Linux read a code differently,
// Linux's reading is followed, so that perf shows what was meant: from Sandy Bridge on 5, 6 and 7 are "snooped, not
// found", "found clean" and "found modified".
// source: SDM vol. 3B, "Data Source Encoding for Load Latency Record", "Layout of Precise Store Information In PEBS
//         Record", "Data Address Profiling" of Haswell, "PEBS Store Latency" of Golden Cove; Linux 6.1,
//         events/intel/ds.c.
#pragma once

#include <cstdint>

namespace zs::arch {

struct CpuModel;
struct Event;

enum class DataLevel : std::uint8_t {
  Unknown,
  L1,
  FillBuffer,  // on its way to L1D when the access came
  L2,
  L3,
  Dram,
  BeyondL1,  // a store whose record says no more
  // Codes that no model here produces.
  L4,
  PersistentMemory,
  RemoteCache,  // of another package
  Io,
  Uncached,
};

enum class DataSnoop : std::uint8_t {
  None,  // no other core was asked
  Miss,  // asked, found nothing
  Hit,   // another core had it clean
  Hitm,  // another core had it modified
};

enum class DataTlb : std::uint8_t {
  Unknown,
  L1,    // hit
  Stlb,  // hit in the second level
  Hit,   // in one of them: what a record tells
  Walk,
};

/// Bits, as records have them.
enum class DataBlock : std::uint8_t {
  None = 0,
  Data = 1,     // an older store could not forward
  Address = 2,  // 4K alias
  DataAndAddress = 3,
};

struct DataSource {
  DataLevel level = DataLevel::Unknown;
  DataSnoop snoop = DataSnoop::None;
  DataTlb tlb = DataTlb::Unknown;
  DataBlock block = DataBlock::None;
  bool locked = false;
  bool remote = false;  // another package's memory or cache
  bool operator==(const DataSource&) const = default;
};

/// What became of one load or store.
struct AccessOutcome {
  bool present = false;       // there was one, and a core model knows
  std::uint32_t latency = 0;  // core cycles: from dispatch to the data; of a store, until its line is writable
  DataSource source;
  bool operator==(const AccessOutcome&) const = default;
};

/// A generation's table of codes and bits: a property of its CPU model.
enum class DataSourceFormat : std::uint8_t {
  None,  // its records have no such word
  Nehalem,
  Westmere,        // also bit 4, STLB miss, and bit 5, locked
  SandyBridge,     // to Broadwell: other snoop codes
  Skylake,         // clients: other codes of memory; an L4
  SkylakeServer,   // to Ice Lake server: persistent memory instead
  SapphireRapids,  // also bits 6 and 7, blocked; two latencies; stores have a place too
};

/// What the word of one record describes; of its event.
enum class SourceWord : std::uint8_t {
  None,          // nothing
  LoadLatency,   // the load-latency facility
  PlainLoad,     // nothing, but its address is a load's
  StoreHit,      // bit 0: the store's line was in L1D
  PreciseStore,  // that, bit 4: STLB miss, bit 5: locked
  StoreLatency,  // codes as for loads
};

/// Of records made by `event`, or by none that the model knows (null).
SourceWord source_word(const CpuModel& model, const Event* event);

std::uint64_t encode_source(DataSourceFormat format, SourceWord word, const DataSource& source);

/// Every word has a meaning; a reserved code is Unknown. encode_source() of it gives the same defined bits again.
DataSource decode_source(DataSourceFormat format, SourceWord word, std::uint64_t bits);

/// perf's data_src (union perf_mem_data_src) for this word of a record.
std::uint64_t perf_data_src(DataSourceFormat format, SourceWord word, std::uint64_t bits);

/// A record's latency word, taken apart.
struct AccessLatency {
  std::uint32_t cycles = 0;              // of the access
  std::uint32_t instruction_cycles = 0;  // Sapphire Rapids: of the instruction; before: 0
  bool operator==(const AccessLatency&) const = default;
};
/// The model knows one latency; where a record has two, both are that. Each saturates at what its field holds.
std::uint64_t encode_latency(DataSourceFormat format, SourceWord word, std::uint32_t cycles);
AccessLatency decode_latency(DataSourceFormat format, SourceWord word, std::uint64_t bits);

}  // namespace zs::arch
