// Recordings that pretend to have sampled `subject` (subject.S), whose addresses are the same wherever it is built.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdio>
#include <string>

#include "profile/perf_data/perf_data_writer.h"
#include "profile/perf_data/test_recordings.h"

namespace zs::perf_reader {

inline constexpr std::uint64_t kStart = 0x401000, kMiddle = 0x40100E, kLeaf = 0x401019;
inline constexpr std::uint64_t kLoad = kLeaf + 0xC, kAdd = kLeaf + 0xF, kBranch = kLeaf + 0x15;
inline constexpr std::uint64_t kBackInMiddle = kMiddle + 9, kBackInStart = kStart + 5;

inline profile::RecordingDescription subject_description() {
  profile::RecordingDescription description = profile::testing::two_events();
  description.machine.cpus = 2;
  return description;
}

/// Two threads; 40 samples of the first event, 10 of the second, all in leaf, two of three at its ADD.
inline void write_subject_samples(profile::PerfDataWriter& writer) {
  ASSERT_TRUE(writer.comm({.pid = 100, .tid = 100, .time_ns = 1000, .name = "subject", .exec = true}));
  ASSERT_TRUE(writer.mmap({.pid = 100,
                           .tid = 100,
                           .time_ns = 1001,
                           .start = 0x401000,
                           .length = 0x1000,
                           .file_offset = 0x1000,
                           .protection = PROT_READ | PROT_EXEC,
                           .flags = MAP_PRIVATE,
                           .path = SUBJECT}));
  ASSERT_TRUE(writer.fork({.pid = 100, .parent_pid = 100, .tid = 101, .parent_tid = 100, .time_ns = 2000}));
  ASSERT_TRUE(writer.comm({.pid = 100, .tid = 101, .time_ns = 2001, .name = "worker"}));
  for (std::uint64_t number = 0; number < 50; ++number) {
    session::Sample sample;
    sample.event = number % 5 == 0 ? 1 : 0;
    sample.pid = 100;
    sample.tid = number % 4 == 0 ? 101 : 100;
    sample.cpu = number % 2 == 0 ? 0 : 1;
    sample.time_ns = 1'000'000 + 1000 * number;
    sample.ip = number % 3 == 0 ? kLoad : kAdd;
    sample.exact_ip = true;
    sample.address = 0x402000;
    sample.period = sample.event == 1 ? 100 : 1000;
    sample.has_registers = true;
    sample.registers = {.flags = 0x246, .ip = sample.ip + 3, .ax = number, .cx = 1000 - number, .si = 0x402000};
    sample.branches = {{kBranch, kLoad, false, 0, arch::BranchKind::Conditional},
                       {kMiddle + 4, kLeaf, false, 0, arch::BranchKind::RelativeCall}};
    sample.callchain = {sample.ip, kBackInMiddle, kBackInStart};
    ASSERT_TRUE(writer.sample(sample));
    if (number % 20 == 0) {
      ASSERT_TRUE(writer.round(sample.time_ns));
    }
  }
  ASSERT_TRUE(writer.exit({.pid = 100, .parent_pid = 100, .tid = 101, .parent_tid = 100, .time_ns = 4'000'000}));
}

inline void write_subject_recording(const std::string& path, const profile::RecordingDescription& description) {
  auto writer = profile::PerfDataWriter::create(path, description);
  ASSERT_TRUE(writer) << writer.error().message;
  write_subject_samples(*writer);
  const auto closed = writer->close({{{"PMIs", "12"}, {"PEBS records", "50"}, {"lost samples", "0"}}});
  ASSERT_TRUE(closed) << closed.error().message;
}

/// `text` with the place where the subject was built taken out.
inline std::string without_place(std::string text, const std::string& place = SUBJECT,
                                 const std::string& name = "SUBJECT") {
  for (std::size_t at = 0; (at = text.find(place, at)) != std::string::npos; at += name.size()) {
    text.replace(at, place.size(), name);
  }
  return text;
}

}  // namespace zs::perf_reader
