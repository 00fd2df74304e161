#include "machine/boot/multiboot.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <span>

#include "machine/memory.h"

namespace zs::machine {
namespace {

template <typename... Words>
std::vector<std::byte> words(Words... numbers) {
  const std::uint32_t all[] = {static_cast<std::uint32_t>(numbers)...};
  std::vector<std::byte> bytes(sizeof(all));
  std::memcpy(bytes.data(), all, sizeof(all));
  return bytes;
}

constexpr std::uint32_t kMagic = 0x1BADB002;
std::vector<std::byte> flat(std::uint32_t load_end = 0) {
  return words(kMagic, 0x10000, -(kMagic + 0x10000), 0x8000, 0x8000, load_end, 0x9000, 0x8020, 0x90909090);
}

std::vector<std::byte> elf32(std::uint32_t address, std::uint32_t file_bytes = 16, std::uint32_t memory_bytes = 32) {
  auto file = words(0x464C457F, 0x00010101, 0, 0, 0x00030002, 1, 0xC0000004, 52, 0, 0, 0x00200034, 1, 0,  // header
                    1, 100, 0xC0000000, address, file_bytes, memory_bytes, 7, 4096,                       // one segment
                    0, 0, 0, 0, 0, 0, 0, 0);
  const auto header = words(kMagic, 0, -kMagic, 0x12345678);
  std::memcpy(file.data() + 100, header.data(), 16);
  file.resize(116);
  return file;
}

struct MultibootTest : testing::Test {
  Result<LoadedKernel> load(std::vector<std::byte> kernel, std::vector<MultibootModule> modules = {}) {
    return load_multiboot({std::move(kernel), "k", "k one two", std::move(modules)}, memory);
  }
  std::uint32_t word(std::uint64_t at) { return memory.load<std::uint32_t>(at); }
  std::string text(std::uint64_t at) {
    std::string all;
    for (; memory.load<char>(at) != 0; ++at) all += memory.load<char>(at);
    return all;
  }
  PhysicalMemory memory = *PhysicalMemory::make(kLeastMemory * 2);
};

TEST_F(MultibootTest, LoadsAFlatFileWhereItsHeaderSays) {
  const auto kernel = load(flat());
  ASSERT_TRUE(kernel) << kernel.error().message;
  EXPECT_EQ(kernel->entry, 0x8020u);
  EXPECT_EQ(kernel->magic, 0x2BADB002u);
  EXPECT_EQ(word(0x8020), 0x90909090u);
}

TEST_F(MultibootTest, LoadsAnElfAtItsPhysicalAddressAndStartsThere) {
  const auto kernel = load(elf32(0x100000));
  ASSERT_TRUE(kernel) << kernel.error().message;
  EXPECT_EQ(kernel->entry, 0x100004u);
  EXPECT_EQ(word(0x10000C), 0x12345678u);
}

TEST_F(MultibootTest, TellsCommandLineMemoryAndModules) {
  const auto kernel = load(elf32(0x100000), {{words(1, 2, 3), "mod a"}, {words(4), "mod b"}});
  ASSERT_TRUE(kernel) << kernel.error().message;
  const std::uint64_t info = kernel->info;
  EXPECT_EQ(word(info), 1u | 4 | 8 | 0x40 | 0x200);
  EXPECT_EQ(word(info + 4), 639u);
  EXPECT_EQ(word(info + 8), 3072u);
  EXPECT_EQ(text(word(info + 16)), "k one two");
  EXPECT_EQ(word(info + 20), 2u);
  const std::uint64_t second = word(info + 24) + 16;
  EXPECT_EQ(word(word(second)), 4u);
  EXPECT_EQ(word(second) & 0xFFF, 0u);
  EXPECT_EQ(word(second + 4) - word(second), 4u);
  EXPECT_EQ(text(word(second + 8)), "mod b");
  EXPECT_EQ(word(info + 44), 7u * 24);
}

TEST_F(MultibootTest, RefusesWhatItCannotLoad) {
  EXPECT_EQ(load(words(1, 2)).error().message,
            "k: is neither ELF nor has it a Multiboot header in its first 8192 bytes");
  auto cut = elf32(0x100000);
  cut.resize(40);
  EXPECT_EQ(load(cut).error().message, "k: at 0x0: ELF header ends 12 bytes early: 52 bytes needed, 40 remain");
  EXPECT_EQ(load(elf32(0x100000, 17)).error().message, "k: at 0x64: segment of 17 bytes ends past the end of the file");
  EXPECT_EQ(load(elf32(0x100000, 16, 0x4000000)).error().message,
            "k: segment at 100000 of 67108864 bytes does not fit into 4 MiB of memory");
  EXPECT_EQ(load(elf32(0x100000, 16, 8)).error().message, "k: a segment has 16 bytes in the file but 8 in memory");
  EXPECT_EQ(load(elf32(0xC0000)).error().message, "k: segment at c0000 of 16 bytes lies where there is no memory");
  EXPECT_EQ(load(elf32(0x90000)).error().message,
            "k: segment at 90000 of 32 bytes lies over 90000-9efff, which the loader uses");
  EXPECT_EQ(load(flat(0x9000)).error().message,
            "k: at 0x0: the header wants bytes up to address 9000, the file ends before");
  EXPECT_EQ(load(words(kMagic, 0x20, -(kMagic + 0x20))).error().message,
            "k: at 0x0: the Multiboot header asks for features 20; known are 7");
}

TEST_F(MultibootTest, EveryTruncationIsRefusedOrLoads) {
  const auto whole = elf32(0x100000);
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const auto result = load({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes)});
    EXPECT_FALSE(result) << bytes;
  }
}

constexpr std::uint32_t kMagic2 = 0xE85250D6;

/// A flat file with a header of version 2: addresses, entry, a request for the map, and what a test adds.
std::vector<std::byte> flat2(std::vector<std::uint32_t> more = {}) {
  std::vector<std::uint32_t> file = {kMagic2, 0, 0, 0, 2, 24, 0x8000, 0x8000, 0, 0x9000, 3, 12, 0x8070, 0, 1, 16, 6, 1};
  file.insert(file.end(), more.begin(), more.end());
  file.insert(file.end(), {0, 8});
  file[2] = static_cast<std::uint32_t>(file.size() * 4);
  file[3] = 0u - kMagic2 - file[2];
  file.resize(0x70 / 4);
  file.push_back(0x90909090);
  const auto bytes = std::as_bytes(std::span(file));
  return {bytes.begin(), bytes.end()};
}

TEST_F(MultibootTest, TellsAKernelOfVersion2WhatItIsToKnow) {
  const auto kernel = load(flat2(), {{words(1, 2, 3), "m args"}});
  ASSERT_TRUE(kernel) << kernel.error().message;
  EXPECT_EQ(kernel->entry, 0x8070u);
  EXPECT_EQ(kernel->magic, 0x36D76289u);
  EXPECT_EQ(word(0x8070), 0x90909090u);
  std::map<std::uint32_t, std::uint64_t> tags;
  for (std::uint64_t at = kernel->info + 8;; at += (word(at + 4) + 7) / 8 * 8) {
    tags[word(at)] = at;
    if (word(at) == 0) break;
    ASSERT_LT(at, kernel->info + word(kernel->info));
  }
  EXPECT_EQ(tags[0] + 8, kernel->info + word(kernel->info));
  EXPECT_EQ(text(tags[1] + 8), "k one two");
  EXPECT_EQ(text(tags[3] + 16), "m args");
  EXPECT_EQ(word(word(tags[3] + 8) + 8), 3u);
  EXPECT_EQ(word(tags[4] + 8), 639u);
  EXPECT_EQ(word(tags[6] + 8), 24u);
  EXPECT_EQ(memory.load<std::uint64_t>(tags[6] + 16 + 3 * 24), 0x100000u);
  EXPECT_EQ(memory.load<std::uint64_t>(tags[6] + 16 + 3 * 24 + 8), memory.size() - 0x100000);
}

TEST_F(MultibootTest, RefusesByNameWhatAHeaderOfVersion2NeedsAndIsNotThere) {
  const auto said = [&](std::vector<std::uint32_t> more) { return load(flat2(std::move(more))).error().message; };
  EXPECT_EQ(said({1, 12, 8, 0}),
            "k: at 0x48: the Multiboot2 header asks for information of type 8, which this loader has not");
  EXPECT_EQ(said({5, 20, 1024, 768, 32, 0}),
            "k: at 0x48: the Multiboot2 header asks for a framebuffer, which this loader has not");
  EXPECT_TRUE(load(flat2({5 | 1 << 16, 20, 1024, 768, 32, 0}))) << "an optional one";
}

TEST_F(MultibootTest, StartsAnElfThatHasANoteOfPvhByPvh) {
  auto file = words(0x464C457F, 0x00010102, 0, 0, 0x003E0002, 1, 0x100000, 0, 64, 0, 0, 0, 0, 0x00380040, 2, 0, 1, 7, 0,
                    0, 0x100000, 0, 0x100000, 0, 256, 0, 512, 0, 4096, 0,  // the segment
                    4, 4, 176, 0, 0, 0, 0, 0, 20, 0, 20, 0, 4, 0,          // its notes
                    4, 4, 18, 0x006E6558, 0x100040);
  file.resize(256);
  const auto kernel = load(file, {{words(7, 8), "initrd"}});
  ASSERT_TRUE(kernel) << kernel.error().message;
  EXPECT_EQ(kernel->entry, 0x100040u);
  const std::uint32_t info = kernel->info;
  EXPECT_EQ(word(info), 0x336EC578u);
  ASSERT_EQ(word(info + 12), 1u) << "modules";
  const std::uint32_t list = word(info + 16);
  EXPECT_EQ(word(word(list) + 4), 8u);
  EXPECT_EQ(word(list + 8), 8u) << "its bytes";
  EXPECT_EQ(text(word(info + 24)), "k one two");
  EXPECT_EQ(word(info + 48), 7u) << "ranges of memory";
  EXPECT_EQ(word(word(info + 40)), 0u) << "where the first begins";
}

}  // namespace
}  // namespace zs::machine
