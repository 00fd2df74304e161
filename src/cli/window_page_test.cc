#include "cli/window_page.h"

#include <gtest/gtest.h>

namespace zs::cli {
namespace {

TEST(WindowPage, GroupsDigitsByThreesAndKeepsColumns) {
  profile::WindowTable table;
  table.events = {{.name = "instructions"}, {.name = "loads", .value_class = profile::ValueClass::NotModelled}};
  const WindowPage page(WindowFormat::Page, table, {}, "", false);
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
                 row);
    const auto right = [](const std::string& shown, std::size_t width) {
      return std::string(width - std::min(width, shown.size()), ' ') + shown;
    };
    EXPECT_EQ(row, "kept        7  sort-42             " + right("0", 17) + right(text, 17) + "  1i              " +
                       right(text, 15) + right("not modelled", 15) + "\n");
  }
}

}  // namespace
}  // namespace zs::cli
