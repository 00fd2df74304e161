#include "profile/types/type_table.h"

namespace zs::profile {
namespace {

constexpr const char* kAnonymous = "(anonymous)";

/// A struct without a name has that of the typedef next to it.
std::string declared_name(Dwarf_Die die, Dwarf_Die bare) {
  std::string name = dwarf::text_of(bare);
  if (!name.ends_with(kAnonymous)) return name;
  std::optional<Dwarf_Die> at = die;
  for (int depth = 0; depth < dwarf::kDeepest && at && at->addr != bare.addr; ++depth) {
    const char* const alias = dwarf_tag(&*at) == DW_TAG_typedef ? dwarf_diename(&*at) : nullptr;
    if (alias != nullptr) name = alias;
    at = dwarf::type_of(&*at);
  }
  return name;
}

}  // namespace

TypeTable::Type TypeTable::number_of(const Dwarf_Die& die) {
  if (const auto known = numbers_.find(die.addr); known != numbers_.end()) return known->second;
  const auto bare = dwarf::peeled(die);
  const std::uint64_t size = bare ? dwarf::bytes_of(*bare) : 0;
  Type& number = numbers_[die.addr];
  if (size == 0) return number = 0;
  Dwarf_Die type = *bare;
  std::string name = declared_name(die, type);
  Type& declared = name.find(kAnonymous) != std::string::npos
                       ? numbers_[type.addr]
                       : declared_[{dwarf_tag(&type), name, size, dwarf::number(&type, DW_AT_decl_line).value_or(0)}];
  if (declared == 0) {
    types_.push_back(type);
    names_.push_back(std::move(name));
    declared = static_cast<Type>(types_.size());
  }
  return numbers_[die.addr] = declared;
}

TypeTable::Type TypeTable::pointee_of(const Dwarf_Die& type, std::uint64_t offset) {
  std::optional<Dwarf_Die> innermost = type;
  dwarf::each_step(type, offset, [&](Dwarf_Die, const dwarf::Step& step, std::uint64_t left) {
    innermost = step.type;
    offset = left;
    return true;
  });
  auto bare = innermost ? dwarf::peeled(*innermost) : std::nullopt;
  if (!bare || offset != 0 || !dwarf::is_pointer(dwarf_tag(&*bare))) return 0;
  const auto to = dwarf::type_of(&*bare);
  return to ? number_of(*to) : 0;
}

}  // namespace zs::profile
