#include "engine/memory/real_maps.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <string_view>
#include <system_error>

#include "base/items.h"
#include "engine/raw_syscall.h"

namespace zs::engine {

std::string read_whole_file(const char* path) {
  const long fd = raw_syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
  if (is_error(fd)) return {};
  std::string text(std::size_t{8} << 10, '\0');
  std::size_t used = 0;
  for (long got; (got = raw_syscall(SYS_read, fd, text.data() + used, text.size() - used)) > 0;) {
    used += static_cast<std::size_t>(got);
    if (used == text.size()) text.resize(2 * used);
  }
  text.resize(used);
  raw_syscall(SYS_close, fd);
  return text;
}

std::string path_of_descriptor(int fd) {
  const std::string link = fd == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/" + std::to_string(fd);
  char path[kPageSize];
  const long length = raw_syscall(SYS_readlinkat, AT_FDCWD, link.c_str(), path, sizeof path);
  return is_error(length) ? std::string() : std::string(path, static_cast<std::size_t>(length));
}

namespace {

/// Takes hexadecimal or decimal digits from the front of `text`; false if there are none.
bool take_number(std::string_view& text, int base, std::uint64_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, base);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc();
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

/// "00400000-00452000 r-xp 00000000 08:02 173521      /usr/bin/dbus-daemon"
bool parse_header(std::string_view line, RealMapping& out) {
  std::uint64_t major = 0, minor = 0;
  if (!take_number(line, 16, out.start) || !take(line, '-') || !take_number(line, 16, out.end) || !take(line, ' ') ||
      line.size() < 4) {
    return false;
  }
  out.prot = (line[0] == 'r' ? PROT_READ : 0u) | (line[1] == 'w' ? PROT_WRITE : 0u) | (line[2] == 'x' ? PROT_EXEC : 0u);
  out.shared = line[3] == 's';
  line.remove_prefix(4);
  if (!take(line, ' ') || !take_number(line, 16, out.offset) || !take(line, ' ') || !take_number(line, 16, major) ||
      !take(line, ':') || !take_number(line, 16, minor) || !take(line, ' ') || !take_number(line, 10, out.inode)) {
    return false;
  }
  out.device_major = static_cast<std::uint32_t>(major);
  out.device_minor = static_cast<std::uint32_t>(minor);
  while (take(line, ' ')) {}
  out.path = line;
  return true;
}

}  // namespace

std::vector<RealMapping> parse_maps(const std::string& text) {
  std::vector<RealMapping> mappings;
  for (const std::string_view line : pieces_of(text, '\n')) {
    RealMapping mapping;
    if (parse_header(line, mapping)) {
      mappings.push_back(std::move(mapping));
    } else if (!mappings.empty()) {
      mappings.back().tail.append(line).append("\n");
    }
  }
  return mappings;
}

std::vector<RealMapping> read_real_maps() { return parse_maps(read_whole_file("/proc/self/maps")); }
std::vector<RealMapping> read_real_smaps() { return parse_maps(read_whole_file("/proc/self/smaps")); }

std::string maps_line(const RealMapping& mapping) {
  char head[160];
  const int used = std::snprintf(
      head, sizeof head, "%08" PRIx64 "-%08" PRIx64 " %c%c%c%c %08" PRIx64 " %02x:%02x %" PRIu64 " ", mapping.start,
      mapping.end, mapping.prot & PROT_READ ? 'r' : '-', mapping.prot & PROT_WRITE ? 'w' : '-',
      mapping.prot & PROT_EXEC ? 'x' : '-', mapping.shared ? 's' : 'p', mapping.offset, mapping.device_major,
      mapping.device_minor, mapping.inode);
  std::string line(head, static_cast<std::size_t>(used));
  if (!mapping.path.empty()) {
    constexpr std::size_t kPathColumn = 73;  // show_map_vma pads to 25 + 6 * sizeof(void *), one less for the tab
    if (line.size() < kPathColumn) line.resize(kPathColumn, ' ');
    line += mapping.path;
  }
  line += '\n';
  return line;
}

}  // namespace zs::engine
