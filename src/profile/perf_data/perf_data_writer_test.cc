#include "profile/perf_data/perf_data_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "arch/records/bts.h"
#include "profile/perf_data/build_id.h"
#include "profile/perf_data/perf_data_reader.h"
#include "profile/perf_data/test_recordings.h"

namespace zs::profile {
namespace {

using ::testing::HasSubstr;
using testing::read_file;
using testing::sample_number;
using ::testing::StartsWith;
using testing::TemporaryDirectory;
using testing::two_events;
using testing::write_recording;
using testing::write_samples;

/// Reads `from` and writes it again through a writer made from what the reader says.
void copy_recording(const std::string& from, const std::string& to) {
  const auto reader = PerfDataReader::open(from, {.traces = Traces::Pieces});
  ASSERT_TRUE(reader) << reader.error().message;
  auto writer = PerfDataWriter::create(to, reader->description());
  ASSERT_TRUE(writer) << writer.error().message;
  struct Again {
    PerfDataWriter& out;
    void operator()(const Comm& one) { ASSERT_TRUE(out.comm(one)); }
    void operator()(const Mmap& one) { ASSERT_TRUE(out.mmap(one)); }
    void operator()(const Fork& one) { ASSERT_TRUE(out.fork(one)); }
    void operator()(const Exit& one) { ASSERT_TRUE(out.exit(one)); }
    void operator()(const Lost& one) { ASSERT_TRUE(out.lost(one)); }
    void operator()(const SampleRecord& one) { ASSERT_TRUE(out.sample(one.sample)); }
    void operator()(const TracedBranches& one) {  // the writer puts the record of zeros behind each piece itself
      const TracePiece piece{.pid = one.pid, .tid = one.tid, .time_ns = one.time_ns};
      ASSERT_TRUE(out.branches(piece, one.records.first(one.records.size() - sizeof(arch::BtsRecord))));
    }
  };
  reader->for_each(PerfDataReader::Order::File, [&](const Record& record) { std::visit(Again{*writer}, record); });
  ASSERT_TRUE(writer->close(reader->summary()));
}

struct Shape {
  std::string name;
  void (*apply)(RecordingDescription&);
};

class EveryShape : public ::testing::TestWithParam<Shape> {};

TEST_P(EveryShape, KeepsItsBytesWhenWrittenReadAndWrittenAgain) {
  const TemporaryDirectory here;
  RecordingDescription description = two_events();
  GetParam().apply(description);
  write_recording(here / "first", description, 100);
  copy_recording(here / "first", here / "second");
  const auto first = read_file(here / "first");
  EXPECT_GT(first.size(), 9000u);
  EXPECT_EQ(first, read_file(here / "second"));
}

INSTANTIATE_TEST_SUITE_P(
    PerfDataWriter, EveryShape,
    ::testing::Values(
        Shape{"plain", [](RecordingDescription&) {}},
        Shape{"without_registers", [](RecordingDescription& d) { d.interrupt_registers = 0; }},
        Shape{"some_registers", [](RecordingDescription& d) { d.interrupt_registers = 0x101; }},
        Shape{"frame_pointers", [](RecordingDescription& d) { d.callchain = CallchainMode::FramePointers; }},
        Shape{"data_sources", [](RecordingDescription& d) { d.data_sources = true; }},
        Shape{"data_sources_and_latencies", [](RecordingDescription& d) { d.data_sources = d.latencies = true; }},
        Shape{"raw_records", [](RecordingDescription& d) { d.raw_records = true; }},
        Shape{"dwarf", [](RecordingDescription& d) { d.callchain = CallchainMode::Dwarf; }},
        Shape{"call_stack", [](RecordingDescription& d) { d.callchain = CallchainMode::LastBranches; }},
        Shape{"branches",
              [](RecordingDescription& d) { d.branch_filter = perf::branch_filter::user | perf::branch_filter::any; }},
        Shape{"branch_types_and_predictions",
              [](RecordingDescription& d) {
                d.branch_filter = perf::branch_filter::any | perf::branch_filter::type_save;
                d.branch_prediction_known = true;
              }},
        Shape{"group",
              [](RecordingDescription& d) {
                d.groups = {{"", 0, 2}};
              }},
        Shape{"frequency",
              [](RecordingDescription& d) {
                d.events[0].frequency = true;
                d.inherit = false;
              }}),
    [](const auto& shape) { return shape.param.name; });

TEST(PerfDataWriter, GivesBackEveryFieldOfASample) {
  const TemporaryDirectory here;
  RecordingDescription description = two_events();
  description.branch_filter = perf::branch_filter::any | perf::branch_filter::type_save;
  description.branch_prediction_known = true;
  description.callchain = CallchainMode::FramePointers;
  description.raw_records = description.data_sources = description.latencies = true;
  write_recording(here / "file", description, 7);
  const auto reader = PerfDataReader::open(here / "file");
  ASSERT_TRUE(reader);
  std::uint64_t number = 0;
  reader->for_each(PerfDataReader::Order::File, [&](const Record& record) {
    const auto* read = std::get_if<SampleRecord>(&record);
    if (read == nullptr) return;
    const session::Sample wrote = sample_number(number++);
    EXPECT_EQ(read->sample.event, wrote.event);
    EXPECT_EQ(read->sample.pid, wrote.pid);
    EXPECT_EQ(read->sample.tid, wrote.tid);
    EXPECT_EQ(read->sample.cpu, wrote.cpu);
    EXPECT_EQ(read->sample.time_ns, wrote.time_ns);
    EXPECT_EQ(read->sample.ip, wrote.ip);
    EXPECT_TRUE(read->sample.exact_ip);
    EXPECT_EQ(read->sample.chain_end, wrote.chain_end);
    EXPECT_EQ(read->sample.address, wrote.address);
    EXPECT_EQ(read->sample.data_source, wrote.data_source);
    EXPECT_EQ(read->sample.latency, wrote.latency);
    EXPECT_EQ(read->sample.instruction_latency, wrote.instruction_latency);
    EXPECT_EQ(read->sample.period, wrote.period);
    EXPECT_TRUE(read->sample.has_registers);
    EXPECT_EQ(std::memcmp(&read->sample.registers, &wrote.registers, sizeof wrote.registers), 0);
    EXPECT_EQ(read->sample.callchain, wrote.callchain);
    EXPECT_EQ(read->sample.raw, wrote.raw);
    ASSERT_EQ(read->sample.branches.size(), 2u);
    EXPECT_EQ(read->sample.branches[1].from, wrote.branches[1].from);
    EXPECT_TRUE(read->sample.branches[1].mispredicted);
    EXPECT_EQ(read->sample.branches[1].cycles, 7);
    EXPECT_EQ(read->sample.branches[1].kind, arch::BranchKind::RelativeCall);
    EXPECT_EQ(read->sample.branches[0].speculation, arch::BranchSpeculation::Unknown);
    EXPECT_EQ(read->sample.branches[1].speculation, arch::BranchSpeculation::NonSpeculative);
    EXPECT_EQ(read->branch_flags[1] >> 24 & 3, 2u) << "as the kernel numbers it";
  });
  EXPECT_EQ(number, 7u);
  EXPECT_EQ(reader->description().notes, two_events().notes);
  EXPECT_EQ(reader->summary().notes, (std::vector<Note>{{"PMIs", "12"}, {"PEBS records", "50"}}));
}

std::shared_ptr<const session::HeapBlock> block_number(std::uint64_t number) {
  return std::make_shared<const session::HeapBlock>(session::HeapBlock{.number = number,
                                                                       .start = 0x2000'0000 + 0x100 * number,
                                                                       .size = 16 + number,
                                                                       .site = {0x401000 + number, 0x400800}});
}

/// So many samples; of them every third in no block, and the others in one of 50.
void write_blocks(PerfDataWriter& writer, std::uint64_t samples) {
  for (std::uint64_t i = 0; i < samples; ++i) {
    session::Sample sample = sample_number(i);
    if (i % 3 != 0) sample.heap_block = block_number(1 + i % 50);
    ASSERT_TRUE(writer.sample(sample));
  }
}

/// returns  how many samples came back; the others are of no block
std::uint64_t expect_blocks(const PerfDataReader& reader, std::uint64_t with_blocks) {
  std::uint64_t at = 0;
  reader.for_each(PerfDataReader::Order::File, [&](const Record& record) {
    const auto* sample = std::get_if<SampleRecord>(&record);
    if (sample == nullptr) return;
    const std::uint64_t number = at++;
    const auto& block = sample->sample.heap_block;
    if (number % 3 == 0 || number >= with_blocks) {
      EXPECT_EQ(block, nullptr) << number;
    } else {
      ASSERT_NE(block, nullptr) << number;
      EXPECT_EQ(*block, *block_number(1 + number % 50)) << number;
    }
  });
  return at;
}

TEST(PerfDataWriter, ASampleOfAnEventThatCountsTheKernelIsOfTheHalfWhereItLies) {
  const TemporaryDirectory folder;
  RecordingDescription description = two_events();
  description.events[0].exclude_kernel = false;
  auto writer = PerfDataWriter::create(folder / "k", description);
  ASSERT_TRUE(writer);
  for (const std::uint64_t ip : {std::uint64_t{0x401000}, 0xFFFF'FFFF'8100'0000}) {
    session::Sample sample = sample_number(0);
    sample.event = 0;
    sample.ip = ip;
    ASSERT_TRUE(writer->sample(sample));
  }
  ASSERT_TRUE(writer->close({}));
  std::vector<std::uint16_t> modes;
  PerfDataReader::open(folder / "k", {})->for_each(PerfDataReader::Order::File, [&](const Record& record) {
    if (const auto* const sample = std::get_if<SampleRecord>(&record)) modes.push_back(sample->cpumode);
  });
  EXPECT_THAT(modes, ::testing::ElementsAre(perf::misc::user, perf::misc::kernel));
}

TEST(PerfDataWriter, GivesBackTheBlockOfEachSample) {
  const TemporaryDirectory here;
  for (const std::uint64_t samples : {1, 2, 255, 256, 257, 1000}) {
    auto writer = PerfDataWriter::create(here / "blocks", two_events());
    write_blocks(*writer, samples);
    ASSERT_TRUE(writer->close({}));
    const auto reader = PerfDataReader::open(here / "blocks");
    ASSERT_TRUE(reader) << reader.error().message;
    EXPECT_EQ(expect_blocks(*reader, samples), samples);
  }
  copy_recording(here / "blocks", here / "again");
  EXPECT_EQ(read_file(here / "blocks"), read_file(here / "again"));
}

TEST(PerfDataWriter, SaysWhichBlocksItHasSaidOfWhenItIsKilled) {
  const TemporaryDirectory here;
  {
    auto writer = PerfDataWriter::create(here / "blocks", two_events());
    write_blocks(*writer, 600);
  }
  const auto reader = PerfDataReader::open(here / "blocks");
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(expect_blocks(*reader, 512), 600u);
}

TEST(PerfDataWriter, WritesTheSameWheneverItIsFlushed) {
  const TemporaryDirectory here;
  for (const std::string name : {"at once", "in pieces"}) {
    auto writer = PerfDataWriter::create(here / name, two_events());
    for (int i = 0; i < 5; ++i) {
      write_blocks(*writer, 100);
      ASSERT_TRUE(name == "at once" || writer->flush());
    }
    ASSERT_TRUE(writer->close({}));
  }
  EXPECT_EQ(read_file(here / "at once"), read_file(here / "in pieces"));
}

TEST(PerfDataWriter, NumbersOfBlocksBeginAnewWithAnotherImage) {
  const TemporaryDirectory here;
  auto writer = PerfDataWriter::create(here / "blocks", two_events());
  session::Sample sample = sample_number(0);
  sample.heap_block = block_number(1);
  ASSERT_TRUE(writer->sample(sample));
  ASSERT_TRUE(writer->comm({.pid = 100, .tid = 100, .time_ns = sample.time_ns + 1, .name = "other", .exec = true}));
  auto other = *block_number(1);
  other.site = {0x500000};
  sample.heap_block = std::make_shared<const session::HeapBlock>(other);
  sample.time_ns += 2;
  ASSERT_TRUE(writer->sample(sample));
  ASSERT_TRUE(writer->close({}));
  const auto reader = PerfDataReader::open(here / "blocks");
  std::vector<session::HeapBlock> found;
  reader->for_each(PerfDataReader::Order::Time, [&](const Record& record) {
    if (const auto* one = std::get_if<SampleRecord>(&record)) found.push_back(*one->sample.heap_block);
  });
  EXPECT_THAT(found, ::testing::ElementsAre(*block_number(1), other));
}

TEST(PerfDataWriter, NamesTheBuildIdsOfImagesThatWereHitOnly) {
  const TemporaryDirectory here;
  auto writer = PerfDataWriter::create(here / "file", two_events());
  ASSERT_TRUE(writer);
  Mmap other{
      .pid = 100, .tid = 100, .start = 0x900000, .length = 0x1000, .protection = PROT_EXEC, .path = "/nowhere/other"};
  other.build_id = BuildId{{9}, 1};
  ASSERT_TRUE(writer->mmap(other));
  write_samples(*writer, 3);
  ASSERT_TRUE(writer->close({}));
  const auto reader = PerfDataReader::open(here / "file");
  ASSERT_TRUE(reader);
  ASSERT_EQ(reader->build_ids().size(), 1u);
  EXPECT_EQ(reader->build_ids()[0].path, "/nowhere/subject");
  EXPECT_EQ(reader->build_ids()[0].id.hex(), "0102030405060708");
}

TEST(PerfDataWriter, TakesTheBuildIdOfAMappedFileFromTheFile) {
  const TemporaryDirectory here;
  auto writer = PerfDataWriter::create(here / "file", two_events());
  ASSERT_TRUE(writer);
  Mmap plain{.pid = 1, .tid = 1, .start = 0x1000, .length = 0x1000, .protection = PROT_EXEC, .path = here / "no-elf"};
  testing::write_file(plain.path, {});
  ASSERT_TRUE(writer->mmap(plain));
  ASSERT_TRUE(writer->close({}));
  const auto reader = PerfDataReader::open(here / "file");
  ASSERT_TRUE(reader);
  reader->for_each(PerfDataReader::Order::File,
                   [&](const Record& record) { EXPECT_FALSE(std::get<Mmap>(record).build_id.has_value()); });
}

TEST(PerfDataWriter, AFileHasOneIdentityInAllItsMappings) {
  const TemporaryDirectory here;
  auto writer = PerfDataWriter::create(here / "file", two_events());
  ASSERT_TRUE(writer);
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  ASSERT_TRUE(read_build_id(self).has_value());
  for (const std::uint32_t protection : {PROT_READ, PROT_READ | PROT_EXEC}) {
    ASSERT_TRUE(writer->mmap(
        {.pid = 1, .tid = 1, .start = 0x1000, .length = 0x1000, .protection = protection, .inode = 7, .path = self}));
  }
  ASSERT_TRUE(writer->close({}));
  const auto reader = PerfDataReader::open(here / "file");
  ASSERT_TRUE(reader);
  int mappings = 0;
  reader->for_each(PerfDataReader::Order::File, [&](const Record& record) {
    EXPECT_EQ(std::get<Mmap>(record).build_id, read_build_id(self)) << "mapping " << mappings;
    ++mappings;
  });
  EXPECT_EQ(mappings, 2);
}

TEST(PerfDataWriter, KeepsTheOldRecordingUnderOld) {
  const TemporaryDirectory here;
  write_recording(here / "perf.data", two_events(), 1);
  const auto old = read_file(here / "perf.data");
  write_recording(here / "perf.data", two_events(), 2);
  EXPECT_EQ(read_file(here / "perf.data.old"), old);
  EXPECT_NE(read_file(here / "perf.data"), old);
}

TEST(PerfDataWriter, IsReadableAfterEveryFlushThoughNeverClosed) {
  const TemporaryDirectory here;
  auto writer = PerfDataWriter::create(here / "file", two_events());
  ASSERT_TRUE(writer);
  for (std::uint64_t samples = 0; samples < 5; ++samples) {
    const auto reader = PerfDataReader::open(here / "file");
    ASSERT_TRUE(reader) << reader.error().message;
    EXPECT_EQ(reader->sample_count(), samples);
    EXPECT_EQ(reader->events()[1].name, "mem_inst_retired.all_loads:pp");
    EXPECT_EQ(reader->description().notes, two_events().notes);
    EXPECT_FALSE(reader->finished());
    ASSERT_TRUE(writer->sample(sample_number(samples)));
    ASSERT_TRUE(writer->flush());
    EXPECT_EQ(writer->samples_written(), samples + 1);
  }
}

TEST(PerfDataWriter, CutsWhatDoesNotFitARecord) {
  const TemporaryDirectory here;
  RecordingDescription description = two_events();
  description.callchain = CallchainMode::FramePointers;
  description.branch_filter = perf::branch_filter::any;
  auto writer = PerfDataWriter::create(here / "file", description);
  ASSERT_TRUE(writer);
  session::Sample sample = sample_number(1);
  sample.callchain.assign(20'000, 0x401000);
  sample.branches.assign(20'000, {});
  ASSERT_TRUE(writer->sample(sample));
  ASSERT_TRUE(writer->close({}));

  description = two_events();
  description.callchain = CallchainMode::Dwarf;
  description.stack_bytes = 1'000'000;
  auto second = PerfDataWriter::create(here / "stack", description);
  ASSERT_TRUE(second);
  sample.user_stack.assign(1'000'000, std::byte{1});
  ASSERT_TRUE(second->sample(sample));
  ASSERT_TRUE(second->close({}));

  for (const char* name : {"file", "stack"}) {
    const auto reader = PerfDataReader::open(here / name);
    ASSERT_TRUE(reader) << reader.error().message;
    EXPECT_EQ(reader->sample_count(), 1u);
    reader->for_each(PerfDataReader::Order::File, [&](const Record& record) {
      const session::Sample& read = std::get<SampleRecord>(record).sample;
      EXPECT_GT(read.callchain.size() * 8 + read.branches.size() * 24 + read.user_stack.size(), 64'000u);
      EXPECT_EQ(read.registers.r15, sample.registers.r15);
    });
  }
}

TEST(PerfDataWriter, EndsARoundOnlyWhenNothingOlderCanCome) {
  const TemporaryDirectory here;
  const auto size_after = [&](std::vector<std::uint64_t> promises) {
    auto writer = PerfDataWriter::create(here / "file", two_events());
    EXPECT_TRUE(writer);
    for (const std::uint64_t promise : promises) {
      EXPECT_TRUE(writer->sample(sample_number(promise)));
      EXPECT_TRUE(writer->round(1'000'000 + 1000 * promise));
    }
    EXPECT_TRUE(writer->flush());
    return writer->bytes_written();
  };
  const std::uint64_t sample_bytes = size_after({3}) - size_after({}) - sizeof(perf::RecordHeader);
  EXPECT_EQ(size_after({3, 7}) - size_after({3}), sample_bytes + sizeof(perf::RecordHeader));
  EXPECT_EQ(size_after({7, 3}) - size_after({7}), sample_bytes);  // 3 is older than the round of 7
}

TEST(PerfDataWriter, SaysThatTheDirectoryIsMissing) {
  const TemporaryDirectory here;
  const auto writer = PerfDataWriter::create(here / "out/perf.data", two_events());
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().message, here / "out/perf.data" + std::string(": cannot create: No such file or directory"));
  EXPECT_EQ(writer.error().hint, "create the directory first, or choose another with -o FILE");
}

TEST(PerfDataWriter, WillNotReplaceADirectory) {
  const TemporaryDirectory here;
  std::filesystem::create_directory(here / "perf.data");
  const auto writer = PerfDataWriter::create(here / "perf.data", two_events());
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().message, here / "perf.data" + std::string(": cannot create: Is a directory"));
  EXPECT_EQ(writer.error().hint, "name a file, not a directory, with -o FILE");
}

TEST(PerfDataWriter, WillNotWriteToAPipe) {
  const TemporaryDirectory here;
  ASSERT_EQ(mkfifo((here / "pipe").c_str(), 0600), 0);
  const auto writer = PerfDataWriter::create(here / "pipe", two_events());
  ASSERT_FALSE(writer);
  EXPECT_THAT(writer.error().message, HasSubstr("/pipe: cannot create: Illegal seek"));
  EXPECT_EQ(writer.error().hint, "a recording is written at several places of its file: a pipe will not do");
}

TEST(PerfDataWriter, SaysAtOnceThatADeviceIsFull) {
  const auto writer = PerfDataWriter::create("/dev/full", two_events());
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().message, "/dev/full: cannot write: No space left on device");
  EXPECT_EQ(writer.error().hint, "make room, or choose another file system with -o FILE");
}

TEST(PerfDataWriter, WritesToADeviceWithoutRenamingIt) {
  auto writer = PerfDataWriter::create("/dev/null", two_events());
  ASSERT_TRUE(writer) << writer.error().message;
  write_samples(*writer, 10);
  EXPECT_TRUE(writer->close({}));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

/// Runs as a process of its own: the limit that plays a full disk would stay.
[[noreturn]] void write_beyond_limit(const std::string& path) {
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{20'000, 20'000};
  setrlimit(RLIMIT_FSIZE, &limit);
  auto writer = PerfDataWriter::create(path, two_events());
  if (!writer) _exit(2);
  for (std::uint64_t number = 0; number < 500; ++number) (void)writer->sample(sample_number(number));
  const auto flushed = writer->flush();
  const auto closed = writer->close({});
  if (flushed || closed) _exit(3);
  dprintf(2, "%s\n%s\n%s\n", flushed.error().message.c_str(), flushed.error().hint.c_str(),
          closed.error().message == flushed.error().message ? "same" : "other");
  _exit(0);
}

TEST(PerfDataWriterDeathTest, KeepsTheWholeRecordsThatFittedAFullDisk) {
  const TemporaryDirectory here;
  // 20000 bytes less 600 of header, names and notes are 89.8 samples of 216 bytes.
  EXPECT_EXIT(write_beyond_limit(here / "file"), ::testing::ExitedWithCode(0),
              "/file: cannot write: File too large; 89 samples are in the file and readable, 411 samples and the "
              "summary missing\na limit on file sizes is set .ulimit -f.: raise it, or record less\nsame");
  const auto reader = PerfDataReader::open(here / "file");
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(reader->sample_count(), 89u);
  EXPECT_FALSE(reader->finished());
}

RecordingDescription a_trace() {
  RecordingDescription description = two_events();
  description.events = {{.name = "intel_bts//u", .type = perf::kBranchTraceType, .period = 1}};
  return description;
}

[[noreturn]] void trace_beyond_limit(const std::string& path) {
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{20'000, 20'000};
  setrlimit(RLIMIT_FSIZE, &limit);
  auto writer = PerfDataWriter::create(path, a_trace());
  if (!writer) _exit(2);
  const std::vector<std::byte> records(100 * sizeof(arch::BtsRecord), std::byte{7});
  for (int piece = 0; piece < 10; ++piece) (void)writer->branches({.pid = 5, .tid = 5, .time_ns = 10}, records);
  const auto closed = writer->close({});
  if (closed) _exit(3);
  dprintf(2, "%s\n", closed.error().message.c_str());
  _exit(0);
}

TEST(PerfDataWriterDeathTest, SaysHowManyBranchesOfATraceAFullDiskKept) {
  const TemporaryDirectory here;
  EXPECT_EXIT(trace_beyond_limit(here / "file"), ::testing::ExitedWithCode(0),
              "File too large; 700 branches are in the file and readable, 300 branches and the summary missing");
}

TEST(PerfDataWriter, SaysThatTheFileWasRemovedMeanwhile) {
  const TemporaryDirectory here;
  auto writer = PerfDataWriter::create(here / "file", two_events());
  ASSERT_TRUE(writer);
  write_samples(*writer, 10);
  std::filesystem::remove(here / "file");
  const auto closed = writer->close({});
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().message, here / "file" + std::string(": the file was removed or replaced while it was "
                                                                "written; all 10 samples went with it"));
}

/// Pieces of two threads: a queue for each, whose pieces follow one another.
TEST(PerfDataWriter, BranchesLieBehindTheirRecordsInAQueueForEachThread) {
  const TemporaryDirectory here;
  auto writer = PerfDataWriter::create(here / "perf.data", a_trace());
  ASSERT_TRUE(writer) << writer.error().message;
  const std::vector<std::byte> two(2 * sizeof(arch::BtsRecord), std::byte{7});
  ASSERT_TRUE(writer->branches({.pid = 5, .tid = 5, .time_ns = 10}, two));
  ASSERT_TRUE(writer->branches({.pid = 5, .tid = 6, .time_ns = 11}, two));
  ASSERT_TRUE(writer->branches({.pid = 5, .tid = 5, .time_ns = 12}, two));
  ASSERT_TRUE(writer->close({}));
  EXPECT_EQ(writer->branches_written(), 6U);

  const auto reader = PerfDataReader::open(here / "perf.data");
  ASSERT_TRUE(reader) << reader.error().message;
  constexpr std::uint64_t kPiece = 3 * sizeof(arch::BtsRecord);  // the last of zeros
  EXPECT_EQ(reader->trace_bytes(), 3 * kPiece);
  ASSERT_FALSE(reader->remarks().empty());
  EXPECT_THAT(reader->remarks()[0], HasSubstr("by Intel BTS"));

  const std::vector<std::byte> file = read_file(here / "perf.data");
  const auto all_are = [&](std::size_t at, std::size_t count, std::byte value) {
    return std::all_of(file.begin() + std::ptrdiff_t(at), file.begin() + std::ptrdiff_t(at + count),
                       [value](std::byte one) { return one == value; });
  };
  std::vector<perf::AuxtraceBody> pieces;
  for (std::size_t at = 0; at + 48 + kPiece <= file.size(); at += 8) {
    perf::RecordHeader head;
    std::memcpy(&head, file.data() + at, sizeof head);
    if (head.type != static_cast<std::uint32_t>(perf::RecordType::Auxtrace) || head.size != 48) continue;
    std::memcpy(&pieces.emplace_back(), file.data() + at + sizeof head, sizeof(perf::AuxtraceBody));
    EXPECT_TRUE(all_are(at + 48, two.size(), std::byte{7}));
    EXPECT_TRUE(all_are(at + 48 + two.size(), sizeof(arch::BtsRecord), std::byte{0}));
  }
  ASSERT_EQ(pieces.size(), 3U);
  EXPECT_EQ(pieces[0].queue, pieces[2].queue);
  EXPECT_NE(pieces[0].queue, pieces[1].queue);
  EXPECT_EQ(pieces[2].offset, kPiece);
  EXPECT_EQ(pieces[1].tid, 6U);
  EXPECT_EQ(pieces[2].reference, 12U);
}

}  // namespace
}  // namespace zs::profile
