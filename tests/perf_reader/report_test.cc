// The text of report, script and annotate, word for word.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "profile/aggregate/aggregate.h"
#include "profile/aggregate/heat.h"
#include "profile/perf_data/perf_data_reader.h"
#include "report/text/annotate_text.h"
#include "report/text/header_text.h"
#include "report/text/report_text.h"
#include "report/text/script_text.h"
#include "subject_recording.h"

namespace zs::report {
namespace {

using perf_reader::subject_description;
using perf_reader::without_place;
using profile::RecordingDescription;
using ::testing::HasSubstr;

class Texts : public ::testing::Test {
 protected:
  /// Opens a recording of the subject.
  profile::PerfDataReader& record(const RecordingDescription& description) {
    perf_reader::write_subject_recording(here_ / "perf.data", description);
    auto reader = profile::PerfDataReader::open(here_ / "perf.data");
    EXPECT_TRUE(reader) << reader.error().message;
    reader_.emplace(std::move(*reader));
    return *reader_;
  }

  std::string report(const RecordingDescription& description, const std::string& keys, bool children = false,
                     bool call_graph = false, ReportStyle style = {}) {
    record(description);
    profile::AggregateOptions options;
    options.keys = *profile::parse_sort_keys(keys);
    options.children = children;
    options.call_graph = call_graph;
    options.branches = profile::is_branch_key(options.keys.front());
    options.order = children ? profile::ChainOrder::Caller : profile::ChainOrder::Callee;
    style.keys = options.keys;
    style.children = children;
    style.call_graph = call_graph;
    profile::Symbolizer symbolizer;
    profile::Aggregator aggregator(*reader_, symbolizer, options);
    std::string text = "\n";
    for (const auto& histogram : aggregator.run()) text += report_text(histogram, aggregator, style);
    return text;
  }

  std::string script(const ScriptStyle& style, std::size_t lines) {
    profile::Symbolizer symbolizer;
    std::string text;
    const auto done = script_text(*reader_, symbolizer, style, [&text](std::string_view piece) { text += piece; });
    if (!done) return done.error().message + "\n" + done.error().hint;
    std::size_t end = 0;
    for (std::size_t line = 0; line < lines; ++line) end = text.find('\n', end) + 1;
    return "\n" + without_place(text.substr(0, end));
  }

  std::string annotate(const AnnotateStyle& style) {
    profile::Symbolizer symbolizer;
    std::uint64_t outside = 0;
    const auto heats = profile::function_heats(*reader_, symbolizer, {.symbol = "leaf"}, outside);
    EXPECT_EQ(heats.size(), 2u);
    const auto text = annotate_text(heats.at(0), symbolizer, style);
    EXPECT_TRUE(text);
    return "\n" + without_place(*text);
  }

  profile::testing::TemporaryDirectory here_;
  std::optional<profile::PerfDataReader> reader_;
};

TEST_F(Texts, ReportHasABlockForEachEvent) {
  EXPECT_EQ(report(subject_description(), "comm,dso,symbol"), R"(
# Samples: 40  of event 'inst_retired.any:ppp'
# Event count (approx.): 40000
#
# Overhead  Command  Shared Object        Symbol  
# ........  .......  ...................  ........
#
    75.00%  subject  perf_reader_subject  [.] leaf
    25.00%  worker   perf_reader_subject  [.] leaf


# Samples: 10  of event 'mem_inst_retired.all_loads:pp'
# Event count (approx.): 1000
#
# Overhead  Command  Shared Object        Symbol  
# ........  .......  ...................  ........
#
    70.00%  subject  perf_reader_subject  [.] leaf
    30.00%  worker   perf_reader_subject  [.] leaf


)");
}

TEST_F(Texts, ReportGoesDownToTheInstruction) {
  RecordingDescription description = subject_description();
  description.events.resize(2);
  EXPECT_THAT(report(description, "ip,srcline"), HasSubstr(R"(
# Overhead  Instruction        Source:Line 
# ........  .................  ............
#
    67.50%  0x401028 leaf+0xf  subject.S:30
    32.50%  0x401025 leaf+0xc  subject.S:29
)"));
}

TEST_F(Texts, ReportTellsThreadsAndProcessesApart) {
  EXPECT_THAT(report(subject_description(), "tid,cpu"), HasSubstr(R"(
# Overhead      Tid:Command  CPU
# ........  ...............  ...
#
    50.00%      100:subject  001
    25.00%      100:subject  000
    25.00%      101:worker   000
)"));
  EXPECT_THAT(report(subject_description(), "pid"), HasSubstr(R"(
# Overhead      Pid:Command
# ........  ...............
#
   100.00%      100:subject
)"));
}

TEST_F(Texts, ReportAddsCalleesToCallersAndDrawsTheCalls) {
  RecordingDescription description = subject_description();
  description.callchain = profile::CallchainMode::FramePointers;
  EXPECT_THAT(report(description, "symbol", true, true), HasSubstr(R"(
# Children      Self  Symbol    
# ........  ........  ..........
#
   100.00%   100.00%  [.] leaf
            |
            ---_start
               middle
               leaf

   100.00%     0.00%  [.] _start
            |
            ---_start
               middle
               leaf

   100.00%     0.00%  [.] middle
            |
            ---middle
               leaf

)"));
  EXPECT_THAT(report(description, "caller"), HasSubstr("   100.00%  middle\n"));
}

TEST_F(Texts, ReportCountsBranches) {
  RecordingDescription description = subject_description();
  description.branch_filter = profile::perf::branch_filter::any;
  EXPECT_THAT(report(description, "symbol_from,symbol_to,mispredict"), HasSubstr(R"(
# Samples: 80  of event 'inst_retired.any:ppp'
# Event count (approx.): 80
#
# Overhead  Source Symbol  Target Symbol  Branch Mispredicted
# ........  .............  .............  ...................
#
    50.00%  [.] middle     [.] leaf       N/A                
    50.00%  [.] leaf       [.] leaf       N/A                
)"));
}

TEST_F(Texts, ReportLeavesOutWhatIsBelowTheLimitAndAddsColumns) {
  ReportStyle style{.percent_limit = 30, .sample_counts = true, .periods = true};
  EXPECT_THAT(report(subject_description(), "comm", false, false, style), HasSubstr(R"(
# Overhead       Samples        Period  Command
# ........  ............  ............  .......
#
    75.00%            30         30000  subject


)"));
}

TEST_F(Texts, ReportColoursWhatIsHot) {
  ReportStyle style{.color = true};
  EXPECT_THAT(report(subject_description(), "comm", false, false, style),
              HasSubstr("  \x1b[1;31m  75.00%\x1b[m  subject\n"));
}

TEST_F(Texts, SortKeysThatAreNoneAreRefused) {
  const auto keys = profile::parse_sort_keys("comm,colour");
  ASSERT_FALSE(keys);
  EXPECT_EQ(keys.error().message, "cannot sort by 'colour'");
  EXPECT_EQ(
      keys.error().hint,
      "the sort keys are: comm pid tid cpu dso symbol srcline srcfile ip caller dso_from symbol_from srcline_from "
      "dso_to "
      "symbol_to srcline_to mispredict mem symbol_daddr dso_daddr data dcacheline local_weight weight local_ins_lat "
      "ins_lat tlb locked snoop blocked type typeoff symoff symtype");
  EXPECT_EQ(profile::parse_sort_keys("").error().message, "no sort key given");
}

TEST_F(Texts, ScriptPrintsALineForEachSample) {
  record(subject_description());
  EXPECT_EQ(script({}, 3), R"(
          worker   101 [000]     0.001000:        100 mem_inst_retired.all_loads:pp:           402000           401025 leaf+0xc (SUBJECT)
         subject   100 [001]     0.001001:       1000          inst_retired.any:ppp:           402000           401028 leaf+0xf (SUBJECT)
         subject   100 [000]     0.001002:       1000          inst_retired.any:ppp:           402000           401028 leaf+0xf (SUBJECT)
)");
}

TEST_F(Texts, ScriptPrintsTheFieldsItIsAskedFor) {
  record(subject_description());
  EXPECT_EQ(script({.fields = "comm,pid,tid,time,ip,sym,srcline", .nanoseconds = true}, 2), R"(
          worker   100/101       0.001000000:            401025 leaf
  subject.S:29
)");
  EXPECT_EQ(script({.fields = "tid,iregs"}, 1), R"(
  101  ABI:2    AX:0x0    BX:0x0    CX:0x3e8    DX:0x0    SI:0x402000    DI:0x0    BP:0x0    SP:0x0    IP:0x401028 FLAGS:0x246    R8:0x0    R9:0x0   R10:0x0   R11:0x0   R12:0x0   R13:0x0   R14:0x0   R15:0x0 
)");
  EXPECT_EQ(script({.fields = "-addr,-dso,-time,-cpu"}, 1), R"(
          worker   101        100 mem_inst_retired.all_loads:pp:            401025 leaf+0xc
)");
}

TEST_F(Texts, ScriptPrintsCallChainsAndBranches) {
  RecordingDescription description = subject_description();
  description.callchain = profile::CallchainMode::FramePointers;
  description.branch_filter = profile::perf::branch_filter::any | profile::perf::branch_filter::type_save;
  record(description);
  EXPECT_EQ(script({.fields = "comm,ip,sym,symoff,dso"}, 5), R"(
worker 
	            1025 leaf+0xc (SUBJECT)
	            1017 middle+0x9 (SUBJECT)
	            1005 _start+0x5 (SUBJECT)

)");
  EXPECT_EQ(script({.fields = "ip,sym", .call_chains = false}, 1), "\n           401025 leaf\n");
  EXPECT_EQ(script({.fields = "brstack"}, 1), "\n 0x40102e/0x401025/-/-/-/0/COND  0x401012/0x401019/-/-/-/0/CALL \n");
  EXPECT_EQ(script({.fields = "brstacksym"}, 1),
            "\nleaf+0x15/leaf+0xc/-/-/-/0/COND middle+0x4/leaf+0x0/-/-/-/0/CALL \n");
}

TEST_F(Texts, ScriptRefusesFieldsThatAreNotThere) {
  record(subject_description());
  EXPECT_EQ(script({.fields = "ip,colour"}, 1),
            "there is no field 'colour' to print\nthe fields are: comm pid tid cpu time period event addr data_src "
            "weight ins_lat "
            "ip sym symoff dso srcline iregs uregs brstack brstacksym phys_addr misc insn insnlen");
  EXPECT_EQ(without_place(script({.fields = "brstack"}, 1), here_ / "", ""),
            "perf.data: samples of event 'inst_retired.any:ppp' have no 'brstack'\nrecord with -b to have it");
}

TEST_F(Texts, AnnotateShowsInstructionsUnderTheirLines) {
  record(subject_description());
  EXPECT_EQ(annotate({}), R"(
 Percent |	Source code & Disassembly of perf_reader_subject for inst_retired.any:ppp (40 samples, percent: local period)
-------------------------------------------------------------------------------------------------------------------------------
         :    Disassembly of section .text:
         :
         :    0000000000401019 <leaf>:
         :    leaf():  subject.S
         :    26             mov $1000, %ecx
    0.00 :    401019:   mov $0x3e8, %ecx
         :    27             lea table(%rip), %rsi
    0.00 :    40101e:   lea 0xfdb(%rip), %rsi  # 0x402000 <table>
         :    29             mov (%rsi), %rax
   32.50 :    401025:   mov (%rsi), %rax
         :    30             add %rax, 8(%rsi)
   67.50 :    401028:   add %rax, 0x8(%rsi)
         :    31             dec %ecx
    0.00 :    40102c:   dec %ecx
         :    32             jne .Lagain
    0.00 :    40102e:   jnz 0x401025 <leaf+0xc>
         :    33             ret
    0.00 :    401030:   ret
)");
}

TEST_F(Texts, AnnotateSpeaksIntelAndNamesLines) {
  record(subject_description());
  EXPECT_EQ(annotate({.syntax = Syntax::Intel, .source = false, .lines = true}), R"(

Sorted summary for file SUBJECT
----------------------------------------------

   67.50 subject.S:30
   32.50 subject.S:29
 Percent |	Source code & Disassembly of perf_reader_subject for inst_retired.any:ppp (40 samples, percent: local period)
-------------------------------------------------------------------------------------------------------------------------------
         :    Disassembly of section .text:
         :
         :    0000000000401019 <leaf>:
    0.00 :    401019:   mov ecx, 0x3e8 // subject.S:26
    0.00 :    40101e:   lea rsi, [rip+0xfdb]  # 0x402000 <table> // subject.S:27
   32.50 :    401025:   mov rax, [rsi] // subject.S:29
   67.50 :    401028:   add [rsi+0x8], rax // subject.S:30
    0.00 :    40102c:   dec ecx // subject.S:31
    0.00 :    40102e:   jnz 0x401025 <leaf+0xc> // subject.S:32
    0.00 :    401030:   ret // subject.S:33
)");
}

TEST_F(Texts, HeaderTellsOurNotes) {
  const std::string text = header_text(record(subject_description()));
  EXPECT_THAT(text, HasSubstr("# cmdline : zeroskid record -- ./subject \n"));
  EXPECT_THAT(text, HasSubstr("# zeroskid: cpu model = skylake-server@1\n# zeroskid: seed = 1\n# zeroskid: PMIs = 12\n"
                              "# zeroskid: PEBS records = 50\n# zeroskid: lost samples = 0\n"));
  EXPECT_THAT(text, HasSubstr("# time of first sample : 0.001000\n# time of last sample : 0.001049\n"
                              "# sample duration :      0.049 ms\n"));
}

TEST(FormatPage, ShowsTheBytesOfANoteAsTheyAre) {
  std::ifstream page("docs/formats/perf-data.md");
  std::vector<std::byte> shown;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line == "```hex" || line == "```") {
      inside = line == "```hex";
    } else if (inside) {
      std::istringstream numbers(line);
      for (unsigned number = 0; numbers >> std::hex >> number;) shown.push_back(static_cast<std::byte>(number));
    }
  }
  ASSERT_EQ(shown.size(), 32u);
  const profile::testing::TemporaryDirectory here;
  perf_reader::write_subject_recording(here / "file", subject_description());
  const auto file = profile::testing::read_file(here / "file");
  EXPECT_NE(std::search(file.begin(), file.end(), shown.begin(), shown.end()), file.end());
}

TEST(RoundedCount, IsPerfs) {
  EXPECT_EQ(rounded_count(0), "0 ");
  EXPECT_EQ(rounded_count(1000), "1000 ");
  EXPECT_EQ(rounded_count(1001), "1K");
  EXPECT_EQ(rounded_count(2'500'000), "2M");
}

TEST(Disassembly, GoesOnBehindABadByte) {
  const unsigned char code[] = {0x06, 0x90, 0xE8, 0, 0, 0, 0, 0xFF};
  const auto lines = disassemble(std::as_bytes(std::span(code)), profile::ImageAddress{0x1000}, Syntax::Att,
                                 [](profile::ImageAddress at) { return fmt::format("at_{:x}", value(at)); });
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0].text, "(bad)");
  EXPECT_EQ(lines[1].text, "nop");
  EXPECT_EQ(lines[2].text, "call 0x1007 <at_1007>");
  EXPECT_EQ(lines[3].text, "(bad)");
}

}  // namespace
}  // namespace zs::report
