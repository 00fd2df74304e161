#include "profile/symbols/dwarf_dies.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

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
  const char* const said = dwarf_diename(&die);
  const char* const name = said != nullptr && *said != '\0' ? said : nullptr;
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

/// Types that were asked about before: damaged information may have each contain the next one twice.
using KnownEmpty = std::unordered_map<void*, bool>;

/// A struct of nothing, as a base takes no room, whatever its size says.
bool is_empty(Dwarf_Die type, KnownEmpty& known, int depth) {
  if (!is_struct(dwarf_tag(&type)) || depth == kDeepest) return false;
  const auto [found, fresh] = known.try_emplace(type.addr, false);
  if (!fresh) return found->second;
  const bool is_union = dwarf_tag(&type) == DW_TAG_union_type;  // whose members need not say where they lie
  bool empty = true;
  each_child(&type, [&](Dwarf_Die* child) {
    const int tag = dwarf_tag(child);
    if (tag == DW_TAG_variant_part) empty = false;
    if (!empty || (tag != DW_TAG_member && tag != DW_TAG_inheritance)) return;
    if (!is_union && !number(child, DW_AT_data_member_location) && !number(child, DW_AT_data_bit_offset)) return;
    const auto of = type_of(child);
    const auto bare = of ? peeled(*of) : std::nullopt;
    if (!bare || !is_empty(*bare, known, depth + 1)) empty = false;
  });
  return known[type.addr] = empty;
}

/// Where a bit-field begins; nothing of other members. Before version 4 of DWARF, and by gcc with it, bits are counted
/// from the other end of the unit that they are in.
std::optional<std::uint64_t> first_bit(Dwarf_Die* member, std::uint64_t type_bytes) {
  if (const auto bit = number(member, DW_AT_data_bit_offset)) return bit;
  const auto from_top = number(member, DW_AT_bit_offset);
  if (!from_top) return std::nullopt;
  const std::uint64_t unit = number(member, DW_AT_byte_size).value_or(type_bytes) * 8;
  const std::uint64_t above = *from_top + number(member, DW_AT_bit_size).value_or(0);
  return number(member, DW_AT_data_member_location).value_or(0) * 8 + (unit - std::min(unit, above));
}

/// Collects the members of one struct.
class MemberReader {
 public:
  explicit MemberReader(Dwarf_Die* type) : is_union_(dwarf_tag(type) == DW_TAG_union_type) {
    read(type, kNoVariant, 0);
  }

  std::vector<Placed> all;

 private:
  void read(Dwarf_Die* parent, int variant, int depth) {
    if (depth == kDeepest) return;
    const bool is_part = dwarf_tag(parent) == DW_TAG_variant_part;
    each_child(parent, progress_, [&](Dwarf_Die* child) {
      switch (dwarf_tag(child)) {
        case DW_TAG_variant_part: read(child, variant, depth + 1); break;
        case DW_TAG_variant: read(child, ++variants_, depth + 1); break;
        case DW_TAG_member:
        case DW_TAG_inheritance: add(child, variant, is_part); break;
        default: break;
      }
    });
  }

  void add(Dwarf_Die* child, int variant, bool says_which) {
    const auto of = type_of(child);
    const auto bare = of ? peeled(*of) : std::nullopt;
    if (!bare || is_empty(*bare, known_, 0)) return;
    Placed placed{.die = *child, .size = bytes_of(*of), .variant = variant, .says_variant = says_which};
    if (const auto bit = first_bit(child, placed.size)) {
      placed.offset = *bit / 8;
      placed.size = (*bit % 8 + number(child, DW_AT_bit_size).value_or(8) + 7) / 8;
      placed.bits = true;
    } else if (const auto place = number(child, DW_AT_data_member_location)) {
      placed.offset = *place;
    } else if (!is_union_) {
      return;  // a static member, or a virtual base
    }
    if (placed.offset < kLargest && placed.size < kLargest) all.push_back(placed);
  }

  bool is_union_;
  int variants_ = kNoVariant;
  Progress progress_;
  KnownEmpty known_;
};

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

/// Of the members that hold the byte of an enum with data: a variant that has nothing there but padding is left out,
/// and so is the discriminant where it lies in what a variant has.
std::vector<Placed> with_data_at(std::vector<Placed> all, std::uint64_t offset) {
  std::erase_if(all, [&](Placed& one) {
    const auto of = one.variant == kNoVariant ? std::nullopt : type_of(&one.die);
    auto bare = of ? peeled(*of) : std::nullopt;
    if (!bare || !is_struct(dwarf_tag(&*bare))) return false;
    std::vector<Placed> inner = members(&*bare);
    return std::ranges::none_of(inner, [&](const Placed& member) { return member.holds(offset - one.offset); });
  });
  if (std::ranges::any_of(all, [](const Placed& one) { return !one.says_variant; }))
    std::erase_if(all, &Placed::says_variant);
  return all;
}

/// What variants have at the same place, as one part: ".Circle.radius|Square.side". Its type is said if it is the same
/// in all of them.
Step step_into_variants(std::vector<Placed>& variants, std::uint64_t offset) {
  Step step;
  std::uint64_t end = 0;
  std::optional<void*> same;
  for (Placed& one : variants) {
    std::string name = name_in(one);
    std::uint64_t start = one.offset, size = one.size;
    std::optional<Dwarf_Die> of = type_of(&one.die);
    auto bare = of ? peeled(*of) : std::nullopt;
    std::vector<Placed> inner = bare && is_struct(dwarf_tag(&*bare)) ? members(&*bare) : std::vector<Placed>{};
    std::erase_if(inner, [&](const Placed& member) { return !member.holds(offset - one.offset); });
    if (inner.size() == 1) {
      Placed& member = inner.front();
      name += name_in(member);
      start += member.offset;
      size = member.size;
      of = member.bits ? std::nullopt : type_of(&member.die);
      bare = of ? peeled(*of) : std::nullopt;
    }
    step.name += step.name.empty() ? name : "|" + name.substr(name.starts_with('.') ? 1 : 0);
    step.at = same ? std::min(step.at, start) : start;
    end = std::max(end, start + size);
    void* const type = bare ? bare->addr : nullptr;
    step.type = (!same || *same == type) && type != nullptr ? of : std::nullopt;
    same = same && *same != type ? nullptr : type;
  }
  step.size = end - step.at;
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
  return dwarf_aggregate_size(&inner, &size) == 0 && size < kLargest ? size : 0;
}

bool is_struct(int tag) { return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type; }

bool is_pointer(int tag) {
  return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type;
}

std::string text_of(Dwarf_Die type) { return text_at_depth(type, 0); }

std::string name_in(Placed& member) {
  const char* const name = dwarf_diename(&member.die);
  if (member.says_variant) return kDiscriminant;
  return name == nullptr || dwarf_tag(&member.die) == DW_TAG_inheritance ? "" : fmt::format(".{}", name);
}

std::vector<Placed> members(Dwarf_Die* type) { return MemberReader(type).all; }

std::optional<Step> step_in(Dwarf_Die type, std::uint64_t offset) {
  if (dwarf_tag(&type) == DW_TAG_array_type) return step_into_array(type, offset);
  if (!is_struct(dwarf_tag(&type))) return std::nullopt;
  std::vector<Placed> all = members(&type);
  std::erase_if(all, [&](const Placed& one) { return !one.holds(offset); });
  const auto is_of_variant = [](const Placed& one) { return one.variant != kNoVariant; };
  if (all.size() > 1 && std::ranges::any_of(all, is_of_variant)) all = with_data_at(std::move(all), offset);
  if (all.empty()) {
    if (dwarf_tag(&type) == DW_TAG_union_type) return std::nullopt;
    return Step{.name = ".(padding)", .at = offset, .size = 1, .type = std::nullopt};
  }
  if (all.size() > 1) {
    if (std::ranges::all_of(all, &Placed::bits)) return step_into_bits(all);
    if (!std::ranges::all_of(all, is_of_variant)) return std::nullopt;
    return step_into_variants(all, offset);
  }
  Placed& found = all.front();
  return Step{.name = name_in(found),
              .at = found.offset,
              .size = found.size,
              .type = found.bits ? std::nullopt : type_of(&found.die)};
}

}  // namespace zs::profile::dwarf
