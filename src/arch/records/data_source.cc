#include "arch/records/data_source.h"

#include <algorithm>
#include <array>

#include "arch/cpu_model.h"
#include "arch/events/tables.h"
#include "arch/records/perf_mem.h"

namespace zs::arch {

namespace {

using perf_mem::Word;

/// What one of the sixteen codes of a place means, and what Linux makes of it.
struct Code {
  DataLevel level = DataLevel::Unknown;
  DataSnoop snoop = DataSnoop::None;
  bool remote = false;
  Word perf;
};
using Codes = std::array<Code, 16>;

constexpr Word kLoadHit = perf_mem::kLoad | perf_mem::kHit;

constexpr Codes sandy_bridge_codes() {
  using enum DataLevel;
  using enum DataSnoop;
  using namespace perf_mem;
  constexpr Word kNoneOrMiss = kSnoopNone | kSnoopMiss;
  return {{
      {Unknown, None, false, kLoad | kMiss | number(3) | kSnoopNa},
      {L1, None, false, kLoadHit | kL1 | number(1) | kSnoopNone},
      {FillBuffer, None, false, kLoadHit | kFillBuffer | kNumberFillBuffer | kSnoopNone},
      {L2, None, false, kLoadHit | kL2 | number(2) | kSnoopNone},
      {L3, None, false, kLoadHit | kL3 | number(3) | kSnoopNone},
      {L3, Miss, false, kLoadHit | kL3 | number(3) | kSnoopMiss},
      {L3, Hit, false, kLoadHit | kL3 | number(3) | kSnoopHit},
      {L3, Hitm, false, kLoadHit | kL3 | number(3) | kSnoopHitm},
      {RemoteCache, Hit, true, kLoadHit | kRemoteCache1 | kRemote | number(3) | kSnoopHit},
      {RemoteCache, Hitm, true, kLoadHit | kRemoteCache1 | kRemote | number(3) | kSnoopHitm},
      {Dram, Hit, false, kLoadHit | kLocalRam | kNumberRam | kSnoopHit},            // going to shared
      {Dram, Hit, true, kLoadHit | kRemoteRam1 | kRemote | number(3) | kSnoopHit},  // L3 is what Linux has
      {Dram, None, false, kLoadHit | kLocalRam | kNumberRam | kNoneOrMiss},         // going to exclusive
      {Dram, None, true, kLoadHit | kRemoteRam1 | kRemote | kNumberRam | kNoneOrMiss},
      {Io, None, false, kLoadHit | kIo | kNumberNa | kSnoopNone},
      {Uncached, None, false, kLoadHit | kUncached | kNumberNa | kSnoopNone},
  }};
}

/// Nehalem and Westmere do not tell a snoop that found nothing; 7 is reserved but on Nehalem-EX, where it is HITM too.
constexpr Codes nehalem_codes() {
  using namespace perf_mem;
  Codes codes = sandy_bridge_codes();
  const Code hitm{DataLevel::L3, DataSnoop::Hitm, false, kLoadHit | kL3 | number(3) | kSnoopHitm};
  codes[5] = {DataLevel::L3, DataSnoop::Hit, false, kLoadHit | kL3 | number(3) | kSnoopHit};
  codes[6] = codes[7] = hitm;
  return codes;
}

constexpr Codes skylake_codes(bool server) {
  using namespace perf_mem;
  Codes codes = sandy_bridge_codes();
  const DataLevel level = server ? DataLevel::PersistentMemory : DataLevel::L4;
  const Word memory = server ? kNumberPersistent : number(4);
  codes[0x8] = {level, DataSnoop::Hit, false, kLoadHit | memory | kSnoopHit};
  codes[0x9] = {level, DataSnoop::Hit, true, kLoadHit | memory | kRemote | kSnoopHit};
  codes[0xA] = {DataLevel::Dram, DataSnoop::None, false, codes[0xA].perf};
  codes[0xB] = {DataLevel::Dram, DataSnoop::None, true, kLoadHit | kNumberRam | kRemote | kSnoopNone};
  codes[0xC] = {DataLevel::RemoteCache, DataSnoop::Hit, true, kLoadHit | kNumberAnyCache | kRemote | kForwarded};
  codes[0xD] = {DataLevel::RemoteCache, DataSnoop::Hitm, true, kLoadHit | kNumberAnyCache | kRemote | kSnoopHitm};
  return codes;
}

constexpr Codes kNehalemCodes = nehalem_codes(), kSandyBridgeCodes = sandy_bridge_codes(),
                kSkylakeCodes = skylake_codes(false), kSkylakeServerCodes = skylake_codes(true);

/// One row for each DataSourceFormat, in its order.
struct Generation {
  const Codes* codes;
  bool walk_and_lock;  // bits 4 and 5
  bool blocked;        // bits 6 and 7
  bool two_latencies;  // 15:0 of the instruction, 47:32 of the access
};
constexpr Generation kGenerations[] = {
    {nullptr, false, false, false},           {&kNehalemCodes, false, false, false},
    {&kNehalemCodes, true, false, false},     {&kSandyBridgeCodes, true, false, false},
    {&kSkylakeCodes, true, false, false},     {&kSkylakeServerCodes, true, false, false},
    {&kSkylakeServerCodes, true, true, true},
};
static_assert(std::size(kGenerations) == static_cast<std::size_t>(DataSourceFormat::SapphireRapids) + 1);

constexpr const Generation& generation(DataSourceFormat format) {
  return kGenerations[static_cast<std::size_t>(format)];
}

constexpr std::uint64_t kHitL1 = 1, kCodeMask = 0xF, kWalk = 1 << 4, kLocked = 1 << 5;
constexpr unsigned kBlockShift = 6;
constexpr std::uint64_t kBlockMask = 3;
constexpr unsigned kAccessShift = 32;
constexpr std::uint64_t kNarrowLatency = 0xFFFF, kWideLatency = 0xFFFF'FFFF;

/// The code for a place: with this snoop, else with none, else with any; else "unknown".
std::uint64_t code_of(const Codes& codes, const DataSource& source) {
  const auto find = [&](const auto& fits) {
    const auto at = std::find_if(codes.begin(), codes.end(), [&](const Code& code) {
      return code.level == source.level && code.remote == source.remote && fits(code.snoop);
    });
    return static_cast<std::uint64_t>(at - codes.begin());
  };
  std::uint64_t code = find([&](DataSnoop snoop) { return snoop == source.snoop; });
  if (code == codes.size()) code = find([](DataSnoop snoop) { return snoop == DataSnoop::None; });
  if (code == codes.size()) code = find([](DataSnoop) { return true; });
  return code == codes.size() ? 0 : code;
}

bool names_a_place(SourceWord word) { return word == SourceWord::LoadLatency || word == SourceWord::StoreLatency; }

DataTlb tlb_of(std::uint64_t bits) { return (bits & kWalk) != 0 ? DataTlb::Walk : DataTlb::Hit; }

Word perf_tlb_and_lock(std::uint64_t bits) {
  using namespace perf_mem;
  Word word = (bits & kWalk) != 0 ? kTlbMiss | kTlbL2 : kTlbHit | kTlbL1 | kTlbL2;
  if ((bits & kLocked) != 0) word = word | perf_mem::kLocked;
  return word;
}

Word perf_load_latency(const Generation& row, std::uint64_t bits) {
  using namespace perf_mem;
  Word word = (*row.codes)[bits & kCodeMask].perf;
  // Linux says "not available" of Nehalem only; Westmere shares its codes, and has the bits.
  if (!row.walk_and_lock) return word | kTlbNa | kLockNa;
  word = word | perf_tlb_and_lock(bits);
  const std::uint64_t block = row.blocked ? bits >> kBlockShift & kBlockMask : 0;
  if ((block & static_cast<std::uint64_t>(DataBlock::Data)) != 0) word = word | kBlockedByData;
  if ((block & static_cast<std::uint64_t>(DataBlock::Address)) != 0) word = word | kBlockedByAddress;
  return block == 0 ? word | kBlockNa : word;
}

Word perf_precise_store(std::uint64_t bits) {
  using namespace perf_mem;
  Word word = kStore | kSnoopNa | kL1 | kTlbL2;
  word = word | ((bits & kWalk) != 0 ? kTlbMiss : kTlbHit) | ((bits & kHitL1) != 0 ? kHit : kMiss);
  return (bits & arch::kLocked) != 0 ? word | perf_mem::kLocked : word;
}

}  // namespace

SourceWord source_word(const CpuModel& model, const Event* event) {
  if (model.data_source == DataSourceFormat::None || event == nullptr) return SourceWord::None;
  if (is_load_latency(model, event->code, event->umask)) return SourceWord::LoadLatency;
  if (is_precise_store(model, event->code, event->umask)) return SourceWord::PreciseStore;
  if (is_store_latency(model, event->code, event->umask)) return SourceWord::StoreLatency;
  if (!event->data_address || !traits(model.pebs_format()).has_plain_addresses) return SourceWord::None;
  if (event->of_store) return SourceWord::StoreHit;
  const bool of_both = event->meaning == &kLoadsAndStores || event->meaning == &kMemoryInstructions;
  return of_both ? SourceWord::None : SourceWord::PlainLoad;
}

std::uint64_t encode_source(DataSourceFormat format, SourceWord word, const DataSource& source) {
  const Generation& row = generation(format);
  if (row.codes == nullptr) return 0;
  const std::uint64_t walk = source.tlb == DataTlb::Walk ? kWalk : 0;
  const std::uint64_t locked = source.locked ? kLocked : 0;
  const std::uint64_t hit = source.level == DataLevel::L1 ? kHitL1 : 0;
  switch (word) {
    case SourceWord::None:
    case SourceWord::PlainLoad: return 0;
    case SourceWord::StoreHit: return hit;
    case SourceWord::PreciseStore: return hit | walk | locked;
    case SourceWord::LoadLatency:
    case SourceWord::StoreLatency: break;
  }
  std::uint64_t bits = code_of(*row.codes, source);
  if (row.walk_and_lock) bits |= walk | locked;
  if (row.blocked && word == SourceWord::LoadLatency) bits |= static_cast<std::uint64_t>(source.block) << kBlockShift;
  return bits;
}

DataSource decode_source(DataSourceFormat format, SourceWord word, std::uint64_t bits) {
  const Generation& row = generation(format);
  DataSource source;
  if (row.codes == nullptr || word == SourceWord::None || word == SourceWord::PlainLoad) return source;
  if (names_a_place(word)) {
    const Code& code = (*row.codes)[bits & kCodeMask];
    source.level = code.level;
    source.snoop = code.snoop;
    source.remote = code.remote;
  } else {
    source.level = (bits & kHitL1) != 0 ? DataLevel::L1 : DataLevel::BeyondL1;
  }
  if (word == SourceWord::StoreHit || (names_a_place(word) && !row.walk_and_lock)) return source;
  source.tlb = tlb_of(bits);
  source.locked = (bits & kLocked) != 0;
  if (row.blocked && word == SourceWord::LoadLatency) {
    source.block = static_cast<DataBlock>(bits >> kBlockShift & kBlockMask);
  }
  return source;
}

std::uint64_t perf_data_src(DataSourceFormat format, SourceWord word, std::uint64_t bits) {
  using namespace perf_mem;
  const Generation& row = generation(format);
  if (row.codes == nullptr) word = SourceWord::None;
  constexpr Word kNothingElse = kSnoopNa | kLockNa | kTlbNa;
  switch (word) {
    case SourceWord::None: break;
    case SourceWord::PlainLoad: return (kLoad | kLevelNa | kNothingElse).bits;
    case SourceWord::StoreHit: return (kStore | kL1 | ((bits & kHitL1) != 0 ? kHit : kMiss) | kNothingElse).bits;
    case SourceWord::PreciseStore: return perf_precise_store(bits).bits;
    case SourceWord::LoadLatency: return perf_load_latency(row, bits).bits;
    case SourceWord::StoreLatency:
      return ((*row.codes)[bits & kCodeMask].perf.without(kLoad) | kStore | perf_tlb_and_lock(bits) | kBlockNa).bits;
  }
  return kNothingKnown.bits;
}

std::uint64_t encode_latency(DataSourceFormat format, SourceWord word, std::uint32_t cycles) {
  if (format == DataSourceFormat::None || !names_a_place(word)) return 0;
  if (!generation(format).two_latencies) return cycles;
  const std::uint64_t narrow = std::min<std::uint64_t>(cycles, kNarrowLatency);
  return narrow << kAccessShift | narrow;
}

AccessLatency decode_latency(DataSourceFormat format, SourceWord word, std::uint64_t bits) {
  if (format == DataSourceFormat::None || !names_a_place(word)) return {};
  if (!generation(format).two_latencies) return {.cycles = static_cast<std::uint32_t>(bits & kWideLatency)};
  return {.cycles = static_cast<std::uint32_t>(bits >> kAccessShift & kNarrowLatency),
          .instruction_cycles = static_cast<std::uint32_t>(bits & kNarrowLatency)};
}

}  // namespace zs::arch
