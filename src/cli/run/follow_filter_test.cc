#include "cli/run/follow_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zs::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class KeptValues final : public RecordingSink {
 public:
  void receive(session::Message&& message) override {
    if (const auto* counts = std::get_if<session::Counts>(&message)) values.push_back(counts->values.at(0));
  }
  std::vector<std::uint64_t> values;
};

session::Origin at(std::int32_t pid, std::int32_t tid) { return {.pid = pid, .tid = tid, .time_ns = 0}; }

/// A shell (1) that forks (2), executes gzip there, and has a second thread (9).
std::vector<std::uint64_t> kept(const FollowOptions& options) {
  KeptValues sink;
  FollowFilter filter(options, sink);
  const auto counts = [&](std::int32_t pid, std::int32_t tid, std::uint64_t value) {
    filter.receive(session::Counts{.origin = at(pid, tid), .final = true, .values = {value}});
  };
  filter.receive(session::Hello{.origin = at(1, 1)});
  filter.receive(session::Comm{.origin = at(1, 1), .exec = true, .comm = "sh"});
  filter.receive(session::Fork{.origin = at(1, 9), .parent_pid = 1, .parent_tid = 1});
  counts(1, 9, 19);
  filter.receive(session::Fork{.origin = at(2, 2), .parent_pid = 1, .parent_tid = 1});
  filter.receive(session::Hello{.origin = at(2, 2)});
  counts(2, 2, 20);
  filter.receive(session::Hello{.origin = at(2, 2), .exec = true});
  filter.receive(session::Comm{.origin = at(2, 2), .exec = true, .comm = "gzip"});
  counts(2, 2, 21);
  counts(1, 1, 10);
  return sink.values;
}

FollowOptions follow(const std::string& text, const std::string& comm = "") {
  FollowOptions options;
  EXPECT_TRUE(parse_follow(text, options));
  options.comm = comm;
  return options;
}

TEST(FollowFilter, LetsThroughWhatIsFollowed) {
  EXPECT_THAT(kept({}), ElementsAre(19, 20, 21, 10));
  EXPECT_THAT(kept(follow("none")), ElementsAre(10));
  EXPECT_THAT(kept(follow("thread")), ElementsAre(19, 10));
  EXPECT_THAT(kept(follow("fork")), ElementsAre(20, 10));
  EXPECT_THAT(kept(follow("exec")), ElementsAre(10));  // nothing but a child executes
  EXPECT_THAT(kept(follow("fork,exec")), ElementsAre(20, 21, 10));
}

TEST(FollowFilter, KnowsImagesByTheirNameAndChildrenByTheirParents) {
  EXPECT_THAT(kept(follow("", "gzip")), ElementsAre(21));
  EXPECT_THAT(kept(follow("", "sh")), ElementsAre(19, 20, 10));
  EXPECT_THAT(kept(follow("", "cat")), IsEmpty());
}

TEST(FollowFilter, RefusesWhatItDoesNotKnow) {
  FollowOptions options;
  const auto parsed = parse_follow("fork,spawn", options);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().message, "--follow fork,spawn: 'spawn' is nothing to follow");
}

}  // namespace
}  // namespace zs::cli
