#include "cli/run/progress_line.h"

#include <gtest/gtest.h>
#include <pty.h>
#include <termios.h>
#include <unistd.h>

namespace zs::cli {
namespace {

TEST(ProgressLine, SaysWhatIsKnown) {
  EXPECT_EQ(progress_text({.seconds = 12.4, .samples = 48112, .instructions = 1'210'000'000, .bytes = 9'800'000}),
            "12 s: 1.21 G instructions, 98 MIPS, 48,112 samples, 9.8 MB");
  EXPECT_EQ(progress_text({.seconds = 3, .samples = 7}), "3 s: 7 samples, 0 B");
  EXPECT_EQ(progress_text({.seconds = 3}), "3 s");
  EXPECT_EQ(progress_text({.seconds = 2, .instructions = 1'000'000'000, .in_detail = 21'000'000}),
            "2 s: 1.00 G instructions, 500 MIPS, 2.1 % in detail");
}

TEST(ProgressLine, StaysAwayFromTheTerminalForASecondAndLeavesItClean) {
  testing::internal::CaptureStderr();
  {
    ProgressLine line(ProgressStyle::Terminal);
    line.show({.seconds = 0.5, .samples = 1});
    line.show({.seconds = 1.5, .samples = 2});
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "\r\033[K[ 2 s: 2 samples, 0 B ]\r\033[K");
}

TEST(ProgressLine, ALogGetsALineEveryHalfMinute) {
  testing::internal::CaptureStderr();
  ProgressLine line(ProgressStyle::Log);
  for (const double seconds : {10.0, 30.0, 31.0, 59.0, 61.0}) line.show({.seconds = seconds});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "[ zeroskid: 30 s ]\n[ zeroskid: 61 s ]\n");
}

TEST(ProgressLine, SilenceIsSilent) {
  testing::internal::CaptureStderr();
  ProgressLine line(ProgressStyle::Silent);
  line.show({.seconds = 100});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(ProgressLine, IsNotForATerminalThatReadsKeys) {
  int ours = -1, theirs = -1;
  ASSERT_EQ(openpty(&ours, &theirs, nullptr, nullptr, nullptr), 0);
  EXPECT_TRUE(reads_lines(theirs));
  termios mode{};
  ASSERT_EQ(tcgetattr(theirs, &mode), 0);
  cfmakeraw(&mode);
  ASSERT_EQ(tcsetattr(theirs, TCSANOW, &mode), 0);
  EXPECT_FALSE(reads_lines(theirs));
  close(ours);
  close(theirs);
}

}  // namespace
}  // namespace zs::cli
