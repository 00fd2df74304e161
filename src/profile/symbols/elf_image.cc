#include "profile/symbols/elf_image.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "profile/perf_data/build_id.h"
#include "profile/symbols/demangle.h"
#include "profile/symbols/dwarf_dies.h"
#include "profile/symbols/elf_sections.h"
#include "profile/symbols/framed_functions.h"
#include "profile/symbols/go_functions.h"
#include "profile/symbols/inline_scopes.h"
#include "profile/symbols/unpacked_sections.h"

namespace zs::profile {
namespace {

/// Nothing if it has none, or one longer than those are.
std::optional<BuildId> build_id_of(Dwfl_Module* module) {
  const unsigned char* bytes = nullptr;
  GElf_Addr where = 0;
  const int size = dwfl_module_build_id(module, &bytes, &where);
  if (size <= 0 || size > static_cast<int>(sizeof(BuildId::bytes))) return std::nullopt;
  return BuildId::of(bytes, static_cast<std::uint8_t>(size));
}

/// A separate debug file: where libdw looks (beside the file, /usr/lib/debug, debuginfod if DEBUGINFOD_URLS is set),
/// then below the directory that the module was given, and in perf's cache, by build-id.
int find_debuginfo(Dwfl_Module* module, void** userdata, const char* name, Dwarf_Addr base, const char* file,
                   const char* link, GElf_Word checksum, char** found) {
  int fd = dwfl_standard_find_debuginfo(module, userdata, name, base, file, link, checksum, found);
  if (const auto id = fd < 0 ? build_id_of(module) : std::nullopt) {
    const std::string symfs = *userdata != nullptr ? *static_cast<const std::string*>(*userdata) : "", hex = id->hex();
    const std::string installed =
        fmt::format("{}/usr/lib/debug/.build-id/{}/{}.debug", symfs, hex.substr(0, 2), hex.substr(2));
    for (const std::string& path : {installed, cached_path(*id, "debug", symfs)}) {
      if (fd >= 0) break;
      fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
      if (fd >= 0) *found = strdup(path.c_str());
    }
  }
  return fd < 0 ? fd : with_unpacked_sections(fd);
}

constexpr Dwfl_Callbacks kCallbacks{.find_elf = dwfl_build_id_find_elf,
                                    .find_debuginfo = find_debuginfo,
                                    .section_address = dwfl_offline_section_address,
                                    .debuginfo_path = nullptr};

bool is_code(const GElf_Phdr& segment) { return (segment.p_flags & PF_X) != 0; }

Symbol::Binding binding_of(unsigned char info) {
  switch (GELF_ST_BIND(info)) {
    case STB_LOCAL: return Symbol::Binding::Local;
    case STB_WEAK: return Symbol::Binding::Weak;
    default: return Symbol::Binding::Global;
  }
}

/// The GOT slot that the jump of a PLT entry goes through: `jmp *disp(%rip)`, perhaps behind ENDBR64 or BND.
std::optional<std::uint64_t> slot_of_plt_entry(Bytes entry, std::uint64_t address) {
  for (std::size_t at = 0; at + 6 <= entry.size() && at < 8; ++at) {
    if (entry[at] != std::byte{0xFF} || entry[at + 1] != std::byte{0x25}) continue;
    std::int32_t displacement = 0;
    std::memcpy(&displacement, entry.data() + at + 2, sizeof displacement);
    return address + at + 6 + static_cast<std::uint64_t>(static_cast<std::int64_t>(displacement));
  }
  return std::nullopt;
}

class OpenImage final : public ElfImage {
 public:
  OpenImage(std::string path, Dwfl* dwfl, Dwfl_Module* module) : path_(std::move(path)), dwfl_(dwfl), module_(module) {
    elf_ = dwfl_module_getelf(module_, &bias_);
    read_segments();
    build_id_ = build_id_of(module_);
    std::size_t raw_size = 0;
    if (const char* raw = elf_rawfile(elf_, &raw_size)) raw_ = std::as_bytes(std::span(raw, raw_size));
  }
  ~OpenImage() override { dwfl_end(dwfl_); }
  OpenImage(const OpenImage&) = delete;
  OpenImage& operator=(const OpenImage&) = delete;

  static std::unique_ptr<OpenImage> from_file(int fd, const std::string& path, std::string& problem);
  void choose(Names names, const std::string& symfs);

  const std::string& path() const override { return path_; }
  const std::optional<BuildId>& build_id() const override { return build_id_; }
  std::optional<ImageAddress> image_address_of(FileOffset offset) const override;
  std::optional<FileOffset> file_offset_of(ImageAddress address) const override;
  const SymbolTable& symbols() override {
    if (!symbols_read_) read_symbols();
    return symbols_;
  }
  std::optional<SourceLine> line_of(ImageAddress address) override;
  void each_line(const LineVisitor& visit) override;
  std::vector<InlineFrame> inlines_of(ImageAddress address) override;
  DebugModule debug_module() override { return {.module = module_, .bias = bias_}; }
  void* debug_unit(ImageAddress address, std::uint64_t& bias) override { return unit_of(address, bias); }
  const std::string& missing_split() const override { return missing_split_; }
  Bytes code(ImageAddress start, std::size_t size) const override;
  std::optional<std::uint64_t> thread_offset(std::int64_t from_thread_pointer) const override;
  std::string section_of(ImageAddress address) const override;

 private:
  const GElf_Phdr* segment_at(ImageAddress address) const {
    for (const GElf_Phdr& segment : segments_) {
      if (value(address) >= segment.p_vaddr && value(address) - segment.p_vaddr < segment.p_memsz) return &segment;
    }
    return nullptr;
  }

  void read_symbols();
  void add_plt_names();
  void add_functions_without_symbols();
  std::unordered_map<std::uint64_t, std::string> slot_names() const;
  Dwarf_Die* unit_of(ImageAddress address, std::uint64_t& bias);
  std::string name_of(Dwarf_Die* die) const;
  void read_unit_ranges();
  void read_segments();
  bool is_executable() const;
  void read_thread_block(const GElf_Phdr& segment);
  Bytes bytes_at(std::uint64_t offset, std::uint64_t size) const {
    if (offset > raw_.size() || size > raw_.size() - offset) return {};
    return raw_.subspan(offset, size);
  }

  std::string path_, symfs_;
  Names names_ = Names::Demangled;
  std::string missing_split_;
  Dwfl* dwfl_;
  Dwfl_Module* module_;
  GElf_Addr bias_ = 0;  // libdw's addresses of this module are image addresses plus this
  Elf* elf_ = nullptr;
  Bytes raw_;
  std::vector<GElf_Phdr> segments_;
  std::uint64_t thread_bytes_ = 0;  // of an executable: from the beginning of a thread's block to the thread pointer
  std::optional<BuildId> build_id_;
  SymbolTable symbols_;
  bool symbols_read_ = false;
  dwarf::InlineScopes inline_scopes_;

  /// Code of a compilation unit, in libdw's addresses with the debug information's bias taken off.
  struct UnitRange {
    Dwarf_Addr start, end;
    Dwarf_Die* unit;
  };
  std::vector<UnitRange> unit_ranges_;  // by start
  Dwarf_Addr unit_bias_ = 0;
  bool unit_ranges_read_ = false;
};

std::unique_ptr<OpenImage> OpenImage::from_file(int fd, const std::string& path, std::string& problem) {
  elf_version(EV_CURRENT);
  Dwfl* dwfl = dwfl_begin(&kCallbacks);
  dwfl_report_begin(dwfl);
  fd = with_unpacked_sections(fd);
  Dwfl_Module* module = dwfl_report_offline(dwfl, path.c_str(), path.c_str(), fd);  // takes fd over if it succeeds
  dwfl_report_end(dwfl, nullptr, nullptr);
  GElf_Addr bias = 0;
  if (module == nullptr || dwfl_module_getelf(module, &bias) == nullptr) {
    problem = fmt::format("{}: no ELF file that can be read: {}", path, dwfl_errmsg(-1));
    if (module == nullptr) ::close(fd);
    dwfl_end(dwfl);
    return nullptr;
  }
  return std::make_unique<OpenImage>(path, dwfl, module);
}

void OpenImage::choose(Names names, const std::string& symfs) {
  names_ = names;
  symfs_ = symfs;
  void** userdata = nullptr;
  dwfl_module_info(module_, &userdata, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  *userdata = &symfs_;
  symbols_ = SymbolTable(names);
}

void OpenImage::read_segments() {
  std::size_t count = 0;
  if (elf_getphdrnum(elf_, &count) != 0) return;
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf_, static_cast<int>(i), &header) == nullptr) continue;
    if (header.p_type == PT_TLS) read_thread_block(header);
    if (header.p_type == PT_LOAD) segments_.push_back(header);
  }
  // What shares a page with code is asked of the code first.
  std::stable_partition(segments_.begin(), segments_.end(), is_code);
}

bool OpenImage::is_executable() const {
  GElf_Ehdr header;
  if (gelf_getehdr(elf_, &header) == nullptr) return false;
  if (header.e_type != ET_DYN) return header.e_type == ET_EXEC;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_, section)) != nullptr;) {
    GElf_Shdr table;
    if (gelf_getshdr(section, &table) == nullptr || table.sh_type != SHT_DYNAMIC || table.sh_entsize == 0) continue;
    Elf_Data* const entries = elf_getdata(section, nullptr);
    GElf_Dyn entry;
    for (int i = 0; entries != nullptr && gelf_getdyn(entries, i, &entry) != nullptr; ++i) {
      if (entry.d_tag == DT_FLAGS_1) return (entry.d_un.d_val & DF_1_PIE) != 0;
    }
  }
  return false;
}

/// source: Drepper, "ELF Handling For Thread-Local Storage", "Variant II"; the block ends at the thread pointer, and is
/// aligned as the segment in the file.
void OpenImage::read_thread_block(const GElf_Phdr& segment) {
  const std::uint64_t alignment = std::max<std::uint64_t>(segment.p_align, 1);
  if ((alignment & (alignment - 1)) != 0 || !is_executable()) return;
  thread_bytes_ = segment.p_memsz + ((0 - (segment.p_vaddr + segment.p_memsz)) & (alignment - 1));
}

void OpenImage::read_symbols() {
  symbols_read_ = true;
  const int count = dwfl_module_getsymtab(module_);
  for (int i = 1; i < count; ++i) {
    GElf_Sym symbol;
    GElf_Addr address = 0;
    GElf_Word section = 0;
    Elf* from = nullptr;
    Dwarf_Addr bias = 0;
    const char* name = dwfl_module_getsym_info(module_, i, &symbol, &address, &section, &from, &bias);
    if (name == nullptr || *name == '\0' || section == SHN_UNDEF || section == SHN_ABS) continue;
    const int type = GELF_ST_TYPE(symbol.st_info);
    bool code = type == STT_FUNC || type == STT_GNU_IFUNC;
    if (type == STT_NOTYPE) {  // a label of assembly code: only where there is code
      const int visibility = GELF_ST_VISIBILITY(symbol.st_other);
      if (visibility == STV_HIDDEN || visibility == STV_INTERNAL) continue;
      GElf_Shdr header;
      Elf_Scn* holder = from != nullptr ? elf_getscn(from, section) : nullptr;
      if (holder == nullptr || gelf_getshdr(holder, &header) == nullptr || (header.sh_flags & SHF_EXECINSTR) == 0) {
        continue;
      }
      code = true;
    } else if (!code && type != STT_OBJECT) {
      continue;
    }
    symbols_.add(ImageAddress{address - bias_}, symbol.st_size, name, binding_of(symbol.st_info), code);
  }
  add_plt_names();
  add_functions_without_symbols();
  std::uint64_t limit = 0;
  for (const GElf_Phdr& segment : segments_) limit = std::max(limit, segment.p_vaddr + segment.p_memsz);
  symbols_.finish(ImageAddress{limit});
}

/// Those that other tables of a stripped file tell of. Call frame information has the stubs of the PLT as one function.
void OpenImage::add_functions_without_symbols() {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> stubs;  // from, to
  each_section(elf_, [&](std::string_view name, const GElf_Shdr& header, Elf_Scn*) {
    if (name.starts_with(".plt")) stubs.emplace_back(header.sh_addr, header.sh_addr + header.sh_size);
  });
  const auto add = [&](std::uint64_t start, std::uint64_t size, std::string name) {
    const GElf_Phdr* const segment = segment_at(ImageAddress{start});
    if (segment == nullptr || !is_code(*segment) || size > segment->p_memsz) return;
    const auto is_in = [&](const auto& range) { return start >= range.first && start < range.second; };
    if (std::ranges::none_of(stubs, is_in)) symbols_.add_without_symbol(ImageAddress{start}, size, std::move(name));
  };
  each_go_function(elf_, add);
  each_framed_function(elf_, [&](std::uint64_t start, std::uint64_t size) { add(start, size, ""); });
}

/// What the dynamic linker will put into each slot: image address of the slot -> name.
std::unordered_map<std::uint64_t, std::string> OpenImage::slot_names() const {
  std::unordered_map<std::uint64_t, std::string> names;
  each_section(elf_, [&](std::string_view, const GElf_Shdr& header, Elf_Scn* section) {
    if (header.sh_type != SHT_RELA || header.sh_entsize == 0) return;
    Elf_Scn* table = elf_getscn(elf_, header.sh_link);
    GElf_Shdr table_header;
    const bool named =
        table != nullptr && gelf_getshdr(table, &table_header) != nullptr && table_header.sh_type == SHT_DYNSYM;
    Elf_Data* symbols = named ? elf_getdata(table, nullptr) : nullptr;
    Elf_Data* relocations = elf_getdata(section, nullptr);
    if (relocations == nullptr) return;
    const auto count = static_cast<int>(header.sh_size / header.sh_entsize);
    for (int i = 0; i < count; ++i) {
      GElf_Rela relocation;
      if (gelf_getrela(relocations, i, &relocation) == nullptr) break;
      const auto type = GELF_R_TYPE(relocation.r_info);
      if (type == R_X86_64_IRELATIVE) {
        names[relocation.r_offset] = fmt::format("*ABS*+{:#x}", relocation.r_addend);
        continue;
      }
      if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) || symbols == nullptr) continue;
      GElf_Sym symbol;
      if (gelf_getsym(symbols, static_cast<int>(GELF_R_SYM(relocation.r_info)), &symbol) == nullptr) continue;
      const char* name = elf_strptr(elf_, table_header.sh_link, symbol.st_name);
      if (name != nullptr && *name != '\0') names[relocation.r_offset] = name;
    }
  });
  return names;
}

void OpenImage::add_plt_names() {
  std::unordered_map<std::uint64_t, std::string> slots;
  each_section(elf_, [&](std::string_view name, const GElf_Shdr& header, Elf_Scn*) {
    if (header.sh_type != SHT_PROGBITS || !name.starts_with(".plt") || header.sh_size > (64u << 20)) return;
    if (slots.empty()) slots = slot_names();
    const std::uint64_t entry_bytes = header.sh_entsize != 0 && header.sh_entsize <= 64 ? header.sh_entsize : 16;
    const Bytes code = bytes_at(header.sh_offset, header.sh_size);
    for (std::uint64_t at = 0; at + entry_bytes <= code.size(); at += entry_bytes) {
      const std::uint64_t address = header.sh_addr + at;
      const auto slot = slot_of_plt_entry(code.subspan(at, entry_bytes), address);
      const auto found = slot ? slots.find(*slot) : slots.end();
      if (found == slots.end()) continue;
      symbols_.add(ImageAddress{address}, entry_bytes,
                   (names_ == Names::Demangled ? demangle(found->second) : found->second) + "@plt",
                   Symbol::Binding::Local, true);
    }
  });
}

/// The units by the ranges that they tell themselves: clang and Go write no .debug_aranges, which is all that libdw
/// asks.
void OpenImage::read_unit_ranges() {
  unit_ranges_read_ = true;
  for (Dwarf_Die* unit = nullptr; (unit = dwfl_module_nextcu(module_, unit, &unit_bias_)) != nullptr;) {
    dwarf::each_range(unit, [&](Dwarf_Addr start, Dwarf_Addr end) { unit_ranges_.push_back({start, end, unit}); });
  }
  std::stable_sort(unit_ranges_.begin(), unit_ranges_.end(),
                   [](const UnitRange& a, const UnitRange& b) { return a.start < b.start; });
}

/// The compilation unit of an address, or nullptr. bias: what libdw's addresses in the unit are less than its others
Dwarf_Die* OpenImage::unit_of(ImageAddress address, std::uint64_t& bias) {
  if (Dwarf_Die* const unit = dwfl_module_addrdie(module_, value(address) + bias_, &bias)) return unit;
  if (!unit_ranges_read_) read_unit_ranges();
  bias = unit_bias_;
  const Dwarf_Addr wanted = value(address) + bias_ - bias;
  auto at = std::upper_bound(unit_ranges_.begin(), unit_ranges_.end(), wanted,
                             [](Dwarf_Addr place, const UnitRange& range) { return place < range.start; });
  if (at == unit_ranges_.begin()) return nullptr;
  --at;
  return wanted < at->end ? at->unit : nullptr;
}

std::optional<SourceLine> OpenImage::line_of(ImageAddress address) {
  Dwarf_Addr bias = 0;
  Dwarf_Die* const unit = unit_of(address, bias);
  if (unit == nullptr) return std::nullopt;
  Dwarf_Line* const line = dwarf_getsrc_die(unit, value(address) + bias_ - bias);
  SourceLine found;
  if (line == nullptr || dwarf_lineno(line, &found.line) != 0 || found.line == 0) return std::nullopt;
  const char* const file = dwarf_linesrc(line, nullptr, nullptr);
  if (file == nullptr) return std::nullopt;
  Dwarf_Attribute attribute;
  const char* const directory = *file == '/' ? nullptr : dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
  found.file = directory != nullptr ? fmt::format("{}/{}", directory, file) : file;
  return found;
}

void OpenImage::each_line(const LineVisitor& visit) {
  Dwarf_Addr bias = 0;
  for (Dwarf_Die* unit = nullptr; (unit = dwfl_module_nextcu(module_, unit, &bias)) != nullptr;) {
    Dwarf_Lines* lines = nullptr;
    std::size_t count = 0;
    if (dwarf_getsrclines(unit, &lines, &count) != 0) continue;
    for (std::size_t i = 0; i < count; ++i) {
      Dwarf_Line* const row = dwarf_onesrcline(lines, i);
      Dwarf_Addr address = 0;
      int number = 0;
      bool statement = false;
      bool end = false;
      const char* const file = dwarf_linesrc(row, nullptr, nullptr);
      if (file == nullptr || dwarf_lineaddr(row, &address) != 0 || dwarf_lineno(row, &number) != 0 ||
          dwarf_linebeginstatement(row, &statement) != 0 || dwarf_lineendsequence(row, &end) != 0) {
        continue;
      }
      if (statement && !end && number != 0) visit(ImageAddress{address + bias - bias_}, file, number);
    }
  }
}

/// Where the function of an inlined_subroutine was called.
SourceLine call_site_of(Dwarf_Die* die, Dwarf_Die* unit) {
  SourceLine site;
  Dwarf_Attribute attribute;
  Dwarf_Word number = 0;
  if (dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attribute), &number) == 0) site.line = static_cast<int>(number);
  Dwarf_Files* files = nullptr;
  std::size_t count = 0;
  if (dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attribute), &number) == 0 &&
      dwarf_getsrcfiles(unit, &files, &count) == 0 && number < count) {
    if (const char* file = dwarf_filesrc(files, number, nullptr, nullptr)) site.file = file;
  }
  return site;
}

std::string OpenImage::name_of(Dwarf_Die* die) const {
  Dwarf_Attribute attribute;
  for (const unsigned name : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
    if (dwarf_attr_integrate(die, name, &attribute) == nullptr) continue;
    if (const char* text = dwarf_formstring(&attribute)) return names_ == Names::Demangled ? demangle(text) : text;
  }
  const char* plain = dwarf_diename(die);
  return plain != nullptr ? plain : "";
}

std::vector<InlineFrame> OpenImage::inlines_of(ImageAddress address) {
  Dwarf_Addr bias = 0;
  Dwarf_Die* unit = unit_of(address, bias);
  if (unit == nullptr) return {};
  // Split DWARF: the unit in the file is a skeleton, and the functions are in another file (-gsplit-dwarf).
  Dwarf_Die split{};
  std::uint8_t kind = 0;
  if (dwarf_cu_info(unit->cu, nullptr, &kind, nullptr, &split, nullptr, nullptr, nullptr) == 0 &&
      kind == DW_UT_skeleton) {
    if (split.addr == nullptr) {
      Dwarf_Attribute attribute;
      const char* name = dwarf_formstring(dwarf_attr(unit, DW_AT_dwo_name, &attribute));
      if (name == nullptr) name = dwarf_formstring(dwarf_attr(unit, DW_AT_GNU_dwo_name, &attribute));
      missing_split_ = name != nullptr ? name : "?";
      return {};
    }
    unit = &split;
  }
  std::vector<InlineFrame> frames;
  SourceLine at = line_of(address).value_or(SourceLine{});
  for (Dwarf_Die& scope : inline_scopes_.at(unit, value(address) + bias_ - bias)) {
    frames.push_back({name_of(&scope), at});
    at = call_site_of(&scope, unit);
  }
  if (frames.size() < 2) frames.clear();
  return frames;
}

std::optional<ImageAddress> OpenImage::image_address_of(FileOffset offset) const {
  constexpr std::uint64_t page = 4096;
  for (const GElf_Phdr& segment : segments_) {
    // Mapping is by whole pages: what shares the segment's first or last page is mapped with it.
    const std::uint64_t first = segment.p_offset & ~(page - 1);
    const std::uint64_t end = (segment.p_offset + segment.p_filesz + page - 1) & ~(page - 1);
    if (segment.p_filesz == 0 || value(offset) < first || value(offset) >= end) continue;
    return ImageAddress{value(offset) - segment.p_offset + segment.p_vaddr};
  }
  return std::nullopt;
}

std::optional<FileOffset> OpenImage::file_offset_of(ImageAddress address) const {
  const GElf_Phdr* segment = segment_at(address);
  if (segment == nullptr) return std::nullopt;
  return FileOffset{value(address) - segment->p_vaddr + segment->p_offset};
}

Bytes OpenImage::code(ImageAddress start, std::size_t size) const {
  const GElf_Phdr* segment = segment_at(start);
  if (segment == nullptr) return {};
  const std::uint64_t into = value(start) - segment->p_vaddr;
  const std::uint64_t offset = segment->p_offset + into;
  if (into >= segment->p_filesz || offset >= raw_.size()) return {};
  const std::uint64_t available = std::min<std::uint64_t>(segment->p_filesz - into, raw_.size() - offset);
  return raw_.subspan(offset, std::min<std::uint64_t>(size, available));
}

std::optional<std::uint64_t> OpenImage::thread_offset(std::int64_t from_thread_pointer) const {
  const std::uint64_t before = 0 - static_cast<std::uint64_t>(from_thread_pointer);
  if (before == 0 || before > thread_bytes_) return std::nullopt;
  return thread_bytes_ - before;
}

std::string OpenImage::section_of(ImageAddress address) const {
  std::string found;
  each_section(elf_, [&](std::string_view name, const GElf_Shdr& header, Elf_Scn*) {
    const bool holds = value(address) >= header.sh_addr && value(address) - header.sh_addr < header.sh_size;
    if (found.empty() && holds && (header.sh_flags & SHF_ALLOC) != 0) found = name;
  });
  return found;
}

}  // namespace

std::unique_ptr<ElfImage> ElfImage::open(const std::string& path, std::string& problem, Names names,
                                         const std::string& symfs) {
  problem.clear();
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) {
    if (errno != ENOENT) problem = fmt::format("{}: cannot open: {}", path, std::strerror(errno));
    return nullptr;
  }
  struct stat status {};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(fd);
    return nullptr;
  }
  auto image = OpenImage::from_file(fd, path, problem);
  if (image) image->choose(names, symfs);
  return image;
}

std::unique_ptr<ElfImage> ElfImage::open_vdso() {
  const auto* start = reinterpret_cast<const std::byte*>(getauxval(AT_SYSINFO_EHDR));
  if (start == nullptr) return nullptr;
  // The image is whole pages, the section headers last.
  Elf64_Ehdr header;
  std::memcpy(&header, start, sizeof header);
  const std::size_t size = header.e_shoff + std::size_t{header.e_shnum} * header.e_shentsize;
  const int fd = memfd_create("vdso", MFD_CLOEXEC);
  std::string problem;
  if (fd < 0) return nullptr;
  if (size > (1u << 20) || ::write(fd, start, size) != static_cast<ssize_t>(size)) {
    ::close(fd);
    return nullptr;
  }
  return OpenImage::from_file(fd, "[vdso]", problem);
}

}  // namespace zs::profile
