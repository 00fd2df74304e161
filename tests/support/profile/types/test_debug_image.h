// An executable of a few bytes of code with debug information that a test writes entry by entry, sound or damaged.
#pragma once

#include <dwarf.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "profile/symbols/elf_image.h"

namespace zs::profile::testing {

/// An entry of the debug information, to be referred to.
using Entry = std::size_t;

struct Attribute {
  unsigned name = 0, form = 0;
  std::uint64_t number = 0;  // of a reference: the Entry
  std::string bytes;         // of a name, with its NUL; of an expression, without its length
};

inline Attribute named(std::string_view name) { return {DW_AT_name, DW_FORM_string, 0, std::string(name) + '\0'}; }
inline Attribute sized(std::uint64_t bytes) { return {DW_AT_byte_size, DW_FORM_udata, bytes, {}}; }
inline Attribute at_offset(std::uint64_t bytes) { return {DW_AT_data_member_location, DW_FORM_udata, bytes, {}}; }
inline Attribute typed(Entry type) { return {DW_AT_type, DW_FORM_ref4, type, {}}; }
inline Attribute number_of(unsigned name, std::uint64_t value) { return {name, DW_FORM_udata, value, {}}; }
inline Attribute refers(unsigned name, Entry entry) { return {name, DW_FORM_ref4, entry, {}}; }
inline Attribute located(std::initializer_list<unsigned> expression) {
  Attribute attribute{DW_AT_location, DW_FORM_exprloc, 0, {}};
  for (const unsigned byte : expression) attribute.bytes += static_cast<char>(byte);
  return attribute;
}
inline std::vector<Attribute> code_of(std::uint64_t start, std::uint64_t size) {
  return {{DW_AT_low_pc, DW_FORM_addr, start, {}}, {DW_AT_high_pc, DW_FORM_data8, size, {}}};
}

class DebugImage {
 public:
  static constexpr std::uint64_t kCode = 0x401000;
  static constexpr std::uint64_t kThreadBytes = 64;  // of its PT_TLS

  /// code  of the function "function", which the image consists of
  explicit DebugImage(std::string code) : code_(std::move(code)) {
    std::vector<Attribute> unit = code_of(kCode, code_.size());
    unit.push_back(named("unit.c"));
    begin(DW_TAG_compile_unit, unit);
  }

  /// A number for an entry that others refer to before it is there.
  Entry reserve() {
    places_.push_back(0);
    return places_.size() - 1;
  }
  Entry entry(unsigned tag, const std::vector<Attribute>& attributes) {
    return write(reserve(), tag, attributes, false);
  }
  Entry entry(Entry reserved, unsigned tag, const std::vector<Attribute>& attributes) {
    return write(reserved, tag, attributes, false);
  }
  /// What follows up to end() lies in it.
  Entry begin(unsigned tag, const std::vector<Attribute>& attributes) {
    return write(reserve(), tag, attributes, true);
  }
  Entry begin(Entry reserved, unsigned tag, const std::vector<Attribute>& attributes) {
    return write(reserved, tag, attributes, true);
  }
  void end() { info_ += '\0'; }

  /// long, of 8 bytes.
  Entry long_type() {
    return entry(DW_TAG_base_type, {named("long"), sized(8), number_of(DW_AT_encoding, DW_ATE_signed)});
  }
  Entry pointer_to(Entry type) { return entry(DW_TAG_pointer_type, {sized(8), typed(type)}); }
  /// The function itself, open: its variables follow, and end().
  Entry begin_function(std::vector<Attribute> more = {}) {
    std::vector<Attribute> all = code_of(kCode, code_.size());
    all.push_back(named("function"));
    all.push_back({DW_AT_frame_base, DW_FORM_exprloc, 0, std::string(1, static_cast<char>(DW_OP_call_frame_cfa))});
    all.insert(all.end(), more.begin(), more.end());
    return begin(DW_TAG_subprogram, all);
  }

  /// The file.
  std::string bytes() {
    std::string info = info_ + '\0';
    for (const auto& [at, entry] : references_) put_at(info, at, static_cast<std::uint32_t>(places_[entry]));
    std::string unit;
    put(unit, static_cast<std::uint32_t>(info.size() + kUnitHeader - sizeof(std::uint32_t)));
    put(unit, std::uint16_t{5});
    put(unit, std::uint8_t{DW_UT_compile});
    put(unit, std::uint8_t{8});
    put(unit, std::uint32_t{0});
    unit += info;
    return file({{".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, code_},
                 {".debug_info", SHT_PROGBITS, 0, unit},
                 {".debug_abbrev", SHT_PROGBITS, 0, abbreviations_ + '\0'},
                 {".symtab", SHT_SYMTAB, 0, symbols()},
                 {".strtab", SHT_STRTAB, 0, std::string("\0function\0", 10)}});
  }

  static std::unique_ptr<ElfImage> open(std::string_view bytes) {
    const int fd = memfd_create("image", MFD_CLOEXEC);
    std::string problem;
    std::unique_ptr<ElfImage> image;
    if (fd >= 0 && ::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()))
      image = ElfImage::open("/proc/self/fd/" + std::to_string(fd), problem);
    ::close(fd);
    return image;
  }
  std::unique_ptr<ElfImage> open() { return open(bytes()); }

 private:
  static constexpr std::size_t kUnitHeader = 12;
  struct Section {
    std::string_view name;
    std::uint32_t type;
    std::uint64_t flags;
    std::string content;
  };

  template <typename T>
  static void put(std::string& out, const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  static void put_at(std::string& out, std::size_t at, std::uint32_t value) {
    std::memcpy(out.data() + at, &value, sizeof value);
  }
  static void put_number(std::string& out, std::uint64_t number) {
    constexpr unsigned kBits = 7;
    for (; number >> kBits != 0; number >>= kBits) out += static_cast<char>(0x80 | (number & 0x7F));
    out += static_cast<char>(number);
  }

  Entry write(Entry entry, unsigned tag, const std::vector<Attribute>& attributes, bool has_children) {
    put_number(abbreviations_, ++abbreviation_);
    put_number(abbreviations_, tag);
    abbreviations_ += static_cast<char>(has_children ? DW_CHILDREN_yes : DW_CHILDREN_no);
    places_[entry] = kUnitHeader + info_.size();
    put_number(info_, abbreviation_);
    for (const Attribute& one : attributes) {
      put_number(abbreviations_, one.name);
      put_number(abbreviations_, one.form);
      switch (one.form) {
        case DW_FORM_udata: put_number(info_, one.number); break;
        case DW_FORM_addr:
        case DW_FORM_data8: put(info_, one.number); break;
        case DW_FORM_ref4:
          references_.emplace_back(info_.size(), one.number);
          put(info_, std::uint32_t{0});
          break;
        case DW_FORM_exprloc: put_number(info_, one.bytes.size()); [[fallthrough]];
        default: info_ += one.bytes; break;
      }
    }
    abbreviations_ += std::string(2, '\0');
    return entry;
  }

  std::string symbols() const {
    std::string table;
    put(table, Elf64_Sym{});
    put(table, Elf64_Sym{.st_name = 1,
                         .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                         .st_other = 0,
                         .st_shndx = 1,
                         .st_value = kCode,
                         .st_size = code_.size()});
    return table;
  }

  /// Header, two segments, what is in the sections, their headers.
  static std::string file(const std::vector<Section>& sections) {
    constexpr std::size_t kContent = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr);
    std::string names(1, '\0'), content, headers;
    put(headers, Elf64_Shdr{});
    std::uint32_t number = 0;
    for (const Section& one : sections) {
      const bool is_code = (one.flags & SHF_EXECINSTR) != 0;
      Elf64_Shdr header{};
      header.sh_name = static_cast<std::uint32_t>(names.size());
      header.sh_type = one.type;
      header.sh_flags = one.flags;
      header.sh_addr = is_code ? kCode : 0;
      header.sh_offset = kContent + content.size();
      header.sh_size = one.content.size();
      header.sh_addralign = 1;
      ++number;
      if (one.type == SHT_SYMTAB) {
        header.sh_link = number + 1;
        header.sh_info = 1;
        header.sh_entsize = sizeof(Elf64_Sym);
      }
      names += std::string(one.name) + '\0';
      content += one.content;
      put(headers, header);
    }
    Elf64_Shdr of_names{};
    of_names.sh_name = static_cast<std::uint32_t>(names.size());
    names += std::string(".shstrtab") + '\0';
    of_names.sh_type = SHT_STRTAB;
    of_names.sh_offset = kContent + content.size();
    of_names.sh_size = names.size();
    of_names.sh_addralign = 1;
    content += names;
    put(headers, of_names);
    content.resize((content.size() + kContent + 7) / 8 * 8 - kContent);

    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_EXEC;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_phoff = sizeof header;
    header.e_shoff = kContent + content.size();
    header.e_ehsize = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 2;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<std::uint16_t>(sections.size() + 2);
    header.e_shstrndx = static_cast<std::uint16_t>(sections.size() + 1);
    std::string out;
    put(out, header);
    const std::uint64_t size = sections.front().content.size();
    put(out, Elf64_Phdr{.p_type = PT_LOAD,
                        .p_flags = PF_R | PF_X,
                        .p_offset = kContent,
                        .p_vaddr = kCode,
                        .p_paddr = kCode,
                        .p_filesz = size,
                        .p_memsz = size,
                        .p_align = 1});
    put(out, Elf64_Phdr{.p_type = PT_TLS,
                        .p_flags = PF_R,
                        .p_offset = kContent,
                        .p_vaddr = 0x404000,
                        .p_paddr = 0x404000,
                        .p_filesz = 0,
                        .p_memsz = kThreadBytes,
                        .p_align = 16});
    return out + content + headers;
  }

  std::string code_;
  std::string info_, abbreviations_;
  std::uint64_t abbreviation_ = 0;
  std::vector<std::size_t> places_;                        // by Entry: from the beginning of the unit
  std::vector<std::pair<std::size_t, Entry>> references_;  // where in info_
};

}  // namespace zs::profile::testing
