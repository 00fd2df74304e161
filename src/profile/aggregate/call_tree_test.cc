#include "profile/aggregate/call_tree.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <sstream>

namespace zs::profile {
namespace {

/// "A;B;C 2" lines in; a node a line out, indented: its frames, own weight, total weight.
class Chains {
 public:
  std::string tree(const std::string& lines) {
    CallTree tree;
    std::istringstream in(lines);
    for (std::string chain; in >> chain;) {
      std::uint64_t weight = 0;
      in >> weight;
      std::vector<const Frame*> frames;
      std::istringstream names(chain);
      for (std::string name; std::getline(names, name, ';');) frames.push_back(frame(name));
      tree.add(frames, weight);
    }
    tree.sort();
    std::string out;
    for (const auto& child : tree.root().children) print(*child, 0, out);
    return out;
  }

 private:
  const Frame* frame(const std::string& name) {
    const auto [found, added] = known_.try_emplace(name, nullptr);
    if (added) {
      Frame made;
      made.name = name;
      made.address = static_cast<std::uint64_t>(name[0]);
      frames_.push_back(made);
      found->second = &frames_.back();
    }
    return found->second;
  }
  static void print(const CallNode& node, std::size_t depth, std::string& out) {
    out.append(2 * depth, ' ');
    for (std::size_t i = 0; i < node.frames.size(); ++i) out.append(i == 0 ? "" : ";").append(node.frames[i]->name);
    out += fmt::format(" {} {}\n", node.own, node.total());
    for (const auto& child : node.children) print(*child, depth + 1, out);
  }

  std::deque<Frame> frames_;
  std::map<std::string, const Frame*> known_;
};

TEST(CallTree, KeepsARunThatNothingLeavesInOneNode) { EXPECT_EQ(Chains().tree("A;B;C 2 A;B;C 3"), "A;B;C 5 5\n"); }

TEST(CallTree, SplitsANodeWhereChainsPart) {
  EXPECT_EQ(Chains().tree("A;B;C 2 A;B;D 3"),
            "A;B 0 5\n"
            "  D 3 3\n"
            "  C 2 2\n");
}

TEST(CallTree, SplitsANodeWhereAChainEnds) {
  EXPECT_EQ(Chains().tree("A;B;C 2 A 3 A;B;C;D 4"),
            "A 3 9\n"
            "  B;C 2 6\n"
            "    D 4 4\n");
}

TEST(CallTree, HasAsManyRootsAsChainsBegin) {
  EXPECT_EQ(Chains().tree("A;B 1 C;B 2 D 1"),
            "C;B 2 2\n"
            "D 1 1\n"
            "A;B 1 1\n");
}

// From the highest on, as perf does.
TEST(CallTree, PutsChildrenOfEqualWeightInTheOrderOfTheirAddresses) {
  EXPECT_EQ(Chains().tree("A;D 1 A;B 1 A;C 1"), Chains().tree("A;B 1 A;C 1 A;D 1"));
}

TEST(CallTree, CountsRecursionLevelByLevel) {
  EXPECT_EQ(Chains().tree("A;A;A 1 A;A 1"),
            "A;A 1 2\n"
            "  A 1 1\n");
}

TEST(CallTree, IgnoresAChainWithoutFrames) { EXPECT_EQ(Chains().tree(" "), ""); }

}  // namespace
}  // namespace zs::profile
