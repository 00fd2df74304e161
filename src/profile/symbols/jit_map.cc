#include "profile/symbols/jit_map.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <vector>

#include "base/items.h"

namespace zs::profile {
namespace {

struct JitLine {
  std::uint64_t start = 0, size = 0;
  std::string_view name;
};

/// A hexadecimal number and the blanks behind it, taken off the front of `text`.
bool take_hex(std::string_view& text, std::uint64_t& number) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  const std::size_t blanks = std::min(text.find_first_not_of(" \t"), text.size());
  text.remove_prefix(blanks);
  return blanks != 0;
}

bool parse_line(std::string_view text, JitLine& line) {
  if (!take_hex(text, line.start) || !take_hex(text, line.size)) return false;
  line.name = text;
  return !line.name.empty() && line.size != 0 && line.start + line.size > line.start;
}

}  // namespace

std::string jit_map_path(std::int32_t pid) { return fmt::format("/tmp/perf-{}.map", pid); }

SymbolTable parse_jit_map(std::string_view text) {
  // By start, never overlapping: a line cuts or removes what stood where it stands now.
  std::map<std::uint64_t, JitLine> lines;
  for (std::string_view one : pieces_of(text, '\n')) {
    if (one.ends_with('\r')) one.remove_suffix(1);
    JitLine line;
    if (!parse_line(one, line)) continue;
    const std::uint64_t end = line.start + line.size;
    auto at = lines.upper_bound(line.start);
    if (at != lines.begin()) --at;
    while (at != lines.end() && at->second.start < end) {
      if (at->second.start + at->second.size <= line.start) {
        ++at;
      } else if (at->second.start < line.start) {
        at->second.size = line.start - at->second.start;
        ++at;
      } else {
        at = lines.erase(at);
      }
    }
    lines.insert_or_assign(line.start, line);
  }
  SymbolTable table;
  for (const auto& [start, line] : lines) {
    table.add(ImageAddress{start}, line.size, std::string(line.name), Symbol::Binding::Global, true);
  }
  table.finish(ImageAddress{0});
  return table;
}

std::optional<std::string> read_jit_map(const std::string& path, const JitMapTimes& times, std::string& problem) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return std::nullopt;
  const auto ns = [](const struct statx_timestamp& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; };
  struct statx file {};
  std::optional<std::string> text;
  if (statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &file) != 0 || !S_ISREG(file.stx_mode)) {
    problem = path + ": no regular file; it is passed over";
  } else if (file.stx_uid != 0 && file.stx_uid != geteuid()) {
    problem =
        fmt::format("{}: belongs to user {}, and neither to you nor to root; it is passed over", path, file.stx_uid);
  } else if (ns(file.stx_mtime) < times.written_from) {
    problem = path + ": was written before the recording began, by another process; it is passed over";
  } else if (ns((file.stx_mask & STATX_BTIME) != 0 ? file.stx_btime : file.stx_mtime) > times.made_until) {
    problem = path + ": was made after the recording ended, by another process; it is passed over";
  } else {
    text.emplace();
    char buffer[65536];
    for (ssize_t got; (got = read(fd, buffer, sizeof buffer)) > 0;) text->append(buffer, static_cast<std::size_t>(got));
  }
  close(fd);
  return text;
}

}  // namespace zs::profile
