// Stock perf as a reader of our files, and as what our texts are compared with.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <map>
#include <numeric>
#include <regex>
#include <sstream>

#include "memory_recording.h"
#include "profile/aggregate/aggregate.h"
#include "profile/aggregate/heat.h"
#include "profile/perf_data/build_id.h"
#include "profile/perf_data/perf_data_reader.h"
#include "report/text/annotate_text.h"
#include "report/text/header_text.h"
#include "report/text/memory_text.h"
#include "report/text/report_text.h"
#include "report/text/script_text.h"
#include "subject_recording.h"

namespace zs {
namespace {

using perf_reader::subject_description;
using profile::CallchainMode;
using profile::RecordingDescription;
namespace filter = profile::perf::branch_filter;

struct Output {
  std::string out, errors;
  int status = -1;
};

Output run(const std::string& command, const profile::testing::TemporaryDirectory& here) {
  const std::string line = fmt::format("{} >'{}' 2>'{}' </dev/null", command, here / "out", here / "errors");
  Output result;
  const int status = std::system(line.c_str());
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  const auto text_of = [](const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(in), {}};
  };
  result.out = text_of(here / "out");
  result.errors = text_of(here / "errors");
  return result;
}

class StockPerf : public ::testing::Test {
 protected:
  void SetUp() override {
    if (run("perf --version", here_).status != 0) GTEST_SKIP() << "perf is not installed (apt install linux-perf)";
  }

  void record(const RecordingDescription& description) {
    perf_reader::write_subject_recording(here_ / "perf.data", description);
  }

  /// perf VERB of the recording, which must have nothing to complain of.
  std::string perf(const std::string& arguments) {
    const Output result = run(fmt::format("perf {} -i '{}'", arguments, here_ / "perf.data"), here_);
    EXPECT_EQ(result.status, 0) << arguments;
    EXPECT_EQ(result.errors, "") << arguments;
    return result.out;
  }

  profile::PerfDataReader open() {
    auto reader = profile::PerfDataReader::open(here_ / "perf.data");
    if (!reader) ADD_FAILURE() << reader.error().message;
    return std::move(*reader);
  }

  std::string our_script(const report::ScriptStyle& style) {
    const auto reader = open();
    profile::Symbolizer symbolizer;
    std::string text;
    const auto done =
        report::script_text(reader, symbolizer, style, [&text](std::string_view piece) { text += piece; });
    EXPECT_TRUE(done);
    return text;
  }

  std::string our_report(const std::string& keys, bool children, bool call_graph, report::CallGraphStyle graph = {}) {
    const auto reader = open();
    profile::AggregateOptions options;
    options.keys = *profile::parse_sort_keys(keys);
    options.branches = reader.description().branch_filter != 0;
    options.children = children;
    options.call_graph = call_graph;
    options.order = children ? profile::ChainOrder::Caller : profile::ChainOrder::Callee;
    const report::ReportStyle style{
        .keys = options.keys, .children = children, .call_graph = call_graph, .graph = graph};
    profile::Symbolizer symbolizer;
    profile::Aggregator aggregator(reader, symbolizer, options);
    std::string text =
        "# To display the perf.data header info, please use --header/--header-only options.\n#\n#\n"
        "# Total Lost Samples: 0\n#\n";
    for (const auto& histogram : aggregator.run()) text += report::report_text(histogram, aggregator, style);
    return text;
  }

  profile::testing::TemporaryDirectory here_;
};

/// A report of perf's without the hint at its end, and without the columns that it adds to branches and symbols by
/// itself.
std::string without_extras(const std::string& text) {
  static const std::regex column(
      R"((,ipc_null|  (IPC   \[IPC Coverage\]|\.{20}|0\.00 +\[ +0\.0%\] +|-      -            ))\n)");
  return std::regex_replace(text.substr(0, text.rfind("#\n# (Tip:")), column, "\n");
}

struct Shape {
  std::string name;
  void (*apply)(RecordingDescription&);
};
const Shape kPlain{"plain", [](RecordingDescription&) {}};
const Shape kChains{"chains", [](RecordingDescription& d) { d.callchain = CallchainMode::FramePointers; }};
const Shape kBranches{"branches", [](RecordingDescription& d) { d.branch_filter = filter::user | filter::any; }};
const Shape kTypedBranches{"typed_branches", [](RecordingDescription& d) {
                             d.branch_filter = filter::any | filter::type_save;
                             d.branch_prediction_known = true;
                           }};
const Shape kFewRegisters{"few_registers", [](RecordingDescription& d) { d.interrupt_registers = 0x101; }};
const Shape kNoRegisters{"no_registers", [](RecordingDescription& d) { d.interrupt_registers = 0; }};
const Shape kDwarf{"dwarf", [](RecordingDescription& d) { d.callchain = CallchainMode::Dwarf; }};
const Shape kMemory{"memory", [](RecordingDescription& d) { d.data_sources = d.latencies = true; }};
const Shape kGroup{"group", [](RecordingDescription& d) { d.groups = {{"", 0, 2}}; }};

// ---- reads -------------------------------------------------------------------------------------------------------

class EveryVerb : public StockPerf, public ::testing::WithParamInterface<Shape> {};

TEST_P(EveryVerb, HasNothingToComplainOf) {
  RecordingDescription description = subject_description();
  GetParam().apply(description);
  record(description);
  for (const char* verb : {"report --stdio", "script", "evlist -v", "buildid-list", "report --header-only --stdio",
                           "report --stdio --mmaps", "script --show-mmap-events --show-task-events"}) {
    EXPECT_NE(perf(verb), "") << verb;
  }
}

INSTANTIATE_TEST_SUITE_P(StockPerf, EveryVerb,
                         ::testing::Values(kPlain, kChains, kBranches, kTypedBranches, kFewRegisters, kNoRegisters,
                                           kDwarf, kMemory, kGroup),
                         [](const auto& shape) { return shape.param.name; });

TEST_F(StockPerf, ReadsAFileWhoseWriterWasKilled) {
  auto writer = profile::PerfDataWriter::create(here_ / "perf.data", subject_description());
  ASSERT_TRUE(writer);
  perf_reader::write_subject_samples(*writer);
  ASSERT_TRUE(writer->flush());
  const std::string text = perf("report --stdio");  // the writer still lives, and never came to close()
  EXPECT_THAT(text, ::testing::HasSubstr("# Samples: 40  of event 'inst_retired.any:ppp'"));
  EXPECT_THAT(text, ::testing::HasSubstr("[.] leaf"));
}

TEST_F(StockPerf, ListsTheBuildIdOfTheSubject) {
  record(subject_description());
  EXPECT_EQ(perf("buildid-list"), profile::read_build_id(SUBJECT)->hex() + " " + SUBJECT + "\n");
}

TEST_F(StockPerf, CountsLostSamples) {
  auto writer = profile::PerfDataWriter::create(here_ / "perf.data", subject_description());
  ASSERT_TRUE(writer);
  perf_reader::write_subject_samples(*writer);
  ASSERT_TRUE(writer->lost({.event = 1, .count = 1, .pid = 100, .tid = 100, .time_ns = 3'000'000}));
  ASSERT_TRUE(writer->close({}));
  EXPECT_THAT(perf("report --stdio"), ::testing::HasSubstr("# Total Lost Samples: 1\n"));
}

// ---- prints the same ---------------------------------------------------------------------------------------------

struct ScriptCase {
  std::string name;
  Shape shape;
  std::string fields;
};
class SameScript : public StockPerf, public ::testing::WithParamInterface<ScriptCase> {};

TEST_P(SameScript, AsPerfs) {
  RecordingDescription description = subject_description();
  GetParam().shape.apply(description);
  record(description);
  const std::string& fields = GetParam().fields;
  EXPECT_EQ(our_script({.fields = fields}), perf("script" + (fields.empty() ? "" : " -F " + fields)));
}

INSTANTIATE_TEST_SUITE_P(
    StockPerf, SameScript,
    ::testing::Values(ScriptCase{"usual", kPlain, ""}, ScriptCase{"usual_with_chains", kChains, ""},
                      ScriptCase{"usual_with_branches", kBranches, ""},
                      ScriptCase{"registers", kPlain, "comm,tid,ip,sym,period,iregs"},
                      ScriptCase{"registers_with_chains", kChains, "comm,tid,ip,sym,period,iregs"},
                      ScriptCase{"few_registers", kFewRegisters, "ip,iregs"},
                      ScriptCase{"branches", kBranches, "brstack"},
                      ScriptCase{"typed_branches", kTypedBranches, "comm,pid,ip,brstack"},
                      ScriptCase{"branch_symbols", kTypedBranches, "ip,brstacksym"},
                      ScriptCase{"branch_files", kBranches, "ip,brstack,dso"},
                      ScriptCase{"everything", kPlain, "comm,pid,tid,cpu,time,period,event,addr,ip,sym,symoff,dso"},
                      ScriptCase{"lines", kPlain, "comm,ip,sym,srcline"}),
    [](const auto& one) { return one.param.name; });

struct ReportCase {
  std::string name;
  Shape shape;
  std::string options;  // perf's
  std::string keys;
  bool children, call_graph;
  report::CallGraphStyle graph;
};
class SameReport : public StockPerf, public ::testing::WithParamInterface<ReportCase> {};

TEST_P(SameReport, AsPerfs) {
  const ReportCase& one = GetParam();
  RecordingDescription description = subject_description();
  one.shape.apply(description);
  record(description);
  EXPECT_EQ(our_report(one.keys, one.children, one.call_graph, one.graph),
            without_extras(perf("report --stdio " + one.options)));
}

INSTANTIATE_TEST_SUITE_P(
    StockPerf, SameReport,
    ::testing::Values(ReportCase{"usual", kPlain, "", "comm,dso,symbol", false, false, {}},
                      ReportCase{"threads", kPlain, "-s comm,cpu", "comm,cpu", false, false, {}},
                      ReportCase{"lines", kPlain, "-s sym,srcline", "sym,srcline", false, false, {}},
                      ReportCase{"children", kChains, "", "comm,dso,symbol", true, true, {}},
                      ReportCase{"no_children", kChains, "--no-children", "comm,dso,symbol", false, true, {}},
                      ReportCase{"fractal", kChains, "-g fractal", "comm,dso,symbol", true, true, {.relative = true}},
                      ReportCase{
                          "symbol_first", kChains, "--no-children -s sym", "sym", false, true, {.skip_first = true}},
                      ReportCase{"without_graph", kChains, "-g none", "comm,dso,symbol", true, false, {}},
                      ReportCase{"branches",
                                 kBranches,
                                 "-s comm,dso_from,symbol_from,symbol_to,mispredict",
                                 "comm,dso_from,symbol_from,symbol_to,mispredict",
                                 false,
                                 false,
                                 {}}),
    [](const auto& one) { return one.param.name; });

TEST_F(StockPerf, AnnotatesWithTheSamePercentages) {
  record(subject_description());
  const auto percentages = [](const std::string& text) {
    std::map<std::string, std::string> rows;  // by address
    static const std::regex row(R"(^\s*(\d+\.\d\d) :\s+([0-9a-f]+):)");
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
      std::smatch match;
      if (std::regex_search(line, match, row)) rows.try_emplace(match[2], match[1]);
    }
    return rows;
  };
  const auto reader = open();
  profile::Symbolizer symbolizer;
  std::uint64_t outside = 0;
  const auto heats = profile::function_heats(reader, symbolizer, {.symbol = "leaf"}, outside);
  ASSERT_EQ(heats.size(), 2u);
  const auto ours = report::annotate_text(heats[0], symbolizer, {});
  ASSERT_TRUE(ours);
  const auto expected = percentages(perf("annotate --stdio leaf"));
  EXPECT_EQ(expected.size(), 7u);
  EXPECT_EQ(percentages(*ours), expected);
}

TEST_F(StockPerf, HasTheSameHeaderLines) {
  RecordingDescription description = subject_description();
  description.branch_filter = filter::user | filter::any;
  description.groups = {{"", 0, 2}};
  record(description);
  const std::string ours = report::header_text(open());
  std::istringstream in(perf("report --stdio --header-only"));
  for (std::string line; std::getline(in, line);) {
    if (line.find("info available, use -I to display") != std::string::npos || line.starts_with("# pmu mappings")) {
      continue;
    }
    EXPECT_THAT(ours, ::testing::HasSubstr(line + "\n"));
  }
}

// ---- memory accesses ----------------------------------------------------------------------------------------------

TEST_F(StockPerf, SpellsEveryDataSourceAsWeDo) {
  std::vector<perf_reader::Access> accesses;
  for (const std::uint64_t word : perf_reader::every_data_source()) {
    accesses.push_back({.data_source = word, .latency = 100 + accesses.size()});
  }
  ASSERT_GT(accesses.size(), 300u);
  perf_reader::write_memory_recording(here_ / "perf.data", accesses);
  EXPECT_EQ(our_script({.fields = "addr,data_src,weight,ip"}), perf("script -F addr,data_src,weight,ip"));
}

TEST_F(StockPerf, PrintsMemoryAccessesAsWeDo) {
  perf_reader::write_memory_recording(here_ / "perf.data", {{.data_source = 0x106'6820'0842, .latency = 60},
                                                            {.address = 0, .data_source = 0x508'0021}});
  EXPECT_EQ(our_script({}), perf("script"));
  EXPECT_EQ(our_script({.fields = "addr,weight,ins_lat"}), perf("script -F addr,weight,ins_lat"));
}

/// Loads of every level that a generation tells, and stores, so that no two lines of a report weigh the same.
std::vector<perf_reader::Access> mixed_accesses(arch::DataSourceFormat format) {
  using arch::SourceWord;
  std::vector<perf_reader::Access> accesses;
  const std::uint64_t places[] = {perf_reader::kTable,      perf_reader::kTable + 8,        perf_reader::kHeap + 64,
                                  perf_reader::kStack - 16, perf_reader::kAnonymous + 4096, 0};
  std::uint64_t latency = 5;
  for (const std::uint64_t code : {0x01U, 0x02U, 0x03U, 0x04U, 0x06U, 0x07U, 0x0AU, 0x11U, 0x21U, 0x1AU}) {
    for (const std::uint64_t place : places) {
      accesses.push_back({.ip = code % 2 == 0 ? perf_reader::kLoad : perf_reader::kMiddle,
                          .address = place,
                          .data_source = perf_data_src(format, SourceWord::LoadLatency, code),
                          .latency = latency += 1 + latency / 8,
                          .times = 1 + code % 3});
    }
  }
  for (std::uint64_t bits = 0; bits < 2; ++bits) {
    accesses.push_back({.event = 1,
                        .ip = perf_reader::kAdd,
                        .data_source = perf_data_src(format, SourceWord::StoreHit, bits),
                        .times = 3 + 2 * bits});
  }
  return accesses;
}

class SameMemoryReport : public StockPerf, public ::testing::WithParamInterface<std::string> {};

TEST_P(SameMemoryReport, AsPerfs) {
  using arch::DataSourceFormat;
  for (const auto format : {DataSourceFormat::Nehalem, DataSourceFormat::SandyBridge, DataSourceFormat::SkylakeServer,
                            DataSourceFormat::SapphireRapids}) {
    perf_reader::write_memory_recording(here_ / "perf.data", mixed_accesses(format));
    const auto reader = open();
    profile::Symbolizer symbolizer;
    const report::MemoryStyle style{
        .keys_text = GetParam(), .keys = *profile::parse_sort_keys(GetParam()), .overview = false};
    const std::string ours =
        "# To display the perf.data header info, please use --header/--header-only options.\n#\n#\n"
        "# Total Lost Samples: 0\n#\n" +
        report::memory_text(reader, symbolizer, style);
    EXPECT_EQ(ours, without_extras(perf("mem report --stdio --sort=" + GetParam())));
  }
}

INSTANTIATE_TEST_SUITE_P(StockPerf, SameMemoryReport,
                         ::testing::Values("mem", "mem,symbol,dso", "local_weight,mem", "weight,mem", "ins_lat,mem",
                                           "symbol,symbol_daddr,dso_daddr", "mem,snoop,tlb,locked,blocked",
                                           "mem,local_ins_lat",
                                           "local_weight,mem,sym,dso,symbol_daddr,dso_daddr,snoop,tlb,locked,blocked,"
                                           "local_ins_lat"),
                         [](const auto& one) { return "n" + std::to_string(one.index); });

// ---- perf's own recordings ---------------------------------------------------------------------------------------

class PerfsOwn : public StockPerf, public ::testing::WithParamInterface<std::string> {};

/// The lines of two scripts of one recording. Left out of both are callers at ~0, and callees that we name as PLT
/// entries where perf prints the same up to the name: it knows fewer of these entries, and takes the symbol before.
struct ScriptPair {
  std::string ours, theirs;
};

ScriptPair comparable(const std::string& our_text, const std::string& their_text) {
  const auto lines_of = [](const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
      if (line.find("ffffffffffffffff [unknown]") == std::string::npos) lines.push_back(line + "\n");
    }
    return lines;
  };
  auto ours = lines_of(our_text), theirs = lines_of(their_text);
  for (std::size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) {
    const std::size_t name = ours[i].rfind(' ', ours[i].find("@plt"));
    if (ours[i].find("@plt") != std::string::npos && theirs[i].starts_with(ours[i].substr(0, name))) {
      ours[i].clear();
      theirs[i].clear();
    }
  }
  const auto joined = [](const std::vector<std::string>& lines) {
    return std::accumulate(lines.begin(), lines.end(), std::string{});
  };
  return {joined(ours), joined(theirs)};
}

TEST_P(PerfsOwn, RecordingOfARealProgramReadsTheSame) {
  const Output recorded =
      run(fmt::format("perf record -e task-clock:u {} -o '{}' '{}'", GetParam(), here_ / "perf.data", INLINES), here_);
  if (recorded.status != 0) GTEST_SKIP() << "perf cannot record here: " << recorded.errors;
  const std::string fields = "comm,pid,tid,time,period,event,ip,sym,symoff,dso";
  const std::string theirs = perf("script --no-inline -F " + fields);
  EXPECT_THAT(theirs, ::testing::HasSubstr("shop::price"));
  // Inlined functions have other names with perf, which takes them from addr2line.
  const ScriptPair texts = comparable(our_script({.fields = fields, .inlines = profile::Inlines::Never}), theirs);
  EXPECT_EQ(texts.ours, texts.theirs);
}

INSTANTIATE_TEST_SUITE_P(StockPerf, PerfsOwn,
                         ::testing::Values("", "-g", "--call-graph dwarf", "-d --intr-regs=ax,ip", "-c 300000"),
                         [](const auto& one) { return "n" + std::to_string(one.index); });

}  // namespace
}  // namespace zs
