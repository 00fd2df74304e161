#include "cli/record/process_order.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace zs::cli {
namespace {

using session::Comm;
using session::Exit;
using session::Fork;
using session::Hello;
using session::Message;
using session::Origin;
using testing::ElementsAre;
using testing::ElementsAreArray;

constexpr std::int32_t kFirst = 1000;

Origin who(std::int32_t pid, std::uint64_t time_ns, std::int32_t tid = 0) {
  return {.pid = pid, .tid = tid == 0 ? pid : tid, .time_ns = time_ns};
}
Message name(std::int32_t pid, std::uint64_t time_ns, std::string text) {
  return Comm{.origin = who(pid, time_ns), .exec = false, .comm = std::move(text)};
}
Message fork(std::int32_t child, std::uint64_t time_ns, std::int32_t parent, bool by_parent) {
  return Fork{.origin = who(child, time_ns), .parent_pid = parent, .parent_tid = parent, .by_parent = by_parent};
}

std::string text_of(const Message& message) {
  if (const auto* comm = std::get_if<Comm>(&message))
    return fmt::format("{}/{} {} {}", comm->origin.pid, comm->origin.tid, comm->origin.time_ns, comm->comm);
  if (const auto* child = std::get_if<Fork>(&message)) {
    return fmt::format("{}/{} {} fork of {}/{}", child->origin.pid, child->origin.tid, child->origin.time_ns,
                       child->parent_pid, child->parent_tid);
  }
  if (const auto* exit = std::get_if<Exit>(&message))
    return fmt::format("{} {} exit, parent {}", exit->origin.pid, exit->origin.time_ns, exit->parent_pid);
  return std::holds_alternative<Hello>(message) ? "hello" : "?";
}

class ProcessOrderTest : public testing::Test {
 protected:
  void tell(const std::vector<Message>& messages) {
    for (Message message : messages) EXPECT_TRUE(order_.receive(std::move(message)));
  }
  const std::vector<std::string>& all() {
    EXPECT_TRUE(order_.finish());
    return told_;
  }

  std::vector<std::string> told_;
  ProcessOrder order_{std::filesystem::temp_directory_path().string(),
                      [this](Message&& message) { told_.push_back(text_of(message)); }};
};

TEST_F(ProcessOrderTest, PassesOnAtOnceWhatASingleProcessTells) {
  tell({name(kFirst, 1, "a"), name(kFirst, 2, "b")});
  EXPECT_THAT(told_, ElementsAre("1000/1000 1 a", "1000/1000 2 b"));
}

TEST_F(ProcessOrderTest, MergesByTimeWithTheOlderProcessFirst) {
  tell({name(kFirst, 1, "a"), fork(4711, 5, kFirst, false), name(4711, 7, "child"), fork(4711, 5, kFirst, true),
        name(kFirst, 7, "b"), name(4711, 9, "child again"), name(kFirst, 8, "c")});
  EXPECT_THAT(all(), ElementsAre("1000/1000 1 a", "1001/1001 5 fork of 1000/1000", "1000/1000 7 b", "1001/1001 7 child",
                                 "1000/1000 8 c", "1001/1001 9 child again"));
}

TEST_F(ProcessOrderTest, GivesIdsInTheOrderOfForkingAndNotOfTheKernelsNumbers) {
  tell({name(kFirst, 1, "a"), fork(900, 5, kFirst, true), fork(800, 6, kFirst, true), fork(800, 6, kFirst, false),
        name(800, 10, "second"), fork(900, 5, kFirst, false), name(900, 10, "first"),
        Exit{.origin = who(800, 11), .parent_pid = kFirst, .parent_tid = kFirst}});
  EXPECT_THAT(all(), ElementsAre("1000/1000 1 a", "1001/1001 5 fork of 1000/1000", "1002/1002 6 fork of 1000/1000",
                                 "1001/1001 10 first", "1002/1002 10 second", "1002 11 exit, parent 1000"));
}

TEST_F(ProcessOrderTest, ContinuesTheTimeOfAProcessInItsNextImage) {
  tell({name(kFirst, 10, "a"), Hello{.origin = who(kFirst, 0), .exec = true}, name(kFirst, 3, "b"),
        fork(77, 4, kFirst, true), fork(77, 4, kFirst, false), name(77, 5, "child")});
  EXPECT_THAT(all(), ElementsAre("1000/1000 10 a", "hello", "1000/1000 13 b", "1001/1001 14 fork of 1000/1000",
                                 "1001/1001 15 child"));
}

TEST_F(ProcessOrderTest, NumbersThreadsAmongTheProcesses) {
  tell({fork(77, 1, kFirst, true), Fork{.origin = who(kFirst, 2, 78), .parent_pid = kFirst, .parent_tid = kFirst},
        Comm{.origin = who(kFirst, 3, 78), .comm = "thread"}, fork(79, 4, kFirst, true)});
  EXPECT_THAT(all(), ElementsAre("1001/1001 1 fork of 1000/1000", "1000/1002 2 fork of 1000/1000", "1000/1002 3 thread",
                                 "1003/1003 4 fork of 1000/1000"));
}

TEST_F(ProcessOrderTest, KeepsTwoProcessesApartThatHadTheSameNumber) {
  tell({fork(77, 1, kFirst, true), fork(77, 1, kFirst, false), name(77, 2, "one"), fork(77, 5, kFirst, false),
        name(77, 6, "two"), fork(77, 5, kFirst, true)});
  EXPECT_THAT(all(), ElementsAre("1001/1001 1 fork of 1000/1000", "1001/1001 2 one", "1002/1002 5 fork of 1000/1000",
                                 "1002/1002 6 two"));
}

TEST_F(ProcessOrderTest, PutsAChildThatItsParentDidNotTellOfAtTheEnd) {
  tell({name(kFirst, 1, "a"), fork(77, 2, kFirst, false), name(77, 3, "child"), name(kFirst, 9, "b")});
  EXPECT_THAT(all(), ElementsAreArray(
                         {"1000/1000 1 a", "1000/1000 9 b", "1001/1001 2 fork of 1000/1000", "1001/1001 3 child"}));
}

TEST_F(ProcessOrderTest, HoldsMoreThanADatagram) {
  std::vector<Message> many{fork(77, 1, kFirst, true), fork(77, 1, kFirst, false)};
  std::vector<std::string> expected{"1001/1001 1 fork of 1000/1000"};
  for (int i = 0; i < 5000; ++i) {
    many.push_back(name(77, 10 + 2 * static_cast<std::uint64_t>(i), "child"));
    many.push_back(name(kFirst, 11 + 2 * static_cast<std::uint64_t>(i), "parent"));
    expected.push_back(fmt::format("1001/1001 {} child", 10 + 2 * i));
    expected.push_back(fmt::format("1000/1000 {} parent", 11 + 2 * i));
  }
  tell(many);
  EXPECT_THAT(all(), ElementsAreArray(expected));
}

}  // namespace
}  // namespace zs::cli
