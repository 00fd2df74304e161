#include "cli/linux/initramfs.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

namespace zs::cli {
namespace {

namespace fs = std::filesystem;

struct Member {
  std::uint32_t mode = 0;
  std::string content;
};

/// What a kernel finds in the archive.
std::map<std::string, Member> unpacked(const std::vector<std::byte>& archive) {
  const std::string text(reinterpret_cast<const char*>(archive.data()), archive.size());
  std::map<std::string, Member> members;
  for (std::size_t at = 0; at + 110 <= text.size();) {
    EXPECT_EQ(text.substr(at, 6), "070701");
    const auto field = [&](unsigned n) { return std::stoul(text.substr(at + 6 + 8 * n, 8), nullptr, 16); };
    const std::string name = text.substr(at + 110, field(11) - 1);
    if (name == "TRAILER!!!") return members;
    const std::size_t content = (at + 110 + field(11) + 3) / 4 * 4;
    members[name] = {static_cast<std::uint32_t>(field(1)), text.substr(content, field(6))};
    at = (content + field(6) + 3) / 4 * 4;
  }
  ADD_FAILURE() << "no end";
  return members;
}

/// A shared program of a page: an interpreter, a library, a folder to search.
std::string program(const std::string& interpreter, const std::string& library) {
  std::string file(0x400, '\0');
  const auto put = [&file](std::size_t at, const auto& value) { std::memcpy(file.data() + at, &value, sizeof value); };
  Elf64_Ehdr head{};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS64;
  head.e_phoff = sizeof head;
  head.e_phnum = 3;
  put(0, head);
  const Elf64_Phdr segments[3] = {
      {.p_type = PT_INTERP, .p_offset = 0x200, .p_filesz = interpreter.size() + 1},
      {.p_type = PT_LOAD, .p_offset = 0, .p_vaddr = 0x10000, .p_filesz = file.size(), .p_memsz = file.size()},
      {.p_type = PT_DYNAMIC, .p_offset = 0x300, .p_filesz = 4 * sizeof(Elf64_Dyn)}};
  put(sizeof head, segments);
  std::memcpy(file.data() + 0x200, interpreter.c_str(), interpreter.size());
  std::memcpy(file.data() + 0x281, library.c_str(), library.size());
  std::memcpy(file.data() + 0x2C0, "$ORIGIN/lib", 11);
  const Elf64_Dyn rows[4] = {{.d_tag = DT_NEEDED, .d_un = {.d_val = 1}},
                             {.d_tag = DT_STRTAB, .d_un = {.d_ptr = 0x10280}},
                             {.d_tag = DT_RUNPATH, .d_un = {.d_val = 0x40}},
                             {.d_tag = DT_NULL, .d_un = {}}};
  put(0x300, rows);
  return file;
}

struct InitramfsTest : testing::Test {
  InitramfsTest() : folder(fs::canonical(fs::temp_directory_path()) / "zs_initramfs_XXXXXX") {
    std::string name = folder;
    folder = mkdtemp(name.data());
    fs::create_directories(folder / "lib");
    write("ld", "the linker");
    write("lib/libneeded.so", "a library");
    write("prog", program(folder / "ld", "libneeded.so"));
    fs::create_symlink("prog", folder / "link");
  }
  ~InitramfsTest() override { fs::remove_all(folder); }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(folder / name, std::ios::binary) << content;
  }
  std::string inside(const std::string& name) const { return std::string(folder / name).substr(1); }
  fs::path folder;
};

TEST_F(InitramfsTest, HasAProgramItsLinksItsFoldersAndWhatItNeeds) {
  Initramfs files;
  ASSERT_TRUE(files.add(folder / "link"));
  files.add_file("/init", std::as_bytes(std::span("first", 5)), 0755);
  const auto members = unpacked(files.finish());
  EXPECT_EQ(members.at(inside("link")).content, "prog");
  EXPECT_TRUE(S_ISLNK(members.at(inside("link")).mode));
  EXPECT_TRUE(S_ISDIR(members.at(inside("lib")).mode));
  EXPECT_EQ(members.at(inside("prog")).content.size(), 0x400u);
  EXPECT_EQ(members.at(inside("lib/libneeded.so")).content, "a library");
  EXPECT_EQ(members.at(inside("ld")).content, "the linker");
  EXPECT_EQ(members.at("init").mode, S_IFREG | 0755u);
}

TEST_F(InitramfsTest, WhatIsMissingIsNamed) {
  Initramfs files;
  EXPECT_THAT(files.add(folder / "none").error().message, testing::HasSubstr("none: cannot be taken into the guest"));
  fs::remove(folder / "lib/libneeded.so");
  EXPECT_THAT(files.add(folder / "prog").error().message,
              testing::HasSubstr("prog: needs libneeded.so, which is neither"));
}

TEST_F(InitramfsTest, AScriptNeedsItsInterpreter) {
  write("script", "#! " + std::string(folder / "prog") + " -x\n");
  Initramfs files;
  ASSERT_TRUE(files.add(folder / "script"));
  EXPECT_TRUE(unpacked(files.finish()).contains(inside("lib/libneeded.so")));
}

TEST(ElfNeeds, OfAFileThatIsCutShortAreNoFault) {
  const std::string whole = program("/ld", "libx.so");
  EXPECT_EQ(elf_needs(std::as_bytes(std::span(whole))).folders, std::vector<std::string>{"$ORIGIN/lib"});
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const ElfNeeds needs = elf_needs(std::as_bytes(std::span(whole.data(), bytes)));
    EXPECT_LE(needs.libraries.size(), 1u);
  }
}

}  // namespace
}  // namespace zs::cli
