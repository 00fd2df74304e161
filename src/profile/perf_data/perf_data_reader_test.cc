#include "profile/perf_data/perf_data_reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "profile/perf_data/test_recordings.h"

namespace zs::profile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::read_file;
using testing::sample_number;
using testing::TemporaryDirectory;
using testing::two_events;
using testing::write_recording;

/// The bytes of a recording of `samples` samples, with one thing wrong.
class Damaged {
 public:
  explicit Damaged(std::uint64_t samples, const RecordingDescription& description = two_events()) {
    const TemporaryDirectory here;
    write_recording(here / "file", description, samples);
    bytes_ = read_file(here / "file");
    std::memcpy(&header_, bytes_.data(), sizeof header_);
  }
  template <typename T>
  Damaged& set(std::size_t at, T value) {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
    return *this;
  }
  Damaged& cut(std::size_t size) {
    bytes_.resize(size);
    return *this;
  }

  /// Place of the n-th record of this type.
  std::uint64_t record(perf::RecordType type, int n = 0) const {
    for (std::uint64_t at = header_.data.offset; at < header_.data.end();) {
      perf::RecordHeader head;
      std::memcpy(&head, bytes_.data() + at, sizeof head);
      if (head.type == static_cast<std::uint32_t>(type) && n-- == 0) return at;
      at += head.size;
    }
    ADD_FAILURE() << "no such record";
    return 0;
  }
  const perf::FileHeader& header() const { return header_; }
  std::size_t size() const { return bytes_.size(); }

  Result<PerfDataReader> read(PerfDataOptions options = {}) const {
    return PerfDataReader::from_bytes("app.data", bytes_, options);
  }
  std::string error() const {
    const auto reader = read();
    return reader ? "none" : reader.error().message;
  }
  std::string hint() const {
    const auto reader = read();
    return reader ? "none" : reader.error().hint;
  }

 private:
  std::vector<std::byte> bytes_;
  perf::FileHeader header_;
};

TEST(PerfDataReader, ReadsAnUndamagedFile) {
  const Damaged file(10);
  const auto reader = file.read();
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(reader->sample_count(), 10u);
  EXPECT_EQ(reader->events()[0].samples, 8u);
  EXPECT_EQ(reader->events()[1].samples, 2u);
  EXPECT_EQ(reader->events()[1].lost, 3u);
  EXPECT_EQ(reader->lost_count(), 3u);
  EXPECT_EQ(reader->first_sample_ns(), 1'000'000u);
  EXPECT_EQ(reader->last_sample_ns(), 1'009'000u);
  EXPECT_TRUE(reader->finished());
  EXPECT_TRUE(reader->remarks().empty());
  EXPECT_EQ(reader->description().machine.hostname, "vm");
  EXPECT_EQ(reader->description().machine.cpus, 2u);
  EXPECT_THAT(reader->description().command_line, ElementsAre("zeroskid", "record", "--", "./subject"));
}

TEST(PerfDataReader, GivesRecordsOfOneTimeInTheOrderOfTheFile) {
  const TemporaryDirectory here;
  auto writer = PerfDataWriter::create(here / "file", two_events());
  ASSERT_TRUE(writer);
  std::uint64_t ip = 0;
  for (std::uint64_t time : {30, 10, 20, 10, 30}) {
    session::Sample sample;
    sample.time_ns = time;
    sample.ip = ++ip;
    ASSERT_TRUE(writer->sample(sample));
  }
  ASSERT_TRUE(writer->close({}));
  const auto reader = PerfDataReader::open(here / "file");
  ASSERT_TRUE(reader);
  std::vector<std::uint64_t> in_file, in_time;
  const auto into = [](std::vector<std::uint64_t>& list) {
    return [&list](const Record& record) { list.push_back(std::get<SampleRecord>(record).sample.ip); };
  };
  reader->for_each(PerfDataReader::Order::File, into(in_file));
  reader->for_each(PerfDataReader::Order::Time, into(in_time));
  EXPECT_THAT(in_file, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(in_time, ElementsAre(2, 4, 3, 1, 5));
}

TEST(PerfDataReader, SaysWhereASampleIsCutAndWhatCanStillBeRead) {
  Damaged file(10);
  const std::uint64_t at = file.record(perf::RecordType::Sample, 7);
  file.cut(at + 204);
  EXPECT_EQ(file.error(), fmt::format("app.data: at {:#x}: sample ends 12 bytes early: event 1 (inst_retired.any:ppp) "
                                      "needs 216 bytes, 204 remain",
                                      at));
  EXPECT_EQ(file.hint(), "the recording was cut short; --truncated reads the 7 samples before this point");
  const auto reader = file.read({.truncated = true});
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->sample_count(), 7u);
  EXPECT_FALSE(reader->finished());
  ASSERT_TRUE(reader->damage());
  EXPECT_EQ(reader->damage()->message, file.error());
  EXPECT_EQ(reader->events()[0].name, "inst_retired.any:ppp");  // although the features are gone
}

TEST(PerfDataReader, ReadsAFileThatIsCutAtAnyByteUpToTheCut) {
  const Damaged whole(5);
  std::uint64_t samples = 0;
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    Damaged file = whole;  // the reader does not keep the bytes
    const auto reader = file.cut(size).read({.truncated = true});
    const bool has_events = size >= whole.header().data.offset;
    ASSERT_EQ(static_cast<bool>(reader), has_events) << size;
    if (!reader) continue;
    ASSERT_GE(reader->sample_count(), samples) << size;
    samples = reader->sample_count();
    std::uint64_t given = 0;
    reader->for_each(PerfDataReader::Order::Time,
                     [&given](const Record& record) { given += std::holds_alternative<SampleRecord>(record) ? 1 : 0; });
    ASSERT_EQ(given, samples) << size;
  }
  EXPECT_EQ(samples, 5u);
}

TEST(PerfDataReader, SaysThatARecordHeaderIsCut) {
  Damaged file(10);
  const std::uint64_t at = file.record(perf::RecordType::Sample, 1);
  EXPECT_EQ(file.cut(at + 3).error(),
            fmt::format("app.data: at {:#x}: record header ends 5 bytes early: 8 bytes needed, 3 remain", at));
  EXPECT_EQ(file.hint(), "the recording was cut short; --truncated reads the 1 sample before this point");
}

TEST(PerfDataReader, SaysThatTheDataIsCutBetweenTwoRecords) {
  Damaged file(10);
  const std::uint64_t at = file.record(perf::RecordType::Sample, 2);
  EXPECT_EQ(
      file.cut(at).error(),
      fmt::format("app.data: at {:#x}: data ends {} bytes early: {} bytes needed, {} remain", file.header().data.offset,
                  file.header().data.end() - at, file.header().data.size, at - file.header().data.offset));
}

TEST(PerfDataReader, SaysWhichPartOfASampleDoesNotFit) {
  RecordingDescription description = two_events();
  description.callchain = CallchainMode::FramePointers;
  Damaged file(10, description);
  const std::uint64_t at = file.record(perf::RecordType::Sample, 4);
  file.set(at + 64, std::uint64_t{1} << 40);  // length of its call chain
  EXPECT_EQ(file.error(), fmt::format("app.data: at {:#x}: call chain of a sample of event 1 (inst_retired.any:ppp) "
                                      "ends 8796093022024 bytes early: 8796093022208 bytes needed, 184 remain",
                                      at + 72));
  EXPECT_EQ(file.hint(), "the recording was damaged; --truncated reads the 4 samples before this point");
}

TEST(PerfDataReader, WillNotGuessTheEventOfAnUnknownId) {
  Damaged file(10);
  const std::uint64_t at = file.record(perf::RecordType::Sample, 4) + 8;
  EXPECT_EQ(file.set(at, std::uint64_t{77}).error(),
            fmt::format("app.data: at {:#x}: sample has the event id 77, which none of the 2 events has", at));
}

TEST(PerfDataReader, WillNotGoRoundInARecordWithoutLength) {
  Damaged file(10);
  const std::uint64_t at = file.record(perf::RecordType::Fork);
  EXPECT_EQ(file.set(at + 6, std::uint16_t{0}).error(),
            fmt::format("app.data: at {:#x}: a record of type 7 says it has 0 bytes, fewer than its header's 8", at));
}

TEST(PerfDataReader, PassesOverADamagedFeature) {
  Damaged file(10);
  perf::Section hostname;  // the first feature here is BUILD_ID, the second HOSTNAME
  std::uint64_t row = file.header().data.end();
  file.set(row, hostname);
  const auto reader = file.set(row + 8, std::uint64_t{1} << 40).read();
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->sample_count(), 10u);
  EXPECT_EQ(reader->description().machine.hostname, "vm");
  ASSERT_EQ(reader->remarks().size(), 1u);
  EXPECT_THAT(reader->remarks()[0], HasSubstr("app.data: at 0x0: feature 2 (BUILD_ID) ends "));
}

TEST(PerfDataReader, ReadsToTheEndOfAFileWhoseDataSizeWasNeverWritten) {
  Damaged file(10);
  const auto reader = file.cut(file.record(perf::RecordType::Exit)).set(0x30, std::uint64_t{0}).read();
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(reader->sample_count(), 10u);
}

TEST(PerfDataReader, TellsWhatIsNoPerfData) {
  const auto error_of = [](std::string_view text) {
    const auto reader = PerfDataReader::from_bytes("x", std::as_bytes(std::span(text)));
    return reader ? std::string("none") : reader.error().message;
  };
  EXPECT_EQ(error_of(""), "x: not a perf.data file: begins with, not with PERFILE2");
  EXPECT_EQ(error_of("\x7F"
                     "ELF..........."),
            "x: not a perf.data file: begins with 7f 45 4c 46 2e 2e 2e 2e, not with PERFILE2");
  EXPECT_EQ(error_of("PERFILE2"), "x: at 0x0: file header ends 96 bytes early: 104 bytes needed, 8 remain");
  EXPECT_EQ(error_of("2ELIFREP...."), "x: written on a big-endian machine; only little-endian recordings are read");
  EXPECT_EQ(error_of("PERFFILE...."), "x: perf's first format (PERFFILE), of before Linux 2.6.37; PERFILE2 is read");
  EXPECT_EQ(error_of(std::string_view("PERFILE2\x10\0\0\0\0\0\0\0", 16)), "x: the recording has no event");
}

TEST(PerfDataReader, TellsAFileThatIsNotThere) {
  const TemporaryDirectory here;
  const auto missing = PerfDataReader::open(here / "perf.data");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, here / "perf.data" + std::string(": cannot open: No such file or directory"));
  EXPECT_EQ(missing.error().hint, "make a recording first: zeroskid record -- PROGRAM; or name another with -i FILE");
  const auto directory = PerfDataReader::open(here / "");
  ASSERT_FALSE(directory);
  EXPECT_THAT(directory.error().message, HasSubstr("is a directory, not a perf.data file"));
  testing::write_file(here / "empty", {});
  const auto empty = PerfDataReader::open(here / "empty");
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().message,
            here / "empty" + std::string(": is empty: it was created, and nothing was written to it"));
}

struct Wrong {
  std::string name;
  std::function<void(Damaged&)> damage;
  std::string message;
};
class EveryHeaderDamage : public ::testing::TestWithParam<Wrong> {};
TEST_P(EveryHeaderDamage, IsNamed) {
  Damaged file(1);
  GetParam().damage(file);
  std::string message = GetParam().message;
  if (const std::size_t end = message.find("END"); end != std::string::npos) {
    message.replace(end, 3, fmt::format("{:#x}", file.size()));
  }
  EXPECT_EQ(file.error(), message);
}
INSTANTIATE_TEST_SUITE_P(
    PerfDataReader, EveryHeaderDamage,
    ::testing::Values(
        Wrong{"attr_entry", [](Damaged& f) { f.set(0x10, std::uint64_t{24}); },
              "app.data: at 0x10: an event's attributes are said to have 24 bytes; 80 to 4096 needed"},
        Wrong{"no_events", [](Damaged& f) { f.set(0x20, std::uint64_t{0}); },
              "app.data: at 0x18: the recording has no event"},
        Wrong{"many_events", [](Damaged& f) { f.set(0x20, std::uint64_t{144'000'000}); },
              "app.data: at 0x18: 1000000 events; at most 65536 are read"},
        Wrong{"attrs_elsewhere", [](Damaged& f) { f.set(0x18, std::uint64_t{0xFFFF'FFFF}); },
              "app.data: at 0x0: attributes of event 1: refers to 0xffffffff, outside 0x0 to END"},
        Wrong{"ids", [](Damaged& f) { f.set(0x78 + 136, std::uint64_t{1} << 40); },
              "app.data: at 0x68: list of the ids of event 1: has 137438953472 ids, for which the file is too small"},
        Wrong{"sample_type", [](Damaged& f) { f.set(0x78 + 24, std::uint64_t{0x8000'0001}); },
              "app.data: at 0x78: event 1 has samples of an unknown kind: sample_type 0x80000001, of which 0x80000000 "
              "is not known here"},
        Wrong{"data", [](Damaged& f) { f.set(0x28, std::uint64_t{1} << 50); },
              "app.data: at 0x28: the data is said to begin at 0x4000000000000, but the file ends at END"}),
    [](const auto& row) { return row.param.name; });

/// Three samples, of which the second is in a block; then `patch` is given what says so.
std::string error_of_blocks(const std::function<void(std::byte* block, std::byte* of_samples)>& patch) {
  const TemporaryDirectory here;
  {
    auto writer = PerfDataWriter::create(here / "file", two_events());
    for (std::uint64_t number = 0; number < 3; ++number) {
      session::Sample sample = sample_number(number);
      if (number == 1) {
        sample.heap_block =
            std::make_shared<const session::HeapBlock>(session::HeapBlock{.number = 1, .size = 8, .site = {1, 2}});
      }
      EXPECT_TRUE(writer->sample(sample));
    }
    EXPECT_TRUE(writer->close({}));
  }
  auto bytes = read_file(here / "file");
  perf::FileHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  std::byte *block = nullptr, *of_samples = nullptr;
  for (std::uint64_t at = header.data.offset; at < header.data.end();) {
    perf::RecordHeader head;
    perf::NoteBody note;
    std::memcpy(&head, bytes.data() + at, sizeof head);
    std::memcpy(&note, bytes.data() + at + sizeof head, sizeof note);
    std::byte* const body = bytes.data() + at + sizeof head + sizeof note;
    if (head.type == static_cast<std::uint32_t>(perf::RecordType::EventType)) {
      if (note.stage == perf::NoteBody::kHeapBlock) block = body;
      if (note.stage == perf::NoteBody::kBlocksOfSamples) of_samples = body;
    }
    at += head.size;
  }
  EXPECT_NE(block, nullptr);
  EXPECT_NE(of_samples, nullptr);
  patch(block, of_samples);
  const auto reader = PerfDataReader::from_bytes("app.data", bytes);
  return reader ? "" : reader.error().message;
}

void set_word(std::byte* at, std::size_t offset, std::uint32_t value) {
  std::memcpy(at + offset, &value, sizeof value);
}

TEST(PerfDataReader, BelievesNothingThatIsSaidOfBlocks) {
  constexpr std::size_t kSite = offsetof(perf::HeapBlockBody, site),
                        kFirst = offsetof(perf::BlocksOfSamplesBody, first),
                        kCount = offsetof(perf::BlocksOfSamplesBody, count),
                        kNumbers = sizeof(perf::BlocksOfSamplesBody);
  EXPECT_EQ(error_of_blocks([](std::byte*, std::byte*) {}), "");
  EXPECT_THAT(error_of_blocks([&](std::byte* block, std::byte*) { set_word(block, kSite, 3); }),
              HasSubstr("block of the heap ends 8 bytes early"));
  EXPECT_THAT(error_of_blocks([&](std::byte* block, std::byte*) { set_word(block, kSite, UINT32_MAX); }),
              HasSubstr("block of the heap ends"));
  EXPECT_THAT(error_of_blocks([&](std::byte*, std::byte* samples) { set_word(samples, kFirst, 1); }),
              HasSubstr("samples that do not exist"));
  EXPECT_THAT(error_of_blocks([&](std::byte*, std::byte* samples) { set_word(samples, kFirst + 4, UINT32_MAX); }),
              HasSubstr("samples that do not exist"));
  EXPECT_THAT(error_of_blocks([&](std::byte*, std::byte* samples) { set_word(samples, kCount, 1000); }),
              HasSubstr("blocks of samples ends"));
  EXPECT_THAT(error_of_blocks([&](std::byte*, std::byte* samples) { set_word(samples, kNumbers + 4, 2); }),
              HasSubstr("a block that is not described"));
}

}  // namespace
}  // namespace zs::profile
