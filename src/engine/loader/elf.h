// Reads the part of an ELF file that starting a program needs: header, program headers, interpreter path. Any bytes may
// come in; what comes out satisfies the invariants below, so the code that maps does not check again.
// Accepts what the kernel's binfmt_elf accepts and refuses what it would refuse (with a message instead of ENOEXEC),
// plus segments that the kernel would only reject while mapping them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/memory/layout.h"

namespace zs::engine {

/// One PT_LOAD that is not empty. file_bytes <= memory_bytes; file_offset and address agree modulo the page; nothing
/// passes the end of user space; the file part ends in the file, or in the page in which the file ends.
struct ElfSegment {
  std::uint64_t address = 0;  // as linked
  std::uint64_t memory_bytes = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t alignment = 0;  // a power of two, at least a page
  int prot = 0;                 // PROT_*

  AddressRange pages() const { return {page_down(address), page_up(address + memory_bytes)}; }
};

struct ElfImage {
  bool position_independent = false;         // ET_DYN
  std::uint64_t entry = 0;                   // as linked
  std::uint64_t program_header_address = 0;  // as linked; 0 if no segment holds them
  std::uint16_t program_header_count = 0;
  std::string interpreter;              // "" if none
  bool executable_stack = false;        // PT_GNU_STACK with PF_X
  std::vector<ElfSegment> segments;     // at least one; in the order of the file; pages may overlap
  AddressRange extent;                  // pages from the lowest to the highest segment, as linked
  std::uint64_t alignment = kPageSize;  // of the whole image
};

/// Random access to a file, so that fuzzing and tests need none.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual std::uint64_t size() const = 0;
  /// Exactly out.size() bytes from `offset`, which lie inside the file. False: the file could not be read.
  virtual bool read(std::uint64_t offset, std::span<std::uint8_t> out) = 0;
};

/// `name` begins every message: "name: at 0x12: found ..., needed ...".
Result<ElfImage> parse_elf(ByteSource& file, std::string_view name);
Result<ElfImage> parse_elf(std::span<const std::uint8_t> bytes, std::string_view name);
Result<ElfImage> parse_elf_file(int fd, std::string_view name);

}  // namespace zs::engine
