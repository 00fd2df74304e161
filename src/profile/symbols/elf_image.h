// One ELF file, as far as reports need it: symbols, source lines, inlined functions, code bytes. Everything comes from
// libdw, which also finds what was split off: a separate debug file by build-id or .gnu_debuglink (/usr/lib/debug),
// its dwz supplement, the mini symbol table of .gnu_debugdata, files of split DWARF (.dwo). A stripped file gives its
// dynamic symbols, and PLT entries the names of what they jump to ("memcpy@plt").
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "profile/perf_data/addresses.h"
#include "profile/perf_data/records.h"
#include "profile/symbols/symbol_table.h"

struct Dwfl_Module;

namespace zs::profile {

struct SourceLine {
  std::string file;  // as the compiler wrote it, absolute where its directory is known
  int line = 0;
  bool operator==(const SourceLine&) const = default;
};

/// One level at an address where functions were inlined: the function's name, and its line at that address.
struct InlineFrame {
  std::string function;
  SourceLine at;
};

class ElfImage {
 public:
  /// The file at `path`.
  /// symfs    a directory that separate debug files are looked for below, too; "": none
  /// returns  nullptr, and says in `problem` why ("": there is no such file)
  static std::unique_ptr<ElfImage> open(const std::string& path, std::string& problem, Names names = Names::Demangled,
                                        const std::string& symfs = "");
  /// The vdso of the running kernel, or nullptr.
  static std::unique_ptr<ElfImage> open_vdso();
  virtual ~ElfImage() = default;

  virtual const std::string& path() const = 0;
  virtual const std::optional<BuildId>& build_id() const = 0;

  /// Through the segment that holds it; nothing where no segment does.
  virtual std::optional<ImageAddress> image_address_of(FileOffset offset) const = 0;
  virtual std::optional<FileOffset> file_offset_of(ImageAddress address) const = 0;

  virtual const SymbolTable& symbols() = 0;  // read at the first call
  virtual std::optional<SourceLine> line_of(ImageAddress address) = 0;
  /// Every row of the line tables that begins a statement: where its code starts, and its file and line as the compiler
  /// wrote them. In the tables' order.
  using LineVisitor = std::function<void(ImageAddress start, std::string_view file, int line)>;
  virtual void each_line(const LineVisitor& visit) = 0;
  /// Innermost first, the function that was compiled as such last; empty where nothing is inlined.
  virtual std::vector<InlineFrame> inlines_of(ImageAddress address) = 0;
  /// For who reads more of its debug information: libdw's module, whose addresses are image addresses plus `bias`. It
  /// lives as long as this.
  struct DebugModule {
    Dwfl_Module* module = nullptr;
    std::uint64_t bias = 0;
  };
  virtual DebugModule debug_module() = 0;
  /// Likewise: libdw's compilation unit (a Dwarf_Die) of an address, or null. bias: what addresses in the unit are less
  /// than the module's
  virtual void* debug_unit(ImageAddress address, std::uint64_t& bias) = 0;
  /// A file of split DWARF that inlines_of() wanted and did not find; "" if there is none.
  virtual const std::string& missing_split() const = 0;
  /// The bytes from `start` on, `size` of them or as many as the segment has in the file.
  virtual Bytes code(ImageAddress start, std::size_t size) const = 0;
  /// Of an executable, whose block of each thread's variables ends where the thread pointer points to: how far into the
  /// block that is; nothing of other files, of which only the dynamic linker knows where their blocks are.
  virtual std::optional<std::uint64_t> thread_offset(std::int64_t from_thread_pointer) const = 0;
  /// Name of the section that holds `address`; "" if none does.
  virtual std::string section_of(ImageAddress address) const = 0;
};

}  // namespace zs::profile
