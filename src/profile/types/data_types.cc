#include "profile/types/data_types.h"

#include <elfutils/libdwfl.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "profile/symbols/dwarf_dies.h"
#include "profile/types/type_table.h"

namespace zs::profile {
namespace {

using dwarf::kDeepest;

/// Where a variable lies whose place does not change.
struct FixedPlace {
  Dwarf_Addr address = 0;
  bool of_thread = false;  // in each thread's block, that far from its beginning
};

/// What an operation pushes that names an address or a constant.
std::optional<Dwarf_Addr> pushed_number(Dwarf_Attribute& location, const Dwarf_Op& operation) {
  switch (operation.atom) {
    case DW_OP_addr:
    case DW_OP_const4u:
    case DW_OP_const8u:
    case DW_OP_constu: return operation.number;
    case DW_OP_addrx:
    case DW_OP_constx:
    case DW_OP_GNU_addr_index:
    case DW_OP_GNU_const_index: {
      Dwarf_Attribute indexed;
      Dwarf_Addr address = 0;
      if (dwarf_getlocation_attr(&location, &operation, &indexed) != 0) return std::nullopt;
      if (dwarf_formaddr(&indexed, &address) != 0 && dwarf_formudata(&indexed, &address) != 0) return std::nullopt;
      return address;
    }
    default: return std::nullopt;
  }
}

std::optional<FixedPlace> fixed_place(Dwarf_Die* variable) {
  Dwarf_Attribute location;
  Dwarf_Op* operations = nullptr;
  std::size_t count = 0;
  if (dwarf_attr(variable, DW_AT_location, &location) == nullptr ||
      dwarf_getlocation(&location, &operations, &count) != 0 || count == 0 || count > 2)
    return std::nullopt;
  const auto number = pushed_number(location, operations[0]);
  if (!number) return std::nullopt;
  if (count == 2) {
    const auto last = operations[1].atom;
    if (last != DW_OP_form_tls_address && last != DW_OP_GNU_push_tls_address) return std::nullopt;
    return FixedPlace{.address = *number, .of_thread = true};
  }
  const auto first = operations[0].atom;
  const bool is_address = first == DW_OP_addr || first == DW_OP_addrx || first == DW_OP_GNU_addr_index;
  return is_address && *number != 0 ? std::optional(FixedPlace{.address = *number}) : std::nullopt;
}

/// Fields of a type, and of what it contains.
class FieldReader {
 public:
  std::vector<DataTypes::Field> fields;

  void read(Dwarf_Die type, const std::string& path, std::uint64_t at, int levels) {
    if (levels == 0) return;
    const std::size_t first = fields.size();
    bool has_variants = false;
    entered_.push_back(type.addr);
    for (dwarf::Placed& member : dwarf::members(&type)) {
      if (left_ == 0) break;
      has_variants = has_variants || member.variant != dwarf::kNoVariant;
      add(member, path, at + member.offset, levels);
    }
    entered_.pop_back();
    if (has_variants && levels > 1) join_variants(first);
  }

 private:
  /// chosen: members that are entered in all, longer names counting as several; damaged information may have each type
  /// contain the next one twice.
  static constexpr std::size_t kMostMembers = 1 << 16;

  void charge(std::size_t text) {
    constexpr std::size_t kText = 256;
    left_ -= std::min(left_, 1 + text / kText);
  }

  void add(dwarf::Placed& member, const std::string& path, std::uint64_t at, int levels) {
    const auto of = dwarf::type_of(&member.die);
    const auto bare = of ? dwarf::peeled(*of) : std::nullopt;
    if (!bare) return;
    const std::string whole = path + dwarf::name_in(member);
    charge(whole.size());
    Dwarf_Die inner = *bare;
    const int tag = dwarf_tag(&inner);
    const bool within_itself = std::ranges::find(entered_, inner.addr) != entered_.end();
    if (levels > 1 && dwarf::is_struct(tag) && tag != DW_TAG_union_type && !within_itself &&
        !dwarf::members(&inner).empty())
      return read(inner, whole, at, levels - 1);
    std::uint64_t alignment = alignment_of(*of, 0);
    if (const auto said = dwarf::number(&member.die, DW_AT_alignment)) alignment = std::max(alignment, *said);
    const auto bits = member.bits ? dwarf::number(&member.die, DW_AT_bit_size).value_or(0) : 0;
    fields.push_back({.name = whole,
                      .type = dwarf::text_of(*of),
                      .offset = at,
                      .size = member.size,
                      .alignment = alignment,
                      .bits = member.bits ? fmt::format("{} bit{}", bits, bits == 1 ? "" : "s") : ""});
    charge(fields.back().type.size());
  }

  /// What variants of an enum have at the same place is one field of several names.
  void join_variants(std::size_t first) {
    const auto begin = fields.begin() + static_cast<std::ptrdiff_t>(first);
    std::ranges::stable_sort(begin, fields.end(), {}, &DataTypes::Field::offset);
    std::vector<DataTypes::Field> joined;
    for (auto at = begin; at != fields.end(); ++at) {
      if (joined.empty() || at->offset >= joined.back().offset + joined.back().size) {
        joined.push_back(*at);
        continue;
      }
      DataTypes::Field& last = joined.back();
      if (last.name.ends_with(dwarf::kDiscriminant)) {
        last = *at;
        continue;
      }
      if (at->name.ends_with(dwarf::kDiscriminant)) continue;
      last.name += "|" + at->name.substr(at->name.starts_with('.') ? 1 : 0);
      if (last.type != at->type) last.type += "|" + at->type;
      last.size = std::max(last.size, at->offset + at->size - last.offset);
      last.alignment = std::max(last.alignment, at->alignment);
    }
    fields.erase(begin, fields.end());
    std::ranges::move(joined, std::back_inserter(fields));
  }

  std::uint64_t alignment_of(Dwarf_Die type, int depth) {
    const auto bare = dwarf::peeled(type);
    if (!bare || depth == kDeepest) return 1;
    const auto [known, fresh] = alignments_.try_emplace(bare->addr, 1);
    if (!fresh) return known->second;
    Dwarf_Die inner = *bare;
    std::uint64_t most = std::max<std::uint64_t>(dwarf::number(&inner, DW_AT_alignment).value_or(1), 1);
    if (dwarf_tag(&inner) == DW_TAG_array_type) {
      if (const auto element = dwarf::type_of(&inner)) most = std::max(most, alignment_of(*element, depth + 1));
    } else if (dwarf::is_struct(dwarf_tag(&inner))) {
      for (dwarf::Placed& member : dwarf::members(&inner)) {
        if (const auto of = dwarf::type_of(&member.die)) most = std::max(most, alignment_of(*of, depth + 1));
      }
    } else {
      constexpr std::uint64_t kMost = 16;  // of long double
      most = std::max(most, std::min(kMost, dwarf::bytes_of(inner)));
    }
    constexpr std::uint64_t kMostSaid = std::uint64_t{1} << 32;
    return alignments_[bare->addr] = std::min(most, kMostSaid);
  }

  std::size_t left_ = kMostMembers;
  std::vector<void*> entered_;                           // types around the one that is read
  std::unordered_map<void*, std::uint64_t> alignments_;  // by where the type lies
};

}  // namespace

class DataTypes::Impl {
 public:
  explicit Impl(ElfImage& image) : image_(image), debug_(image.debug_module()) {}

  const Variable* variable_at(std::uint64_t address, bool of_thread) {
    if (!read_) read_variables();
    const std::vector<Variable>& all = of_thread ? of_threads_ : variables_;
    auto at = std::ranges::upper_bound(all, address, {}, &Variable::start);
    if (at == all.begin()) return nullptr;
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
      dwarf::Progress progress;
      walk(&whole, bias, progress, 0);
    }
    std::ranges::stable_sort(variables_, {}, &Variable::start);
    std::ranges::stable_sort(of_threads_, {}, &Variable::start);
  }

  void walk(Dwarf_Die* parent, Dwarf_Addr bias, dwarf::Progress& progress, int depth) {
    if (depth == kDeepest) return;
    dwarf::each_child(parent, progress, [&](Dwarf_Die* child) {
      switch (dwarf_tag(child)) {
        case DW_TAG_variable: add(child, bias); break;
        case DW_TAG_namespace:
        case DW_TAG_module:
        case DW_TAG_subprogram:
        case DW_TAG_lexical_block:
        case DW_TAG_structure_type:
        case DW_TAG_class_type: walk(child, bias, progress, depth + 1); break;
        default: break;
      }
    });
  }

  void add(Dwarf_Die* variable, Dwarf_Addr bias) {
    const auto place = fixed_place(variable);
    if (!place) return;
    const auto type = dwarf::type_of(variable);
    const std::uint64_t size = type ? dwarf::bytes_of(*type) : 0;
    if (size == 0) return;
    std::vector<Variable>& all = place->of_thread ? of_threads_ : variables_;
    all.push_back({.name = dwarf::name_of(variable),
                   .start = place->of_thread ? place->address : place->address + bias - debug_.bias,
                   .size = size,
                   .type = table_.number_of(*type)});
  }

  ElfImage::DebugModule debug_;
  bool read_ = false;
  std::vector<Variable> variables_;   // by start
  std::vector<Variable> of_threads_;  // likewise
};

DataTypes::DataTypes(ElfImage& image) : impl_(std::make_unique<Impl>(image)) {}
DataTypes::~DataTypes() = default;

ElfImage& DataTypes::image() { return impl_->image_; }
TypeTable& DataTypes::table() { return impl_->table_; }

const DataTypes::Variable* DataTypes::variable_at(ImageAddress address) {
  return impl_->variable_at(value(address), false);
}

const DataTypes::Variable* DataTypes::thread_variable_at(std::uint64_t offset) {
  return impl_->variable_at(offset, true);
}

std::string DataTypes::name_of(Type type) { return table().die(type) == nullptr ? "unknown" : table().name_of(type); }

std::uint64_t DataTypes::size_of(Type type) {
  const Dwarf_Die* const die = table().die(type);
  return die == nullptr ? 0 : dwarf::bytes_of(*die);
}

bool DataTypes::is_struct(Type type) {
  Dwarf_Die* const die = table().die(type);
  return die != nullptr && dwarf::is_struct(dwarf_tag(die));
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
  FieldReader reader;
  Dwarf_Die* const die = table().die(type);
  if (die != nullptr && dwarf::is_struct(dwarf_tag(die)))
    reader.read(*die, "", 0, depth == Depth::Members ? 1 : kDeepest);
  std::ranges::stable_sort(reader.fields, {}, &Field::offset);
  return std::move(reader.fields);
}

}  // namespace zs::profile
