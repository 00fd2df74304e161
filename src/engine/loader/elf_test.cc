#include "engine/loader/elf.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

namespace zs::engine {
namespace {

using testing::ElementsAre;

/// A file of one page with a header and program headers behind it; everything can be spoilt before parsing.
struct TinyElf {
  Elf64_Ehdr header{};
  std::vector<Elf64_Phdr> table;
  std::size_t file_bytes = kPageSize;

  TinyElf() {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_EXEC;
    header.e_machine = EM_X86_64;
    header.e_entry = 0x400100;
    header.e_phoff = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    table.push_back(load(0, 0x400000, 0x200, 0x200, PF_R | PF_X));
  }

  static Elf64_Phdr load(std::uint64_t offset, std::uint64_t address, std::uint64_t file, std::uint64_t memory,
                         std::uint32_t flags) {
    return {.p_type = PT_LOAD,
            .p_flags = flags,
            .p_offset = offset,
            .p_vaddr = address,
            .p_paddr = 0,
            .p_filesz = file,
            .p_memsz = memory,
            .p_align = kPageSize};
  }

  std::vector<std::uint8_t> bytes() const {
    Elf64_Ehdr copy = header;
    if (copy.e_phnum == 0) copy.e_phnum = static_cast<std::uint16_t>(table.size());
    std::vector<std::uint8_t> result(std::max(file_bytes, sizeof copy + table.size() * sizeof(Elf64_Phdr)));
    std::memcpy(result.data(), &copy, sizeof copy);
    std::memcpy(result.data() + sizeof copy, table.data(), table.size() * sizeof(Elf64_Phdr));
    result.resize(file_bytes);
    return result;
  }
  Result<ElfImage> parse() const { return parse_elf(bytes(), "prog"); }
  std::string refusal() const {
    const auto elf = parse();
    return elf ? "accepted" : elf.error().message;
  }
};

TEST(Elf, ReadsAProgramAtAFixedAddress) {
  TinyElf file;
  file.table.push_back(TinyElf::load(0x300, 0x601300, 0x100, 0x5000, PF_R | PF_W));
  const auto elf = file.parse();
  ASSERT_TRUE(elf) << elf.error().message;
  EXPECT_FALSE(elf->position_independent);
  EXPECT_EQ(elf->entry, 0x400100u);
  EXPECT_EQ(elf->program_header_address, 0x400040u);
  EXPECT_EQ(elf->program_header_count, 2);
  EXPECT_EQ(elf->interpreter, "");
  EXPECT_FALSE(elf->executable_stack);
  ASSERT_EQ(elf->segments.size(), 2u);
  EXPECT_EQ(elf->segments[0].prot, PROT_READ | PROT_EXEC);
  EXPECT_EQ(elf->segments[1].prot, PROT_READ | PROT_WRITE);
  EXPECT_EQ(elf->segments[1].pages(), (AddressRange{0x601000, 0x607000}));
  EXPECT_EQ(elf->extent, (AddressRange{0x400000, 0x607000}));
  EXPECT_EQ(elf->alignment, kPageSize);
}

TEST(Elf, ReadsTheInterpreterAndTheWishForAnExecutableStack) {
  TinyElf file;
  file.header.e_type = ET_DYN;
  file.table.push_back({.p_type = PT_INTERP, .p_offset = 0x800, .p_filesz = 6, .p_memsz = 6});
  file.table.push_back({.p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W | PF_X});
  auto bytes = file.bytes();
  std::memcpy(bytes.data() + 0x800, "/ld.so", 6);
  EXPECT_EQ(parse_elf(bytes, "prog").error().message, "prog: at 0x800: the interpreter path does not end with a NUL");
  std::memcpy(bytes.data() + 0x800, "/ld.s", 6);
  const auto elf = parse_elf(bytes, "prog");
  ASSERT_TRUE(elf);
  EXPECT_TRUE(elf->position_independent);
  EXPECT_EQ(elf->interpreter, "/ld.s");
  EXPECT_TRUE(elf->executable_stack);
}

TEST(Elf, TakesTheLargestPowerOfTwoAlignmentAndIgnoresOthers) {
  TinyElf file;
  file.table[0].p_align = 0x200000;
  file.table.push_back(TinyElf::load(0, 0x500000, 0x10, 0x10, PF_R));
  file.table[1].p_align = 0x300000;
  EXPECT_EQ(file.parse()->alignment, 0x200000u);
}

TEST(Elf, LeavesOutSegmentsWithoutMemory) {
  TinyElf file;
  file.table.push_back(TinyElf::load(7, 0x123, 0, 0, PF_R));
  EXPECT_EQ(file.parse()->segments.size(), 1u);
}

TEST(Elf, MapsThePageInWhichTheFileEndsButNotTheNext) {
  TinyElf file;
  file.file_bytes = 0x180;
  file.table[0] = TinyElf::load(0, 0x400000, 0x1000, 0x1000, PF_R);
  EXPECT_EQ(file.refusal(), "accepted");
  file.table[0] = TinyElf::load(0, 0x400000, 0x1001, 0x2000, PF_R);
  EXPECT_EQ(file.refusal(), "prog: at 0x40: a segment's bytes end at 0x1001, the file at 0x180: the file is truncated");
}

TEST(Elf, IgnoresIdentificationBytesThatTheKernelIgnores) {
  TinyElf file;
  std::memset(file.header.e_ident + SELFMAG, 0x5a, EI_NIDENT - SELFMAG);
  EXPECT_EQ(file.refusal(), "accepted");
}

TEST(Elf, SaysWhatIsWrongWithAHeader) {
  const auto refusal = [](const auto& spoil) {
    TinyElf file;
    spoil(file);
    return file.refusal();
  };
  EXPECT_EQ(refusal([](TinyElf& f) { f.file_bytes = 0; }),
            "prog: at 0x0: the file is empty, needed an ELF program or a #! script");
  EXPECT_EQ(refusal([](TinyElf& f) { f.header.e_ident[1] = 'e'; }),
            "prog: at 0x0: found 7f 65 4c 46, needed 7f 45 4c 46 (ELF) or 23 21 (#!)");
  EXPECT_EQ(refusal([](TinyElf& f) { f.file_bytes = 40; }),
            "prog: at 0x0: the ELF header would end at 0x40, the file at 0x28: the file is truncated");
  EXPECT_EQ(refusal([](TinyElf& f) { f.header.e_machine = EM_386; }),
            "prog: at 0x4: 32-bit programs are not supported");
  EXPECT_EQ(refusal([](TinyElf& f) {
              f.header.e_ident[EI_CLASS] = ELFCLASS32;
              f.header.e_phentsize = 32;
            }),
            "prog: at 0x4: 32-bit programs are not supported");
  EXPECT_EQ(refusal([](TinyElf& f) { f.header.e_machine = EM_AARCH64; }),
            "prog: at 0x12: found machine 183 (AArch64), needed 62 (x86-64)");
  EXPECT_EQ(refusal([](TinyElf& f) { f.header.e_type = ET_REL; }),
            "prog: at 0x10: found type 1 (an object file), needed 2 (executable) or 3 (position-independent)");
  EXPECT_EQ(refusal([](TinyElf& f) { f.header.e_phentsize = 64; }),
            "prog: at 0x36: found program headers of 64 bytes, needed 56");
  EXPECT_EQ(refusal([](TinyElf& f) { f.table.clear(); }), "prog: at 0x38: found 0 program headers, needed 1 to 1170");
  EXPECT_EQ(refusal([](TinyElf& f) { f.header.e_phnum = 2000; }),
            "prog: at 0x38: found 2000 program headers, needed 1 to 1170");
  EXPECT_EQ(refusal([](TinyElf& f) { f.header.e_phoff = 0xff0; }),
            "prog: at 0xff0: 1 program headers end at 0x1028, the file at 0x1000: the file is truncated");
}

TEST(Elf, SaysWhatIsWrongWithAProgramHeader) {
  const auto refusal = [](const auto& spoil) {
    TinyElf file;
    spoil(file.table[0]);
    return file.refusal();
  };
  EXPECT_EQ(refusal([](Elf64_Phdr& p) { p.p_memsz = 0x1ff; }),
            "prog: at 0x40: a segment takes 0x200 bytes from the file but only 0x1ff in memory");
  EXPECT_EQ(refusal([](Elf64_Phdr& p) { p.p_vaddr = 0x7fff'ffff'e000, p.p_memsz = 0x1001; }),
            "prog: at 0x40: a segment of 0x1001 bytes at 0x7fffffffe000 passes the end of user space, 0x7ffffffff000");
  EXPECT_EQ(refusal([](Elf64_Phdr& p) { p.p_offset = 8; }),
            "prog: at 0x40: a segment's offset 0x8 and address 0x400000 differ within the page, needed the same "
            "remainder by 4096");
  EXPECT_EQ(refusal([](Elf64_Phdr& p) { p.p_offset = 0x5000; }),
            "prog: at 0x40: a segment's bytes end at 0x5200, the file at 0x1000: the file is truncated");
  EXPECT_EQ(refusal([](Elf64_Phdr& p) { p.p_type = PT_NOTE; }),
            "prog: at 0x40: no loadable segment among 1 program headers, needed at least one");
  EXPECT_EQ(refusal([](Elf64_Phdr& p) { p.p_type = PT_INTERP, p.p_filesz = 1; }),
            "prog: at 0x40: found an interpreter path of 1 bytes, needed 2 to 4096");
  EXPECT_EQ(refusal([](Elf64_Phdr& p) { p.p_type = PT_INTERP, p.p_offset = 0xff8; }),
            "prog: at 0x40: the interpreter path's bytes end at 0x11f8, the file at 0x1000: the file is truncated");
}

// Every cut of a good file is refused or accepted, never read past its end (the sanitizers look).
TEST(Elf, SurvivesEveryTruncation) {
  TinyElf file;
  file.table.push_back({.p_type = PT_INTERP, .p_offset = 0x800, .p_filesz = 6, .p_memsz = 6});
  const auto whole = file.bytes();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::vector<std::uint8_t> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    const auto elf = parse_elf(cut, "prog");
    EXPECT_FALSE(elf) << length;
  }
}

}  // namespace
}  // namespace zs::engine
