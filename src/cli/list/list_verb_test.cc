#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "arch/cpu_model.h"
#include "cli/command/verb.h"

namespace zs::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Ran {
  int status;
  std::string out, err;
};

Ran run(std::vector<std::string> words) {
  words.insert(words.begin(), "list");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int status = kListVerb.run({words});
  std::string err = testing::internal::GetCapturedStderr();
  return {status, testing::internal::GetCapturedStdout(), std::move(err)};
}

TEST(ListVerb, TakesGlobsAndOptionsInAnyOrder) {
  EXPECT_THAT(run({"cs", "--json"}).out, StartsWith("{\n  \"schema\": \"zeroskid-list\""));
  EXPECT_EQ(run({"--json", "cs"}).out, run({"cs", "--json"}).out);
  EXPECT_THAT(run({"cs", "--cpu", "haswell", "0x4100C4", "-v"}).out,
              StartsWith("0x4100C4  IA32_PERFEVTSELx of haswell@1\n"));
}

TEST(ListVerb, LeavesOutWhatIsNotModelledUnlessAskedForIt) {
  EXPECT_EQ(run({}).out.find("not modelled"), std::string::npos);
  EXPECT_THAT(run({"-v"}).out, HasSubstr("not modelled"));
  EXPECT_THAT(run({"remote_dram"}).out, HasSubstr("not modelled"));
  EXPECT_THAT(run({}).out, HasSubstr("\nmem_load_retired.l3_miss "));
  EXPECT_EQ(run({"--cpu", "nehalem"}).out.find("modelled"), std::string::npos);
}

TEST(ListVerb, ExplainsItself) {
  const Ran ran = run({"--help"});
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.out, R"(
Lists the events that -e takes, with what their numbers are worth.
Usage: zeroskid list [GLOB | 0xSELECT]... [OPTIONS]

Options:
  -h,--help                 Print this help message and exit
  -v,--verbose              Events that are not modelled too, aliases, and what is missing
  --names                   Names alone, one a line
  --json                    One JSON object (docs/formats/list-json.md)
  --no-pager                Straight to the terminal, also what is longer than it
  --cpu,--model MODEL       Events of this CPU model

GLOB is compared with names and aliases; where nothing matches, names that contain it are listed.
0xSELECT is a word as IA32_PERFEVTSELx (AMD: PERF_CTLx) takes it: its fields, and what it counts.
`metrics` lists what stat -M takes instead, `models` the CPU models.
-e also takes rNNNN, cpu/event=N,umask=N,.../ and these words; :p :pp :ppp sample precisely.
PRECISE is what the vendor promises of PEBS: only = made for it, distribution = the overflowing instruction
itself is recorded. Here :p samples every event precisely.

Exit status:
  0       something matches
  1       nothing matches
  129     wrong usage
)" + 1);
}

TEST(ListVerb, EndsWithOneWhereNothingMatches) {
  const Ran ran = run({"nonesuch*"});
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(
      ran.err,
      "zeroskid: list: no event of skylake-server@1 matches 'nonesuch*'\nhint: zeroskid list -v shows every event\n");
}

TEST(ListVerb, EndsWith129WhereTheOptionsAreWrong) {
  EXPECT_EQ(run({"--nonesuch"}).status, 129);
  EXPECT_THAT(run({"--model", "z80"}).err, StartsWith("zeroskid: --model z80: no such CPU model\n"));
  const Ran ran = run({"--cpu", "z80"});
  EXPECT_EQ(ran.status, 129);
  std::string models;
  for (const arch::CpuModel& model : arch::cpu_models()) models.append(models.empty() ? "" : ", ").append(model.name);
  EXPECT_THAT(models, StartsWith("core2@1, goldmont@1, "));
  EXPECT_EQ(ran.err, "zeroskid: --cpu z80: no such CPU model\nhint: models: " + models + "\n");
}

}  // namespace
}  // namespace zs::cli
