#include "profile/symbols/code_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string_view>

#include "profile/symbols/function_code.h"

namespace zs::profile {
namespace {

constexpr std::size_t kSuggestions = 3;

/// "app::sort_rows" of "app::sort_rows(Table&) const".
std::string_view without_parameters(std::string_view name) {
  const std::size_t close = name.rfind(')');
  int depth = 0;
  for (std::size_t i = close == std::string_view::npos ? 0 : close + 1; i-- > 0;) {
    if (name[i] == ')') ++depth;
    if (name[i] == '(' && --depth == 0) return i == 0 ? name : name.substr(0, i);
  }
  return name;
}

bool is_called(const Symbol& symbol, const std::string& name) {
  const std::string_view plain = without_parameters(symbol.name());
  return symbol.linkage_name == name || symbol.name() == name || plain == name || plain.ends_with("::" + name);
}

bool is_file(std::string_view path, std::string_view file) {
  return path == file || (path.ends_with(file) && path[path.size() - file.size() - 1] == '/');
}

/// Functions whose name contains `name`, or is contained in it: for a hint.
std::string similar(ElfImage& image, const std::string& name) {
  std::set<std::string> found;
  for (const Symbol& symbol : image.symbols().symbols()) {
    const std::string known(without_parameters(symbol.name()));
    if (!symbol.code || known.empty() || known.ends_with("@plt")) continue;
    if (known.find(name) != std::string::npos || (known.size() > 2 && name.find(known) != std::string::npos)) {
      found.insert(known);
    }
  }
  std::string text;
  for (const std::string& one : found) {
    if (std::count(text.begin(), text.end(), ',') + 1 >= static_cast<std::ptrdiff_t>(kSuggestions) && !text.empty())
      break;
    text += (text.empty() ? "" : ", ") + one;
  }
  return text;
}

/// Whether a jump of these parts leads to `start`; a call is none.
bool is_jumped_to(ElfImage& image, const std::vector<const Symbol*>& parts, ImageAddress start) {
  bool jumped_to = false;
  for (const Symbol* const part : parts) {
    for_each_insn(image, *part, [&](const isa::Insn& insn) {
      jumped_to |= insn.flow != isa::Flow::Call && insn.target == value(start);
    });
  }
  return jumped_to;
}

}  // namespace

Result<std::vector<FunctionExtent>> find_extents(ElfImage& image, const std::string& name) {
  std::vector<const Symbol*> parts;
  for (const Symbol& symbol : image.symbols().symbols()) {
    if (symbol.code && is_called(symbol, name) && image.file_offset_of(symbol.start)) parts.push_back(&symbol);
  }
  std::stable_partition(parts.begin(), parts.end(), [](const Symbol* part) { return !part->is_split_off(); });
  std::vector<FunctionExtent> extents;
  extents.reserve(parts.size());
  for (const Symbol* const part : parts)
    extents.push_back({.offset = value(*image.file_offset_of(part->start)),
                       .bytes = part->size(),
                       .is_entry = !part->is_split_off(),
                       .repeats = is_jumped_to(image, parts, part->start)});
  if (!extents.empty()) return extents;
  const std::string known = similar(image, name);
  return Error{fmt::format("{}: no function is called {}", image.path(), name),
               !known.empty()                      ? "there is " + known
               : image.symbols().symbols().empty() ? "it has no symbols: link it without -s"
                                                   : "nm -C " + image.path() + " lists them"};
}

Result<LinePlaces> find_line(ElfImage& image, const std::string& file, int line) {
  bool any_lines = false;
  bool file_known = false;
  std::set<const Symbol*> functions;
  image.each_line([&](ImageAddress start, std::string_view path, int row_line) {
    any_lines = true;
    if (!is_file(path, file)) return;
    file_known = true;
    if (row_line != line) return;
    if (const Symbol* const function = image.symbols().find(start)) functions.insert(function);
  });
  if (!any_lines) return Error{image.path() + ": has no line table", "compile it with -g"};
  if (!file_known)
    return Error{fmt::format("{}: no code of a file {}", image.path(), file), "addr2line shows its names"};
  if (functions.empty()) {
    return Error{fmt::format("{}: no code of line {} in {}", image.path(), line, file),
                 "choose a line with a statement"};
  }
  // All rows of those functions, by address: whether the line is the row's own, or what its code was inlined into.
  std::map<ImageAddress, bool> rows;
  image.each_line([&](ImageAddress start, std::string_view path, int row_line) {
    if (!functions.contains(image.symbols().find(start))) return;
    bool inside = row_line == line && is_file(path, file);
    if (!inside) {
      const auto frames = image.inlines_of(start);
      inside = std::ranges::any_of(
          frames, [&](const InlineFrame& frame) { return frame.at.line == line && is_file(frame.at.file, file); });
    }
    bool& known = rows[start];
    known = known || inside;
  });
  LinePlaces places;
  bool before = false;
  const Symbol* function = nullptr;
  for (const auto& [start, inside] : rows) {
    const auto offset = image.file_offset_of(start);
    if (!offset) continue;
    if (image.symbols().find(start) != function) before = false;
    function = image.symbols().find(start);
    if (inside && !before) places.begins.push_back(value(*offset));
    if (!inside) places.ends.push_back(value(*offset));
    before = inside;
  }
  return places;
}

Result<std::uint64_t> find_address(ElfImage& image, std::uint64_t address) {
  const auto offset = image.file_offset_of(ImageAddress{address});
  if (offset && !image.section_of(ImageAddress{address}).empty()) return value(*offset);
  return Error{fmt::format("{}: 0x{:x} is not in its code", image.path(), address), "objdump -d shows its addresses"};
}

}  // namespace zs::profile
