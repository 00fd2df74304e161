// The types of an image by number. One type is declared anew in each unit that uses it: declarations of the same name,
// size and line are one here.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "profile/symbols/dwarf_dies.h"
#include "profile/types/data_types.h"

namespace zs::profile {

class TypeTable {
 public:
  using Type = DataTypes::Type;

  /// 0: it has no size, as void has none.
  Type number_of(const Dwarf_Die& die);
  /// What a value of the type points to, if it is a pointer or holds nothing else, as an iterator does; else 0.
  Type pointee_of(const Dwarf_Die& type, std::uint64_t offset = 0);
  const std::string& name_of(Type type) const { return names_[type - 1]; }
  /// Null: there is no such type.
  Dwarf_Die* die(Type type) { return type == 0 || type > types_.size() ? nullptr : &types_[type - 1]; }

 private:
  std::vector<Dwarf_Die> types_;
  std::vector<std::string> names_;           // of each
  std::unordered_map<void*, Type> numbers_;  // by where they lie in the debug information
  using Declaration = std::tuple<int, std::string, std::uint64_t, std::uint64_t>;  // tag, name, size, line
  std::map<Declaration, Type> declared_;
};

}  // namespace zs::profile
