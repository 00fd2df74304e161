#include "engine/cache/cache_directory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace zs::engine {
namespace {

constexpr std::uint64_t kPlenty = 1 << 30;
constexpr std::array<std::uint64_t, 1> kKey = {42};

class CacheDirectoryTest : public testing::Test {
 protected:
  CacheDirectoryTest() {
    char name[] = "/tmp/zeroskid-cache-test-XXXXXX";
    folder_ = mkdtemp(name);  // 0700
  }
  ~CacheDirectoryTest() override {
    chmod(folder_.c_str(), 0700);
    std::filesystem::remove_all(folder_);
  }
  CacheDirectory open(std::uint64_t most = kPlenty) const { return {folder_, most, 100}; }
  /// Of one page and `pages` more.
  static SnapshotWriter snapshot(std::size_t pages = 1) {
    SnapshotWriter writer;
    writer.add(Part::Key, std::span<const std::uint64_t>(kKey));
    if (pages > 1)
      writer.add_copy(Part::Order, std::span<const std::uint8_t>(std::vector<std::uint8_t>((pages - 1) * 4096)));
    return writer;
  }
  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) names.insert(entry.path().filename());
    return names;
  }
  void used_ago(const std::string& name, int seconds) const {
    const timespec when{.tv_sec = time(nullptr) - seconds, .tv_nsec = 0};
    const timespec both[] = {when, when};
    EXPECT_EQ(utimensat(AT_FDCWD, (folder_ + "/" + name).c_str(), both, 0), 0);
  }
  std::string folder_;
};

TEST_F(CacheDirectoryTest, GivesBackWhatWasPutThere) {
  const CacheDirectory cache = open();
  ASSERT_TRUE(cache);
  EXPECT_FALSE(cache.open("a"));
  ASSERT_TRUE(cache.replace("a", snapshot()));
  const OwnedFd file = cache.open("a");
  ASSERT_TRUE(file);
  EXPECT_GE(file.get(), 100);
  EXPECT_TRUE(Snapshot::open(file.get(), kKey));
  EXPECT_EQ(files(), std::set<std::string>{"a"});
  struct stat status {};
  ASSERT_EQ(fstat(file.get(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(CacheDirectoryTest, WhoHasAFileOpenKeepsItWhenItIsReplacedOrDeleted) {
  const CacheDirectory cache = open();
  ASSERT_TRUE(cache.replace("a", snapshot(2)));
  const OwnedFd old = cache.open("a");
  const auto version = cache.version("a");
  ASSERT_TRUE(cache.replace("a", snapshot(5)));
  EXPECT_NE(cache.version("a").inode, version.inode);
  EXPECT_TRUE(Snapshot::open(old.get(), kKey));
  std::filesystem::remove(folder_ + "/a");
  EXPECT_TRUE(Snapshot::open(old.get(), kKey));
}

TEST_F(CacheDirectoryTest, AFolderThatOthersMayLookIntoIsNone) {
  for (const unsigned mode : {0755u, 0710u, 0707u, 0770u}) {
    chmod(folder_.c_str(), mode);
    EXPECT_FALSE(open()) << mode;
  }
}

TEST_F(CacheDirectoryTest, ALinkToAFolderIsNone) {
  const std::string link = folder_ + "-link";
  ASSERT_EQ(symlink(folder_.c_str(), link.c_str()), 0);
  EXPECT_FALSE(CacheDirectory(link, kPlenty, 100));
  unlink(link.c_str());
}

TEST_F(CacheDirectoryTest, NoFolderIsNone) {
  EXPECT_FALSE(CacheDirectory(folder_ + "/none", kPlenty, 100));
  EXPECT_FALSE(CacheDirectory("", kPlenty, 100));
}

TEST_F(CacheDirectoryTest, AFileThatOthersMayWriteOrReadIsNotOpened) {
  const CacheDirectory cache = open();
  ASSERT_TRUE(cache.replace("a", snapshot()));
  for (const unsigned mode : {0620u, 0604u}) {
    chmod((folder_ + "/a").c_str(), mode);
    EXPECT_FALSE(cache.open("a")) << mode;
  }
}

TEST_F(CacheDirectoryTest, LinksAndFoldersAreNotOpened) {
  const CacheDirectory cache = open();
  ASSERT_TRUE(cache.replace("a", snapshot()));
  ASSERT_EQ(symlink("a", (folder_ + "/link").c_str()), 0);
  EXPECT_FALSE(cache.open("link"));
  ASSERT_EQ(mkdir((folder_ + "/sub").c_str(), 0700), 0);
  EXPECT_FALSE(cache.open("sub"));
}

TEST_F(CacheDirectoryTest, WhatWasNotUsedForTheLongestTimeGoes) {
  const CacheDirectory cache = open(10 * 4096);
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(cache.replace(name, snapshot(2)));  // 3 pages each
  used_ago("a", 100);
  used_ago("b", 300);
  used_ago("c", 200);
  ASSERT_TRUE(cache.replace("d", snapshot(2)));
  EXPECT_EQ(files(), (std::set<std::string>{"a", "c", "d"}));
}

TEST_F(CacheDirectoryTest, WhatIsUsedCountsAsUsedNow) {
  const CacheDirectory cache = open(10 * 4096);
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(cache.replace(name, snapshot(2)));
  used_ago("a", 50'000);
  used_ago("b", 40'000);
  used_ago("c", 30'000);
  EXPECT_TRUE(cache.open("a"));
  ASSERT_TRUE(cache.replace("d", snapshot(2)));
  EXPECT_EQ(files(), (std::set<std::string>{"a", "c", "d"}));
}

TEST_F(CacheDirectoryTest, AFileThatIsTooLongIsNotWritten) {
  EXPECT_FALSE(open(5 * 4096).replace("a", snapshot(10)));
  rlimit whole{};
  getrlimit(RLIMIT_FSIZE, &whole);
  rlimit little = whole;
  little.rlim_cur = 3 * 4096;
  setrlimit(RLIMIT_FSIZE, &little);
  EXPECT_FALSE(open().replace("a", snapshot(10)));  // and no SIGXFSZ
  EXPECT_TRUE(open().replace("a", snapshot(2)));
  setrlimit(RLIMIT_FSIZE, &whole);
}

TEST_F(CacheDirectoryTest, WhatAKilledWriterHasLeftGoesLater) {
  for (const char* name : {".unfinished-1-a", ".unfinished-2-a"}) std::ofstream(folder_ + "/" + name) << "some";
  used_ago(".unfinished-1-a", 1000);
  ASSERT_TRUE(open().replace("b", snapshot()));
  EXPECT_EQ(files(), (std::set<std::string>{".unfinished-2-a", "b"}));
}

}  // namespace
}  // namespace zs::engine
