// From an address in a process to what a person calls it: image, symbol, source line, inlined functions. Keeps every
// image it opened and every line it looked up, so asking twice is cheap; what it returns stays valid as long as it.
//
// Code of the kernel has the names of kallsyms, if that is of the kernel that was recorded (kernel_symbols.h).
// An image whose build-id differs from the recorded one is not used: a wrong name is worse than none. The file of the
// recorded build-id is then looked for in perf's cache (~/.debug/.build-id, or below symfs).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profile/perf_data/address_space.h"
#include "profile/perf_data/addresses.h"
#include "profile/symbols/elf_image.h"
#include "profile/symbols/jit_map.h"
#include "profile/symbols/symbol_table.h"

namespace zs::profile {

/// A "dynamic shared object", as perf calls whatever code comes from.
struct Dso {
  std::string path;        // "/usr/bin/gzip", "[vdso]", "/tmp/perf-100.map" for code of a just-in-time compiler
  std::string short_name;  // "gzip", "[vdso]", "[JIT] tid 100", "[kernel.kallsyms]"
  std::unique_ptr<ElfImage> image;  // nullptr: not an ELF file, or not found, or another build
  SymbolTable jit_symbols;
  bool is_jit = false;
  const SymbolTable* kernel_symbols = nullptr;  // of a kernel's image, all of them: by linear address
  std::uint32_t number = 0;                     // in order of appearance

  const SymbolTable& symbols() const {
    if (kernel_symbols != nullptr) return *kernel_symbols;
    return image ? image->symbols() : jit_symbols;
  }

  // What was asked before.
  std::unordered_map<std::uint64_t, std::optional<SourceLine>> lines;
  std::unordered_map<std::uint64_t, std::vector<InlineFrame>> inlines;
};

/// What is known of one address.
struct Location {
  std::uint64_t address = 0;  // as sampled
  std::uint64_t mapped = 0;   // as perf prints it in call chains: file offset, or `address` where no file is
  ImageAddress image_address{};
  Dso* dso = nullptr;              // nullptr: nothing is mapped there
  const Symbol* symbol = nullptr;  // nullptr: no symbol covers it
  char level = '.';  // perf's letter: '.' user, 'k' kernel, 'g' guest kernel, 'u' guest user, 'H' hypervisor

  std::uint64_t offset_in_symbol() const { return symbol != nullptr ? image_address - symbol->start : 0; }
};

class PerfDataReader;

class Symbolizer {
 public:
  /// symfs  as perf's option: files are looked for below this directory, as if it were the root; "": where they were
  explicit Symbolizer(Names names = Names::Demangled, std::string symfs = "")
      : names_(names), symfs_(std::move(symfs)) {}

  /// Build-ids of files whose mappings carry none (the BUILD_ID feature), by path.
  void expect(const std::string& path, const BuildId& id) { expected_[path] = id; }
  /// All that a recording says of that, which kernel it is of, and how its compiled code is named.
  void expect(const PerfDataReader& recording);

  Location locate(const AddressSpaces& spaces, std::int32_t pid, std::uint64_t address, std::uint16_t cpumode = 2);

  const std::optional<SourceLine>& line_of(const Location& location);
  /// Innermost first; empty where nothing is inlined.
  const std::vector<InlineFrame>& inlines_of(const Location& location);
  /// "ledger.cc:88"; without line information "ledger[1f30]", or the address if nothing is mapped.
  std::string short_line(const Location& location);

  /// Why symbols are missing, one line each: files of another build, files that cannot be read.
  const std::vector<std::string>& remarks() const { return remarks_; }
  const std::vector<std::unique_ptr<Dso>>& dsos() const { return dsos_; }

  /// The Dso of an image, which is opened now if it was not before.
  Dso* dso_of(const Image& image);

 private:
  std::unique_ptr<ElfImage> open_image(const Image& image);
  std::string jit_map_of(std::int32_t pid);
  Dso* kernel_dso_of(const Mapping& mapping, const AddressSpaces& spaces);
  const SymbolTable* kernel_symbols(const Mapping& mapping, const AddressSpaces& spaces);

  std::unordered_map<const Image*, Dso*> dso_of_image_;
  std::unordered_map<std::string, Dso*> dso_by_key_;
  std::vector<std::unique_ptr<Dso>> dsos_;
  std::unordered_map<std::string, BuildId> expected_;
  Names names_;
  std::string symfs_;
  std::vector<std::string> remarks_;
  std::unordered_map<std::int32_t, std::string> jit_maps_;  // that the recording has, by process
  bool has_all_jit_maps_ = false;
  JitMapTimes jit_times_;
  std::string kernel_release_;
  std::optional<SymbolTable> kernel_symbols_;
};

std::string base_name(const std::string& path);

}  // namespace zs::profile
