// report, script and annotate as a person meets them: exit statuses, and what is said on stderr.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "subject_recording.h"

namespace zs {
namespace {

using perf_reader::subject_description;
using ::testing::HasSubstr;
using ::testing::Not;

struct Output {
  int status = -1;
  std::string out, errors;
};

class Verbs : public ::testing::Test {
 protected:
  Verbs() { perf_reader::write_subject_recording(file(), subject_description()); }

  std::string file() const { return here_ / "app.data"; }

  /// Runs `zeroskid VERB ...`; FILE stands for the recording. Its place is taken out of what was printed.
  Output zeroskid(std::string arguments, const std::string& environment = "", const std::string& out = "") {
    arguments = perf_reader::without_place(arguments, "FILE", file());
    const std::string out_path = out.empty() ? here_ / "out" : out;
    const std::string line = fmt::format("env -u NO_COLOR -u CLICOLOR_FORCE {} '{}' {} >'{}' 2>'{}' </dev/null",
                                         environment, ZEROSKID, arguments, out_path, here_ / "errors");
    const int status = std::system(line.c_str());
    const auto text_of = [this](const std::string& path) {
      std::ifstream in(path, std::ios::binary);
      std::string text{std::istreambuf_iterator<char>(in), {}};
      return perf_reader::without_place(std::move(text), here_ / "", "");
    };
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128, out.empty() ? text_of(out_path) : "",
            text_of(here_ / "errors")};
  }

  profile::testing::TemporaryDirectory here_;
};

TEST_F(Verbs, ReadARecordingWithoutAWord) {
  for (const char* verb : {"report", "script", "annotate"}) {
    const Output result = zeroskid(fmt::format("{} -i FILE", verb));
    EXPECT_EQ(result.status, 0) << verb;
    EXPECT_EQ(result.errors, "") << verb;
    EXPECT_THAT(result.out, HasSubstr("leaf")) << verb;
  }
}

TEST_F(Verbs, SayWhatToDoWithoutARecording) {
  for (const char* verb : {"report", "script", "annotate"}) {
    const Output result = zeroskid(fmt::format("{} -i FILE.none", verb));
    EXPECT_EQ(result.status, 125) << verb;
    EXPECT_EQ(result.out, "") << verb;
    EXPECT_EQ(result.errors,
              "zeroskid: app.data.none: cannot open: No such file or directory\n"
              "hint: make a recording first: zeroskid record -- PROGRAM; or name another with -i FILE\n")
        << verb;
  }
}

TEST_F(Verbs, RefuseWhatIsNoRecording) {
  profile::testing::write_file(file(), std::as_bytes(std::span("#!/bin/sh\n")));
  const Output result = zeroskid("report -i FILE");
  EXPECT_EQ(result.status, 125);
  EXPECT_EQ(result.errors,
            "zeroskid: app.data: not a perf.data file: begins with 23 21 2f 62 69 6e 2f 73, not with PERFILE2\n"
            "hint: name a recording with -i FILE\n");
}

/// Place of the n-th sample of a file of ours.
std::uint64_t place_of_sample(Bytes file, int n) {
  profile::perf::FileHeader header;
  std::memcpy(&header, file.data(), sizeof header);
  std::uint64_t at = header.data.offset;
  for (;;) {
    profile::perf::RecordHeader record;
    std::memcpy(&record, file.data() + at, sizeof record);
    if (record.type == static_cast<std::uint32_t>(profile::perf::RecordType::Sample) && n-- == 0) return at;
    at += record.size;
  }
}

TEST_F(Verbs, ReadADamagedRecordingOnRequestOnly) {
  const auto bytes = profile::testing::read_file(file());
  const std::uint64_t at = place_of_sample(bytes, 18);
  profile::testing::write_file(file(), Bytes(bytes).first(at + 204));
  const std::string damage = fmt::format(
      "zeroskid: app.data: at {:#x}: sample ends 12 bytes early: event 1 (inst_retired.any:ppp) needs 216 bytes, 204 "
      "remain\n",
      at);
  const Output refused = zeroskid("script -i FILE");
  EXPECT_EQ(refused.status, 125);
  EXPECT_EQ(refused.errors,
            damage + "hint: the recording was cut short; --truncated reads the 18 samples before this point\n");
  const Output read = zeroskid("script -i FILE --truncated -F ip,sym");
  EXPECT_EQ(read.status, 0);
  EXPECT_EQ(std::count(read.out.begin(), read.out.end(), '\n'), 18);
  EXPECT_EQ(read.errors, damage + "zeroskid: app.data: what follows is of the 18 samples before this point\n");
}

TEST_F(Verbs, SayThatARecordingWasInterrupted) {
  auto writer = profile::PerfDataWriter::create(file(), subject_description());
  ASSERT_TRUE(writer);
  perf_reader::write_subject_samples(*writer);
  ASSERT_TRUE(writer->flush());
  const Output result = zeroskid("report -i FILE");
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.out, HasSubstr("# Samples: 40  of event 'inst_retired.any:ppp'"));
  EXPECT_EQ(result.errors,
            "zeroskid: app.data: the recording was interrupted: its samples up to then are all here, its summary is "
            "missing\n");
}

TEST_F(Verbs, SayThatThereAreNoSamples) {
  auto writer = profile::PerfDataWriter::create(file(), subject_description());
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->close({}));
  for (const char* verb : {"report", "annotate"}) {
    const Output result = zeroskid(fmt::format("{} -i FILE", verb));
    EXPECT_EQ(result.status, 0) << verb;
    EXPECT_EQ(result.errors,
              "zeroskid: app.data: holds no samples (inst_retired.any:ppp, one of 1,000; "
              "mem_inst_retired.all_loads:pp, one of 100)\n"
              "hint: the program may have ended before an event occurred once per period: record with a smaller -c\n")
        << verb;
  }
}

TEST_F(Verbs, SayThatThePageCannotBeWritten) {
  const Output result = zeroskid("report -i FILE", "", "/dev/full");
  EXPECT_EQ(result.status, 125);
  EXPECT_EQ(result.errors, "zeroskid: stdout: cannot write: No space left on device\n");
}

TEST_F(Verbs, RefuseWrongWordsByName) {
  const std::pair<const char*, const char*> wrong[] = {
      {"report -i FILE -s colour", "zeroskid: report: cannot sort by 'colour'\nhint: the sort keys are: comm pid"},
      {"report -i FILE -s symbol_from",
       "zeroskid: report: these keys need branch stacks, which the samples do not have\n"
       "hint: record with -b to have them\n"},
      {"report -i FILE -b", "zeroskid: report: app.data: the samples have no branch stacks\n"},
      {"report -i FILE -g", "zeroskid: report: app.data: the samples have no call chains\nhint: record with -g"},
      {"report -i FILE -g sideways", "zeroskid: report: -g does not know 'sideways'\nhint: it takes graph, fractal"},
      {"report -i FILE -s comm,", "zeroskid: report: cannot sort by ''\nhint: the sort keys are: comm pid"},
      {"mem report -i FILE -s comm,", "zeroskid: mem report: cannot sort by ''\nhint: the sort keys are: comm pid"},
      {"c2c report -i FILE --coalesce pid,", "zeroskid: c2c report: cannot coalesce by ''\nhint: the words are: pid"},
      {"report -i FILE -g caller,", "zeroskid: report: -g does not know ''\nhint: it takes graph, fractal"},
      {"script -i FILE -F ip,", "zeroskid: script: there is no field '' to print\nhint: the fields are: comm"},
      {"trace --to fdata, --input FILE", "zeroskid: --to fdata,: no such format: ''\nhint: fdata is BOLT's"},
      {"trace report -i FILE --max-stack 10001",
       "zeroskid: trace report: --max-stack is a number of levels up to 10,000, not 10,001\n"},
      {"report -i FILE --percent-limit many", "zeroskid: report: --percent-limit is a percentage, not 'many'\n"},
      {"report -i FILE --color blue", "zeroskid: report: --color is auto, always or never, not 'blue'\n"},
      {"report FILE", "zeroskid: report: there is nothing to do with 'app.data'\nhint: name a recording with -i FILE"},
      {"script -i FILE -F colour", "zeroskid: script: there is no field 'colour' to print\nhint: the fields are: comm"},
      {"script -i FILE -F brstack",
       "zeroskid: script: app.data: samples of event 'inst_retired.any:ppp' have no 'brstack'\n"},
      {"annotate -i FILE -M vax", "zeroskid: annotate: -M is att or intel, not 'vax'\n"},
      {"annotate one two -i FILE", "zeroskid: annotate: one function at a time: 'one' or 'two'\n"},
  };
  for (const auto& [arguments, message] : wrong) {
    const Output result = zeroskid(arguments);
    EXPECT_EQ(result.status, 129) << arguments;
    EXPECT_EQ(result.out, "") << arguments;
    EXPECT_THAT(result.errors, ::testing::StartsWith(message)) << arguments;
  }
}

TEST_F(Verbs, AnnotateTakesItsFunctionAnywhere) {
  const Output first = zeroskid("annotate leaf -i FILE -M intel"), last = zeroskid("annotate -M intel -i FILE leaf");
  EXPECT_EQ(first.status, 0);
  EXPECT_EQ(first.out, last.out);
  EXPECT_THAT(first.out, HasSubstr("mov rax, [rsi]"));
  EXPECT_EQ(zeroskid("annotate -i FILE -s leaf -M intel").out, first.out);
  const Output none = zeroskid("annotate -i FILE no_such_function");
  EXPECT_EQ(none.status, 125);
  EXPECT_EQ(none.errors,
            "zeroskid: app.data: no sample is in a function named 'no_such_function'\n"
            "hint: zeroskid report shows where the samples are\n");
}

TEST_F(Verbs, CallGraphsAreDrawnAsAsked) {
  profile::RecordingDescription description = subject_description();
  description.callchain = profile::CallchainMode::FramePointers;
  perf_reader::write_subject_recording(file(), description);
  EXPECT_THAT(zeroskid("report -i FILE").out, HasSubstr("---_start\n               middle\n               leaf\n"));
  EXPECT_THAT(zeroskid("report -i FILE -g callee").out, HasSubstr("---leaf\n               middle\n"));
  EXPECT_THAT(zeroskid("report -i FILE --no-children").out, HasSubstr("---leaf\n               middle\n"));
  EXPECT_THAT(zeroskid("report -g none -i FILE").out, Not(HasSubstr("---")));
}

TEST_F(Verbs, ColourIsForTerminalsAndThoseWhoInsist) {
  const std::string red = "\x1b[1;31m";
  EXPECT_THAT(zeroskid("report -i FILE").out, Not(HasSubstr(red)));
  EXPECT_THAT(zeroskid("report -i FILE --color=always").out, HasSubstr(red));
  EXPECT_THAT(zeroskid("report -i FILE", "CLICOLOR_FORCE=1").out, HasSubstr(red));
  EXPECT_THAT(zeroskid("report -i FILE", "CLICOLOR_FORCE=1 NO_COLOR=1").out, Not(HasSubstr(red)));
  EXPECT_THAT(zeroskid("annotate -i FILE --color=always").out, HasSubstr(red));
}

TEST_F(Verbs, ScriptTellsWhatTheRecordingSaysOfItself) {
  const Output result = zeroskid("script -i FILE --header-only");
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.out, HasSubstr("# zeroskid: PMIs = 12\n# zeroskid: PEBS records = 50\n"));
  EXPECT_THAT(result.out, Not(HasSubstr("leaf")));
}

}  // namespace
}  // namespace zs
