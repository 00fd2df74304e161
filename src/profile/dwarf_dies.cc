#include "profile/dwarf_dies.h"

#include <fmt/format.h>

#include <algorithm>

namespace zs::profile::dwarf {
namespace {

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

std::string text_at_depth(Dwarf_Die die, int depth) {
  if (depth == kDeepest) return "?";
  const int tag = dwarf_tag(&die);
  const char* const name = dwarf_diename(&die);
  const auto inner = [&] {
    const auto type = type_of(&die);
    return type ? text_at_depth(*type, depth + 1) : std::string("void");
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

/// A struct of nothing, as a base takes no room, whatever its size says.
bool is_empty(Dwarf_Die type, int depth) {
  if (!is_struct(dwarf_tag(&type)) || depth == kDeepest) return false;
  const bool is_union = dwarf_tag(&type) == DW_TAG_union_type;  // whose members need not say where they lie
  bool empty = true;
  each_child(&type, [&](Dwarf_Die* child) {
    const int tag = dwarf_tag(child);
    if (tag == DW_TAG_variant_part) empty = false;
    if (tag != DW_TAG_member && tag != DW_TAG_inheritance) return;
    if (!is_union && !number(child, DW_AT_data_member_location) && !number(child, DW_AT_data_bit_offset)) return;
    const auto of = type_of(child);
    const auto bare = of ? peeled(*of) : std::nullopt;
    if (!bare || !is_empty(*bare, depth + 1)) empty = false;
  });
  return empty;
}

void add_members(Dwarf_Die* parent, bool is_union, std::vector<Placed>& all, int depth) {
  if (depth == kDeepest) return;
  each_child(parent, [&](Dwarf_Die* child) {
    const int tag = dwarf_tag(child);
    if (tag == DW_TAG_variant_part || tag == DW_TAG_variant) add_members(child, is_union, all, depth + 1);
    if (tag != DW_TAG_member && tag != DW_TAG_inheritance) return;
    const auto of = type_of(child);
    const auto bare = of ? peeled(*of) : std::nullopt;
    if (!bare || is_empty(*bare, 0)) return;
    Placed placed{.die = *child, .size = bytes_of(*of)};
    if (const auto bit = number(child, DW_AT_data_bit_offset)) {
      placed.offset = *bit / 8;
      placed.size = (*bit % 8 + number(child, DW_AT_bit_size).value_or(8) + 7) / 8;
      placed.bits = true;
    } else if (const auto place = number(child, DW_AT_data_member_location)) {
      placed.offset = *place;
    } else if (!is_union) {
      return;  // a static member, or a virtual base
    }
    all.push_back(placed);
  });
}

std::optional<Step> step_into_array(Dwarf_Die type, std::uint64_t offset) {
  const auto element = type_of(&type);
  const std::uint64_t size = element ? bytes_of(*element) : 0;
  if (size == 0) return std::nullopt;
  std::uint64_t index = offset / size;
  Step step{.name = {}, .at = index * size, .size = size, .type = element};
  const std::vector<std::uint64_t> counts = dimensions(&type);
  for (std::size_t i = counts.size(); i-- > 1;) {
    if (counts[i] == 0) return std::nullopt;
    step.name.insert(0, fmt::format("[{}]", index % counts[i]));
    index /= counts[i];
  }
  step.name.insert(0, fmt::format("[{}]", index));
  return step;
}

/// Bit-fields that share a byte, as one part: ".kind|used".
Step step_into_bits(std::vector<Placed>& fields) {
  Step step{.name = {}, .at = fields.front().offset, .size = 0, .type = std::nullopt};
  for (Placed& field : fields) {
    step.name += (step.name.empty() ? "." : "|") + name_of(&field.die);
    step.at = std::min(step.at, field.offset);
    step.size = std::max(step.size, field.offset + field.size);
  }
  step.size -= step.at;
  return step;
}

}  // namespace

std::optional<std::uint64_t> number(Dwarf_Die* die, unsigned attribute) {
  Dwarf_Attribute found;
  Dwarf_Word value = 0;
  if (dwarf_attr_integrate(die, attribute, &found) == nullptr || dwarf_formudata(&found, &value) != 0)
    return std::nullopt;
  return value;
}

std::string name_of(Dwarf_Die* die) {
  Dwarf_Attribute named;
  const char* const name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &named));
  return name != nullptr ? name : "(anonymous)";
}

std::optional<Dwarf_Die> type_of(Dwarf_Die* die) {
  Dwarf_Attribute found;
  Dwarf_Die type;
  if (dwarf_attr_integrate(die, DW_AT_type, &found) == nullptr || dwarf_formref_die(&found, &type) == nullptr)
    return std::nullopt;
  return type;
}

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

Dwarf_Die whole_unit(Dwarf_Die* unit) {
  Dwarf_Die inner;
  if (dwarf_cu_info(unit->cu, nullptr, nullptr, nullptr, &inner, nullptr, nullptr, nullptr) == 0 &&
      inner.addr != nullptr)
    return inner;
  return *unit;
}

std::uint64_t bytes_of(Dwarf_Die type) {
  const auto bare = peeled(type);
  if (!bare) return 0;
  Dwarf_Die inner = *bare;
  Dwarf_Word size = 0;
  return dwarf_aggregate_size(&inner, &size) == 0 ? size : 0;
}

bool is_struct(int tag) { return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type; }

bool is_pointer(int tag) {
  return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type;
}

std::string text_of(Dwarf_Die type) { return text_at_depth(type, 0); }

std::vector<Placed> members(Dwarf_Die* type) {
  std::vector<Placed> all;
  add_members(type, dwarf_tag(type) == DW_TAG_union_type, all, 0);
  return all;
}

std::optional<Step> step_in(Dwarf_Die type, std::uint64_t offset) {
  if (dwarf_tag(&type) == DW_TAG_array_type) return step_into_array(type, offset);
  if (!is_struct(dwarf_tag(&type))) return std::nullopt;
  std::vector<Placed> all = members(&type);
  std::erase_if(all, [&](const Placed& one) { return offset < one.offset || offset - one.offset >= one.size; });
  if (all.empty()) {
    if (dwarf_tag(&type) == DW_TAG_union_type) return std::nullopt;
    return Step{.name = ".(padding)", .at = offset, .size = 1, .type = std::nullopt};
  }
  if (all.size() > 1) {
    if (!std::ranges::all_of(all, &Placed::bits)) return std::nullopt;
    return step_into_bits(all);
  }
  Placed& found = all.front();
  const char* const name = dwarf_diename(&found.die);
  const bool is_base = dwarf_tag(&found.die) == DW_TAG_inheritance;
  return Step{.name = name == nullptr || is_base ? "" : fmt::format(".{}", name),
              .at = found.offset,
              .size = found.size,
              .type = found.bits ? std::nullopt : type_of(&found.die)};
}

}  // namespace zs::profile::dwarf
