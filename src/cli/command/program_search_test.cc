#include "cli/command/program_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "cli/command/exit_status.h"

namespace zs::cli {
namespace {

namespace fs = std::filesystem;

/// Two folders of a search path.
class ProgramSearch : public testing::Test {
 protected:
  ProgramSearch() {
    fs::create_directories(one_);
    fs::create_directories(two_);
  }
  ~ProgramSearch() override { fs::remove_all(root_); }

  void file(const fs::path& path, int mode) {
    std::ofstream(path) << "x";
    chmod(path.c_str(), static_cast<mode_t>(mode));
  }
  bool find(const std::string& name) { return find_program(name, path_.c_str(), found_, failure_); }

  const fs::path root_ = fs::path(testing::TempDir()) / ("program_search_" + std::to_string(getpid()));
  const fs::path one_ = root_ / "one", two_ = root_ / "two";
  const std::string path_ = one_.string() + ":" + two_.string();
  std::string found_;
  SearchFailure failure_;
};

TEST_F(ProgramSearch, TheFirstFolderOfThePathWins) {
  file(one_ / "tool", 0755);
  file(two_ / "tool", 0755);
  ASSERT_TRUE(find("tool"));
  EXPECT_EQ(found_, one_ / "tool");
}

TEST_F(ProgramSearch, FoldersAndFilesThatCannotRunAreSkipped) {
  fs::create_directory(one_ / "tool");
  file(two_ / "tool", 0755);
  ASSERT_TRUE(find("tool"));
  EXPECT_EQ(found_, two_ / "tool");
}

TEST_F(ProgramSearch, ANameWithASlashIsNotLookedFor) {
  file(one_ / "tool", 0755);
  ASSERT_TRUE(find((one_ / "tool").string()));
  EXPECT_EQ(found_, one_ / "tool");
}

TEST_F(ProgramSearch, AMissingProgramIs127) {
  ASSERT_FALSE(find("nosuch"));
  EXPECT_EQ(failure_.error.message, "nosuch: not found in $PATH");
  EXPECT_EQ(failure_.error.hint, "a program in the current folder is named ./nosuch");
  EXPECT_EQ(failure_.exit_status, kNotFound);
}

TEST_F(ProgramSearch, AMissingFileIs127) {
  ASSERT_FALSE(find("./no/such"));
  EXPECT_EQ(failure_.error.message, "./no/such: no such file");
  EXPECT_EQ(failure_.exit_status, kNotFound);
}

TEST_F(ProgramSearch, AFileWithoutTheXPermissionIs126) {
  file(one_ / "data", 0644);
  ASSERT_FALSE(find((one_ / "data").string()));
  EXPECT_EQ(failure_.error.message, (one_ / "data").string() + ": permission denied");
  EXPECT_EQ(failure_.error.hint, "a program needs the x permission: chmod +x " + (one_ / "data").string());
  EXPECT_EQ(failure_.exit_status, kNotExecutable);
}

TEST_F(ProgramSearch, AFileFoundInThePathWithoutTheXPermissionIs126) {
  file(two_ / "data", 0644);
  ASSERT_FALSE(find("data"));
  EXPECT_EQ(failure_.error.message, (two_ / "data").string() + ": permission denied");
  EXPECT_EQ(failure_.exit_status, kNotExecutable);
}

TEST_F(ProgramSearch, AFolderIs126) {
  ASSERT_FALSE(find(one_.string()));
  EXPECT_EQ(failure_.error.message, one_.string() + ": is a folder, not a program");
  EXPECT_EQ(failure_.exit_status, kNotExecutable);
}

TEST_F(ProgramSearch, AnEmptyNameIs127) {
  ASSERT_FALSE(find(""));
  EXPECT_EQ(failure_.error.message, "the program's name is empty");
  EXPECT_EQ(failure_.exit_status, kNotFound);
}

}  // namespace
}  // namespace zs::cli
