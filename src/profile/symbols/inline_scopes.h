// Which inlined functions an address lies in. libdw's dwarf_getscopes() walks the whole compilation unit for each
// address that it is asked for; this walks a unit once for its functions, and a function once, the first time one of
// its addresses is asked for. (python3 with debug information, 20,000 addresses of call chains: 25 s before, below 1
// s.)
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

namespace zs::profile::dwarf {

class InlineScopes {
 public:
  /// The entries that are inlined into each other at `address`, innermost first: DW_TAG_inlined_subroutine each, then
  /// the DW_TAG_subprogram whose code it is. Empty where no function has the address.
  /// unit: of split DWARF the one in the other file; it has to live as long as this
  std::vector<Dwarf_Die> at(Dwarf_Die* unit, Dwarf_Addr address);

 private:
  struct CodeOf {
    Dwarf_Addr start, end;
    std::size_t function;  // in functions_
  };
  struct Scope {
    Dwarf_Die die;
    std::size_t parent;  // in scopes_; its own number: none
  };
  struct Function {
    Dwarf_Die die;
    bool walked = false;
    std::map<Dwarf_Addr, std::size_t> scope_from;  // from each address on: of scopes_, or kNone
  };
  struct UnitCode {
    std::vector<CodeOf> pieces;  // by start
    bool nested = false;         // those of functions within functions (of GNU C, Ada) are among them
  };

  static constexpr std::size_t kNone = SIZE_MAX;

  Function* function_at(Dwarf_Die* unit, Dwarf_Addr address);
  void add_functions(Dwarf_Die* unit, UnitCode& code);
  template <typename Enters>
  void add_functions(Dwarf_Die* parent, UnitCode& code, int depth, Enters enters);
  void walk(Function& function);
  void add_scopes(Function& function, Dwarf_Die* die, std::size_t parent, int depth);
  static void cover(Function& function, Dwarf_Die* die, std::size_t scope);

  std::unordered_map<const void*, UnitCode> units_;  // by where the unit's entry lies
  std::vector<Function> functions_;
  std::vector<Scope> scopes_;
};

}  // namespace zs::profile::dwarf
