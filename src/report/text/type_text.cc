#include "report/text/type_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "profile/types/field_order.h"
#include "report/text/fit.h"
#include "report/text/percent.h"
#include "report/text/source_bar.h"

namespace zs::report {
namespace {

using profile::AccessHeat;
using profile::DataTypes;
using profile::TypeHeat;
using Field = DataTypes::Field;

/// A line of the table: a field, a hole between two, or what of them is none.
struct Row {
  std::string text;
  std::uint64_t offset = 0, size = 0;
  AccessHeat heat;
};

std::string declaration(const Field& field) {
  const std::string_view name = std::string_view(field.name).substr(field.name.starts_with('.') ? 1 : 0);
  const std::string bits = field.bits.empty() ? "" : fmt::format(" : {}", field.bits);
  return name.empty() ? fmt::format("{};", field.type) : fmt::format("{}  {}{};", field.type, name, bits);
}

/// Fields, and holes where none lies.
std::vector<Row> rows_of(const TypeHeat& heat) {
  std::vector<Row> rows;
  std::uint64_t end = 0;
  const auto hole = [&](std::uint64_t from, std::uint64_t to) {
    if (to > from) rows.push_back({.text = "(hole)", .offset = from, .size = to - from});
  };
  for (const Field& field : heat.types->fields_of(heat.type, DataTypes::Depth::Fields)) {
    const bool within = field.offset < end;  // a bit-field beside others, a member of a union
    if (!within) hole(end, field.offset);
    rows.push_back({.text = declaration(field), .offset = field.offset, .size = field.size});
    end = std::max(end, field.offset + field.size);
  }
  hole(end, heat.types->size_of(heat.type));
  for (const auto& [offset, one] : heat.bytes) {
    const auto row = std::ranges::find_if(
        rows, [at = offset](const Row& each) { return at >= each.offset && at - each.offset < each.size; });
    if (row != rows.end()) row->heat.add(one);
  }
  return rows;
}

std::string line(const Row& row, const AccessHeat& whole, std::string_view indent, const TypeStyle& style) {
  const double cycles = percent_of(row.heat.loads.latency, whole.loads.latency);
  const std::string text = percent_colored(fmt::format("{:>8.2f}", cycles), cycles, style.color);
  std::string rest =
      fmt::format("  {:>7.2f}  {:>7.2f}  {:>6}  {:>6}  {}{}", percent_of(row.heat.loads.weight, whole.loads.weight),
                  percent_of(row.heat.stores.weight, whole.stores.weight), row.offset, row.size, indent, row.text);
  const std::string bar = source_bar(row.heat.loads);
  if (!bar.empty()) rest += "  " + bar;
  constexpr std::size_t kPercent = 8;
  return text + (style.width > kPercent ? cut_off(rest, style.width - kPercent) : rest) + "\n";
}

std::string order_text(const TypeHeat& heat, std::size_t width) {
  const profile::FieldOrder order = profile::best_order(heat.types->fields_of(heat.type, DataTypes::Depth::Members),
                                                        heat.types->size_of(heat.type), heat.visits);
  if (!order.better) {
    return folded(fmt::format("# order (estimated): {:.2f} lines touched per visit; no order was found that touches "
                              "notably fewer",
                              order.lines_before),
                  width) +
           "\n";
  }
  std::string text = folded(fmt::format("# order (estimated): lines touched per visit {:.2f} -> {:.2f}, {} -> {} bytes",
                                        order.lines_before, order.lines_after, order.size_before, order.size_after),
                            width) +
                     "\n";
  for (const Field& field : order.after) text += fmt::format("#   {:>6}  {}\n", field.offset, declaration(field));
  return text;
}

}  // namespace

std::string type_shares(const profile::TypeHeats& heats) {
  const std::uint64_t unknown = heats.samples - heats.known - heats.stack;
  return fmt::format("# {} samples: {:.1f}% of data of known type, {:.1f}% unknown, {:.1f}% stack operations\n",
                     heats.samples, percent_of(heats.known, heats.samples), percent_of(unknown, heats.samples),
                     percent_of(heats.stack, heats.samples));
}

std::string type_text(const TypeHeat& heat, const TypeStyle& style) {
  std::string text =
      fmt::format("\nAnnotate type: '{}' in {} ({} samples):\n", heat.name, heat.image, heat.whole.samples());
  text += " Cycles%   Loads%  Stores%  Offset    Size  Field\n";
  const Row whole{.text = heat.name + " {", .offset = 0, .size = heat.types->size_of(heat.type), .heat = heat.whole};
  text += line(whole, heat.whole, "", style);
  for (const Row& row : rows_of(heat)) text += line(row, heat.whole, "    ", style);
  constexpr std::size_t kBefore = 44;  // the columns of numbers
  text += std::string(kBefore, ' ') + "}\n";
  return text + order_text(heat, style.width);
}

}  // namespace zs::report
