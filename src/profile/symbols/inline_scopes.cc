#include "profile/symbols/inline_scopes.h"

#include <dwarf.h>

#include <algorithm>
#include <iterator>

#include "profile/symbols/dwarf_dies.h"

namespace zs::profile::dwarf {
namespace {

bool holds_functions(int tag) { return tag == DW_TAG_namespace || tag == DW_TAG_module || is_struct(tag); }
bool is_block(int tag) { return tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block; }

}  // namespace

std::vector<Dwarf_Die> InlineScopes::at(Dwarf_Die* unit, Dwarf_Addr address) {
  Function* const function = function_at(unit, address);
  if (function == nullptr) return {};
  walk(*function);
  const auto next = function->scope_from.upper_bound(address);
  std::size_t scope = next == function->scope_from.begin() ? kNone : std::prev(next)->second;
  if (scope == kNone) return {};
  std::vector<Dwarf_Die> found{scopes_[scope].die};
  while (scopes_[scope].parent != scope) {
    scope = scopes_[scope].parent;
    found.push_back(scopes_[scope].die);
  }
  return found;
}

// Functions within functions are looked for when an address is in no other: they are few, and a walk through all that
// functions hold takes long.
InlineScopes::Function* InlineScopes::function_at(Dwarf_Die* unit, Dwarf_Addr address) {
  const auto [found, is_new] = units_.try_emplace(unit->addr);
  UnitCode& code = found->second;
  if (is_new) add_functions(unit, code);
  for (;;) {
    const auto behind = std::ranges::upper_bound(code.pieces, address, {}, &CodeOf::start);
    if (behind != code.pieces.begin() && address < std::prev(behind)->end) {
      return &functions_[std::prev(behind)->function];
    }
    if (code.nested) return nullptr;
    code.nested = true;
    add_functions(unit, code);
  }
}

void InlineScopes::add_functions(Dwarf_Die* unit, UnitCode& code) {
  code.pieces.clear();
  if (code.nested) {
    add_functions(unit, code, 0,
                  [](int tag) { return holds_functions(tag) || tag == DW_TAG_subprogram || is_block(tag); });
  } else {
    add_functions(unit, code, 0, holds_functions);
  }
  // Of two functions with the same code (folded by the linker) the first.
  std::ranges::stable_sort(code.pieces, {}, &CodeOf::start);
  const auto starts_with = [](const CodeOf& a, const CodeOf& b) { return a.start == b.start; };
  code.pieces.erase(std::unique(code.pieces.begin(), code.pieces.end(), starts_with), code.pieces.end());
}

template <typename Enters>
void InlineScopes::add_functions(Dwarf_Die* parent, UnitCode& code, int depth, Enters enters) {
  if (depth == kDeepest) return;
  each_child(parent, [&](Dwarf_Die* die) {
    const int tag = dwarf_tag(die);
    if (tag == DW_TAG_subprogram) {
      const std::size_t before = code.pieces.size();
      each_range(die, [&](Dwarf_Addr start, Dwarf_Addr end) {
        code.pieces.push_back({start, end, functions_.size()});
      });
      if (code.pieces.size() != before) functions_.push_back({*die, false, {}});
    }
    if (enters(tag)) add_functions(die, code, depth + 1, enters);
  });
}

void InlineScopes::walk(Function& function) {
  if (function.walked) return;
  function.walked = true;
  const std::size_t scope = scopes_.size();
  scopes_.push_back({function.die, scope});
  cover(function, &function.die, scope);
  add_scopes(function, &function.die, scope, 0);
}

void InlineScopes::add_scopes(Function& function, Dwarf_Die* die, std::size_t parent, int depth) {
  if (depth == kDeepest) return;
  each_child(die, [&](Dwarf_Die* child) {
    const int tag = dwarf_tag(child);
    std::size_t scope = parent;
    if (tag == DW_TAG_inlined_subroutine) {
      scope = scopes_.size();
      scopes_.push_back({*child, parent});
      cover(function, child, scope);
    } else if (!is_block(tag)) {
      return;
    }
    add_scopes(function, child, scope, depth + 1);
  });
}

/// What `die` has of the function's code is `scope`'s from now on: an entry comes before those within it.
void InlineScopes::cover(Function& function, Dwarf_Die* die, std::size_t scope) {
  std::map<Dwarf_Addr, std::size_t>& map = function.scope_from;
  each_range(die, [&](Dwarf_Addr start, Dwarf_Addr end) {
    const auto behind = map.upper_bound(end);
    const std::size_t goes_on = behind == map.begin() ? kNone : std::prev(behind)->second;
    map.erase(map.lower_bound(start), behind);
    map[start] = scope;
    map[end] = goes_on;
  });
}

}  // namespace zs::profile::dwarf
