#include "profile/types/data_objects.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace zs::profile {
namespace {

std::string size_text(std::uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double size = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; size >= 1024 && unit + 1 < std::size(kUnits); ++unit) size /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", size, kUnits[unit]);
}

/// A thread begins at the end of its stack, behind what its library keeps there (glibc: variables of threads).
constexpr std::uint64_t kFirstFrames = 64 << 10;
/// What lies so far behind a stack pointer is taken for the stack's. chosen: more than most functions keep there
constexpr std::uint64_t kNearFrames = 16 << 10, kRedZone = 128;

bool is_file(const std::string& path) { return path.starts_with('/') && !path.starts_with("//"); }

}  // namespace

DataObject* DataObjects::intern(DataKind kind, std::string name) {
  const auto [found, added] = objects_.try_emplace({kind, name});
  if (added) found->second = {.kind = kind, .name = std::move(name)};
  return &found->second;
}

void DataObjects::learn(const session::Sample& sample) {
  if (!sample.has_registers || sample.registers.sp == 0) return;
  const Mapping* const mapping = spaces_.find(sample.pid, sample.registers.sp);
  if (mapping != nullptr && mapping->end - sample.registers.sp <= kFirstFrames) {
    stacks_.try_emplace({sample.pid, mapping->start}, sample.tid);
  }
}

/// Where each image of the process begins.
const DataObjects::LoadedImages& DataObjects::loaded_images(std::int32_t pid) {
  LoadedImages& loaded = loaded_[pid];
  if (loaded.generation != spaces_.generation(pid)) {
    loaded = {.generation = spaces_.generation(pid)};
    spaces_.for_each_mapping(pid, [&](const Mapping& mapping) {
      Dso* const dso = symbolizer_.dso_of(*mapping.image);
      if (dso->image == nullptr || loaded.images.contains(dso)) return;
      const auto at = dso->image->image_address_of(mapping.file_offset_of(mapping.start));
      if (at) loaded.images[dso] = {.dso = dso, .bias = mapping.start - value(*at)};
      if (dso->image->thread_offset(-1)) loaded.program = dso;
    });
  }
  return loaded;
}

Dso* DataObjects::program_of(std::int32_t pid) { return loaded_images(pid).program; }

std::optional<DataObjects::ImagePlace> DataObjects::image_place(std::int32_t pid, std::uint64_t address) {
  for (const auto& [dso, one] : loaded_images(pid).images) {
    const ImageAddress at{address - one.bias};
    if (address >= one.bias && !dso->image->section_of(at).empty()) return ImagePlace{.dso = dso, .address = at};
  }
  return std::nullopt;
}

std::optional<DataObjects::Extent> DataObjects::symbol_at(std::int32_t pid, std::uint64_t address) {
  const auto place = image_place(pid, address);
  const Symbol* const symbol = place ? place->dso->image->symbols().find(place->address) : nullptr;
  if (symbol == nullptr || symbol->code) return std::nullopt;
  return Extent{.start = address - (place->address - symbol->start), .size = symbol->end - symbol->start};
}

/// The variable at an address that no symbol of its own mapping covers: in what follows a file's segment.
const Symbol* DataObjects::variable_at(std::int32_t pid, std::uint64_t address) {
  for (const auto& [dso, one] : loaded_images(pid).images) {
    if (address < one.bias) continue;
    const Symbol* symbol = dso->image->symbols().find(ImageAddress{address - one.bias});
    if (symbol != nullptr && !symbol->code) return symbol;
  }
  return nullptr;
}

/// The innermost function around the call that is not the C++ library's: there a container asks, for whoever uses it.
std::string DataObjects::site_text(std::int32_t pid, const std::vector<std::uint64_t>& site) {
  const auto is_library = [](std::string_view function) {
    return function.starts_with("std::") || function.starts_with("__gnu_cxx::") || function.starts_with("operator new");
  };
  const auto with_line = [](std::string text, const SourceLine& line) {
    return line.line == 0 ? text : fmt::format("{} ({}:{})", text, base_name(line.file), line.line);
  };
  std::string first;
  for (const std::uint64_t return_address : site) {
    const Location call = symbolizer_.locate(spaces_, pid, return_address - 1);
    if (call.dso == nullptr) break;
    if (call.symbol == nullptr) {
      return fmt::format("{}+{:#x}", call.dso->short_name, value(call.image_address) + 1);
    }
    const std::string place = fmt::format("{}+{:#x}", call.symbol->name(), call.offset_in_symbol() + 1);
    for (const InlineFrame& inlined : symbolizer_.inlines_of(call)) {
      if (!is_library(inlined.function)) return with_line(place, inlined.at);
    }
    const auto& line = symbolizer_.line_of(call);
    std::string whole = with_line(place, line.value_or(SourceLine{}));
    if (!is_library(call.symbol->name())) return whole;
    if (first.empty()) first = whole;
  }
  if (!first.empty()) return first;
  return site.empty() ? "unknown site" : fmt::format("{:#x}", site.front());
}

const DataObject* DataObjects::of_block(std::int32_t pid, const session::HeapBlock& block) {
  const auto [known, fresh] = block_sites_.try_emplace(&block, nullptr);
  if (!fresh) return known->second->object;
  std::string text = site_text(pid, block.site);
  Site& site = sites_[text];
  known->second = &site;
  if (site.object == nullptr) {
    site.object = intern(DataKind::HeapBlock, text);
    site.text = std::move(text);
  }
  ++site.blocks;
  site.bytes += block.size;
  const std::string blocks = site.blocks == 1 ? "" : fmt::format(" {} blocks,", site.blocks);
  site.object->name = fmt::format("heap: {},{} {}", site.text, blocks, size_text(site.bytes));
  return site.object;
}

const DataObject* DataObjects::of(const session::Sample& sample) {
  const std::int32_t pid = sample.pid;
  const std::uint64_t address = sample.address;
  if (sample.heap_block != nullptr) return of_block(pid, *sample.heap_block);
  const Location location = symbolizer_.locate(spaces_, pid, address);
  const Symbol* symbol = location.symbol != nullptr ? location.symbol : variable_at(pid, address);
  if (symbol != nullptr) return intern(DataKind::Variable, symbol->name());

  const Mapping* mapping = spaces_.find(pid, address);
  if (mapping == nullptr) return intern(DataKind::Unknown, "[unknown]");
  const std::string& path = mapping->image->path;
  if (path == "[heap]") return intern(DataKind::Heap, path);
  if (const auto stack = stacks_.find({pid, mapping->start}); stack != stacks_.end()) {
    return intern(DataKind::Stack, fmt::format("[stack] {}", stack->second));
  }
  const std::uint64_t sp = sample.registers.sp;
  if (sample.has_registers && address + kRedZone >= sp && address < sp + kNearFrames && sp < mapping->end &&
      sp >= mapping->start)
    return intern(DataKind::Stack, fmt::format("[stack] {}", sample.tid));
  if (path == "[stack]") return intern(DataKind::Stack, fmt::format("[stack] {}", pid));
  if (is_file(path)) return intern(DataKind::File, base_name(path));
  if (path.starts_with('[')) return intern(DataKind::File, path);
  return intern(DataKind::Anonymous,
                fmt::format("anonymous {:012x} ({})", mapping->start, size_text(mapping->end - mapping->start)));
}

}  // namespace zs::profile
