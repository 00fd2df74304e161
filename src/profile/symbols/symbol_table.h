// The symbols of one image, sorted, each address owned by at most one of them.
// Where several stand at one address the choice is perf's, so that both tools name the same function: one with a size
// before one without, strong before weak, global before local, fewer leading underscores, the longer name.
// A symbol without a size reaches to the next one. Functions of a stripped file are known from other tables of it, some
// without a name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profile/perf_data/addresses.h"
#include "profile/symbols/demangle.h"

namespace zs::profile {

struct Symbol {
  enum class Binding : std::uint8_t { Local, Weak, Global };
  ImageAddress start{}, end{};
  std::string linkage_name;
  Binding binding = Binding::Global;
  bool code = true;

  /// What a person reads. Demangled at the first call, unless the table's names stay as linked.
  const std::string& name() const;
  std::uint64_t size() const { return end - start; }
  /// The function that this is a part of, as it is linked: "split" for "split.cold", "split.cold.3", which compilers
  /// put elsewhere and jump to. Clones (.part, .constprop) are functions of their own.
  std::string_view whole_function() const;
  bool is_split_off() const { return whole_function().size() != linkage_name.size(); }

 private:
  friend class SymbolTable;
  mutable std::string name_;
};

class SymbolTable {
 public:
  explicit SymbolTable(Names names = Names::Demangled) : names_(names) {}

  /// `size` 0: unknown.
  void add(ImageAddress start, std::uint64_t size, std::string linkage_name, Symbol::Binding binding, bool code);
  /// A function that may have no symbol; it is there where none of add() holds its start. Without a name it is called
  /// "func@0x4e26d0", after its start.
  void add_without_symbol(ImageAddress start, std::uint64_t size, std::string name = {});
  /// After the last add(). `limit`: where a last symbol without size ends.
  void finish(ImageAddress limit);

  /// The symbol that holds `address`, or nullptr. Stays valid with the table.
  const Symbol* find(ImageAddress address) const;
  const std::vector<Symbol>& symbols() const { return symbols_; }

 private:
  struct WithoutSymbol {
    ImageAddress start{};
    std::uint64_t size = 0;
    std::string name;  // "": there is none
  };

  void sort();
  void take_without_symbol();

  Names names_;
  std::vector<Symbol> symbols_;                // by start
  std::vector<WithoutSymbol> without_symbol_;  // until finish()
};

}  // namespace zs::profile
