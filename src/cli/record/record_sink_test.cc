#include "cli/record/record_sink.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>

#include "profile/perf_data/perf_data_reader.h"

namespace zs::cli {
namespace {

using session::Comm;
using session::Exit;
using session::Fork;
using session::Hello;
using session::Origin;
using session::Sample;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

Origin origin(std::int32_t pid, std::int32_t tid, std::uint64_t time_ns) {
  return {.pid = pid, .tid = tid, .time_ns = time_ns};
}

class RecordSinkTest : public testing::Test {
 protected:
  ~RecordSinkTest() override { unlink(path_.c_str()); }

  RecordSink sink(bool virtual_time = false) {
    profile::RecordingDescription description;
    description.events = {{.name = "instructions:ppp", .config = 0xC0, .period = 100, .precise_ip = 3}};
    auto writer = profile::PerfDataWriter::create(path_, description);
    EXPECT_TRUE(writer) << writer.error().message;
    return RecordSink(*std::move(writer), virtual_time);
  }

  template <typename T>
  std::vector<T> records() {
    auto reader = profile::PerfDataReader::open(path_);
    EXPECT_TRUE(reader) << (reader ? "" : reader.error().message);
    std::vector<T> out;
    if (!reader) return out;
    notes_ = reader->summary().notes;
    reader->for_each(profile::PerfDataReader::Order::Time, [&](const profile::Record& record) {
      if (const T* wanted = std::get_if<T>(&record)) out.push_back(*wanted);
    });
    return out;
  }

  std::vector<profile::Note> notes_;
  const std::string path_ = testing::TempDir() + "record_sink_" + std::to_string(getpid()) + ".data";
};

Sample sample_at(std::uint64_t time_ns, std::int32_t pid = 7) {
  Sample s;
  s.pid = s.tid = pid;
  s.time_ns = time_ns;
  s.ip = 0x401000;
  s.period = 100;
  return s;
}

TEST_F(RecordSinkTest, WritesEveryFactThatArrives) {
  RecordSink out = sink();
  out.receive(Comm{.origin = origin(7, 7, 1), .exec = true, .comm = "gzip"});
  out.receive(
      session::Mmap{.origin = origin(7, 7, 2), .start = 0x400000, .length = 0x1000, .protection = 5, .path = "/x"});
  out.receive(Fork{.origin = origin(8, 8, 3), .parent_pid = 7, .parent_tid = 7});
  out.receive(sample_at(4));
  out.receive(session::Lost{.origin = origin(7, 7, 5), .event = 0, .samples = 3});
  ASSERT_TRUE(out.close());
  EXPECT_EQ(out.samples(), 1U);
  EXPECT_EQ(records<profile::Comm>().at(0).name, "gzip");
  EXPECT_EQ(records<profile::Mmap>().at(0).start, 0x400000U);
  EXPECT_EQ(records<profile::Fork>().at(0).pid, 8);
  EXPECT_EQ(records<profile::SampleRecord>().at(0).sample.ip, 0x401000U);
  EXPECT_EQ(records<profile::Lost>().at(0).count, 3U);
}

TEST_F(RecordSinkTest, AProcessThatExecsDoesNotExit) {
  RecordSink out = sink();
  out.receive(Exit{.origin = origin(7, 7, 1), .parent_pid = 1, .parent_tid = 1});
  out.receive(Hello{.origin = origin(7, 7, 2), .exec = true});
  ASSERT_TRUE(out.close());
  EXPECT_THAT(records<profile::Exit>(), IsEmpty());
}

TEST_F(RecordSinkTest, AProcessThatEndsExitsAtItsTime) {
  RecordSink out = sink();
  out.receive(Exit{.origin = origin(7, 9, 1), .parent_pid = 7, .parent_tid = 7});
  out.receive(Exit{.origin = origin(7, 7, 2), .parent_pid = 1, .parent_tid = 1});
  ASSERT_TRUE(out.close());
  const auto exits = records<profile::Exit>();
  ASSERT_THAT(exits, SizeIs(2));
  EXPECT_EQ(exits[0].tid, 9);
  EXPECT_EQ(exits[1].tid, 7);
  EXPECT_EQ(exits[1].time_ns, 2U);
}

TEST_F(RecordSinkTest, AProcessNumberThatIsGivenAwayAgainWasAnEnd) {
  RecordSink out = sink();
  out.receive(Exit{.origin = origin(7, 7, 1), .parent_pid = 1, .parent_tid = 1});
  out.receive(Fork{.origin = origin(7, 7, 5), .parent_pid = 1, .parent_tid = 1});
  out.receive(Hello{.origin = origin(7, 7, 6), .exec = true});
  ASSERT_TRUE(out.close());
  EXPECT_THAT(records<profile::Exit>(), SizeIs(1));
}

TEST_F(RecordSinkTest, VirtualTimeGoesOnAcrossExecAndIntoChildren) {
  RecordSink out = sink(true);
  out.receive(sample_at(100));
  out.receive(Hello{.origin = origin(7, 7, 0), .exec = true});
  out.receive(sample_at(10));  // 110
  out.receive(Fork{.origin = origin(8, 8, 20), .parent_pid = 7, .parent_tid = 7, .by_parent = true});
  out.receive(sample_at(25, 8));  // 125: the child goes on from its parent's clock
  ASSERT_TRUE(out.close());
  std::vector<std::uint64_t> times;
  for (const auto& r : records<profile::SampleRecord>()) times.push_back(r.sample.time_ns);
  EXPECT_THAT(times, ElementsAre(100U, 110U, 125U));
}

TEST_F(RecordSinkTest, TheSummaryAddsUpAllThreadsKilledOnesToo) {
  RecordSink out = sink();
  out.receive(session::Statistics{.origin = origin(7, 7, 1), .pmis = 1, .records = 10});
  out.receive(session::Statistics{.origin = origin(7, 7, 2), .pmis = 2, .records = 20, .lost = 1});  // replaces
  out.receive(Exit{.origin = origin(7, 7, 3), .parent_pid = 1, .parent_tid = 1});
  out.receive(session::Statistics{.origin = origin(8, 8, 4), .pmis = 5, .records = 50});
  ASSERT_TRUE(out.close());
  records<profile::Exit>();
  EXPECT_THAT(notes_, ElementsAre(profile::Note{"PMIs", "7"}, profile::Note{"PEBS records", "70"},
                                  profile::Note{"lost samples", "1"}));
}

TEST_F(RecordSinkTest, AFullDiskIsSaidOnceAndTheRestIsLetPass) {
  profile::RecordingDescription description;
  description.events = {{.name = "instructions", .config = 0xC0, .period = 100}};
  testing::internal::CaptureStderr();
  auto writer = profile::PerfDataWriter::create("/dev/full", description);
  if (writer) {
    RecordSink out(*std::move(writer), false);
    for (int i = 0; i < 100'000; ++i) out.receive(sample_at(1));
    EXPECT_FALSE(out.close());
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_THAT(said, testing::HasSubstr("zeroskid: /dev/full: "));
    EXPECT_THAT(said, testing::HasSubstr("No space left on device"));
    EXPECT_THAT(said, testing::EndsWith("zeroskid: the program runs on, unrecorded\n"));
    EXPECT_EQ(said.find("No space left"), said.rfind("No space left"));
  } else {
    EXPECT_THAT(writer.error().message, testing::HasSubstr("No space left on device"));
    testing::internal::GetCapturedStderr();
  }
}

// A log of stderr may be on the disk that is full.
TEST_F(RecordSinkTest, WhatCouldNotBeSaidIsSaidAtTheEnd) {
  testing::internal::CaptureStderr();
  const auto before = signal(SIGXFSZ, SIG_IGN);
  RecordSink out = sink();
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit small{.rlim_cur = 100, .rlim_max = limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const int stderr_before = dup(STDERR_FILENO), full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  dup2(full, STDERR_FILENO);
  out.receive(sample_at(1));
  out.breathe();
  dup2(stderr_before, STDERR_FILENO);
  setrlimit(RLIMIT_FSIZE, &limit);
  close(full);
  close(stderr_before);
  EXPECT_FALSE(out.close());
  signal(SIGXFSZ, before);
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      "zeroskid: " + path_ +
          ": cannot write: File too large; no sample is in the file and readable, 1 sample and the summary missing\n"
          "hint: a limit on file sizes is set (ulimit -f): raise it, or record less\n"
          "zeroskid: 1 of 1 samples are not in " +
          path_ + "\n");
}

}  // namespace
}  // namespace zs::cli
