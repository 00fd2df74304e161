#include "profile/symbols/kernel_symbols.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <vector>

#include "base/elf_notes.h"
#include "base/items.h"

namespace zs::profile {
namespace {

constexpr std::string_view kKernel = "[kernel.kallsyms]";

std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct KallsymsLine {
  std::uint64_t address = 0;
  char type = 0;
  std::string_view name, module;
};

bool parse_line(std::string_view text, KallsymsLine& line) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), line.address, 16);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.size() < 4 || text[0] != ' ' || text[2] != ' ') return false;
  line.type = text[1];
  text.remove_prefix(3);
  const std::size_t tab = text.find('\t');
  line.name = text.substr(0, tab);
  line.module = tab == std::string_view::npos ? std::string_view() : text.substr(tab + 1);
  return !line.name.empty();
}

template <typename Take>
void each_line(std::string_view text, const Take& take) {
  for (const std::string_view one : pieces_of(text, '\n')) {
    if (KallsymsLine line; parse_line(one, line)) take(line);
  }
}

}  // namespace

std::string kernel_image_name(const std::string& path) {
  if (path.starts_with('[')) return path.substr(0, path.find(']') + 1);
  std::string name = path.substr(path.rfind('/') + 1);
  const std::size_t suffix = name.find(".ko");  // .ko, .ko.xz, .ko.zst
  if (suffix == std::string::npos) return name;
  name.resize(suffix);
  std::replace(name.begin(), name.end(), '-', '_');
  return "[" + name + "]";
}

std::string_view reference_symbol(std::string_view path) {
  return path.starts_with(kKernel) ? path.substr(kKernel.size()) : std::string_view();
}

SymbolTable parse_kallsyms(std::string_view text, std::uint64_t shift) {
  SymbolTable table;
  std::uint64_t last = 0;
  each_line(text, [&](const KallsymsLine& line) {
    if (line.address == 0 || std::strchr("tTwW", line.type) == nullptr) return;
    if (!line.module.empty() && shift != 0) return;
    const auto binding = line.type == 't'   ? Symbol::Binding::Local
                         : line.type == 'T' ? Symbol::Binding::Global
                                            : Symbol::Binding::Weak;
    const std::uint64_t address = line.address + shift;
    last = std::max(last, address);
    table.add(ImageAddress{address}, 0, std::string(line.name), binding, true);
  });
  constexpr std::uint64_t kPage = 4096;
  table.finish(ImageAddress{(last + kPage) & ~(kPage - 1)});
  return table;
}

std::uint64_t address_in_kallsyms(std::string_view text, std::string_view symbol) {
  std::uint64_t address = 0;
  each_line(text, [&](const KallsymsLine& line) {
    if (address == 0 && line.name == symbol) address = line.address;
  });
  return address;
}

std::optional<BuildId> build_id_of_notes(const std::string& notes) {
  constexpr std::size_t kLongest = 20;
  const Bytes id = build_id_in(std::as_bytes(std::span(notes)), 4);
  if (id.empty() || id.size() > kLongest) return std::nullopt;
  return BuildId::of(reinterpret_cast<const std::uint8_t*>(id.data()), static_cast<std::uint8_t>(id.size()));
}

std::string kept_kallsyms(const BuildId& kernel) {
  const char* const home = std::getenv("HOME");
  return home == nullptr ? "" : fmt::format("{}/.debug/{}/{}/kallsyms", home, kKernel, kernel.hex());
}

KernelIdentity running_kernel() {
  KernelIdentity kernel{.build_id = build_id_of_notes(read_text("/sys/kernel/notes"))};
  utsname name{};
  if (uname(&name) == 0) kernel.release = name.release;
  return kernel;
}

std::string kallsyms_of(const KernelIdentity& recorded, std::string& problem) {
  const KernelIdentity running = running_kernel();
  const bool same = recorded.build_id && running.build_id
                        ? *recorded.build_id == *running.build_id
                        : !recorded.release.empty() && recorded.release == running.release;
  std::string text;
  if (same) {
    text = read_text("/proc/kallsyms");
    const bool hidden = address_in_kallsyms(text, "_text") == 0 && address_in_kallsyms(text, "_stext") == 0;
    if (!hidden) return text;
    problem = "the kernel hides its addresses (kernel.kptr_restrict): names of its code are missing; read as root";
  } else {
    problem = "recorded on another kernel than this one: names of its code are missing";
  }
  if (!recorded.build_id) return "";
  text = read_text(kept_kallsyms(*recorded.build_id));
  if (!text.empty()) problem.clear();
  return text;
}

}  // namespace zs::profile
