#include "cli/run/region_options.h"

#include <optional>
#include <string_view>

#include "base/number.h"
#include "cli/run/program_file.h"
#include "profile/symbols/code_places.h"
#include "profile/symbols/elf_image.h"

namespace zs::cli {
namespace {

using profile::ElfImage;
using session::RegionSpec;

std::optional<std::uint64_t> hexadecimal(std::string_view text) {
  if (!text.starts_with("0x") || text.size() < 3) return std::nullopt;
  return whole_number<std::uint64_t>(text.substr(2), 16);
}

Result<void> place_stretch(ElfImage& image, std::string_view text, std::size_t dots, RegionSpec& spec) {
  const auto from = hexadecimal(text.substr(0, dots));
  const auto to = hexadecimal(text.substr(dots + 2));
  if (!from || !to) return Error{std::string(text) + ": no stretch of code", "--region 0x401136..0x401150"};
  if (*from == *to) return Error{std::string(text) + ": ends where it begins", ""};
  const auto begin = profile::find_address(image, *from);
  if (!begin) return begin.error();
  const auto end = profile::find_address(image, *to);
  if (!end) return end.error();
  spec.begins = {*begin};
  spec.ends = {*end};
  return {};
}

/// The number behind the last ':' of FILE:LINE.
std::optional<int> line_number(std::string_view text, std::size_t colon) {
  const auto line = whole_number<int>(text.substr(colon + 1));
  return line && *line > 0 ? line : std::nullopt;
}

Result<void> place(ElfImage& image, const std::string& text, RegionSpec& spec) {
  if (const std::size_t dots = text.find(".."); dots != std::string::npos && text.starts_with("0x")) {
    return place_stretch(image, text, dots, spec);
  }
  const std::size_t colon = text.rfind(':');
  const auto line = colon == std::string::npos ? std::nullopt : line_number(text, colon);
  if (line) {
    auto places = profile::find_line(image, text.substr(0, colon), *line);
    if (!places) return places.error();
    spec.begins = std::move(places->begins);
    spec.ends = std::move(places->ends);
    return {};
  }
  const auto extents = profile::find_extents(image, text);
  if (!extents) return extents.error();
  spec.function = true;
  for (const profile::FunctionExtent& one : *extents) {
    if (one.is_entry) spec.begins.push_back(one.offset);
    if (one.is_entry && one.repeats) spec.repeated.push_back(one.offset);
  }
  if (!spec.begins.empty()) return {};
  return Error{image.path() + ": " + text + " is a part of a function that is jumped to, and has no entry",
               "name the function, as it is without .cold"};
}

Result<RegionSpec> find_region(const std::string& spelling, const std::string& program) {
  const std::size_t at = spelling.find("@/");
  const std::string path = at == std::string::npos ? program : spelling.substr(at + 1);
  RegionSpec spec;
  spec.name = spelling;
  spec.in_file = true;
  const auto file = open_program_file(path);
  if (!file) {
    return Error{"--region " + spelling + ": " + file.error().message,
                 "the program must be an ELF file; SYMBOL@/path/to/file looks in another one"};
  }
  spec.file = file->identity;
  if (auto placed = place(*file->image, spelling.substr(0, at), spec); !placed) {
    return Error{"--region " + spelling + ": " + placed.error().message, placed.error().hint};
  }
  return spec;
}

}  // namespace

Result<std::vector<session::RegionSpec>> find_regions(const std::vector<std::string>& spellings,
                                                      const std::string& program) {
  std::vector<RegionSpec> specs;
  for (const std::string& spelling : spellings) {
    auto spec = find_region(spelling, program);
    if (!spec) return spec.error();
    specs.push_back(*std::move(spec));
  }
  return specs;
}

}  // namespace zs::cli
