#include "profile/symbols/symbolizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "profile/perf_data/build_id.h"
#include "profile/perf_data/perf_data.h"
#include "profile/perf_data/perf_data_reader.h"
#include "profile/symbols/kernel_symbols.h"

namespace zs::profile {
namespace {

/// Mapped memory that no file is behind: its addresses are linear.
bool has_no_file(const std::string& path) {
  return !path.starts_with('/') || path.starts_with("//") || path.starts_with("/SYSV") || path == "[vsyscall]";
}

char level_of(std::uint16_t cpumode) {
  switch (cpumode) {
    case perf::misc::kernel: return 'k';
    case perf::misc::hypervisor: return 'H';
    case perf::misc::guest_kernel: return 'g';
    case perf::misc::guest_user: return 'u';
    default: return '.';
  }
}

}  // namespace

std::string base_name(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos || slash + 1 == path.size() ? path : path.substr(slash + 1);
}

std::unique_ptr<ElfImage> Symbolizer::open_image(const Image& image) {
  const auto matches = [](const ElfImage& elf, const std::optional<BuildId>& wanted) {
    return !wanted || elf.build_id() == wanted;
  };
  std::optional<BuildId> wanted = image.build_id;
  if (const auto found = expected_.find(image.path); !wanted && found != expected_.end()) wanted = found->second;

  if (image.path == "[vdso]") {
    auto vdso = ElfImage::open_vdso();
    return vdso && matches(*vdso, wanted) ? std::move(vdso) : nullptr;
  }
  if (has_no_file(image.path)) return nullptr;

  std::string problem;
  const std::string path = symfs_ + image.path;
  auto elf = ElfImage::open(path, problem, names_, symfs_);
  if (elf && matches(*elf, wanted)) return elf;
  if (wanted) {
    std::string ignored;
    auto cached = ElfImage::open(cached_path(*wanted, "elf", symfs_), ignored, names_, symfs_);
    if (cached && matches(*cached, wanted)) return cached;
  }
  if (elf) {
    remarks_.push_back(
        fmt::format("{}: built anew since the recording: build-id {} recorded, {} found; its symbols "
                    "are left out",
                    path, wanted->hex(), elf->build_id() ? elf->build_id()->hex() : "none"));
  } else if (!image.code) {
    // A file of data, mapped: that it is no ELF file takes nothing away.
  } else if (!problem.empty()) {
    remarks_.push_back(problem);
  } else {
    remarks_.push_back(fmt::format("{}: no longer there; its symbols are missing", path));
  }
  return nullptr;
}

Dso* Symbolizer::dso_of(const Image& image) {
  Dso*& known = dso_of_image_[&image];
  if (known != nullptr) return known;
  const std::string path = image.jit_pid != 0 ? jit_map_path(image.jit_pid) : image.path;
  Dso*& shared = dso_by_key_[image.build_id ? path + '\0' + image.build_id->hex() : path];
  if (shared == nullptr) {
    auto made = std::make_unique<Dso>();
    made->path = path;
    made->short_name = image.jit_pid != 0 ? fmt::format("[JIT] tid {}", image.jit_pid) : base_name(path);
    made->is_jit = image.jit_pid != 0;
    made->number = static_cast<std::uint32_t>(dsos_.size());
    if (made->is_jit) {
      made->jit_symbols = parse_jit_map(jit_map_of(image.jit_pid));
    } else {
      made->image = open_image(image);
    }
    shared = made.get();
    dsos_.push_back(std::move(made));
  }
  known = shared;
  return known;
}

void Symbolizer::expect(const PerfDataReader& recording) {
  kernel_release_ = recording.description().machine.os_release;
  for (const auto& row : recording.build_ids()) expect(row.path, row.id);
  for (const ProcessBytes& map : recording.notes().jit_maps())
    jit_maps_[map.pid] = {reinterpret_cast<const char*>(map.bytes.data()), map.bytes.size()};
  has_all_jit_maps_ =
      recording.finished() && std::ranges::find(recording.description().notes, Note{"back end", "software PMU"}) !=
                                  recording.description().notes.end();
  // A second, because that is what the file's time is told to.
  if (recording.captured_at() != 0) jit_times_.made_until = (recording.captured_at() + 1) * 1'000'000'000;
}

std::string Symbolizer::jit_map_of(std::int32_t pid) {
  if (const auto kept = jit_maps_.find(pid); kept != jit_maps_.end()) return kept->second;
  if (has_all_jit_maps_) return "";
  std::string problem;
  auto text = read_jit_map(jit_map_path(pid), jit_times_, problem);
  if (!problem.empty()) remarks_.push_back(std::move(problem));
  return text ? *std::move(text) : std::string();
}

/// Read once, by the first mapping of the kernel itself that is asked for.
const SymbolTable* Symbolizer::kernel_symbols(const Mapping& mapping, const AddressSpaces& spaces) {
  if (kernel_symbols_) return &*kernel_symbols_;
  kernel_symbols_.emplace();
  // A module's mapping does not say where the kernel lies; the kernel's own does.
  const Mapping* kernel = &mapping;
  spaces.for_each_mapping(kKernelPid, [&kernel](const Mapping& one) {
    if (!reference_symbol(one.image->path).empty()) kernel = &one;
  });
  KernelIdentity recorded{.build_id = kernel->image->build_id, .release = kernel_release_};
  if (const auto found = expected_.find(kernel_image_name(kernel->image->path)); found != expected_.end()) {
    recorded.build_id = found->second;
  }
  std::string problem;
  const std::string text = kallsyms_of(recorded, problem);
  if (!problem.empty()) remarks_.push_back("[kernel.kallsyms]: " + problem);
  if (text.empty()) return &*kernel_symbols_;
  const std::uint64_t at = address_in_kallsyms(text, reference_symbol(kernel->image->path));
  *kernel_symbols_ = parse_kallsyms(text, at != 0 ? kernel->start - at : 0);
  return &*kernel_symbols_;
}

Dso* Symbolizer::kernel_dso_of(const Mapping& mapping, const AddressSpaces& spaces) {
  Dso*& known = dso_of_image_[mapping.image];
  if (known != nullptr) return known;
  Dso*& shared = dso_by_key_["kernel:" + mapping.image->path];
  if (shared == nullptr) {
    auto made = std::make_unique<Dso>();
    made->short_name = kernel_image_name(mapping.image->path);
    made->path = reference_symbol(mapping.image->path).empty() ? mapping.image->path : made->short_name;
    made->kernel_symbols = kernel_symbols(mapping, spaces);
    made->number = static_cast<std::uint32_t>(dsos_.size());
    shared = made.get();
    dsos_.push_back(std::move(made));
  }
  known = shared;
  return known;
}

Location Symbolizer::locate(const AddressSpaces& spaces, std::int32_t pid, std::uint64_t address,
                            std::uint16_t cpumode) {
  Location location;
  location.address = location.mapped = address;
  location.image_address = ImageAddress{address};
  location.level = level_of(cpumode);
  const bool kernel = cpumode == perf::misc::kernel || cpumode == perf::misc::guest_kernel;
  const Mapping* mapping = kernel ? spaces.find_kernel(address) : spaces.find(pid, address);
  if (mapping == nullptr) return location;
  if (kernel) {
    location.dso = kernel_dso_of(*mapping, spaces);
    location.symbol = location.dso->kernel_symbols->find(location.image_address);
    return location;
  }
  location.dso = dso_of(*mapping->image);

  if (location.dso->is_jit) {
    location.symbol = location.dso->jit_symbols.find(location.image_address);
    return location;
  }
  const bool file = location.dso->image != nullptr || !has_no_file(location.dso->path);
  if (!file) return location;
  const FileOffset offset = mapping->file_offset_of(address);
  location.mapped = value(offset);
  location.image_address = ImageAddress{value(offset)};
  if (location.dso->image == nullptr) return location;
  const auto image_address = location.dso->image->image_address_of(offset);
  if (!image_address) return location;
  location.image_address = *image_address;
  location.symbol = location.dso->image->symbols().find(*image_address);
  return location;
}

const std::optional<SourceLine>& Symbolizer::line_of(const Location& location) {
  static const std::optional<SourceLine> none;
  if (location.dso == nullptr || location.dso->image == nullptr) return none;
  const auto [found, added] = location.dso->lines.try_emplace(value(location.image_address));
  if (added) found->second = location.dso->image->line_of(location.image_address);
  return found->second;
}

const std::vector<InlineFrame>& Symbolizer::inlines_of(const Location& location) {
  static const std::vector<InlineFrame> none;
  if (location.dso == nullptr || location.dso->image == nullptr) return none;
  const auto [found, added] = location.dso->inlines.try_emplace(value(location.image_address));
  if (added) {
    ElfImage& image = *location.dso->image;
    const bool said = !image.missing_split().empty();
    found->second = image.inlines_of(location.image_address);
    if (!said && !image.missing_split().empty()) {
      remarks_.push_back(
          fmt::format("{}: its split debug information, {}, is not there (packages, .dwp, are not read): "
                      "inlined functions are missing",
                      image.path(), image.missing_split()));
    }
  }
  return found->second;
}

std::string Symbolizer::short_line(const Location& location) {
  if (const auto& line = line_of(location)) return fmt::format("{}:{}", base_name(line->file), line->line);
  if (location.dso == nullptr) return fmt::format("{:#x}", location.address);
  return fmt::format("{}[{:x}]", location.dso->short_name, value(location.image_address));
}

}  // namespace zs::profile
