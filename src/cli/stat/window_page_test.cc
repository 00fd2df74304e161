#include "cli/stat/window_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zs::cli {
namespace {

TEST(WindowPage, GroupsDigitsByThreesAndKeepsColumns) {
  profile::WindowTable table;
  table.events = {{.name = "instructions"}, {.name = "loads", .value_class = profile::ValueClass::NotModelled}};
  const WindowPage page(WindowFormat::Page, table, {}, {}, "", false);
  struct Case {
    std::uint64_t value;
    const char* text;
  };
  for (const auto& [value, text] : {Case{0, "0"},
                                    {9, "9"},
                                    {10, "10"},
                                    {99, "99"},
                                    {100, "100"},
                                    {999, "999"},
                                    {1000, "1,000"},
                                    {1009, "1,009"},
                                    {10'090, "10,090"},
                                    {999'999, "999,999"},
                                    {1'000'000, "1,000,000"},
                                    {UINT64_MAX, "18,446,744,073,709,551,615"}}) {
    std::string row = "kept ";
    page.add_row({.number = 7,
                  .pid = 3,
                  .tid = 42,
                  .comm = "sort",
                  .start = 0,
                  .end = value,
                  .time = {},
                  .reason = "1i",
                  .values = {value, 0}},
                 nullptr, row);
    const auto right = [](const std::string& shown, std::size_t width) {
      return std::string(width - std::min(width, shown.size()), ' ') + shown;
    };
    EXPECT_EQ(row, "kept        7  sort-42             " + right("0", 17) + right(text, 17) + "  1i              " +
                       right(text, 15) + right("not modelled", 15) + "\n");
  }
}

/// A window of a million instructions with 16 units of 10,000: 9,000 cycles in every second one, 11,000 in the others.
class EstimatedRows : public testing::Test {
 protected:
  EstimatedRows() {
    table_.events = {{.name = "instructions"},
                     {.name = "cycles", .value_class = profile::ValueClass::Estimated, .has_half_widths = true},
                     {.name = "misses", .value_class = profile::ValueClass::Estimated, .has_half_widths = true}};
    for (std::uint64_t i = 0; i < 16; ++i)
      units_.add_unit(i, 6, 10'000, std::vector<std::uint64_t>{i % 2 == 0 ? 9'000U : 11'000U, i == 0 ? 3U : 0U});
    units_.set_instructions(1'000'000);
  }
  std::string row(WindowFormat format) {
    const WindowPage page(format, table_, {}, columns_, ",", false);
    std::string text;
    page.add_row({.number = 1,
                  .pid = 3,
                  .tid = 42,
                  .comm = "sort",
                  .start = 0,
                  .end = 1'000'000,
                  .time = {},
                  .reason = "1000000i",
                  .values = {1'000'000, 1'000'000, 19},
                  .half_widths = {}},
                 &units_, text);
    return text;
  }
  profile::WindowTable table_;
  session::UnitSums units_{2};
  EstimatedColumns columns_{{}, EstimatedColumn{0}, EstimatedColumn{1}};
};

// Sixteen groups that differ by a tenth from their mean, and Student's t of 15 degrees of freedom: 2.131 x 0.1 /
// sqrt(15).
TEST_F(EstimatedRows, HaveTheirIntervalsBehindThem) {
  EXPECT_EQ(row(WindowFormat::Page),
            "       1  sort-42                             0        1,000,000  1000000i              1,000,000"
            "      1,000,000  +- 5.5 %               too few  below 102\n");
}

TEST_F(EstimatedRows, HaveHalfWidthsInColumnsOfTheirOwn) {
  EXPECT_EQ(row(WindowFormat::Csv), "1,3,42,sort,0,1000000,,,1000000i,1000000,1000000,55022,19,\n");
}

TEST_F(EstimatedRows, HaveThemBehindThoseOfPerf) {
  EXPECT_EQ(row(WindowFormat::Columns),
            "     0.001000000,1000000,,instructions,1000000,100.00,,,exact,,,\n"
            "     0.001000000,1000000,,cycles,1000000,100.00,,,estimated,55022,,16.00\n"
            "     0.001000000,<not counted>,,misses,1000000,100.00,,,estimated,,,16.00\n");
}

TEST_F(EstimatedRows, HaveThemAsKeys) {
  const std::string text = row(WindowFormat::Json);
  EXPECT_THAT(text, testing::HasSubstr(R"("class":"estimated","half-width":55022.)"));
  EXPECT_THAT(text, testing::HasSubstr(R"("half-width":null,"too-few":"below 102","detail-percent":16.0)"));
}

}  // namespace
}  // namespace zs::cli
