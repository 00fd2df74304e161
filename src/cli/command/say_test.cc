#include "cli/command/say.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

namespace zs::cli {
namespace {

TEST(Say, SizesAreInTheUnitThatLeavesAFewDigits) {
  EXPECT_EQ(byte_size(0), "0 B");
  EXPECT_EQ(byte_size(999), "999 B");
  EXPECT_EQ(byte_size(1000), "1.0 kB");
  EXPECT_EQ(byte_size(999'949), "999.9 kB");
  EXPECT_EQ(byte_size(999'999), "1.0 MB");
  EXPECT_EQ(byte_size(9'800'000), "9.8 MB");
}

TEST(Say, AnErrorIsAMessageAndAHintIfThereIsOne) {
  testing::internal::CaptureStderr();
  say(Error{"what went wrong", "what to do"});
  say(Error{"nothing can be done", ""});
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "zeroskid: what went wrong\nhint: what to do\nzeroskid: nothing can be done\n");
}

TEST(Say, AFullPipeThatDoesNotWaitGetsEverything) {
  int pipe[2];
  ASSERT_EQ(pipe2(pipe, O_NONBLOCK), 0);
  const std::string text(1 << 20, 'x');  // sixteen times what a pipe holds
  std::size_t came = 0;
  std::thread reader([&] {
    char piece[1 << 12];
    for (ssize_t got = -1; got != 0; got = read(pipe[0], piece, sizeof piece)) came += got > 0 ? got : 0;
  });
  EXPECT_TRUE(write_all(pipe[1], text));
  close(pipe[1]);
  reader.join();
  close(pipe[0]);
  EXPECT_EQ(came, text.size());
}

TEST(Say, TellsWhetherItIsWritten) {
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  EXPECT_FALSE(write_all(full, "text"));
  close(full);
}

}  // namespace
}  // namespace zs::cli
