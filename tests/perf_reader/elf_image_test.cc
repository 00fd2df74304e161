// Symbols, lines and inlined functions of real files: whole, with a separate debug file, stripped.
#include "profile/symbols/elf_image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "profile/perf_data/build_id.h"
#include "profile/perf_data/test_recordings.h"
#include "profile/symbols/symbolizer.h"
#include "subject_recording.h"

namespace zs::profile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::unique_ptr<ElfImage> open_elf(const std::string& path) {
  std::string problem;
  auto elf = ElfImage::open(path, problem);
  EXPECT_NE(elf, nullptr) << path << ": " << problem;
  return elf;
}

const Symbol* symbol_named(ElfImage& elf, const std::string& name) {
  for (const Symbol& symbol : elf.symbols().symbols()) {
    if (symbol.name() == name) return &symbol;
  }
  return nullptr;
}

/// Number of the line of inlines.cc that holds `text`.
int line_with(const std::string& text) {
  std::ifstream in("tests/perf_reader/inlines.cc");
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.find(text) != std::string::npos) return number;
  }
  ADD_FAILURE() << "no line with " << text;
  return 0;
}

TEST(ElfImage, ConvertsBetweenOffsetsAndAddressesThroughItsSegments) {
  const auto elf = open_elf(SUBJECT);
  ASSERT_TRUE(elf);
  EXPECT_EQ(elf->image_address_of(FileOffset{0x1019}), ImageAddress{perf_reader::kLeaf});
  EXPECT_EQ(elf->file_offset_of(ImageAddress{perf_reader::kLeaf}), FileOffset{0x1019});
  EXPECT_EQ(elf->image_address_of(FileOffset{0x100000}), std::nullopt);
  EXPECT_EQ(elf->section_of(ImageAddress{perf_reader::kLeaf}), ".text");
  EXPECT_EQ(elf->code(ImageAddress{perf_reader::kMiddle}, 1)[0], std::byte{0x55});
  EXPECT_EQ(elf->code(ImageAddress{perf_reader::kMiddle}, 1 << 20).size(), 0x401031u - perf_reader::kMiddle);
  EXPECT_TRUE(elf->code(ImageAddress{0x10}, 1).empty());
}

TEST(ElfImage, NamesFunctionsLabelsAndData) {
  const auto elf = open_elf(SUBJECT);
  ASSERT_TRUE(elf);
  EXPECT_EQ(elf->symbols().find(ImageAddress{perf_reader::kLoad})->name(), "leaf");
  EXPECT_EQ(elf->symbols().find(ImageAddress{0x402008})->name(), "table");
  EXPECT_EQ(elf->symbols().find(ImageAddress{0x500000}), nullptr);
  const auto line = elf->line_of(ImageAddress{perf_reader::kAdd});
  ASSERT_TRUE(line);
  EXPECT_THAT(line->file, HasSubstr("tests/perf_reader/subject.S"));
  EXPECT_EQ(line->line, 30);
  EXPECT_EQ(elf->build_id(), read_build_id(SUBJECT));
  EXPECT_TRUE(elf->build_id());
}

class WithDebugInformation : public ::testing::TestWithParam<const char*> {};

TEST_P(WithDebugInformation, TellsWhatWasInlinedWhere) {
  const auto elf = open_elf(GetParam());
  ASSERT_TRUE(elf);
  const Symbol* price = symbol_named(*elf, "shop::price");
  ASSERT_NE(price, nullptr);
  bool found = false;
  for (ImageAddress at = price->start; at < price->end && !found; at = at + 1) {
    const auto frames = elf->inlines_of(at);
    if (frames.empty()) continue;
    ASSERT_EQ(frames.size(), 2u);
    EXPECT_EQ(frames[0].function, "shop::twice");
    EXPECT_EQ(frames[1].function, "shop::price");
    EXPECT_EQ(frames[1].at.line, line_with("twice(i)"));
    EXPECT_EQ(frames[0].at, elf->line_of(at));
    found = frames[0].at.line == line_with("volatile");
  }
  EXPECT_TRUE(found);
  EXPECT_TRUE(elf->inlines_of(symbol_named(*elf, "checkout")->start).empty());
  EXPECT_NE(symbol_named(*elf, "printf@plt"), nullptr);
}

INSTANTIATE_TEST_SUITE_P(ElfImage, WithDebugInformation, ::testing::Values(INLINES, SPLIT),
                         [](const auto& file) { return file.index == 0 ? "whole" : "in_a_separate_file"; });

TEST(ElfImage, HasTheDynamicSymbolsOfAStrippedFile) {
  const auto elf = open_elf(STRIPPED);
  ASSERT_TRUE(elf);
  EXPECT_NE(symbol_named(*elf, "checkout"), nullptr);
  EXPECT_NE(symbol_named(*elf, "shop::price"), nullptr);
  EXPECT_NE(symbol_named(*elf, "printf@plt"), nullptr);
  EXPECT_EQ(elf->line_of(symbol_named(*elf, "checkout")->start), std::nullopt);
}

TEST(ElfImage, SaysWhyAFileIsNoImage) {
  const testing::TemporaryDirectory here;
  std::string problem = "unchanged";
  EXPECT_EQ(ElfImage::open(here / "missing", problem), nullptr);
  EXPECT_EQ(problem, "");
  testing::write_file(here / "text", std::as_bytes(std::span("#!/bin/sh\n")));
  EXPECT_EQ(ElfImage::open(here / "text", problem), nullptr);
  EXPECT_THAT(problem, HasSubstr("/text: no ELF file that can be read: "));
}

TEST(ElfImage, SurvivesAFileThatIsCutAnywhere) {
  const testing::TemporaryDirectory here;
  const auto whole = testing::read_file(SUBJECT);
  for (std::size_t size = 0; size < whole.size(); size += 97) {
    testing::write_file(here / "cut", Bytes(whole).first(size));
    std::string problem;
    const auto elf = ElfImage::open(here / "cut", problem);
    if (!elf) continue;
    (void)elf->symbols().find(ImageAddress{perf_reader::kLeaf});
    (void)elf->line_of(ImageAddress{perf_reader::kLeaf});
    (void)elf->inlines_of(ImageAddress{perf_reader::kLeaf});
    (void)elf->code(ImageAddress{perf_reader::kLeaf}, 100);
  }
}

TEST(ElfImage, SurvivesAStrippedFileThatIsDamagedAnywhere) {
  const testing::TemporaryDirectory here;
  const auto whole = testing::read_file(STRIPPED);
  for (std::size_t at = 64; at < whole.size(); at += 37) {
    auto damaged = whole;
    damaged[at] ^= std::byte{0xA5};
    testing::write_file(here / "damaged", damaged);
    std::string problem;
    if (const auto elf = ElfImage::open(here / "damaged", problem)) {
      EXPECT_LT(elf->symbols().symbols().size(), 1000u);
    }
  }
}

TEST(ElfImage, OpensTheVdso) {
  const auto vdso = ElfImage::open_vdso();
  if (!vdso) GTEST_SKIP() << "this kernel gives no vdso";
  EXPECT_NE(symbol_named(*vdso, "__vdso_clock_gettime"), nullptr);
}

// ---- through mappings --------------------------------------------------------------------------------------------

AddressSpaces mapped(const std::string& path, std::optional<BuildId> id = std::nullopt) {
  AddressSpaces spaces;
  spaces.apply(Mmap{.pid = 1,
                    .tid = 1,
                    .start = 0x7F00'0000'1000,
                    .length = 0x1000,
                    .file_offset = 0x1000,
                    .protection = PROT_READ | PROT_EXEC,
                    .build_id = id,
                    .path = path});
  return spaces;
}

TEST(Symbolizer, FindsASymbolWhereverTheFileWasMapped) {
  Symbolizer symbolizer;
  const AddressSpaces spaces = mapped(SUBJECT);
  const Location at = symbolizer.locate(spaces, 1, 0x7F00'0000'1028);
  ASSERT_NE(at.symbol, nullptr);
  EXPECT_EQ(at.symbol->name(), "leaf");
  EXPECT_EQ(at.offset_in_symbol(), 0xFu);
  EXPECT_EQ(at.mapped, 0x1028u);
  EXPECT_EQ(at.dso->short_name, "perf_reader_subject");
  EXPECT_EQ(symbolizer.short_line(at), "subject.S:30");
  EXPECT_EQ(symbolizer.locate(spaces, 2, 0x7F00'0000'1028).dso, nullptr);
  EXPECT_TRUE(symbolizer.remarks().empty());
}

TEST(Symbolizer, WillNotNameAnythingInAFileOfAnotherBuild) {
  Symbolizer symbolizer;
  const AddressSpaces spaces = mapped(SUBJECT, BuildId{{1, 2, 3}, 3});
  const Location at = symbolizer.locate(spaces, 1, 0x7F00'0000'1028);
  EXPECT_EQ(at.symbol, nullptr);
  EXPECT_EQ(at.mapped, 0x1028u);
  EXPECT_THAT(symbolizer.remarks(),
              ElementsAre(std::string(SUBJECT) + ": built anew since the recording: build-id 010203 recorded, " +
                          read_build_id(SUBJECT)->hex() + " found; its symbols are left out"));
}

TEST(Symbolizer, SaysThatAFileIsGone) {
  Symbolizer symbolizer;
  const AddressSpaces spaces = mapped("/nowhere/app");
  const Location at = symbolizer.locate(spaces, 1, 0x7F00'0000'1028);
  ASSERT_NE(at.dso, nullptr);
  EXPECT_EQ(at.dso->short_name, "app");
  EXPECT_EQ(symbolizer.short_line(at), "app[1028]");
  EXPECT_THAT(symbolizer.remarks(), ElementsAre("/nowhere/app: no longer there; its symbols are missing"));
}

}  // namespace
}  // namespace zs::profile
