#include "engine/loader/shown_maps.h"

#include <sys/uio.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/memory/real_maps.h"
#include "engine/memory/shown_code.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

/// The process of /proc/PID/maps, /proc/PID/task/TID/maps and of the same with smaps; 0: another path.
std::int32_t process_of(std::string_view path) {
  constexpr std::string_view kProc = "/proc/";
  if (!path.starts_with(kProc) || !(path.ends_with("/maps") || path.ends_with("/smaps"))) return 0;
  path.remove_prefix(kProc.size());
  std::int32_t pid = 0;
  const auto [end, error] = std::from_chars(path.data(), path.data() + path.size(), pid);
  return error == std::errc() && *end == '/' ? pid : 0;
}

bool same_file(const RealMapping& a, const RealMapping& b) {
  return a.inode == b.inode && a.device_major == b.device_major && a.device_minor == b.device_minor;
}

/// Where the file behind `part` begins in memory; 0: it is not mapped.
std::uint64_t beginning(const std::vector<RealMapping>& maps, const RealMapping& part) {
  const auto found = std::ranges::find_if(
      maps, [&](const RealMapping& each) { return each.offset == 0 && each.inode != 0 && same_file(each, part); });
  return found == maps.end() ? 0 : found->start;
}

/// What the process with these mappings publishes; null: it does not run in our zeroskid-run, or may not be read.
std::unique_ptr<ShownCode> published(std::int32_t pid, const std::vector<RealMapping>& maps) {
  const std::vector<RealMapping> own = read_real_maps();
  const auto here = reinterpret_cast<std::uint64_t>(&process_of);
  const auto part = std::ranges::find_if(own, [&](const RealMapping& each) { return each.range().contains(here); });
  if (part == own.end()) return nullptr;
  const std::uint64_t base = beginning(own, *part), others_base = beginning(maps, *part);
  if (base == 0 || others_base == 0) return nullptr;
  auto shown = std::make_unique<ShownCode>();
  const iovec into{shown.get(), sizeof *shown};
  const iovec from{reinterpret_cast<void*>(reinterpret_cast<std::uint64_t>(&shown_code()) - base + others_base),
                   sizeof *shown};
  constexpr int kTries = 10;  // it may change just then, or have died there
  for (int i = 0; i < kTries; ++i) {
    if (raw_syscall(SYS_process_vm_readv, pid, &into, 1, &from, 1, 0) != static_cast<long>(sizeof *shown))
      return nullptr;
    if (shown->version() % 2 == 0) break;
  }
  return shown;
}

/// One process's mappings, made those of its program.
class ProgramsMaps {
 public:
  ProgramsMaps(const std::vector<RealMapping>& maps, const ShownCode& shown) : maps_(maps), shown_(shown) {}

  std::string maps() {
    for (const RealMapping& real : maps_) {
      for (std::uint64_t at = real.start, end; at < real.end; at = end) {
        end = next_cut(at, real.end);
        if (is_programs(real, at)) add(real, {at, end});
      }
    }
    flush();
    return std::move(text_);
  }

  /// The kernel's numbers are of whole mappings.
  std::string smaps() {
    for (const RealMapping& real : maps_) {
      if (!is_programs(real, real.start)) continue;
      RealMapping line = real;
      if (const ShownRange* const code = code_at(real.start)) line.prot = code->prot;
      line.path = name_of(real, real.start);
      text_ += maps_line(line) + real.tail;
    }
    return std::move(text_);
  }

 private:
  static const ShownRange* find(std::span<const ShownRange> ranges, std::uint64_t address) {
    for (const ShownRange& each : ranges) {
      if (each.start <= address && address < each.end) return &each;
    }
    return nullptr;
  }
  const ShownRange* code_at(std::uint64_t address) const { return find(shown_.code(), address); }

  bool is_programs(const RealMapping& real, std::uint64_t address) const {
    if (code_at(address) != nullptr) return true;
    if (real.path.starts_with("[vvar")) return !shown_.code().empty() && shown_.code().back().start > Layout().vast.end;
    return find(shown_.engine(), address) == nullptr &&
           std::ranges::any_of(kHintRanges, [&](AddressRange each) { return each.contains(address); });
  }

  /// Where something that is published begins or ends, or the main stack does, which the kernel makes one with the
  /// arguments behind it.
  std::uint64_t next_cut(std::uint64_t address, std::uint64_t end) const {
    if (const std::uint64_t top = Layout().stack_top(); top > address) end = std::min(end, top);
    for (const auto ranges : {shown_.code(), shown_.engine()}) {
      for (const ShownRange& each : ranges) {
        for (const std::uint64_t cut : {each.start, each.end}) {
          if (cut > address) end = std::min(end, cut);
        }
      }
    }
    return end;
  }

  static std::string name_of(const RealMapping& real, std::uint64_t start) {
    const Layout layout;
    if (!real.path.empty() && (real.path.front() != '[' || real.path.starts_with("[v"))) return real.path;
    if (layout.heap.contains(start)) return "[heap]";
    return AddressRange{layout.stack.start, layout.stack_top()}.contains(start) ? "[stack]" : std::string();
  }

  /// Pieces of one piece of code, which may be write-protected in part, are one.
  void add(const RealMapping& real, AddressRange range) {
    const ShownRange* const code = code_at(range.start);
    const std::uint64_t offset = real.inode == 0 && real.offset == 0 ? 0 : real.offset + (range.start - real.start);
    const bool goes_on = code != nullptr && code == code_ && line_.end == range.start && same_file(line_, real) &&
                         line_.shared == real.shared && (offset == 0 || line_.offset + line_.range().size() == offset);
    if (goes_on) {
      line_.end = range.end;
      return;
    }
    flush();
    line_ = real;
    line_.start = range.start;
    line_.end = range.end;
    line_.offset = offset;
    if (code != nullptr) line_.prot = code->prot;
    line_.path = name_of(real, range.start);
    code_ = code;
  }

  void flush() {
    if (!line_.range().empty()) text_ += maps_line(line_);
    line_ = {};
  }

  const std::vector<RealMapping>& maps_;
  const ShownCode& shown_;
  std::string text_;
  RealMapping line_;                  // the last one, which may go on
  const ShownRange* code_ = nullptr;  // that it is of
};

}  // namespace

std::optional<std::string> shown_maps(const std::string& path) {
  const std::int32_t pid = process_of(path);
  if (pid == 0) return std::nullopt;
  const std::vector<RealMapping> maps = parse_maps(read_whole_file(path.c_str()));
  const auto shown = published(pid, maps);
  if (shown == nullptr) return std::nullopt;
  ProgramsMaps programs(maps, *shown);
  return path.ends_with("/smaps") ? programs.smaps() : programs.maps();
}

}  // namespace zs::engine
