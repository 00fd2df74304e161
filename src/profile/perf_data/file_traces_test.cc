#include "profile/perf_data/file_traces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "profile/perf_data/perf_data_reader.h"
#include "profile/perf_data/perf_data_writer.h"
#include "profile/perf_data/test_recordings.h"

namespace zs::profile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using testing::read_file;
using testing::TemporaryDirectory;
using testing::two_events;
using Branch = std::pair<std::uint64_t, std::uint64_t>;

std::vector<std::byte> records_of(const std::vector<Branch>& branches) {
  ByteWriter bytes;
  for (const auto& [from, to] : branches) bytes.write(arch::BtsRecord{.from = from, .to = to, .flags = 0});
  return {bytes.bytes().begin(), bytes.bytes().end()};
}

/// Two threads of process 5; the second thread's only piece is older than the first one's second.
class Traced {
 public:
  Traced() {
    RecordingDescription description = two_events();
    description.events = {{.name = "intel_bts//u", .type = perf::kBranchTraceType, .period = 1}};
    auto writer = PerfDataWriter::create(here_ / "perf.data", description);
    EXPECT_TRUE(writer);
    EXPECT_TRUE(writer->comm({.pid = 5, .tid = 5, .time_ns = 1, .name = "prog"}));
    EXPECT_TRUE(writer->fork({.pid = 5, .parent_pid = 5, .tid = 6, .parent_tid = 5, .time_ns = 2}));
    EXPECT_TRUE(writer->branches({.pid = 5, .tid = 5, .time_ns = 10}, records_of({{1, 2}, {3, 4}})));
    EXPECT_TRUE(writer->branches({.pid = 5, .tid = 5, .time_ns = 30}, records_of({{4, 0}})));
    EXPECT_TRUE(writer->branches({.pid = 5, .tid = 6, .time_ns = 20}, records_of({{7, 8}})));
    EXPECT_TRUE(writer->close({}));
    bytes_ = read_file(here_ / "perf.data");
  }

  /// Where the n-th record of this type is.
  std::size_t record(perf::RecordType type, int n = 0) const {
    perf::FileHeader header;
    std::memcpy(&header, bytes_.data(), sizeof header);
    for (std::size_t at = header.data.offset; at < header.data.end();) {
      perf::RecordHeader head;
      std::memcpy(&head, bytes_.data() + at, sizeof head);
      if (head.type == static_cast<std::uint32_t>(type) && n-- == 0) return at;
      std::uint64_t behind = 0;
      if (head.type == static_cast<std::uint32_t>(perf::RecordType::Auxtrace)) {
        std::memcpy(&behind, bytes_.data() + at + sizeof head, sizeof behind);
      }
      at += head.size + behind;
    }
    ADD_FAILURE() << "no such record";
    return 0;
  }
  template <typename T>
  void set(std::size_t at, T value) {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  void cut(std::size_t size) { bytes_.resize(size); }
  std::size_t size() const { return bytes_.size(); }

  Result<PerfDataReader> read(PerfDataOptions options) const {
    return PerfDataReader::from_bytes("app.data", bytes_, options);
  }

 private:
  TemporaryDirectory here_;
  std::vector<std::byte> bytes_;
};

std::vector<std::pair<std::int32_t, Branch>> branches_by_pieces(const PerfDataReader& reader) {
  std::vector<std::pair<std::int32_t, Branch>> branches;
  reader.for_each(PerfDataReader::Order::Time, [&](const Record& record) {
    const auto* const piece = std::get_if<TracedBranches>(&record);
    if (piece == nullptr) return;
    EXPECT_EQ(piece->pid, 5);
    for_each_branch(piece->records, [&](std::uint64_t from, std::uint64_t to) {
      branches.push_back({piece->tid, {from, to}});
    });
  });
  return branches;
}

TEST(FileTraces, GiveEveryBranchOnceInTheOrderOfPiecesInTime) {
  const Traced file;
  const auto reader = file.read({.traces = Traces::Pieces});
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_TRUE(reader->has_branch_trace());
  EXPECT_THAT(reader->remarks(), IsEmpty());
  EXPECT_EQ(reader->sample_count(), 0U);
  EXPECT_THAT(branches_by_pieces(*reader),
              ElementsAre(Pair(5, Branch{1, 2}), Pair(5, Branch{3, 4}), Pair(6, Branch{7, 8}), Pair(5, Branch{4, 0})));
}

TEST(FileTraces, AreSamplesOfAnEventBranchesWhereThatIsWanted) {
  const Traced file;
  const auto reader = file.read({.traces = Traces::Samples});
  ASSERT_TRUE(reader) << reader.error().message;
  ASSERT_EQ(reader->events().size(), 1U);
  EXPECT_EQ(reader->events()[0].name, "branches:uH");
  EXPECT_EQ(reader->events()[0].traced_as, "intel_bts//u");
  EXPECT_EQ(reader->sample_count(), 4U);
  std::vector<Branch> branches;
  reader->for_each(PerfDataReader::Order::Time, [&](const Record& record) {
    const auto* const sample = std::get_if<SampleRecord>(&record);
    if (sample == nullptr) return;
    EXPECT_EQ(sample->sample.period, 1U);
    branches.emplace_back(sample->sample.ip, sample->sample.address);
  });
  EXPECT_THAT(branches, ElementsAre(Branch{1, 2}, Branch{3, 4}, Branch{7, 8}, Branch{4, 0}));
}

TEST(FileTraces, ArePassedOverWithAWordWhereNobodyWantsThem) {
  const Traced file;
  const auto reader = file.read({});
  ASSERT_TRUE(reader);
  EXPECT_THAT(branches_by_pieces(*reader), IsEmpty());
  EXPECT_THAT(reader->remarks(), ElementsAre("app.data: auxiliary traces are passed over: 168 bytes by Intel BTS"));
}

/// As stock perf writes them: no record of zeros ends a piece, and its decoder leaves out the last one.
TEST(FileTraces, HaveTheLastRecordOfAPieceThatNoRecordOfZerosEnds) {
  Traced file;
  const std::size_t piece = file.record(perf::RecordType::Auxtrace, 1);
  file.set(piece + 48 + sizeof(arch::BtsRecord), arch::BtsRecord{.from = 9, .to = 10, .flags = 0});
  EXPECT_EQ(file.read({.traces = Traces::Samples})->sample_count(), 5U);
}

TEST(FileTraces, HaveTimesOfTheClockThatTheyWereTakenBy) {
  Traced file;
  const std::size_t info = file.record(perf::RecordType::AuxtraceInfo) + sizeof(perf::RecordHeader);
  file.set(info + offsetof(perf::BranchTraceInfo, time_shift), std::uint64_t{4});
  file.set(info + offsetof(perf::BranchTraceInfo, time_multiplier), std::uint64_t{8});  // half a nanosecond a tick
  file.set(info + offsetof(perf::BranchTraceInfo, time_zero), std::uint64_t{1000});
  std::vector<std::uint64_t> times;
  file.read({.traces = Traces::Pieces})->for_each(PerfDataReader::Order::Time, [&](const Record& record) {
    if (const auto* piece = std::get_if<TracedBranches>(&record)) times.push_back(piece->time_ns);
  });
  EXPECT_THAT(times, ElementsAre(1005U, 1010U, 1015U));
}

TEST(FileTraces, ThatWereCutAreReadUpToThere) {
  Traced file;
  file.cut(file.record(perf::RecordType::Auxtrace, 2) + 48 + 30);  // a record of 24 and 6 bytes of the next
  const auto strict = file.read({.traces = Traces::Pieces});
  ASSERT_FALSE(strict);
  EXPECT_THAT(strict.error().message, HasSubstr("auxiliary trace ends 18 bytes early: 48 bytes needed, 30 remain"));
  const auto reader = file.read({.truncated = true, .traces = Traces::Pieces});
  ASSERT_TRUE(reader);
  EXPECT_EQ(branches_by_pieces(*reader).size(), 4U);
}

TEST(FileTraces, OfNoWholeNumberOfRecordsAreRefused) {
  Traced file;
  file.set(file.record(perf::RecordType::Auxtrace) + sizeof(perf::RecordHeader), std::uint64_t{70});
  EXPECT_THAT(file.read({.traces = Traces::Pieces}).error().message,
              HasSubstr("piece of a branch trace: has 70 bytes, no whole number of BTS records of 24"));
}

TEST(FileTraces, OfAnAbsurdClockOrSizeAreRefused) {
  Traced clock;
  clock.set(clock.record(perf::RecordType::AuxtraceInfo) + sizeof(perf::RecordHeader) +
                offsetof(perf::BranchTraceInfo, time_shift),
            std::uint64_t{64});
  EXPECT_THAT(clock.read({.traces = Traces::Pieces}).error().message, HasSubstr("has a clock of 2^64 ticks"));
  Traced size;
  size.set(size.record(perf::RecordType::Auxtrace) + sizeof(perf::RecordHeader), ~std::uint64_t{0} / 24 * 24);
  EXPECT_THAT(size.read({.traces = Traces::Samples}).error().message, HasSubstr("auxiliary trace ends"));
  EXPECT_TRUE(size.read({.truncated = true, .traces = Traces::Samples}));
}

TEST(FileTraces, SayWhatTheKernelHadNoRoomFor) {
  Traced file;
  const std::size_t aux = file.record(perf::RecordType::Aux) + sizeof(perf::RecordHeader);
  file.set(aux + offsetof(perf::AuxBody, flags), perf::AuxBody::kTruncated);
  EXPECT_THAT(file.read({.traces = Traces::Pieces})->remarks(),
              ElementsAre("app.data: branches were lost while it was recorded: 1 piece of the trace is marked as cut"));
}

}  // namespace
}  // namespace zs::profile
