// Any bytes as an ELF file: no crash, and what is accepted keeps every promise of loader/elf.h.
#include <sys/mman.h>

#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "engine/loader/elf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zs::engine;
  const auto elf = parse_elf(std::span(data, size), "input");
  if (!elf) {
    CHECK(elf.error().message.starts_with("input: at 0x"));
    return 0;
  }
  CHECK(!elf->segments.empty());
  CHECK(elf->program_header_count > 0);
  CHECK(elf->interpreter.size() < 4096 && elf->interpreter.find('\0') == elf->interpreter.npos);
  CHECK(std::has_single_bit(elf->alignment) && elf->alignment >= kPageSize);
  for (const ElfSegment& segment : elf->segments) {
    CHECK(segment.memory_bytes > 0 && segment.file_bytes <= segment.memory_bytes);
    CHECK(segment.address < kTaskSize && segment.memory_bytes <= kTaskSize - segment.address);
    CHECK(!segment.pages().empty() && elf->extent.contains(segment.pages()));
    CHECK(std::has_single_bit(segment.alignment) && segment.alignment <= elf->alignment);
    CHECK((segment.prot & ~(PROT_READ | PROT_WRITE | PROT_EXEC)) == 0);
    if (segment.file_bytes == 0) continue;
    CHECK((segment.address - segment.file_offset) % kPageSize == 0);
    CHECK(segment.file_offset < page_up(size) && segment.file_bytes <= page_up(size) - segment.file_offset);
  }
  return 0;
}
