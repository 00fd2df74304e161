#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command/verb.h"

namespace zs::cli {
namespace {

using ::testing::HasSubstr;

struct Ran {
  int status;
  std::string out, err;
};

Ran run(std::vector<std::string> words) {
  words.insert(words.begin(), "doctor");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int status = kDoctorVerb.run({words});
  std::string err = testing::internal::GetCapturedStderr();
  return {status, testing::internal::GetCapturedStdout(), std::move(err)};
}

TEST(DoctorVerb, ExplainsItself) {
  const Ran ran = run({"--help"});
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.out, R"(
Says which back ends work on this machine, why the others do not, and what would change that.
Usage: zeroskid doctor [--measure] [--json]

Options:
  -h,--help                 Print this help message and exit
  --json                    One JSON object (docs/formats/doctor-json.md)
  --measure                 How much longer programs run under zeroskid here; takes some seconds, and is kept for --help

Exit status:
  0       a back end works
  1       none does
  125     what --measure runs fails
  129     wrong usage
)" + 1);
}

TEST(DoctorVerb, SaysTheSameInBothForms) {
  const Ran page = run({}), json = run({"--json"});
  EXPECT_EQ(page.status, json.status);
  const auto document = nlohmann::json::parse(json.out);
  const std::string hardware = document.at("backends").at("hardware").at("state");
  EXPECT_THAT(page.out, HasSubstr("hardware PMU     " + hardware));
  const std::string software = document.at("backends").at("software").at("state");
  EXPECT_THAT(page.out, HasSubstr("software PMU     " + software));
  EXPECT_EQ(page.status, software == "ready" ? 0 : 1);
}

TEST(DoctorVerb, RefusesWordsItHasNoUseFor) {
  const Ran ran = run({"everything"});
  EXPECT_EQ(ran.status, 129);
  EXPECT_EQ(ran.err,
            "zeroskid: doctor: there is nothing to do with 'everything'\nhint: zeroskid doctor --help lists the "
            "options\n");
}

}  // namespace
}  // namespace zs::cli
