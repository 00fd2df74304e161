// Recordings of memory accesses that `subject` (subject.S) pretends to have made: every word that a generation's
// records can say, on a variable, the heap, the stack, a file and nothing.
#pragma once

#include <string>
#include <vector>

#include "arch/records/data_source.h"
#include "subject_recording.h"

namespace zs::perf_reader {

inline constexpr std::uint64_t kTable = 0x402000, kHeap = 0x2000'0000'1000, kStack = 0x29FF'FFFF'0000,
                               kAnonymous = 0x2010'0000'0000;

inline profile::RecordingDescription memory_description() {
  profile::RecordingDescription description = subject_description();
  description.events = {
      {.name = "cpu/mem-loads,ldlat=30/P", .config = 0x1CD, .config1 = 30, .period = 1000, .precise_ip = 3},
      {.name = "cpu/mem-stores/P", .config = 0x82D0, .period = 1000, .precise_ip = 3},
  };
  description.data_sources = description.latencies = true;
  return description;
}

inline void map_subject(profile::PerfDataWriter& writer) {
  ASSERT_TRUE(writer.comm({.pid = 100, .tid = 100, .time_ns = 1000, .name = "subject", .exec = true}));
  const auto map = [&](std::uint64_t start, std::uint64_t length, std::uint64_t offset, std::uint32_t protection,
                       const char* path) {
    ASSERT_TRUE(writer.mmap({.pid = 100,
                             .tid = 100,
                             .time_ns = 1001,
                             .start = start,
                             .length = length,
                             .file_offset = offset,
                             .protection = protection,
                             .flags = MAP_PRIVATE,
                             .path = path}));
  };
  map(0x400000, 0x1000, 0, PROT_READ, SUBJECT);
  map(0x401000, 0x1000, 0x1000, PROT_READ | PROT_EXEC, SUBJECT);
  map(0x402000, 0x1000, 0x2000, PROT_READ | PROT_WRITE, SUBJECT);
  map(kHeap - 0x1000, 0x21000, 0, PROT_READ | PROT_WRITE, "[heap]");
  map(kAnonymous, 0x400000, 0, PROT_READ | PROT_WRITE, "//anon");
  map(kStack - 0x10000, 0x20000, 0, PROT_READ | PROT_WRITE, "[stack]");
}

/// One access of a recording.
struct Access {
  std::uint32_t event = 0;
  std::uint64_t ip = kLoad, address = kTable, data_source = 0, latency = 0;
  std::int32_t tid = 100;
  std::uint64_t times = 1;
  std::uint64_t period = 1000;
};

inline void write_memory_recording(const std::string& path, const std::vector<Access>& accesses,
                                   const profile::RecordingDescription& description = memory_description()) {
  auto writer = profile::PerfDataWriter::create(path, description);
  ASSERT_TRUE(writer) << writer.error().message;
  map_subject(*writer);
  std::uint64_t number = 0;
  for (const Access& access : accesses) {
    for (std::uint64_t i = 0; i < access.times; ++i) {
      session::Sample sample;
      sample.event = access.event;
      sample.pid = 100;
      sample.tid = access.tid;
      sample.time_ns = 1'000'000 + 1000 * ++number;
      sample.ip = access.ip;
      sample.exact_ip = true;
      sample.address = access.address;
      sample.data_source = access.data_source;
      sample.latency = access.latency;
      sample.instruction_latency = static_cast<std::uint16_t>(access.latency + 1);
      sample.period = access.period;
      sample.has_registers = true;
      sample.registers = {.ip = access.ip + 3, .sp = kStack};
      ASSERT_TRUE(writer->sample(sample));
    }
  }
  const auto closed = writer->close({});
  ASSERT_TRUE(closed) << closed.error().message;
}

/// What Linux makes of every word of every generation's records.
inline std::vector<std::uint64_t> every_data_source() {
  std::vector<std::uint64_t> words;
  for (int format = 0; format <= static_cast<int>(arch::DataSourceFormat::SapphireRapids); ++format) {
    for (int word = 0; word <= static_cast<int>(arch::SourceWord::StoreLatency); ++word) {
      for (std::uint64_t bits = 0; bits < 0x100; ++bits) {
        words.push_back(arch::perf_data_src(static_cast<arch::DataSourceFormat>(format),
                                            static_cast<arch::SourceWord>(word), bits));
      }
    }
  }
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

}  // namespace zs::perf_reader
