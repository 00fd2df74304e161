// One recording in every form that people send: as it was written, with compressed records of both types, in the pipe
// format, packed.
// Each reads as the first does, and each is cut at every record.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "profile/perf_data/compressed_records.h"
#include "profile/perf_data/perf_data_reader.h"
#include "profile/perf_data/test_recordings.h"

namespace zs::profile {
namespace {

using perf::RecordType;
using ::testing::HasSubstr;
using testing::read_file;
using testing::TemporaryDirectory;
using testing::two_events;
using testing::write_recording;
using Buffer = std::vector<std::byte>;

constexpr std::uint64_t kSamples = 40;

void append(Buffer& to, Bytes bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }
template <typename T>
void append(Buffer& to, const T& value) {
  append(to, std::as_bytes(std::span(&value, 1)));
}

struct Recording {
  Buffer bytes;
  perf::FileHeader header;

  static Recording written() {
    const TemporaryDirectory here;
    write_recording(here / "file", two_events(), kSamples);
    Recording recording{.bytes = read_file(here / "file"), .header = {}};
    std::memcpy(&recording.header, recording.bytes.data(), sizeof recording.header);
    return recording;
  }
  Bytes data() const { return Bytes(bytes).subspan(header.data.offset, header.data.size); }
};

/// Where records begin, the end included.
std::vector<std::size_t> places_of_records(Bytes bytes, std::size_t first) {
  std::vector<std::size_t> places;
  std::size_t at = first;
  for (perf::RecordHeader head; at < bytes.size(); at += head.size) {
    places.push_back(at);
    std::memcpy(&head, bytes.data() + at, sizeof head);
    if (head.size < sizeof head || head.size > bytes.size() - at) break;
  }
  return places;
}

/// Zstd's stream, flushed after each piece as perf does it, in records of `type`; pieces end in the middle of records.
Buffer compressed_records(Bytes records, RecordType type) {
  const std::unique_ptr<ZSTD_CStream, std::size_t (*)(ZSTD_CStream*)> stream{ZSTD_createCStream(), ZSTD_freeCStream};
  Buffer out;
  constexpr std::size_t kPiece = 1000;
  for (std::size_t at = 0; at < records.size(); at += kPiece) {
    const Bytes piece = records.subspan(at, std::min(kPiece, records.size() - at));
    Buffer packed(4 * kPiece);
    ZSTD_inBuffer from{piece.data(), piece.size(), 0};
    ZSTD_outBuffer to{packed.data(), packed.size(), 0};
    EXPECT_EQ(ZSTD_compressStream2(stream.get(), &to, &from, ZSTD_e_flush), 0u);
    packed.resize(to.pos);
    const bool newer = type == RecordType::Compressed2;
    const std::size_t padding = newer ? (8 - packed.size() % 8) % 8 : 0;
    append(out, perf::RecordHeader{.type = static_cast<std::uint32_t>(type),
                                   .misc = 0,
                                   .size = static_cast<std::uint16_t>(8 + (newer ? 8 : 0) + packed.size() + padding)});
    if (newer) append(out, std::uint64_t{packed.size()});
    append(out, Bytes(packed));
    out.resize(out.size() + padding);
    if (at == 0) append(out, perf::RecordHeader{static_cast<std::uint32_t>(RecordType::FinishedRound), 0, 8});
  }
  return out;
}

/// The same file with other data; what the features lie at moves with the end.
Buffer with_data(const Recording& recording, const Buffer& data) {
  Buffer out(recording.bytes.begin(),
             recording.bytes.begin() + static_cast<std::ptrdiff_t>(recording.header.data.offset));
  append(out, Bytes(data));
  const std::size_t table = out.size();
  append(out, Bytes(recording.bytes).subspan(recording.header.data.end()));
  perf::FileHeader header = recording.header;
  header.data.size = data.size();
  std::memcpy(out.data(), &header, sizeof header);
  std::size_t row = table;
  for (unsigned bit = 0; bit < 256; ++bit) {
    if ((header.features[bit / 64] >> (bit % 64) & 1) == 0) continue;
    std::uint64_t offset = 0;
    std::memcpy(&offset, out.data() + row, sizeof offset);
    offset = offset - recording.header.data.size + data.size();
    std::memcpy(out.data() + row, &offset, sizeof offset);
    row += sizeof(perf::Section);
  }
  return out;
}

/// What `perf record -o -` writes: attributes and features are records.
Buffer in_pipe_format(const Recording& recording, const Buffer& data) {
  Buffer out;
  append(out, recording.header.magic);
  append(out, perf::kPipeHeaderBytes);
  const std::size_t attr_bytes = recording.header.attr_entry_bytes - sizeof(perf::Section);
  for (std::uint64_t at = 0; at < recording.header.attrs.size; at += recording.header.attr_entry_bytes) {
    const Bytes row =
        Bytes(recording.bytes).subspan(recording.header.attrs.offset + at, recording.header.attr_entry_bytes);
    perf::Section ids;
    std::memcpy(&ids, row.data() + attr_bytes, sizeof ids);
    append(out, perf::RecordHeader{static_cast<std::uint32_t>(RecordType::HeaderAttr), 0,
                                   static_cast<std::uint16_t>(8 + attr_bytes + ids.size)});
    append(out, row.first(attr_bytes));
    append(out, Bytes(recording.bytes).subspan(ids.offset, ids.size));
  }
  std::size_t row = recording.header.data.end();
  for (std::uint64_t bit = 0; bit < 256; ++bit) {
    if ((recording.header.features[bit / 64] >> (bit % 64) & 1) == 0) continue;
    perf::Section section;
    std::memcpy(&section, recording.bytes.data() + row, sizeof section);
    row += sizeof section;
    append(out, perf::RecordHeader{static_cast<std::uint32_t>(RecordType::HeaderFeature), 0,
                                   static_cast<std::uint16_t>(16 + section.size)});
    append(out, bit);
    append(out, Bytes(recording.bytes).subspan(section.offset, section.size));
  }
  append(out, Bytes(data));
  return out;
}

Buffer gzipped(Bytes bytes) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  Buffer out(bytes.size() + 1000);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}
Buffer xzed(Bytes bytes) {
  Buffer out(bytes.size() + 1000);
  std::size_t at = 0;
  EXPECT_EQ(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                    bytes.size(), reinterpret_cast<std::uint8_t*>(out.data()), &at, out.size()),
            LZMA_OK);
  out.resize(at);
  return out;
}
Buffer zstded(Bytes bytes) {
  const std::unique_ptr<ZSTD_CStream, std::size_t (*)(ZSTD_CStream*)> stream{ZSTD_createCStream(), ZSTD_freeCStream};
  Buffer out(2 * ZSTD_compressBound(bytes.size()));
  ZSTD_outBuffer to{out.data(), out.size(), 0};
  constexpr std::size_t kPiece = 1000;  // blocks of a usual file are larger than this recording
  for (std::size_t at = 0; at < bytes.size(); at += kPiece) {
    ZSTD_inBuffer from{bytes.data() + at, std::min(kPiece, bytes.size() - at), 0};
    ZSTD_compressStream2(stream.get(), &to, &from, at + kPiece < bytes.size() ? ZSTD_e_flush : ZSTD_e_end);
  }
  out.resize(to.pos);
  return out;
}

struct Form {
  std::string name;
  Buffer (*make)(const Recording&);
  bool pipe = false;
};

Buffer plain_data(const Recording& recording) { return {recording.data().begin(), recording.data().end()}; }

// clang-format off
const Form kForms[] = {
    {"as_written",  [](const Recording& r) { return r.bytes; }},
    {"compressed",  [](const Recording& r) { return with_data(r, compressed_records(r.data(), RecordType::Compressed)); }},
    {"compressed2", [](const Recording& r) { return with_data(r, compressed_records(r.data(), RecordType::Compressed2)); }},
    {"pipe",        [](const Recording& r) { return in_pipe_format(r, plain_data(r)); }, true},
    {"pipe_compressed",
     [](const Recording& r) { return in_pipe_format(r, compressed_records(r.data(), RecordType::Compressed)); }, true},
    {"gzip",        [](const Recording& r) { return gzipped(r.bytes); }},
    {"xz",          [](const Recording& r) { return xzed(r.bytes); }},
    {"zstd",        [](const Recording& r) { return zstded(r.bytes); }},
    {"pipe_in_gzip", [](const Recording& r) { return gzipped(in_pipe_format(r, plain_data(r))); }, true},
};
// clang-format on

Result<PerfDataReader> open_bytes(const TemporaryDirectory& here, Bytes bytes, PerfDataOptions options = {}) {
  testing::write_file(here / "app.data", bytes);
  return PerfDataReader::open(here / "app.data", options);
}

std::vector<std::uint64_t> addresses_of(const PerfDataReader& reader) {
  std::vector<std::uint64_t> addresses;
  reader.for_each(PerfDataReader::Order::Time, [&](const Record& record) {
    if (const auto* sample = std::get_if<SampleRecord>(&record)) addresses.push_back(sample->sample.address);
  });
  return addresses;
}

class EveryForm : public ::testing::TestWithParam<Form> {};

TEST_P(EveryForm, ReadsAsTheRecordingItIs) {
  const Recording recording = Recording::written();
  const TemporaryDirectory here;
  const auto plain = PerfDataReader::from_bytes("plain", recording.bytes);
  const auto reader = open_bytes(here, GetParam().make(recording));
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(reader->sample_count(), kSamples);
  EXPECT_EQ(reader->lost_count(), 3u);
  EXPECT_EQ(addresses_of(*reader), addresses_of(*plain));
  EXPECT_TRUE(reader->finished());
  EXPECT_TRUE(reader->remarks().empty()) << reader->remarks()[0];
  EXPECT_EQ(reader->events()[1].name, plain->events()[1].name);
  EXPECT_EQ(reader->description().machine.hostname, "vm");
  EXPECT_EQ(reader->description().command_line, plain->description().command_line);
  EXPECT_EQ(reader->description().notes, plain->description().notes);
  EXPECT_EQ(reader->build_ids().size(), plain->build_ids().size());
}

/// What ends early is either refused or, in the pipe format between two records, whole as far as anybody can tell.
TEST_P(EveryForm, CutAnywhereIsReadUpToTheCutOrRefused) {
  const Recording recording = Recording::written();
  const TemporaryDirectory here;
  const Buffer whole = GetParam().make(recording);
  perf::FileHeader header;
  std::memcpy(&header, whole.data(), sizeof header);
  std::vector<std::size_t> cuts;
  if (header.magic == perf::kMagic) {
    const std::size_t first = GetParam().pipe ? perf::kPipeHeaderBytes : header.data.offset;
    for (const std::size_t place : places_of_records(whole, first)) {
      for (const std::size_t cut : {place, place + 3, place + 11}) cuts.push_back(std::min(cut, whole.size() - 1));
    }
  } else {
    for (std::size_t cut = 8; cut < whole.size(); cut += 37) cuts.push_back(cut);
  }
  std::uint64_t most = 0;
  for (const std::size_t cut : cuts) {
    const Bytes bytes = Bytes(whole).first(cut);
    const auto strict = open_bytes(here, bytes);
    const auto lenient = open_bytes(here, bytes, {.truncated = true});
    if (strict) {
      EXPECT_TRUE(GetParam().pipe || cut >= header.data.end()) << "read without a word: cut at " << cut;
    } else {
      EXPECT_THAT(strict.error().message, HasSubstr("app.data")) << cut;
    }
    if (!lenient) continue;
    EXPECT_EQ(addresses_of(*lenient).size(), lenient->sample_count());
    most = std::max(most, lenient->sample_count());
  }
  EXPECT_GT(most, kSamples / 2);  // most of it is there shortly before the end
}

INSTANTIATE_TEST_SUITE_P(PerfDataReader, EveryForm, ::testing::ValuesIn(kForms),
                         [](const auto& form) { return form.param.name; });

TEST(CompressedRecords, ThatAreDamagedAreNamedByTheirPlace) {
  const Recording recording = Recording::written();
  const TemporaryDirectory here;
  Buffer data = compressed_records(recording.data(), RecordType::Compressed2);
  const std::size_t second = places_of_records(data, 0)[2];  // behind FINISHED_ROUND
  data[second + 16] |= std::byte{6};                         // a block of the reserved type
  const auto reader = open_bytes(here, with_data(recording, data));
  ASSERT_FALSE(reader);
  EXPECT_THAT(reader.error().message, HasSubstr(fmt::format("app.data: at {:#x}: a compressed record does not unpack: ",
                                                            recording.header.data.offset + second)));
  EXPECT_THAT(reader.error().hint, HasSubstr("--truncated reads the "));
}

TEST(TracingData, LieBehindTheirRecordOrInIt) {
  const auto behind = [](std::uint16_t record_bytes, std::uint32_t data_bytes) {
    std::vector<std::byte> record(record_bytes);
    const perf::RecordHeader header{
        .type = static_cast<std::uint32_t>(RecordType::TracingData), .misc = 0, .size = record_bytes};
    std::memcpy(record.data(), &header, sizeof header);
    std::memcpy(record.data() + sizeof header, &data_bytes, sizeof data_bytes);
    return bytes_behind_record(record);
  };
  EXPECT_EQ(behind(12, 2048), 2048U);
  EXPECT_EQ(behind(12, 2041), 2048U);
  EXPECT_EQ(behind(12 + 2048, 2048), 0U);
  EXPECT_EQ(behind(12, 0), 0U);
}

TEST(PackedFiles, OfOtherKindsAreNamedWithWhatUnpacksThem) {
  const TemporaryDirectory here;
  const std::string_view bzip2 = "BZh91AY&SY..........";
  const auto reader = open_bytes(here, std::as_bytes(std::span(bzip2)));
  ASSERT_FALSE(reader);
  EXPECT_THAT(reader.error().message,
              HasSubstr("app.data: packed by bzip2, which is not unpacked here: gzip, xz and zstd are"));
  EXPECT_EQ(reader.error().hint, "unpack it first: bunzip2 FILE");
}

TEST(PerfDataReader, PassesNothingOverInSilence) {
  const Recording recording = Recording::written();
  const TemporaryDirectory here;
  Buffer data = plain_data(recording);
  append(data, perf::RecordHeader{.type = 99, .misc = 0, .size = 16});
  append(data, std::uint64_t{0});
  append(data, perf::RecordHeader{.type = static_cast<std::uint32_t>(RecordType::AuxtraceInfo), .misc = 0, .size = 16});
  append(data, std::uint64_t{1});  // Intel PT
  append(data, perf::RecordHeader{.type = static_cast<std::uint32_t>(RecordType::Auxtrace), .misc = 0, .size = 48});
  append(data, std::uint64_t{24});
  data.resize(data.size() + 32 + 24);
  const auto reader = open_bytes(here, with_data(recording, data));
  ASSERT_TRUE(reader) << reader.error().message;
  ASSERT_EQ(reader->remarks().size(), 2u);
  EXPECT_THAT(reader->remarks()[0], HasSubstr("auxiliary traces are passed over: 24 bytes by Intel PT"));
  EXPECT_THAT(reader->remarks()[1], HasSubstr("1 record of type 99 passed over, which is not known here"));
  EXPECT_EQ(reader->trace_bytes(), 24u);
}

/// perf record -e '{a,b}:S': the counters are read with each sample of the leader, and go on; with --inherit each
/// thread's own.
TEST(PerfDataReader, GivesASampleOfEachEventOfAGroupThatHasCounted) {
  namespace field = perf::sample_field;
  struct Row {
    std::uint64_t tid, first, second;
  };
  const auto given = [](std::uint64_t flags, std::initializer_list<Row> rows) {
    Recording recording = Recording::written();
    for (std::size_t event = 0; event < 2; ++event) {
      perf::EventAttr attr;
      std::byte* const at =
          recording.bytes.data() + recording.header.attrs.offset + event * recording.header.attr_entry_bytes;
      std::memcpy(&attr, at, sizeof attr);
      attr.sample_type = field::identifier | field::tid | field::read;
      attr.read_format = perf::read_format::group | perf::read_format::id | perf::read_format::lost;
      attr.flags = flags;
      std::memcpy(at, &attr, sizeof attr);
    }
    recording.bytes.resize(recording.header.data.offset);
    for (const auto& [tid, first, second] : rows) {
      const std::uint64_t words[] = {1, tid << 32 | 5, 2, first, 1, 0, second, 2, 0};  // the events' ids are 1 and 2
      append(recording.bytes, perf::RecordHeader{static_cast<std::uint32_t>(RecordType::Sample), 0, 8 + sizeof words});
      append(recording.bytes, words);
    }
    recording.header.data.size = recording.bytes.size() - recording.header.data.offset;
    std::memset(recording.header.features, 0, sizeof recording.header.features);
    std::memcpy(recording.bytes.data(), &recording.header, sizeof recording.header);
    const auto reader = PerfDataReader::from_bytes("app.data", recording.bytes);
    std::vector<std::pair<std::uint32_t, std::uint64_t>> found;
    reader->for_each(PerfDataReader::Order::File, [&](const Record& record) {
      const auto& sample = std::get<SampleRecord>(record).sample;
      found.emplace_back(sample.event, sample.period);
    });
    EXPECT_EQ(reader->sample_count(), found.size());
    EXPECT_EQ(reader->events()[1].samples, 2U);
    return found;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(given(0, {{7, 100, 7}, {8, 250, 7}, {8, 250, 9}}),
              ElementsAre(std::pair(0, 100), std::pair(1, 7), std::pair(0, 150), std::pair(1, 2)));
  EXPECT_THAT(given(perf::attr_flag::inherit, {{7, 100, 7}, {8, 40, 0}, {7, 250, 9}}),
              ElementsAre(std::pair(0, 100), std::pair(1, 7), std::pair(0, 40), std::pair(0, 150), std::pair(1, 2)));
}

/// Only the second of two events has branch stacks and call chains: the recording has them.
TEST(PerfDataReader, TakesFieldsFromEveryEventNotFromTheFirst) {
  Recording recording = Recording::written();
  namespace field = perf::sample_field;
  perf::EventAttr attr;
  const std::size_t second = recording.header.attrs.offset + recording.header.attr_entry_bytes;
  std::memcpy(&attr, recording.bytes.data() + second, sizeof attr);
  attr.sample_type = field::identifier | field::ip | field::tid | field::callchain | field::branch_stack;
  attr.branch_sample_type = perf::branch_filter::any;
  std::memcpy(recording.bytes.data() + second, &attr, sizeof attr);
  recording.header.data.size = 0;  // no records of the old shape
  std::memset(recording.header.features, 0, sizeof recording.header.features);
  std::memcpy(recording.bytes.data(), &recording.header, sizeof recording.header);
  recording.bytes.resize(recording.header.data.offset);
  const auto reader = PerfDataReader::from_bytes("app.data", recording.bytes);
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(reader->description().branch_filter, std::uint64_t{perf::branch_filter::any});
  EXPECT_EQ(reader->description().callchain, CallchainMode::FramePointers);
  EXPECT_TRUE(reader->description().data_sources == ((reader->events()[0].attr.sample_type & field::data_source) != 0));
}

TEST(PerfDataReader, RefusesBranchStacksOfAnUnknownKind) {
  Recording recording = Recording::written();
  const std::uint64_t unknown = std::uint64_t{1} << 30;
  std::memcpy(recording.bytes.data() + recording.header.attrs.offset + offsetof(perf::EventAttr, branch_sample_type),
              &unknown, sizeof unknown);
  const auto reader = PerfDataReader::from_bytes("app.data", recording.bytes);
  ASSERT_FALSE(reader);
  EXPECT_THAT(reader.error().message,
              HasSubstr("event 1 has branch stacks of an unknown kind: branch_sample_type 0x40000000"));
}

}  // namespace
}  // namespace zs::profile
