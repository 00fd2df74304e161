#include "arch/records/data_source.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <string>
#include <vector>

#include "arch/cpu_model.h"
#include "arch/events/tables.h"
#include "arch/records/perf_mem.h"

namespace zs::arch {
namespace {

constexpr DataSourceFormat kFormats[] = {DataSourceFormat::None,          DataSourceFormat::Nehalem,
                                         DataSourceFormat::Westmere,      DataSourceFormat::SandyBridge,
                                         DataSourceFormat::Skylake,       DataSourceFormat::SkylakeServer,
                                         DataSourceFormat::SapphireRapids};
constexpr SourceWord kWords[] = {SourceWord::None,     SourceWord::LoadLatency,  SourceWord::PlainLoad,
                                 SourceWord::StoreHit, SourceWord::PreciseStore, SourceWord::StoreLatency};

std::string place(DataSourceFormat format, SourceWord word, std::uint64_t bits) {
  return "format " + std::to_string(static_cast<int>(format)) + ", word " + std::to_string(static_cast<int>(word)) +
         ", bits " + std::to_string(bits);
}

/// The bits that a word of this kind has.
std::uint64_t defined_bits(DataSourceFormat format, SourceWord word) {
  if (format == DataSourceFormat::None) return 0;
  switch (word) {
    case SourceWord::None:
    case SourceWord::PlainLoad: return 0;
    case SourceWord::StoreHit: return 0x01;
    case SourceWord::PreciseStore: return 0x31;
    case SourceWord::LoadLatency:
      if (format == DataSourceFormat::Nehalem) return 0x0F;
      return format == DataSourceFormat::SapphireRapids ? 0xFF : 0x3F;
    case SourceWord::StoreLatency: return format == DataSourceFormat::Nehalem ? 0x0F : 0x3F;
  }
  return 0;
}

TEST(DataSourceWord, EveryWordDecodesAndEncodesToItself) {
  for (const DataSourceFormat format : kFormats) {
    for (const SourceWord word : kWords) {
      const std::uint64_t defined = defined_bits(format, word);
      for (std::uint64_t bits = 0; bits < 0x100; ++bits) {
        std::uint64_t expected = bits & defined;
        // 7 is a second name of 6 there.
        const bool nehalem = format == DataSourceFormat::Nehalem || format == DataSourceFormat::Westmere;
        const bool place_word = word == SourceWord::LoadLatency || word == SourceWord::StoreLatency;
        if (nehalem && place_word && (bits & 0xF) == 7) expected -= 1;
        EXPECT_EQ(encode_source(format, word, decode_source(format, word, bits)), expected)
            << place(format, word, bits);
      }
    }
  }
}

TEST(DataSourceWord, OfALoadKeepsItsPlaceAndWhetherItWalkedOrWasLocked) {
  using enum DataLevel;
  using enum DataSnoop;
  const std::vector<std::pair<DataLevel, DataSnoop>> places = {{L1, None}, {FillBuffer, None}, {L2, None},
                                                               {L3, None}, {L3, Miss},         {L3, Hit},
                                                               {L3, Hitm}, {Dram, None},       {Unknown, None}};
  for (const DataSourceFormat format : kFormats) {
    if (format == DataSourceFormat::None) continue;
    const bool bits_4_5 = format != DataSourceFormat::Nehalem;
    const bool no_snoop_miss = format == DataSourceFormat::Nehalem || format == DataSourceFormat::Westmere;
    for (const auto& [level, snoop] : places) {
      for (const DataTlb tlb : {DataTlb::L1, DataTlb::Stlb, DataTlb::Walk}) {
        for (const bool locked : {false, true}) {
          DataSource told{.level = level, .snoop = snoop, .tlb = tlb, .locked = locked};
          const std::uint64_t bits = encode_source(format, SourceWord::LoadLatency, told);
          const DataSource read = decode_source(format, SourceWord::LoadLatency, bits);
          EXPECT_EQ(read.level, level);
          EXPECT_EQ(read.snoop, no_snoop_miss && snoop == Miss ? None : snoop);
          EXPECT_EQ(read.tlb, !bits_4_5 ? DataTlb::Unknown : tlb == DataTlb::Walk ? DataTlb::Walk : DataTlb::Hit);
          EXPECT_EQ(read.locked, bits_4_5 && locked);
        }
      }
    }
  }
}

TEST(DataSourceWord, SaysOnlyFromSapphireRapidsOnThatALoadWasBlocked) {
  for (const DataSourceFormat format : kFormats) {
    for (const DataBlock block : {DataBlock::Data, DataBlock::Address, DataBlock::DataAndAddress}) {
      const DataSource source{.level = DataLevel::L1, .block = block};
      const std::uint64_t bits = encode_source(format, SourceWord::LoadLatency, source);
      const bool tells = format == DataSourceFormat::SapphireRapids;
      EXPECT_EQ(bits >> 6, tells ? static_cast<std::uint64_t>(block) : 0);
      EXPECT_EQ(decode_source(format, SourceWord::LoadLatency, bits).block, tells ? block : DataBlock::None);
      EXPECT_EQ(encode_source(format, SourceWord::StoreLatency, source) >> 6, 0U);
    }
  }
}

/// Data from memory that the model has: to exclusive before Skylake, the one code of local memory since.
TEST(DataSourceWord, OfLocalMemoryIsTheCodeThatEachGenerationHas) {
  for (const DataSnoop snoop : {DataSnoop::None, DataSnoop::Miss}) {
    const DataSource memory{.level = DataLevel::Dram, .snoop = snoop};
    EXPECT_EQ(encode_source(DataSourceFormat::Nehalem, SourceWord::LoadLatency, memory), 0xCU);
    EXPECT_EQ(encode_source(DataSourceFormat::SandyBridge, SourceWord::LoadLatency, memory), 0xCU);
    EXPECT_EQ(encode_source(DataSourceFormat::Skylake, SourceWord::LoadLatency, memory), 0xAU);
    EXPECT_EQ(encode_source(DataSourceFormat::SapphireRapids, SourceWord::LoadLatency, memory), 0xAU);
  }
}

// ---- what Linux makes of the words, said with the macros of its own header

#define M(field, value) PERF_MEM_S(field, value)

constexpr std::uint64_t kHit = M(OP, LOAD) | M(LVL, HIT);

/// Linux 6.1's table for Sandy Bridge to Broadwell, by code.
std::vector<std::uint64_t> linux_codes() {
  const std::uint64_t l3 = kHit | M(LVL, L3) | M(LVLNUM, L3), remote = M(REMOTE, REMOTE);
  const std::uint64_t none_or_miss = M(SNOOP, NONE) | M(SNOOP, MISS);
  return {M(OP, LOAD) | M(LVL, MISS) | M(LVLNUM, L3) | M(SNOOP, NA),
          kHit | M(LVL, L1) | M(LVLNUM, L1) | M(SNOOP, NONE),
          kHit | M(LVL, LFB) | M(LVLNUM, LFB) | M(SNOOP, NONE),
          kHit | M(LVL, L2) | M(LVLNUM, L2) | M(SNOOP, NONE),
          l3 | M(SNOOP, NONE),
          l3 | M(SNOOP, MISS),
          l3 | M(SNOOP, HIT),
          l3 | M(SNOOP, HITM),
          kHit | M(LVL, REM_CCE1) | remote | M(LVLNUM, L3) | M(SNOOP, HIT),
          kHit | M(LVL, REM_CCE1) | remote | M(LVLNUM, L3) | M(SNOOP, HITM),
          kHit | M(LVL, LOC_RAM) | M(LVLNUM, RAM) | M(SNOOP, HIT),
          kHit | M(LVL, REM_RAM1) | remote | M(LVLNUM, L3) | M(SNOOP, HIT),
          kHit | M(LVL, LOC_RAM) | M(LVLNUM, RAM) | none_or_miss,
          kHit | M(LVL, REM_RAM1) | M(LVLNUM, RAM) | remote | none_or_miss,
          kHit | M(LVL, IO) | M(LVLNUM, NA) | M(SNOOP, NONE),
          kHit | M(LVL, UNC) | M(LVLNUM, NA) | M(SNOOP, NONE)};
}

std::vector<std::uint64_t> linux_codes(DataSourceFormat format) {
  std::vector<std::uint64_t> codes = linux_codes();
  switch (format) {
    case DataSourceFormat::None:
    case DataSourceFormat::SandyBridge: break;
    case DataSourceFormat::Nehalem:
    case DataSourceFormat::Westmere:
      codes[5] = codes[6];
      codes[6] = codes[7];
      break;
    case DataSourceFormat::Skylake:
    case DataSourceFormat::SkylakeServer:
    case DataSourceFormat::SapphireRapids: {
      const std::uint64_t memory = format == DataSourceFormat::Skylake ? M(LVLNUM, L4) : M(LVLNUM, PMEM);
      codes[0x8] = kHit | memory | M(SNOOP, HIT);
      codes[0x9] = kHit | memory | M(REMOTE, REMOTE) | M(SNOOP, HIT);
      codes[0xB] = kHit | M(LVLNUM, RAM) | M(REMOTE, REMOTE) | M(SNOOP, NONE);
      codes[0xC] = kHit | M(LVLNUM, ANY_CACHE) | M(REMOTE, REMOTE) | M(SNOOPX, FWD);
      codes[0xD] = kHit | M(LVLNUM, ANY_CACHE) | M(REMOTE, REMOTE) | M(SNOOP, HITM);
      break;
    }
  }
  return codes;
}

std::uint64_t linux_walk_and_lock(std::uint64_t bits) {
  const std::uint64_t tlb = (bits & 0x10) != 0 ? M(TLB, MISS) | M(TLB, L2) : M(TLB, HIT) | M(TLB, L1) | M(TLB, L2);
  return tlb | ((bits & 0x20) != 0 ? M(LOCK, LOCKED) : 0);
}

TEST(PerfDataSource, OfLoadLatencyIsLinuxs) {
  for (const DataSourceFormat format : kFormats) {
    if (format == DataSourceFormat::None) continue;
    const std::vector<std::uint64_t> codes = linux_codes(format);
    for (std::uint64_t bits = 0; bits < 0x100; ++bits) {
      std::uint64_t expected = codes[bits & 0xF];
      if (format == DataSourceFormat::Nehalem) {
        expected |= M(TLB, NA) | M(LOCK, NA);
      } else {
        expected |= linux_walk_and_lock(bits);
        const std::uint64_t block = format == DataSourceFormat::SapphireRapids ? bits >> 6 : 0;
        if (block == 0) expected |= M(BLK, NA);
        if ((block & 1) != 0) expected |= M(BLK, DATA);
        if ((block & 2) != 0) expected |= M(BLK, ADDR);
      }
      EXPECT_EQ(perf_data_src(format, SourceWord::LoadLatency, bits), expected)
          << place(format, SourceWord::LoadLatency, bits);
    }
  }
}

TEST(PerfDataSource, OfStoresIsLinuxs) {
  for (const DataSourceFormat format : kFormats) {
    if (format == DataSourceFormat::None) continue;
    const std::vector<std::uint64_t> codes = linux_codes(format);
    for (std::uint64_t bits = 0; bits < 0x40; ++bits) {
      const std::uint64_t hit = (bits & 1) != 0 ? M(LVL, HIT) : M(LVL, MISS);
      EXPECT_EQ(perf_data_src(format, SourceWord::StoreHit, bits),
                M(OP, STORE) | M(LVL, L1) | hit | M(SNOOP, NA) | M(LOCK, NA) | M(TLB, NA));
      EXPECT_EQ(perf_data_src(format, SourceWord::PreciseStore, bits),
                M(OP, STORE) | M(LVL, L1) | hit | M(SNOOP, NA) | M(TLB, L2) |
                    ((bits & 0x10) != 0 ? M(TLB, MISS) : M(TLB, HIT)) | ((bits & 0x20) != 0 ? M(LOCK, LOCKED) : 0));
      EXPECT_EQ(perf_data_src(format, SourceWord::StoreLatency, bits),
                (codes[bits & 0xF] & ~M(OP, LOAD)) | M(OP, STORE) | linux_walk_and_lock(bits) | M(BLK, NA));
    }
  }
}

TEST(PerfDataSource, OfOtherEventsIsNotAvailable) {
  const std::uint64_t rest = M(LVL, NA) | M(SNOOP, NA) | M(LOCK, NA) | M(TLB, NA);
  for (const DataSourceFormat format : kFormats) {
    const bool none = format == DataSourceFormat::None;
    EXPECT_EQ(perf_data_src(format, SourceWord::None, 0xFF), M(OP, NA) | rest);
    EXPECT_EQ(perf_data_src(format, SourceWord::PlainLoad, 0xFF), (none ? M(OP, NA) : M(OP, LOAD)) | rest);
  }
  EXPECT_EQ(perf_data_src(DataSourceFormat::None, SourceWord::LoadLatency, 1), M(OP, NA) | rest);
}

/// A word that was computed by hand from the manual's layout: Sandy Bridge, code 6, no walk, not locked.
TEST(PerfDataSource, OfTheWorkedExampleIsItsNumber) {
  EXPECT_EQ(perf_data_src(DataSourceFormat::SandyBridge, SourceWord::LoadLatency, 6), 0x106'6820'0842U);
}

TEST(PerfDataSource, HasTheFieldsOfTheSystemsHeader) {
  perf_mem_data_src word{};
  word.val = 0;
  const auto matches = [&](perf_mem::Field field, std::uint64_t most) {
    EXPECT_EQ(word.val, field.value(most).bits);
    EXPECT_EQ(field.of({word.val}), most);
    word.val = 0;
  };
  word.mem_op = 0x1F, matches(perf_mem::kOperation, 0x1F);
  word.mem_lvl = 0x3FFF, matches(perf_mem::kLevel, 0x3FFF);
  word.mem_snoop = 0x1F, matches(perf_mem::kSnoop, 0x1F);
  word.mem_lock = 3, matches(perf_mem::kLock, 3);
  word.mem_dtlb = 0x7F, matches(perf_mem::kTlb, 0x7F);
  word.mem_lvl_num = 0xF, matches(perf_mem::kLevelNumber, 0xF);
  word.mem_remote = 1, matches(perf_mem::kRemoteFlag, 1);
  word.mem_snoopx = 3, matches(perf_mem::kSnoopMore, 3);
  word.mem_blk = 7, matches(perf_mem::kBlock, 7);
  word.mem_hops = 7, matches(perf_mem::kHops, 7);
}

#undef M

// ---- which event tells what

const CpuModel& model(const char* name) { return *find_cpu_model(name); }

SourceWord word_of(const char* cpu, std::uint8_t event, std::uint8_t umask) {
  return source_word(model(cpu), find_event(model(cpu), event, umask));
}

TEST(SourceWords, OfEachGenerationsEvents) {
  EXPECT_EQ(word_of("nehalem", 0x0B, 0x10), SourceWord::LoadLatency);
  EXPECT_EQ(word_of("nehalem", 0x0B, 0x01), SourceWord::None) << "its plain loads have no address";
  EXPECT_EQ(word_of("ivybridge", 0xCD, 0x01), SourceWord::LoadLatency);
  EXPECT_EQ(word_of("ivybridge", 0xCD, 0x02), SourceWord::PreciseStore);
  EXPECT_EQ(word_of("sapphire-rapids", 0xCD, 0x02), SourceWord::StoreLatency);
  for (const char* cpu : {"haswell", "skylake-client", "skylake-server", "icelake-server", "sapphire-rapids"}) {
    EXPECT_EQ(word_of(cpu, 0xCD, 0x01), SourceWord::LoadLatency) << cpu;
    EXPECT_EQ(word_of(cpu, 0xD0, 0x82), SourceWord::StoreHit) << cpu;
    EXPECT_EQ(word_of(cpu, 0xD0, 0x81), SourceWord::PlainLoad) << cpu;
    EXPECT_EQ(word_of(cpu, 0xD1, 0x20), SourceWord::PlainLoad) << cpu;
    EXPECT_EQ(word_of(cpu, 0xC4, 0x00), SourceWord::None) << cpu;
  }
  EXPECT_EQ(source_word(model("goldmont"), find_event(model("goldmont"), std::uint8_t{0xD0}, std::uint8_t{0x81})),
            SourceWord::None);
  EXPECT_EQ(source_word(model("skylake-server"), nullptr), SourceWord::None);
}

TEST(LatencyWord, IsTwoHalvesOnSapphireRapidsOnly) {
  for (const DataSourceFormat format : kFormats) {
    if (format == DataSourceFormat::None) continue;
    const bool halves = format == DataSourceFormat::SapphireRapids;
    const std::uint64_t word = encode_latency(format, SourceWord::LoadLatency, 300);
    EXPECT_EQ(word, halves ? 0x12C'0000'012CU : 300U);
    EXPECT_EQ(decode_latency(format, SourceWord::LoadLatency, word),
              (AccessLatency{.cycles = 300, .instruction_cycles = halves ? 300U : 0U}));
    const std::uint64_t most = encode_latency(format, SourceWord::LoadLatency, 0x12345);
    EXPECT_EQ(decode_latency(format, SourceWord::LoadLatency, most).cycles, halves ? 0xFFFFU : 0x12345U);
    EXPECT_EQ(encode_latency(format, SourceWord::StoreHit, 300), 0U);
  }
  EXPECT_EQ(encode_latency(DataSourceFormat::None, SourceWord::LoadLatency, 300), 0U);
}

}  // namespace
}  // namespace zs::arch
