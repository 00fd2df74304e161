#include "report/text/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace zs::report {
namespace {

TEST(Json, KeepsMembersInTheOrderInWhichTheyCame) {
  Json page = {{"z", 1}, {"a", "text"}};
  page["m"] = nullptr;
  page["a"] = true;  // stays where it was
  EXPECT_EQ(page.dump(-1), R"({"z":1,"a":true,"m":null})");
}

TEST(Json, WritesEveryKindOfValue) {
  Json page;
  page["large"] = UINT64_MAX;
  page["small"] = INT64_MIN;
  page["byte"] = std::uint8_t{200};
  page["number"] = 1.5;
  page["none"] = std::nan("");
  page["text"] = std::string("a\"b");
  page["list"] = std::vector<unsigned>{1, 2};
  page["words"] = std::vector<std::string>{"x"};
  page["empty list"] = Json::array();
  page["empty"] = Json::object();
  EXPECT_EQ(page.dump(-1),
            R"({"large":18446744073709551615,"small":-9223372036854775808,"byte":200,"number":1.5,"none":null,)"
            R"("text":"a\"b","list":[1,2],"words":["x"],"empty list":[],"empty":{}})");
}

TEST(Json, NestsWhatItIsGiven) {
  Json page;
  page["rows"] = Json::array();
  page["rows"].push_back({{"name", "one"}, {"inner", {{"x", 1}}}});
  page["rows"].push_back(Json("two"));
  EXPECT_EQ(page.dump(1),
            "{\n \"rows\": [\n  {\n   \"name\": \"one\",\n   \"inner\": {\n    \"x\": 1\n   }\n  },\n"
            "  \"two\"\n ]\n}");
}

TEST(Json, WritesWhatIsNoUtf8AndLettersBeyondAscii) {
  EXPECT_EQ(Json("\xFFx").dump(-1), "\"\xEF\xBF\xBDx\"");
  EXPECT_EQ(Json("\xC3\xA9").dump(-1), "\"\xC3\xA9\"");
  EXPECT_EQ(Json("\xC3\xA9").dump(-1, true), "\"\\u00e9\"");
}

TEST(Json, ReadsWhatItWrites) {
  const std::string text =
      R"({"large":18446744073709551615,"small":-5,"number":1.5,"none":null,"yes":true,"text":"a\"b","list":[1,"x",{}]})";
  const auto read = Json::parse(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->dump(-1), text);
  EXPECT_EQ(read->find("small")->number(), -5);
  EXPECT_EQ(read->find("text")->text(), "a\"b");
  EXPECT_EQ(read->find("list")->elements().size(), 3U);
  EXPECT_EQ(read->find("yes")->number(), std::nullopt);
  EXPECT_EQ(read->find("text")->find("x"), nullptr);
  EXPECT_EQ(read->find("other"), nullptr);
}

TEST(Json, ReadsNothingElse) {
  for (const char* const wrong : {"", "{", "{\"a\":}", "[1,]", "1 2", "\"\xff\""})
    EXPECT_FALSE(Json::parse(wrong)) << wrong;
  const std::string deep(100000, '[');
  EXPECT_FALSE(Json::parse(deep));
  EXPECT_FALSE(Json::parse(deep + std::string(100000, ']')));
}

}  // namespace
}  // namespace zs::report
