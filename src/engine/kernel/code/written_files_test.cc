#include "engine/kernel/code/written_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "engine/memory/test_mappings.h"

namespace zs::engine {
namespace {

class WrittenFilesTest : public ::testing::Test {
 protected:
  WrittenFilesTest() : writes_(memfd_create("written", MFD_CLOEXEC)) {
    struct stat about {};
    EXPECT_EQ(fstat(writes_, &about), 0);
    about_ = about;
    file_ = {.path = "written",
             .device_major = major(about.st_dev),
             .device_minor = minor(about.st_dev),
             .inode = about.st_ino};
  }
  ~WrittenFilesTest() override { close_writer(); }

  void close_writer() {
    if (writes_ >= 0) close(writes_);
    writes_ = -1;
  }
  void map_shared(std::uint64_t page) {
    GuestMapping mapping = pages(page, page + 1);
    mapping.kind = MapKind::File;
    mapping.flags = MAP_SHARED;
    mapping.file = std::make_shared<const MappedFile>(file_);
    mappings_.add(mapping);
  }

  int writes_;
  struct stat about_ {};
  MappedFile file_;
  Mappings mappings_;
  WrittenFiles files_{mappings_};
};

TEST_F(WrittenFilesTest, OneThatNobodyOpenedForWritingStaysAsItIs) {
  EXPECT_FALSE(files_.may_be_written(file_));
  files_.opened(about_);
  MappedFile other = file_;
  ++other.inode;
  EXPECT_FALSE(files_.may_be_written(other));
}

TEST_F(WrittenFilesTest, OneMayBeWrittenWhileADescriptorCan) {
  files_.opened(about_);
  EXPECT_TRUE(files_.may_be_written(file_));
  EXPECT_TRUE(files_.may_be_written(file_));
  close_writer();
  EXPECT_FALSE(files_.may_be_written(file_));
}

TEST_F(WrittenFilesTest, ADescriptorThatOnlyReadsDoesNotCount) {
  files_.opened(about_);
  const int reads = open(("/proc/self/fd/" + std::to_string(writes_)).c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(reads, 0);
  close_writer();
  EXPECT_FALSE(files_.may_be_written(file_));
  close(reads);
}

TEST_F(WrittenFilesTest, OneThatIsMappedSharedMayBeWrittenWithoutADescriptor) {
  files_.opened(about_);
  map_shared(3);
  close_writer();
  EXPECT_TRUE(files_.may_be_written(file_));
  mappings_.erase({start_of(3), start_of(4)});
  EXPECT_FALSE(files_.may_be_written(file_));
}

TEST_F(WrittenFilesTest, OneThatIsOpenedAgainMayBeWrittenAgain) {
  const int again = dup(writes_);
  files_.opened(about_);
  close_writer();
  EXPECT_TRUE(files_.may_be_written(file_));  // the copy
  close(again);
  EXPECT_FALSE(files_.may_be_written(file_));
  map_shared(3);
  EXPECT_FALSE(files_.may_be_written(file_));  // nobody said that it was opened
  files_.opened(about_);
  EXPECT_TRUE(files_.may_be_written(file_));
}

}  // namespace
}  // namespace zs::engine
