#include "machine/boot/multiboot2.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "machine/boot/memory_map.h"

namespace zs::machine {
namespace {

constexpr std::uint32_t kMagic2 = 0xE85250D6, kI386 = 0;
constexpr std::size_t kHeaderArea2 = 32768, kAlignment = 8;

struct Start {
  std::uint32_t magic, architecture, bytes, checksum;
};
static_assert(WireLayout<Start> && sizeof(Start) == 16);

struct HeaderTag {
  std::uint16_t type, flags;
  std::uint32_t bytes;
};
static_assert(WireLayout<HeaderTag> && sizeof(HeaderTag) == 8);
constexpr std::uint16_t kOptional = 1;
struct Asked {
  enum : std::uint16_t { End, Request, Addresses, Entry, Console, Framebuffer, AlignModules, Relocatable = 10 };
};

/// Tags of the information.
struct Told {
  enum : std::uint32_t { End, CommandLine, LoaderName, Module, Memory, Map = 6 };
};
constexpr std::uint32_t kThere[] = {Told::CommandLine, Told::LoaderName, Told::Module, Told::Memory, Told::Map};

/// Writes tags one behind the other, each at a multiple of eight.
class Tags {
 public:
  void add(std::uint32_t type, std::initializer_list<std::uint32_t> words, Bytes rest = {}) {
    write(type);
    write(static_cast<std::uint32_t>(8 + 4 * words.size() + rest.size()));
    for (const std::uint32_t word : words) write(word);
    bytes_.insert(bytes_.end(), rest.begin(), rest.end());
    bytes_.resize((bytes_.size() + kAlignment - 1) / kAlignment * kAlignment);
  }
  void add(std::uint32_t type, std::initializer_list<std::uint32_t> words, const std::string& text) {
    add(type, words, std::as_bytes(std::span(text.c_str(), text.size() + 1)));
  }
  std::vector<std::byte> finish() {
    add(Told::End, {});
    const auto total = static_cast<std::uint32_t>(bytes_.size());
    std::memcpy(bytes_.data(), &total, sizeof total);
    return std::move(bytes_);
  }

 private:
  void write(std::uint32_t word) {
    const auto bytes = std::as_bytes(std::span(&word, 1));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  std::vector<std::byte> bytes_ = std::vector<std::byte>(8);  // the size of all, and a reserved word
};

std::optional<std::size_t> find_start(Bytes file) {
  for (std::size_t at = 0; at + sizeof(Start) <= std::min(file.size(), kHeaderArea2); at += kAlignment) {
    Start start{};
    std::memcpy(&start, file.data() + at, sizeof start);
    const std::uint32_t sum = start.magic + start.architecture + start.bytes + start.checksum;
    if (start.magic == kMagic2 && start.architecture == kI386 && sum == 0) return at;
  }
  return std::nullopt;
}

Error not_here(const std::string& name, std::size_t at, const std::string& what) {
  return Error{
      fmt::format("{}: at 0x{:x}: the Multiboot2 header asks for {}, which this loader has not", name, at, what),
      "a tag with flag 0 (optional) may ask in vain"};
}

}  // namespace

Result<std::optional<Multiboot2Header>> find_multiboot2(Bytes file, const std::string& name) {
  const auto found = find_start(file);
  if (!found) return std::optional<Multiboot2Header>();
  Multiboot2Header header{.offset = *found, .addresses = {}, .entry = {}};
  ByteReader in(file, name);
  in.seek(*found + sizeof(Start));
  for (std::size_t at = *found + sizeof(Start);;) {
    in.seek(at);
    const auto tag = in.read<HeaderTag>();
    if (!in.ok()) return in.error("Multiboot2 header");
    const bool needed = (tag.flags & kOptional) == 0;
    if (tag.type == Asked::End) break;
    switch (tag.type) {
      case Asked::Request:
        for (std::uint32_t n = 8; n + 4 <= tag.bytes && in.ok(); n += 4) {
          const auto wanted = in.read<std::uint32_t>();
          const bool there = std::ranges::count(kThere, wanted) != 0;
          if (needed && !there && in.ok()) return not_here(name, at, fmt::format("information of type {}", wanted));
        }
        break;
      case Asked::Addresses: header.addresses = in.read<LoadAddresses>(); break;
      case Asked::Entry: header.entry = in.read<std::uint32_t>(); break;
      case Asked::Console:
      case Asked::AlignModules:
      case Asked::Relocatable: break;  // it has a console of text, aligns to pages, and loads where the file says
      default:
        if (needed)
          return not_here(name, at, tag.type == Asked::Framebuffer ? "a framebuffer" : fmt::format("tag {}", tag.type));
    }
    if (!in.ok()) return in.error("Multiboot2 header");
    at += std::max<std::size_t>((std::size_t{tag.bytes} + kAlignment - 1) / kAlignment * kAlignment, kAlignment);
  }
  return std::optional(header);
}

std::vector<std::byte> multiboot2_info(const std::string& command_line, std::uint32_t upper_kib,
                                       const std::vector<MapRange>& map, const std::vector<LoadedModule>& modules) {
  Tags tags;
  tags.add(Told::CommandLine, {}, command_line);
  tags.add(Told::LoaderName, {}, std::string("zeroskid"));
  for (const LoadedModule& module : modules) tags.add(Told::Module, {module.start, module.end}, module.command_line);
  tags.add(Told::Memory, {kLowMemoryKiB, upper_kib});
  tags.add(Told::Map, {sizeof(MapRange), 0}, std::as_bytes(std::span(map)));
  return tags.finish();
}

}  // namespace zs::machine
