#include "engine/loader/elf.h"

#include <elf.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "base/bytes.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

constexpr std::uint64_t kMaxHeaderBytes = 65536;  // load_elf_phdrs: a larger table is ENOEXEC
constexpr std::uint64_t kMaxInterpreterPath = 4096;

const char* machine_name(std::uint16_t machine) {
  switch (machine) {
    case EM_SPARC: return "SPARC";
    case EM_386: return "i386";
    case EM_MIPS: return "MIPS";
    case EM_PPC: return "PowerPC";
    case EM_PPC64: return "PowerPC 64";
    case EM_S390: return "S/390";
    case EM_ARM: return "ARM";
    case EM_AARCH64: return "AArch64";
    case EM_RISCV: return "RISC-V";
    case EM_LOONGARCH: return "LoongArch";
    default: return "unknown to us";
  }
}

const char* type_name(std::uint16_t type) {
  switch (type) {
    case ET_REL: return "an object file";
    case ET_CORE: return "a core dump";
    default: return "unknown to us";
  }
}

int protection(std::uint32_t flags) {
  return (flags & PF_R ? PROT_READ : 0) | (flags & PF_W ? PROT_WRITE : 0) | (flags & PF_X ? PROT_EXEC : 0);
}

class Parser {
 public:
  Parser(ByteSource& file, std::string_view name) : file_(file), name_(name) {}

  Result<ElfImage> parse() {
    Elf64_Ehdr header;
    if (auto checked = read_header(header); !checked) return checked.error();
    if (auto checked = check_header(header); !checked) return checked.error();
    std::vector<Elf64_Phdr> table(header.e_phnum);
    if (auto checked = read_table(header, table); !checked) return checked.error();

    image_.position_independent = header.e_type == ET_DYN;
    image_.entry = header.e_entry;
    image_.program_header_count = header.e_phnum;
    bool seen_interpreter = false;
    for (std::size_t i = 0; i < table.size(); ++i) {
      const std::uint64_t at = header.e_phoff + i * sizeof(Elf64_Phdr);
      const Elf64_Phdr& entry = table[i];
      Result<void> checked;
      if (entry.p_type == PT_LOAD) {
        checked = add_segment(entry, at, header.e_phoff);
      } else if (entry.p_type == PT_INTERP && !seen_interpreter) {
        seen_interpreter = true;  // the kernel takes the first
        checked = read_interpreter(entry, at);
      } else if (entry.p_type == PT_GNU_STACK) {
        image_.executable_stack = (entry.p_flags & PF_X) != 0;
      }
      if (!checked) return checked.error();
    }
    if (image_.segments.empty()) {
      return refuse(header.e_phoff, "no loadable segment among " + std::to_string(table.size()) +
                                        " program headers, needed at least one");
    }
    image_.extent = image_.segments.front().pages();
    for (const ElfSegment& segment : image_.segments) {
      image_.extent.start = std::min(image_.extent.start, segment.pages().start);
      image_.extent.end = std::max(image_.extent.end, segment.pages().end);
      image_.alignment = std::max(image_.alignment, segment.alignment);
    }
    return std::move(image_);
  }

 private:
  Error refuse(std::uint64_t at, const std::string& what, std::string hint = "") const {
    return {.message = name_ + ": at " + hex(at) + ": " + what, .hint = std::move(hint)};
  }
  Error truncated(std::uint64_t at, const std::string& what, std::uint64_t needed) const {
    return refuse(at,
                  what + " end at " + hex(needed) + ", the file at " + hex(file_.size()) + ": the file is truncated");
  }
  Error unreadable(std::uint64_t at, const std::string& what) const { return refuse(at, what + " cannot be read"); }

  Result<void> read_header(Elf64_Ehdr& header) {
    const std::uint64_t size = file_.size();
    std::uint8_t bytes[sizeof header] = {};
    if (!file_.read(0, std::span(bytes).first(std::min<std::uint64_t>(size, sizeof bytes)))) {
      return unreadable(0, "the ELF header");
    }
    if (std::memcmp(bytes, ELFMAG, SELFMAG) != 0) {
      if (size == 0) return refuse(0, "the file is empty, needed an ELF program or a #! script");
      char found[16];
      std::snprintf(found, sizeof found, "%02x %02x %02x %02x", bytes[0], bytes[1], bytes[2], bytes[3]);
      return refuse(0, std::string("found ") + found + ", needed 7f 45 4c 46 (ELF) or 23 21 (#!)");
    }
    if (size < sizeof header) return truncated(0, "the ELF header would", sizeof header);
    std::memcpy(&header, bytes, sizeof header);
    return {};
  }

  Result<void> check_header(const Elf64_Ehdr& header) const {
    // The kernel looks at neither class nor byte order, but a 32-bit program is told by either.
    const bool class32 = header.e_ident[EI_CLASS] == ELFCLASS32 && header.e_phentsize != sizeof(Elf64_Phdr);
    if (header.e_machine == EM_386 || class32) {
      return refuse(EI_CLASS, "32-bit programs are not supported", "build it for x86-64");
    }
    if (header.e_machine != EM_X86_64) {
      return refuse(offsetof(Elf64_Ehdr, e_machine), "found machine " + std::to_string(header.e_machine) + " (" +
                                                         machine_name(header.e_machine) + "), needed 62 (x86-64)");
    }
    if (header.e_type != ET_EXEC && header.e_type != ET_DYN) {
      return refuse(offsetof(Elf64_Ehdr, e_type), "found type " + std::to_string(header.e_type) + " (" +
                                                      type_name(header.e_type) +
                                                      "), needed 2 (executable) or 3 (position-independent)");
    }
    if (header.e_phentsize != sizeof(Elf64_Phdr)) {
      return refuse(offsetof(Elf64_Ehdr, e_phentsize),
                    "found program headers of " + std::to_string(header.e_phentsize) + " bytes, needed 56");
    }
    const std::uint64_t bytes = std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr);
    if (header.e_phnum == 0 || bytes > kMaxHeaderBytes) {
      return refuse(offsetof(Elf64_Ehdr, e_phnum),
                    "found " + std::to_string(header.e_phnum) + " program headers, needed 1 to 1170");
    }
    return {};
  }

  bool in_file(std::uint64_t offset, std::uint64_t bytes) const {
    return offset <= file_.size() && bytes <= file_.size() - offset;
  }

  Result<void> read_table(const Elf64_Ehdr& header, std::vector<Elf64_Phdr>& table) {
    const std::uint64_t bytes = table.size() * sizeof(Elf64_Phdr);
    if (!in_file(header.e_phoff, bytes)) {
      return truncated(header.e_phoff, std::to_string(table.size()) + " program headers", header.e_phoff + bytes);
    }
    if (!file_.read(header.e_phoff, {reinterpret_cast<std::uint8_t*>(table.data()), bytes})) {
      return unreadable(header.e_phoff, "the program headers");
    }
    return {};
  }

  Result<void> add_segment(const Elf64_Phdr& entry, std::uint64_t at, std::uint64_t table_offset) {
    if (entry.p_filesz <= entry.p_memsz && entry.p_memsz == 0) return {};
    if (entry.p_filesz > entry.p_memsz) {
      return refuse(at, "a segment takes " + hex(entry.p_filesz) + " bytes from the file but only " +
                            hex(entry.p_memsz) + " in memory");
    }
    if (entry.p_vaddr >= kTaskSize || entry.p_memsz > kTaskSize - entry.p_vaddr) {
      return refuse(at, "a segment of " + hex(entry.p_memsz) + " bytes at " + hex(entry.p_vaddr) +
                            " passes the end of user space, " + hex(kTaskSize));
    }
    if (entry.p_filesz != 0) {
      if ((entry.p_offset ^ entry.p_vaddr) % kPageSize != 0) {
        return refuse(at, "a segment's offset " + hex(entry.p_offset) + " and address " + hex(entry.p_vaddr) +
                              " differ within the page, needed the same remainder by 4096");
      }
      // A page that the file ends in can be mapped whole; its rest reads as zeros.
      const std::uint64_t mappable = page_up(file_.size());
      if (entry.p_offset >= mappable || entry.p_filesz > mappable - entry.p_offset) {
        return truncated(at, "a segment's bytes", entry.p_offset + entry.p_filesz);
      }
    }
    ElfSegment segment{.address = entry.p_vaddr,
                       .memory_bytes = entry.p_memsz,
                       .file_offset = entry.p_offset,
                       .file_bytes = entry.p_filesz,
                       .alignment = kPageSize,
                       .prot = protection(entry.p_flags)};
    if (std::has_single_bit(entry.p_align) && entry.p_align <= kTaskSize / 2) {
      segment.alignment = std::max(kPageSize, entry.p_align);
    }
    if (entry.p_offset <= table_offset && table_offset - entry.p_offset < entry.p_filesz) {
      image_.program_header_address = table_offset - entry.p_offset + entry.p_vaddr;
    }
    image_.segments.push_back(segment);
    return {};
  }

  Result<void> read_interpreter(const Elf64_Phdr& entry, std::uint64_t at) {
    if (entry.p_filesz < 2 || entry.p_filesz > kMaxInterpreterPath) {
      return refuse(at, "found an interpreter path of " + std::to_string(entry.p_filesz) + " bytes, needed 2 to 4096");
    }
    if (!in_file(entry.p_offset, entry.p_filesz)) {
      return truncated(at, "the interpreter path's bytes", entry.p_offset + entry.p_filesz);
    }
    std::string path(entry.p_filesz, '\0');
    if (!file_.read(entry.p_offset, {reinterpret_cast<std::uint8_t*>(path.data()), path.size()})) {
      return unreadable(entry.p_offset, "the interpreter path");
    }
    if (path.back() != '\0') return refuse(entry.p_offset, "the interpreter path does not end with a NUL");
    path.resize(std::strlen(path.c_str()));
    if (path.empty()) return refuse(entry.p_offset, "the interpreter path is empty");
    image_.interpreter = std::move(path);
    return {};
  }

  ByteSource& file_;
  std::string name_;
  ElfImage image_;
};

class BytesInMemory final : public ByteSource {
 public:
  explicit BytesInMemory(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  std::uint64_t size() const override { return bytes_.size(); }
  bool read(std::uint64_t offset, std::span<std::uint8_t> out) override {
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
    return true;
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

class BytesInFile final : public ByteSource {
 public:
  explicit BytesInFile(int fd) : fd_(fd) {
    struct stat status;
    if (!is_error(raw_syscall(SYS_fstat, fd, &status)) && status.st_size > 0) {
      size_ = static_cast<std::uint64_t>(status.st_size);
    }
  }
  std::uint64_t size() const override { return size_; }
  bool read(std::uint64_t offset, std::span<std::uint8_t> out) override {
    for (std::size_t done = 0; done < out.size();) {
      const long got = raw_syscall(SYS_pread64, fd_, out.data() + done, out.size() - done, offset + done);
      if (got <= 0) return false;
      done += static_cast<std::size_t>(got);
    }
    return true;
  }

 private:
  int fd_;
  std::uint64_t size_ = 0;
};

}  // namespace

Result<ElfImage> parse_elf(ByteSource& file, std::string_view name) { return Parser(file, name).parse(); }

Result<ElfImage> parse_elf(std::span<const std::uint8_t> bytes, std::string_view name) {
  BytesInMemory file(bytes);
  return parse_elf(file, name);
}

Result<ElfImage> parse_elf_file(int fd, std::string_view name) {
  BytesInFile file(fd);
  return parse_elf(file, name);
}

}  // namespace zs::engine
