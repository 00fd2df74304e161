#include "profile/data_types.h"

#include <elfutils/libdwfl.h>
#include <fmt/format.h>

#include <algorithm>

#include "profile/dwarf_dies.h"
#include "profile/type_table.h"

namespace zs::profile {
namespace {

using dwarf::kDeepest;

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

std::uint64_t alignment_of(Dwarf_Die type, int depth = 0) {
  const auto bare = dwarf::peeled(type);
  if (!bare || depth == kDeepest) return 1;
  Dwarf_Die inner = *bare;
  const std::uint64_t said = dwarf::number(&inner, DW_AT_alignment).value_or(1);
  if (dwarf_tag(&inner) == DW_TAG_array_type) {
    const auto element = dwarf::type_of(&inner);
    return std::max(said, element ? alignment_of(*element, depth + 1) : 1);
  }
  if (dwarf::is_struct(dwarf_tag(&inner))) {
    std::uint64_t most = said;
    for (dwarf::Placed& member : dwarf::members(&inner)) {
      if (const auto of = dwarf::type_of(&member.die)) most = std::max(most, alignment_of(*of, depth + 1));
    }
    return most;
  }
  constexpr std::uint64_t kMost = 16;  // of long double
  return std::max(said, std::min(kMost, dwarf::bytes_of(inner)));
}

void add_fields(Dwarf_Die type, const std::string& path, std::uint64_t at, std::vector<DataTypes::Field>& fields,
                int levels) {
  if (levels == 0) return;
  for (dwarf::Placed& member : dwarf::members(&type)) {
    const auto of = dwarf::type_of(&member.die);
    const auto bare = of ? dwarf::peeled(*of) : std::nullopt;
    if (!bare) continue;
    const char* const name = dwarf_diename(&member.die);
    const bool is_base = dwarf_tag(&member.die) == DW_TAG_inheritance;
    const std::string whole = name == nullptr || is_base ? path : fmt::format("{}.{}", path, name);
    Dwarf_Die inner = *bare;
    const int tag = dwarf_tag(&inner);
    if (levels > 1 && dwarf::is_struct(tag) && tag != DW_TAG_union_type && !dwarf::members(&inner).empty()) {
      add_fields(inner, whole, at + member.offset, fields, levels - 1);
      continue;
    }
    std::uint64_t alignment = alignment_of(*of);
    if (const auto said = dwarf::number(&member.die, DW_AT_alignment)) alignment = std::max(alignment, *said);
    const auto bits = member.bits ? dwarf::number(&member.die, DW_AT_bit_size).value_or(0) : 0;
    fields.push_back({.name = whole,
                      .type = dwarf::text_of(*of),
                      .offset = at + member.offset,
                      .size = member.size,
                      .alignment = alignment,
                      .bits = member.bits ? fmt::format("{} bit{}", bits, bits == 1 ? "" : "s") : ""});
  }
}

}  // namespace

class DataTypes::Impl {
 public:
  explicit Impl(ElfImage& image) : image_(image), debug_(image.debug_module()) {}

  const Variable* variable_at(std::uint64_t address) {
    if (!read_) read_variables();
    auto at = std::ranges::upper_bound(variables_, address, {}, &Variable::start);
    if (at == variables_.begin()) return nullptr;
    --at;
    return address - at->start < at->size ? &*at : nullptr;
  }

  ElfImage& image_;
  TypeTable table_;

 private:
  void read_variables() {
    read_ = true;
    Dwarf_Addr bias = 0;
    for (Dwarf_Die* unit = nullptr; (unit = dwfl_module_nextcu(debug_.module, unit, &bias)) != nullptr;) {
      Dwarf_Die whole = dwarf::whole_unit(unit);
      walk(&whole, bias, 0);
    }
    std::ranges::stable_sort(variables_, {}, &Variable::start);
  }

  void walk(Dwarf_Die* parent, Dwarf_Addr bias, int depth) {
    if (depth == kDeepest) return;
    dwarf::each_child(parent, [&](Dwarf_Die* child) {
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
    const auto type = dwarf::type_of(variable);
    const std::uint64_t size = type ? dwarf::bytes_of(*type) : 0;
    if (size == 0) return;
    variables_.push_back({.name = dwarf::name_of(variable),
                          .start = address + bias - debug_.bias,
                          .size = size,
                          .type = table_.number_of(*type)});
  }

  ElfImage::DebugModule debug_;
  bool read_ = false;
  std::vector<Variable> variables_;  // by start
};

DataTypes::DataTypes(ElfImage& image) : impl_(std::make_unique<Impl>(image)) {}
DataTypes::~DataTypes() = default;

ElfImage& DataTypes::image() { return impl_->image_; }
TypeTable& DataTypes::table() { return impl_->table_; }

const DataTypes::Variable* DataTypes::variable_at(ImageAddress address) { return impl_->variable_at(value(address)); }

std::string DataTypes::name_of(Type type) { return table().die(type) == nullptr ? "unknown" : table().name_of(type); }

std::uint64_t DataTypes::size_of(Type type) {
  const Dwarf_Die* const die = table().die(type);
  return die == nullptr ? 0 : dwarf::bytes_of(*die);
}

bool DataTypes::is_struct(Type type) {
  Dwarf_Die* const die = table().die(type);
  return die != nullptr && dwarf::is_struct(dwarf_tag(die));
}

bool DataTypes::is_union(Type type) {
  Dwarf_Die* const die = table().die(type);
  return die != nullptr && dwarf_tag(die) == DW_TAG_union_type;
}

DataTypes::Type DataTypes::element_of(Type type) {
  Dwarf_Die* die = table().die(type);
  for (int depth = 0; depth < kDeepest && die != nullptr && dwarf_tag(die) == DW_TAG_array_type; ++depth) {
    const auto element = dwarf::type_of(die);
    const Type inner = element ? table().number_of(*element) : 0;
    if (inner == 0) break;
    type = inner;
    die = table().die(type);
  }
  return type;
}

DataTypes::Spot DataTypes::spot_at(Type type, std::int64_t offset) {
  type = element_of(type);
  const auto size = static_cast<std::int64_t>(size_of(type));
  if (size == 0) return {};
  if (offset >= 0) {
    const auto [start, element] = open_end(type);
    const auto bytes = size_of(element);
    if (bytes != 0 && static_cast<std::uint64_t>(offset) >= start)
      return {.type = element, .offset = (static_cast<std::uint64_t>(offset) - start) % bytes};
  }
  return {.type = type, .offset = static_cast<std::uint64_t>((offset % size + size) % size)};
}

/// The array of no size that a struct ends with: where, and of what.
std::pair<std::uint64_t, DataTypes::Type> DataTypes::open_end(Type type) {
  Dwarf_Die* const die = table().die(type);
  if (die == nullptr || dwarf_tag(die) != DW_TAG_structure_type) return {0, 0};
  std::vector<dwarf::Placed> all = dwarf::members(die);
  if (all.empty() || all.back().size != 0) return {0, 0};
  const auto of = dwarf::type_of(&all.back().die);
  auto array = of ? dwarf::peeled(*of) : std::nullopt;
  if (!array || dwarf_tag(&*array) != DW_TAG_array_type) return {0, 0};
  const auto element = dwarf::type_of(&*array);
  return {all.back().offset, element ? table().number_of(*element) : 0};
}

Member DataTypes::member_at(Type type, std::uint64_t offset) {
  Member member{.path = {}, .offset = 0, .size = size_of(type)};
  if (const Dwarf_Die* const die = table().die(type)) {
    dwarf::each_step(*die, offset, [&](Dwarf_Die, const dwarf::Step& step, std::uint64_t) {
      member.path += step.name;
      member.offset += step.at;
      member.size = step.size;
      return true;
    });
  }
  return member;
}

DataTypes::Type DataTypes::pointee_at(Type type, std::uint64_t offset) {
  const Dwarf_Die* const die = table().die(type);
  return die == nullptr ? 0 : table().pointee_of(*die, offset);
}

DataTypes::Type DataTypes::array_element_at(Type type, std::uint64_t offset) {
  Type found = 0;
  if (const Dwarf_Die* const die = table().die(type)) {
    dwarf::each_step(*die, offset, [&](Dwarf_Die entered, const dwarf::Step& step, std::uint64_t) {
      if (dwarf_tag(&entered) == DW_TAG_array_type && step.type) found = table().number_of(*step.type);
      return true;
    });
  }
  return found;
}

bool DataTypes::has_at(Type type, std::uint64_t offset, Type part) {
  bool found = offset == 0 && type == part && type != 0;
  if (const Dwarf_Die* const die = table().die(type); die != nullptr && !found) {
    dwarf::each_step(*die, offset, [&](Dwarf_Die, const dwarf::Step& step, std::uint64_t left) {
      found = left == 0 && step.type && table().number_of(*step.type) == part;
      return !found;
    });
  }
  return found;
}

std::vector<DataTypes::Field> DataTypes::fields_of(Type type, Depth depth) {
  std::vector<Field> fields;
  Dwarf_Die* const die = table().die(type);
  if (die != nullptr && dwarf::is_struct(dwarf_tag(die)))
    add_fields(*die, "", 0, fields, depth == Depth::Members ? 1 : kDeepest);
  std::ranges::stable_sort(fields, {}, &Field::offset);
  return fields;
}

}  // namespace zs::profile
