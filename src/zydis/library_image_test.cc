#include "zydis/library_image.h"

#include <Zydis/Zydis.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

extern "C" const std::byte zs_zydis[], zs_zydis_end[];

namespace zs::zydis {
namespace {

std::span<const std::byte> file() { return {zs_zydis, zs_zydis_end}; }

const Import kImports[] = {
    {"memcpy", reinterpret_cast<void*>(static_cast<void* (*)(void*, const void*, std::size_t)>(std::memcpy))},
    {"memset", reinterpret_cast<void*>(static_cast<void* (*)(void*, int, std::size_t)>(std::memset))},
    {"strlen", reinterpret_cast<void*>(static_cast<std::size_t (*)(const char*)>(std::strlen))},
    {"__assert_fail", nullptr},
    {"__stack_chk_fail", nullptr},
};

TEST(LibraryImage, ItsFunctionsRun) {
  const LibraryImage library(file(), kImports);
  auto* const version = reinterpret_cast<ZyanU64 (*)()>(library.find("ZydisGetVersion"));
  EXPECT_EQ(version(), ZYDIS_VERSION);
}

TEST(LibraryImage, ItsTablesOfPointersAreRelocated) {
  const LibraryImage library(file(), kImports);
  auto* const name = reinterpret_cast<const char* (*)(ZydisMnemonic)>(library.find("ZydisMnemonicGetString"));
  EXPECT_STREQ(name(ZYDIS_MNEMONIC_VZEROUPPER), "vzeroupper");
}

TEST(LibraryImage, RefusesWhatItDoesNotHold) {
  const LibraryImage library(file(), kImports);
  EXPECT_DEATH(library.find("ZydisFlyToTheMoon"), "no such symbol");
}

TEST(LibraryImage, RefusesAFileThatIsCut) { EXPECT_DEATH(LibraryImage(file().first(file().size() / 2), kImports), ""); }

TEST(LibraryImage, RefusesALibraryThatAsksForMore) {
  EXPECT_DEATH(LibraryImage(file(), std::span(kImports).first(1)), "");
}

TEST(CarriedZydis, Decodes) {
  const std::uint8_t code[] = {0xC5, 0xF8, 0x77};
  ZydisDecoder decoder;
  ASSERT_TRUE(ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)));
  ZydisDecodedInstruction instruction;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  ASSERT_TRUE(ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, sizeof code, &instruction, operands)));
  EXPECT_EQ(instruction.mnemonic, ZYDIS_MNEMONIC_VZEROUPPER);
}

int anonymous_code_mappings() {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find(" r-xp 00000000 00:00 0") != std::string::npos && line.back() == ' ') ++count;
  }
  return count;
}

// Loading it takes 4 ms where page faults are dear.
TEST(CarriedZydis, IsLoadedOnceForAllFunctions) {
  const int before = anonymous_code_mappings();
  EXPECT_STREQ(ZydisMnemonicGetString(ZYDIS_MNEMONIC_NOP), "nop");
  EXPECT_EQ(ZydisRegisterGetClass(ZYDIS_REGISTER_EAX), ZYDIS_REGCLASS_GPR32);
  EXPECT_EQ(ZydisRegisterGetId(ZYDIS_REGISTER_ECX), 1);
  EXPECT_EQ(ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_REGISTER_AL), ZYDIS_REGISTER_RAX);
  const int all = anonymous_code_mappings();
  EXPECT_GT(all, 0);
  EXPECT_LE(all, before + 1);
}

}  // namespace
}  // namespace zs::zydis
