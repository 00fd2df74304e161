// Recordings for the tests of this layer: made by hand, the same every time.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "arch/records/perf_mem.h"
#include "profile/perf_data/perf_data_writer.h"

namespace zs::profile::testing {

/// A directory of its own for one test, gone when the test is.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "zeroskid-test-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  std::string operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

inline std::vector<std::byte> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

inline void write_file(const std::string& path, Bytes bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

inline RecordingDescription two_events() {
  RecordingDescription description;
  description.events = {
      {.name = "inst_retired.any:ppp", .config = 0x1C0, .period = 1000, .precise_ip = 3},
      {.name = "mem_inst_retired.all_loads:pp", .config = 0x81D0, .period = 100, .precise_ip = 2},
  };
  description.machine = {.hostname = "vm",
                         .os_release = "6.1.0",
                         .cpu_description = "skylake-server@1",
                         .cpu_id = "GenuineIntel,6,85,4",
                         .cpus = 2,
                         .memory_kb = 1024,
                         .pmu_capabilities = {{"branches", "32"}, {"max_precise", "3"}}};
  description.version = "zeroskid 0.1.0";
  description.command_line = {"zeroskid", "record", "--", "./subject"};
  description.notes = {{"cpu model", "skylake-server@1"}, {"seed", "1"}};
  return description;
}

/// The number-th sample of a recording: every field differs from that of its neighbours.
inline session::Sample sample_number(std::uint64_t number) {
  session::Sample sample;
  sample.event = number % 5 == 0 ? 1 : 0;
  sample.pid = 100;
  sample.tid = number % 2 == 0 ? 100 : 101;
  sample.cpu = number % 2 == 0 ? 0 : 1;
  sample.time_ns = 1'000'000 + 1000 * number;
  sample.ip = 0x401000 + number % 16;
  sample.exact_ip = true;
  sample.chain_end = static_cast<session::ChainEnd>(number % 5);
  sample.address = 0x7000'0000 + 8 * number;
  sample.data_source = arch::perf_mem::kNothingKnown.bits + number;
  sample.latency = 4 + number;
  sample.instruction_latency = static_cast<std::uint16_t>(5 + number);
  sample.period = sample.event == 1 ? 100 : 1000;
  sample.has_registers = true;
  sample.registers = {.flags = 0x246, .ip = sample.ip + 3, .ax = number, .sp = 0x7FFF'0000, .r15 = ~number};
  sample.branches = {
      {0x401010, 0x401000, false, 0, arch::BranchKind::Conditional},
      {0x402000 + number, 0x401000, true, 7, arch::BranchKind::RelativeCall, arch::BranchSpeculation::NonSpeculative}};
  sample.callchain = {sample.ip, 0x402005, 0x403005};
  for (std::uint64_t i = 0; i < 24 + number % 3; ++i) sample.user_stack.push_back(static_cast<std::byte>(i));
  sample.raw.assign(12 + number % 3 * 8,
                    static_cast<std::byte>(number));  // with its length, whole words: nothing is added
  return sample;
}

/// Process 100 with two threads; `samples` of sample_number.
inline void write_samples(PerfDataWriter& writer, std::uint64_t samples) {
  ASSERT_TRUE(writer.comm({.pid = 100, .tid = 100, .time_ns = 1000, .name = "subject", .exec = true}));
  ASSERT_TRUE(writer.mmap({.pid = 100,
                           .tid = 100,
                           .time_ns = 1001,
                           .start = 0x401000,
                           .length = 0x3000,
                           .file_offset = 0x1000,
                           .protection = PROT_READ | PROT_EXEC,
                           .flags = MAP_PRIVATE,
                           .build_id = BuildId{{1, 2, 3, 4, 5, 6, 7, 8}, 8},
                           .path = "/nowhere/subject"}));
  ASSERT_TRUE(writer.mmap({.pid = 100,
                           .tid = 100,
                           .time_ns = 1002,
                           .start = 0x7000'0000,
                           .length = 0x100000,
                           .protection = PROT_READ | PROT_WRITE,
                           .flags = MAP_PRIVATE | MAP_ANONYMOUS,
                           .device_major = 8,
                           .device_minor = 1,
                           .inode = 12345,
                           .inode_generation = 7,
                           .path = "//anon"}));
  ASSERT_TRUE(writer.fork({.pid = 100, .parent_pid = 100, .tid = 101, .parent_tid = 100, .time_ns = 2000}));
  for (std::uint64_t number = 0; number < samples; ++number) ASSERT_TRUE(writer.sample(sample_number(number)));
  ASSERT_TRUE(writer.lost({.event = 1, .count = 3, .pid = 100, .tid = 101, .time_ns = 3'000'000}));
  ASSERT_TRUE(writer.exit({.pid = 100, .parent_pid = 100, .tid = 101, .parent_tid = 100, .time_ns = 4'000'000}));
}

inline void write_recording(const std::string& path, RecordingDescription description, std::uint64_t samples) {
  auto writer = PerfDataWriter::create(path, std::move(description));
  ASSERT_TRUE(writer) << writer.error().message;
  write_samples(*writer, samples);
  const auto closed = writer->close({{{"PMIs", "12"}, {"PEBS records", "50"}}});
  ASSERT_TRUE(closed) << closed.error().message;
}

}  // namespace zs::profile::testing
