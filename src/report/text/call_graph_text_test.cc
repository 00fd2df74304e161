#include "report/text/call_graph_text.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <sstream>

namespace zs::report {
namespace {

/// Draws the tree of "A;B;C 2" lines.
std::string drawn(const std::string& lines, const CallGraphStyle& style = {}) {
  std::deque<profile::Frame> frames;
  std::map<std::string, const profile::Frame*> known;
  profile::CallTree tree;
  std::uint64_t whole = 0;
  std::istringstream in(lines);
  for (std::string chain; in >> chain;) {
    std::uint64_t weight = 0;
    in >> weight;
    whole += weight;
    std::vector<const profile::Frame*> path;
    std::istringstream names(chain);
    for (std::string name; std::getline(names, name, ';');) {
      const auto [found, added] = known.try_emplace(name, nullptr);
      if (added) {
        profile::Frame made;
        made.name = name;
        made.address = frames.size();
        frames.push_back(made);
        found->second = &frames.back();
      }
      path.push_back(found->second);
    }
    tree.add(path, weight);
  }
  tree.sort();
  return std::string("\n").append(draw_call_graph(tree, whole, whole, style));
}

TEST(CallGraphText, DrawsASingleChainAsALine) {
  EXPECT_EQ(drawn("main;middle;leaf 5"), R"(
            |
            ---main
               middle
               leaf

)");
}

TEST(CallGraphText, DrawsBranchesWithTheirShareOfTheWhole) {
  EXPECT_EQ(drawn("main;a;x 60 main;b 25 main;a;y 15"), R"(
            |
            ---main
               |          
               |--75.00%--a
               |          |          
               |          |--60.00%--x
               |          |          
               |           --15.00%--y
               |          
                --25.00%--b

)");
}

TEST(CallGraphText, DrawsSeveralRootsWithTheirShares) {
  EXPECT_EQ(drawn("a;c 60 b;c 40"), R"(
            |          
            |--60.00%--a
            |          c
            |          
             --40.00%--b
                       c

)");
}

TEST(CallGraphText, LeavesOutBranchesBelowTheLeastPercentage) {
  EXPECT_EQ(drawn("main;a 999 main;b 1", {.min_percent = 0.5}), R"(
            |
            ---main
               |          
                --99.90%--a

)");
  EXPECT_EQ(drawn("a 1 b 1", {.min_percent = 60}), "\n");
}

TEST(CallGraphText, RelatesSharesToTheNodeAboveAndSumsUpTheRest) {
  EXPECT_EQ(drawn("main;a;x 60 main;a;y 15 main;b 20 main;c 5", {.relative = true, .min_percent = 10}), R"(
            |
            ---main
               |          
               |--75.00%--a
               |          |          
               |          |--80.00%--x
               |          |          
               |           --20.00%--y
               |          
               |--20.00%--b
                --5.00%--[...]

)");
}

TEST(CallGraphText, StopsALevelAfterTheMostEntries) {
  EXPECT_EQ(drawn("main;a 50 main;b 30 main;c 20", {.max_entries = 2}), R"(
            |
            ---main
               |          
               |--50.00%--a
               |          
               |--30.00%--b

)");
}

TEST(CallGraphText, LeavesOutTheFirstFrameWhereItStandsAbove) {
  EXPECT_EQ(drawn("leaf;middle;main 5", {.skip_first = true}), R"(
            |
            ---middle
               main

)");
}

}  // namespace
}  // namespace zs::report
