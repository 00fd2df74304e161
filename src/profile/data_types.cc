#include "profile/data_types.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>

namespace zs::profile {
namespace {

/// Debug information may be damaged, or refer to itself.
constexpr int kDeepest = 64;

std::optional<std::uint64_t> number(Dwarf_Die* die, unsigned attribute) {
  Dwarf_Attribute found;
  Dwarf_Word value = 0;
  if (dwarf_attr_integrate(die, attribute, &found) == nullptr || dwarf_formudata(&found, &value) != 0)
    return std::nullopt;
  return value;
}

std::optional<Dwarf_Die> type_of(Dwarf_Die* die) {
  Dwarf_Attribute found;
  Dwarf_Die type;
  if (dwarf_attr_integrate(die, DW_AT_type, &found) == nullptr || dwarf_formref_die(&found, &type) == nullptr)
    return std::nullopt;
  return type;
}

/// Without typedefs and qualifiers. Nothing: void, or damaged
std::optional<Dwarf_Die> peeled(Dwarf_Die die) {
  for (int depth = 0; depth < kDeepest; ++depth) {
    switch (dwarf_tag(&die)) {
      case DW_TAG_typedef:
      case DW_TAG_const_type:
      case DW_TAG_volatile_type:
      case DW_TAG_restrict_type:
      case DW_TAG_atomic_type:
      case DW_TAG_immutable_type: {
        const auto next = type_of(&die);
        if (!next) return std::nullopt;
        die = *next;
        break;
      }
      default: return die;
    }
  }
  return std::nullopt;
}

template <typename Take>
void each_child(Dwarf_Die* die, Take take) {
  Dwarf_Die child;
  if (dwarf_child(die, &child) != 0) return;
  do {
    take(&child);
  } while (dwarf_siblingof(&child, &child) == 0);
}

/// Elements in each dimension, outermost first; 0 where that is not said.
std::vector<std::uint64_t> dimensions(Dwarf_Die* array) {
  std::vector<std::uint64_t> all;
  each_child(array, [&](Dwarf_Die* child) {
    if (dwarf_tag(child) != DW_TAG_subrange_type) return;
    if (const auto count = number(child, DW_AT_count)) {
      all.push_back(*count);
    } else if (const auto last = number(child, DW_AT_upper_bound)) {
      all.push_back(*last + 1);
    } else {
      all.push_back(0);
    }
  });
  return all;
}

std::uint64_t bytes_of(Dwarf_Die die) {
  const auto bare = peeled(die);
  if (!bare) return 0;
  Dwarf_Die type = *bare;
  Dwarf_Word size = 0;
  return dwarf_aggregate_size(&type, &size) == 0 ? size : 0;
}

bool is_struct(int tag) { return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type; }

std::string text_of(Dwarf_Die die, int depth = 0) {
  if (depth == kDeepest) return "?";
  const int tag = dwarf_tag(&die);
  const char* const name = dwarf_diename(&die);
  const auto inner = [&] {
    const auto type = type_of(&die);
    return type ? text_of(*type, depth + 1) : std::string("void");
  };
  switch (tag) {
    case DW_TAG_const_type:
    case DW_TAG_volatile_type:
    case DW_TAG_restrict_type:
    case DW_TAG_atomic_type: return inner();
    case DW_TAG_pointer_type: return inner() + "*";
    case DW_TAG_reference_type: return inner() + "&";
    case DW_TAG_rvalue_reference_type: return inner() + "&&";
    case DW_TAG_array_type: {
      std::string text = inner();
      for (const std::uint64_t count : dimensions(&die)) text += fmt::format("[{}]", count);
      return text;
    }
    case DW_TAG_structure_type: return fmt::format("struct {}", name != nullptr ? name : "(anonymous)");
    case DW_TAG_union_type: return fmt::format("union {}", name != nullptr ? name : "(anonymous)");
    case DW_TAG_enumeration_type: return fmt::format("enum {}", name != nullptr ? name : "(anonymous)");
    case DW_TAG_subroutine_type: return "function";
    default: return name != nullptr ? name : "?";
  }
}

struct Placed {
  Dwarf_Die die;
  std::uint64_t offset = 0, size = 0;
};

/// Members and bases of a struct that lie at a place that is known beforehand.
std::vector<Placed> members(Dwarf_Die* type) {
  std::vector<Placed> all;
  each_child(type, [&](Dwarf_Die* child) {
    const int tag = dwarf_tag(child);
    if (tag != DW_TAG_member && tag != DW_TAG_inheritance) return;
    const auto of = type_of(child);
    if (!of) return;
    Placed placed{.die = *child, .size = bytes_of(*of)};
    if (const auto bit = number(child, DW_AT_data_bit_offset)) {
      placed.offset = *bit / 8;
      placed.size = (*bit % 8 + number(child, DW_AT_bit_size).value_or(8) + 7) / 8;
    } else if (const auto place = number(child, DW_AT_data_member_location)) {
      placed.offset = *place;
    } else if (dwarf_tag(type) != DW_TAG_union_type) {
      return;  // a static member, or a virtual base
    }
    all.push_back(placed);
  });
  return all;
}

/// One step inwards: the part of a value of `type` that holds `offset`. returns its type, or nothing where that is all
std::optional<Dwarf_Die> step_in(Dwarf_Die type, std::uint64_t& offset, Member& member) {
  const auto enter = [&](const std::string& name, std::uint64_t at, std::uint64_t size) {
    member.path += name;
    member.offset += at;
    member.size = size;
    offset -= at;
  };
  if (dwarf_tag(&type) == DW_TAG_array_type) {
    const auto element = type_of(&type);
    const std::uint64_t size = element ? bytes_of(*element) : 0;
    if (size == 0) return std::nullopt;
    std::uint64_t index = offset / size;
    const std::uint64_t at = index * size;
    std::string name;
    std::vector<std::uint64_t> counts = dimensions(&type);
    for (std::size_t i = counts.size(); i-- > 1;) {
      if (counts[i] == 0) return std::nullopt;
      name.insert(0, fmt::format("[{}]", index % counts[i]));
      index /= counts[i];
    }
    enter(fmt::format("[{}]", index) + name, at, size);
    return element;
  }
  if (!is_struct(dwarf_tag(&type))) return std::nullopt;
  std::vector<Placed> all = members(&type);
  std::erase_if(all, [&](const Placed& one) { return offset < one.offset || offset - one.offset >= one.size; });
  if (all.size() != 1) {
    if (!all.empty() || dwarf_tag(&type) == DW_TAG_union_type) return std::nullopt;
    enter(".(padding)", offset, 1);
    return std::nullopt;
  }
  Placed& found = all.front();
  const char* const name = dwarf_diename(&found.die);
  const bool is_base = dwarf_tag(&found.die) == DW_TAG_inheritance;
  enter(name == nullptr || is_base ? "" : fmt::format(".{}", name), found.offset, found.size);
  return type_of(&found.die);
}

/// No address.
constexpr Dwarf_Addr kNowhere = ~Dwarf_Addr{0};

/// Where a variable lies whose address does not change; kNowhere: elsewhere.
Dwarf_Addr fixed_address(Dwarf_Die* variable) {
  Dwarf_Attribute location;
  Dwarf_Op* operations = nullptr;
  std::size_t count = 0;
  if (dwarf_attr(variable, DW_AT_location, &location) == nullptr ||
      dwarf_getlocation(&location, &operations, &count) != 0 || count != 1)
    return kNowhere;
  if (operations[0].atom == DW_OP_addr) return operations[0].number;
  if (operations[0].atom != DW_OP_addrx && operations[0].atom != DW_OP_GNU_addr_index) return kNowhere;
  Dwarf_Attribute indexed;
  Dwarf_Addr address = kNowhere;
  if (dwarf_getlocation_attr(&location, operations, &indexed) != 0 || dwarf_formaddr(&indexed, &address) != 0)
    return kNowhere;
  return address;
}

bool is_pointer(int tag) {
  return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type;
}

/// Whether a variable or parameter lies in that register at the address.
bool is_in_register(Dwarf_Die* die, Dwarf_Addr address, unsigned dwarf_register) {
  const int tag = dwarf_tag(die);
  if (tag != DW_TAG_formal_parameter && tag != DW_TAG_variable) return false;
  Dwarf_Attribute location;
  Dwarf_Op* operations = nullptr;
  std::size_t count = 0;
  if (dwarf_attr(die, DW_AT_location, &location) == nullptr ||
      dwarf_getlocation_addr(&location, address, &operations, &count, 1) != 1 || count != 1)
    return false;
  return operations[0].atom == DW_OP_regx ? operations[0].number == dwarf_register
                                          : operations[0].atom == DW_OP_reg0 + dwarf_register;
}

/// DWARF's numbers of the general registers, by the numbers that instructions have for them.
/// source: System V ABI, AMD64 supplement, "DWARF Register Number Mapping".
constexpr unsigned kDwarfRegisters[] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};

}  // namespace

class DataTypes::Impl {
 public:
  explicit Impl(ElfImage& image) : image_(image), debug_(image.debug_module()) {}

  Type pointee_at(ImageAddress pc, unsigned dwarf_register) {
    std::uint64_t bias = 0;
    auto* const unit = static_cast<Dwarf_Die*>(image_.debug_unit(pc, bias));
    if (unit == nullptr) return 0;
    const Dwarf_Addr address = value(pc) + debug_.bias - bias;
    Dwarf_Die* scopes = nullptr;
    const int count = dwarf_getscopes(unit, address, &scopes);
    Type found = 0;
    for (int i = 0; i < count && found == 0; ++i) {
      each_child(&scopes[i], [&](Dwarf_Die* child) {
        if (found != 0 || !is_in_register(child, address, dwarf_register)) return;
        const auto type = type_of(child);
        auto pointer = type ? peeled(*type) : std::nullopt;
        if (!pointer || !is_pointer(dwarf_tag(&*pointer))) return;
        const auto pointee = type_of(&*pointer);
        if (pointee && bytes_of(*pointee) != 0) found = intern(*pointee);
      });
    }
    std::free(scopes);
    return found;
  }

  const Variable* variable_at(std::uint64_t address) {
    if (!read_) read_variables();
    auto at = std::ranges::upper_bound(variables_, address, {}, &Variable::start);
    if (at == variables_.begin()) return nullptr;
    --at;
    return address - at->start < at->size ? &*at : nullptr;
  }

  Dwarf_Die* die(Type type) { return type == 0 || type > types_.size() ? nullptr : &types_[type - 1]; }
  Type intern(const Dwarf_Die& die) {
    const auto [known, fresh] = numbers_.try_emplace(die.addr, static_cast<Type>(types_.size() + 1));
    if (fresh) types_.push_back(die);
    return known->second;
  }

 private:
  void read_variables() {
    read_ = true;
    Dwarf_Addr bias = 0;
    for (Dwarf_Die* unit = nullptr; (unit = dwfl_module_nextcu(debug_.module, unit, &bias)) != nullptr;) {
      Dwarf_Die whole = *unit;
      Dwarf_Die inner;
      if (dwarf_cu_info(unit->cu, nullptr, nullptr, nullptr, &inner, nullptr, nullptr, nullptr) == 0 &&
          inner.addr != nullptr)
        whole = inner;
      walk(&whole, bias, 0);
    }
    std::ranges::stable_sort(variables_, {}, &Variable::start);
  }

  void walk(Dwarf_Die* parent, Dwarf_Addr bias, int depth) {
    if (depth == kDeepest) return;
    each_child(parent, [&](Dwarf_Die* child) {
      switch (dwarf_tag(child)) {
        case DW_TAG_variable: add(child, bias); break;
        case DW_TAG_namespace:
        case DW_TAG_module:
        case DW_TAG_subprogram:
        case DW_TAG_lexical_block:
        case DW_TAG_structure_type:
        case DW_TAG_class_type: walk(child, bias, depth + 1); break;
        default: break;
      }
    });
  }

  void add(Dwarf_Die* variable, Dwarf_Addr bias) {
    const Dwarf_Addr address = fixed_address(variable);
    if (address == kNowhere || address == 0) return;
    const auto type = type_of(variable);
    const std::uint64_t size = type ? bytes_of(*type) : 0;
    if (size == 0) return;
    Dwarf_Attribute named;
    const char* const name = dwarf_formstring(dwarf_attr_integrate(variable, DW_AT_name, &named));
    variables_.push_back({.name = name != nullptr ? name : "(anonymous)",
                          .start = address + bias - debug_.bias,
                          .size = size,
                          .type = intern(*type)});
  }

  ElfImage& image_;
  ElfImage::DebugModule debug_;
  bool read_ = false;
  std::vector<Variable> variables_;  // by start
  std::vector<Dwarf_Die> types_;
  std::map<void*, Type> numbers_;  // by where they lie in the debug information
};

DataTypes::DataTypes(ElfImage& image) : impl_(std::make_unique<Impl>(image)) {}
DataTypes::~DataTypes() = default;

const DataTypes::Variable* DataTypes::variable_at(ImageAddress address) { return impl_->variable_at(value(address)); }

DataTypes::Type DataTypes::pointee_at(ImageAddress pc, unsigned general_register) {
  if (general_register >= std::size(kDwarfRegisters)) return 0;
  return impl_->pointee_at(pc, kDwarfRegisters[general_register]);
}

std::string DataTypes::name_of(Type type) {
  const Dwarf_Die* const die = impl_->die(type);
  return die == nullptr ? "unknown" : text_of(*die);
}

std::uint64_t DataTypes::size_of(Type type) {
  const Dwarf_Die* const die = impl_->die(type);
  return die == nullptr ? 0 : bytes_of(*die);
}

Member DataTypes::member_at(Type type, std::uint64_t offset) {
  Member member{.path = {}, .offset = 0, .size = size_of(type)};
  const Dwarf_Die* const die = impl_->die(type);
  std::optional<Dwarf_Die> at = die == nullptr ? std::nullopt : std::optional(*die);
  for (int depth = 0; depth < kDeepest && at; ++depth) {
    const auto bare = peeled(*at);
    if (!bare) break;
    at = step_in(*bare, offset, member);
  }
  return member;
}

}  // namespace zs::profile
