#include "cli/linux/initramfs.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <span>

#include "base/items.h"
#include "cli/boot/boot_options.h"

namespace zs::cli {
namespace {

constexpr std::uint32_t kFolderMode = S_IFDIR | 0755;
constexpr unsigned kMostLinks = 40;
constexpr std::size_t kAligned = 4;
constexpr char kLinkerCache[] = "/etc/ld.so.cache";

void put_components(std::string_view path, std::deque<std::string>& before) {
  std::deque<std::string> parts;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    if (end > at) parts.emplace_back(path.substr(at, end - at));
    at = end + 1;
  }
  before.insert(before.begin(), parts.begin(), parts.end());
}

Bytes bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

template <typename T>
std::vector<T> table(Bytes file, std::uint64_t at, std::uint64_t count) {
  if (at > file.size()) return {};
  ByteReader in(file.subspan(at));
  return in.read_array<T>(count);
}

std::string text_at(Bytes file, std::uint64_t at) {
  if (at >= file.size()) return {};
  return std::string(ByteReader(file.subspan(at)).take_c_string());
}

void split_folders(const std::string& text, std::vector<std::string>& into) {
  for (const std::string_view folder : pieces_of(text, ':')) {
    if (!folder.empty()) into.emplace_back(folder);
  }
}

struct CacheHead {
  char magic[20];
  std::uint32_t libraries, string_bytes;
  std::uint8_t flags, padding[3];
  std::uint32_t extension, unused[3];
};
struct CacheEntry {
  std::uint32_t flags, name, path, os_version;
  std::uint64_t capabilities;
};
static_assert(WireLayout<CacheEntry> && sizeof(CacheHead) == 48);

}  // namespace

ElfNeeds elf_needs(Bytes file) {
  ElfNeeds needs;
  const auto heads = table<Elf64_Ehdr>(file, 0, 1);
  if (heads.empty() || std::memcmp(heads[0].e_ident, ELFMAG, SELFMAG) != 0) return needs;
  if (heads[0].e_ident[EI_CLASS] != ELFCLASS64) return needs;
  const auto segments = table<Elf64_Phdr>(file, heads[0].e_phoff, heads[0].e_phnum);
  std::vector<Elf64_Dyn> dynamic;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_INTERP) needs.interpreter = text_at(file, segment.p_offset);
    if (segment.p_type == PT_DYNAMIC) {
      dynamic = table<Elf64_Dyn>(file, segment.p_offset, segment.p_filesz / sizeof(Elf64_Dyn));
    }
  }
  std::uint64_t strings = file.size();
  for (const Elf64_Dyn& row : dynamic) {
    if (row.d_tag != DT_STRTAB) continue;
    for (const Elf64_Phdr& segment : segments) {
      const std::uint64_t from_start = row.d_un.d_ptr - segment.p_vaddr;
      if (segment.p_type == PT_LOAD && from_start < segment.p_filesz) strings = segment.p_offset + from_start;
    }
  }
  for (const Elf64_Dyn& row : dynamic) {
    if (row.d_tag == DT_NULL) break;
    if (row.d_tag == DT_NEEDED) needs.libraries.push_back(text_at(file, strings + row.d_un.d_val));
    if (row.d_tag == DT_RPATH || row.d_tag == DT_RUNPATH) {
      split_folders(text_at(file, strings + row.d_un.d_val), needs.folders);
    }
  }
  return needs;
}

std::string find_library(const std::string& name, const std::vector<std::string>& folders, Bytes cache) {
  constexpr std::uint32_t kX8664 = 0x0303;  // a library of libc6, x86-64
  const auto there = [](const std::string& path) { return access(path.c_str(), R_OK) == 0; };
  if (name.find('/') != std::string::npos) return there(name) ? name : "";
  for (const std::string& folder : folders) {
    if (std::string path = fmt::format("{}/{}", folder, name); there(path)) return path;
  }
  const auto heads = table<CacheHead>(cache, 0, 1);
  if (!heads.empty() && std::memcmp(heads[0].magic, "glibc-ld.so.cache1.1", sizeof heads[0].magic) == 0) {
    for (const CacheEntry& entry : table<CacheEntry>(cache, sizeof(CacheHead), heads[0].libraries)) {
      if (entry.flags != kX8664 || entry.capabilities != 0 || text_at(cache, entry.name) != name) continue;
      if (std::string path = text_at(cache, entry.path); there(path)) return path;
    }
  }
  for (const char* const folder :
       {"/lib/x86_64-linux-gnu/", "/usr/lib/x86_64-linux-gnu/", "/lib64/", "/usr/lib64/", "/lib/", "/usr/lib/"}) {
    if (std::string path = folder + name; there(path)) return path;
  }
  return "";
}

Initramfs::Initramfs() {
  if (auto cache = read_whole_file(kLinkerCache)) {
    cache_ = std::move(*cache);
    put("/etc", kFolderMode, {});
    add_file(kLinkerCache, cache_, 0644);
  }
}

void Initramfs::put(std::string_view path, std::uint32_t mode, Bytes content) {
  if (!there_.emplace(path).second) return;
  const std::string_view name = path.substr(path.find_first_not_of('/'));
  const std::string head =
      fmt::format("070701{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{}", ++inode_,
                  mode, 0, 0, 1, 0, content.size(), 0, 0, 0, 0, name.size() + 1, 0, name);
  const auto append = [this](Bytes bytes) { archive_.insert(archive_.end(), bytes.begin(), bytes.end()); };
  const auto align = [this] { archive_.resize((archive_.size() + kAligned - 1) / kAligned * kAligned); };
  append(bytes_of(head));
  archive_.push_back({});  // the name's end
  align();
  append(content);
  align();
}

void Initramfs::add_file(const std::string& path, Bytes content, std::uint32_t mode) {
  put(path, S_IFREG | mode, content);
}

Result<std::string> Initramfs::put_way(const std::string& path) {
  std::deque<std::string> left;
  put_components(path, left);
  std::string at;
  for (unsigned links = 0; !left.empty();) {
    const std::string part = left.front();
    left.pop_front();
    if (part == ".") continue;
    if (part == "..") {
      at.resize(at.empty() ? 0 : at.rfind('/'));
      continue;
    }
    const std::string next = fmt::format("{}/{}", at, part);
    struct stat facts {};
    if (lstat(next.c_str(), &facts) != 0) {
      return Error{path + ": cannot be taken into the guest: " + std::strerror(errno), "check the path"};
    }
    if (S_ISLNK(facts.st_mode)) {
      if (++links > kMostLinks) return Error{path + ": too many symbolic links", "check the path"};
      std::error_code error;
      const std::string target = std::filesystem::read_symlink(next, error);
      put(next, S_IFLNK | 0777, bytes_of(target));
      if (target.starts_with('/')) at.clear();
      put_components(target, left);
      continue;
    }
    if (S_ISDIR(facts.st_mode)) put(next, kFolderMode, {});
    at = next;
  }
  return at;
}

Result<void> Initramfs::add(const std::string& path) {
  const auto real = put_way(path);
  if (!real) return real.error();
  struct stat facts {};
  if (there_.contains(*real) || stat(real->c_str(), &facts) != 0) return {};
  if (!S_ISREG(facts.st_mode)) return Error{path + ": is neither a file nor a folder", "--file takes those alone"};
  const auto file = read_whole_file(*real);
  if (!file) return file.error();
  put(*real, S_IFREG | (facts.st_mode & 0777), *file);
  return add_needs(*real, *file);
}

Result<void> Initramfs::add_needs(const std::string& path, Bytes file) {
  if (file.size() > 2 && file[0] == std::byte{'#'} && file[1] == std::byte{'!'}) {
    const std::string_view text(reinterpret_cast<const char*>(file.data()), std::min<std::size_t>(file.size(), 256));
    const std::size_t first = text.find_first_not_of(" \t", 2), end = text.find_first_of(" \t\n", first);
    return first != std::string_view::npos && text[first] == '/' ? add(std::string(text.substr(first, end - first)))
                                                                 : Result<void>{};
  }
  const ElfNeeds needs = elf_needs(file);
  if (!needs.interpreter.empty()) {
    if (auto added = add(needs.interpreter); !added) return added;
  }
  std::vector<std::string> folders = needs.folders;
  for (std::string& folder : folders) {
    for (const std::string_view origin : {"${ORIGIN}", "$ORIGIN"}) {
      if (const std::size_t at = folder.find(origin); at != std::string::npos) {
        folder.replace(at, origin.size(), path.substr(0, path.rfind('/')));
      }
    }
  }
  for (const std::string& name : needs.libraries) {
    const std::string library = find_library(name, folders, cache_);
    if (library.empty()) {
      return Error{
          fmt::format("{}: needs {}, which is neither in {} nor in the usual folders", path, name, kLinkerCache),
          "install it, or run ldconfig"};
    }
    if (auto added = add(library); !added) return added;
  }
  return {};
}

std::vector<std::byte> Initramfs::finish() {
  put("/TRAILER!!!", 0, {});
  return std::move(archive_);
}

}  // namespace zs::cli
