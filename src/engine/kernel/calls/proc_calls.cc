// System calls of the program on what would show the engine: files under /proc, and descriptors of the tool.

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/kernel/calls/call_handlers.h"
#include "engine/kernel/calls/fixed_machine.h"
#include "engine/kernel/guest_kernel.h"
#include "engine/loader/proc_view.h"
#include "engine/loader/shown_maps.h"
#include "engine/loader/shown_process.h"
#include "engine/memory/guest_access.h"
#include "engine/memory/real_maps.h"
#include "engine/raw_syscall.h"

namespace zs::engine::calls {
namespace {

/// Its entries are links to those of /proc/self/fd.
constexpr const char* kDeviceFolder = "/dev/fd/";

constexpr std::size_t kOffsetAt = 8, kSizeAt = 16, kNameAt = 19;  // in a linux_dirent64

/// Leaves the tool's descriptors out of a listing of /proc/self/fd. File systems have orders of their own: in virtual
/// time the names that one call reads are in theirs. Where the next call goes on is told by place, not by name.
long list_folder(GuestKernel& kernel, const CallArguments& made) {
  Run& run = kernel.run;
  const long result = kernel.host.call(made);
  if (result <= 0) return result;
  const std::string path = path_of_descriptor(made.i32(0));
  const bool of_processes = (path + "/").starts_with("/proc/");
  const bool of_descriptors = of_processes && (path.ends_with("/fd") || path.ends_with("/fdinfo"));
  const bool sorts = run.config.virtual_time && !of_processes;
  if (!of_descriptors && !sorts) return result;
  std::vector<char> listing(static_cast<std::size_t>(result)), shown;
  const std::uint64_t buffer = made.u(1);
  if (run.read(buffer, listing.data(), listing.size()) != listing.size()) return result;
  std::vector<std::span<char>> entries;
  for (std::size_t at = 0; at + kNameAt < listing.size();) {
    std::uint16_t size;
    std::memcpy(&size, &listing[at + kSizeAt], 2);
    if (size == 0) break;
    if (!of_descriptors || !run.config.hides_descriptor(std::strtol(&listing[at + kNameAt], nullptr, 10)))
      entries.push_back(std::span(listing).subspan(at, size));
    at += size;
  }
  // Nothing left does not mean the end of the directory.
  if (entries.empty()) return list_folder(kernel, made);
  std::vector<std::uint64_t> offsets;
  for (const auto& entry : entries) std::memcpy(&offsets.emplace_back(), &entry[kOffsetAt], 8);
  if (sorts) std::ranges::sort(entries, {}, [](const auto& entry) { return std::string_view(&entry[kNameAt]); });
  for (std::size_t i = 0; i < entries.size(); ++i) {
    std::memcpy(&entries[i][kOffsetAt], &offsets[i], 8);
    shown.insert(shown.end(), entries[i].begin(), entries[i].end());
  }
  run.write(buffer, shown.data(), shown.size());
  return static_cast<long>(shown.size());
}

}  // namespace

std::optional<long> on_proc_path(GuestKernel& kernel, const CallArguments& made) {
  const auto& [number, a] = made;
  const Call& call = call_of(number);
  const int path_at = call.path;
  if (path_at < 0) return std::nullopt;
  Run& run = kernel.run;
  const auto path_pointer = static_cast<std::uint64_t>(a[path_at]);
  char start[6];
  if (run.read(path_pointer, start, 6) != 6) return std::nullopt;
  const bool may_be_device = std::memcmp(start, kDeviceFolder, 6) == 0;
  const bool opens = call.has(kOpens) || number == SYS_openat2;
  const bool begins_in_folder = opens && start[0] != '/';
  const bool may_be_fixed =
      run.config.cpu_level != arch::CpuLevel::Host && (begins_in_folder || std::memcmp(start, "/sys/", 5) == 0);
  if (!may_be_device && !may_be_fixed && std::memcmp(start, "/proc/", 6) != 0) return std::nullopt;
  std::string path;
  if (read_guest_string(path_pointer, 4096, path) != 0) return std::nullopt;
  if (may_be_device) {
    if (!path.starts_with(kDeviceFolder)) return std::nullopt;
    const auto fd = own_descriptor_file("/proc/self/fd/" + path.substr(std::strlen(kDeviceFolder)), 0);
    return fd && run.config.hides_descriptor(*fd) ? std::optional<long>(-ENOENT) : std::nullopt;
  }
  if (begins_in_folder) {
    if (!ends_as_fixed_file(path)) return std::nullopt;
    const std::string folder = path_of_descriptor(path_at == 1 ? made.i32(0) : AT_FDCWD);
    path = (folder.ends_with('/') ? "" : folder) + "/" + path;
  }
  auto fixed = opens ? file_of_fixed_machine(path, run.config, kernel.clock.look()) : std::nullopt;
  if (may_be_fixed && !fixed) return std::nullopt;
  const bool links = call.has(kReadsLink);
  if (opens && path.ends_with("/status")) {
    kernel.turns.let_go_of_processors();
    run.lock.hold_nobody();  // Cpus_allowed, which it may read at any time from now on
  }
  const auto fd = own_descriptor_file(path, run.ids.shown(run.thread->process->pid));
  if (fd && run.config.hides_descriptor(*fd)) return -ENOENT;
  wait_until_shown(run.ids.real_proc_path(path).value_or(path), run.config.executable_fd());
  auto answer = fixed ? std::optional<ProcAnswer>({.kind = ProcAnswer::Kind::Content, .text = std::move(*fixed)})
                      : proc_path(path, run.ids.shown(run.thread->process->pid), run.program, run.map.mappings());
  if (!answer) {
    if (auto target = shown_executable(path, run.config.executable_fd()))
      answer = {.kind = ProcAnswer::Kind::Path, .text = std::move(*target)};
    else if (auto maps = opens ? shown_maps(run.ids.real_proc_path(path).value_or(path)) : std::nullopt)
      answer = {.kind = ProcAnswer::Kind::Content, .text = std::move(*maps)};
  }
  if (!answer && links && path == "/proc/self" && run.ids.differ())
    answer = {.kind = ProcAnswer::Kind::Path, .text = std::to_string(run.ids.shown(run.thread->process->pid))};
  if (!answer) {
    const auto real = run.ids.real_proc_path(path);
    if (!real) return std::nullopt;
    long changed[6] = {a[0], a[1], a[2], a[3], a[4], a[5]};
    changed[path_at] = reinterpret_cast<long>(real->c_str());
    return kernel.host.call({number, changed});
  }
  if (number == SYS_openat2) {
    // How the path may be resolved (RESOLVE_NO_MAGICLINKS and its kin), the kernel knows.
    const std::string real = run.ids.real_proc_path(path).value_or(path);
    const long opened = raw_syscall(number, a[0], real.c_str(), a[2], a[3]);
    if (is_error(opened)) return opened;
    raw_syscall(SYS_close, opened);
  }
  switch (answer->kind) {
    case ProcAnswer::Kind::Memory: {
      if (!opens) return std::nullopt;
      const long opened = kernel.host.call(made);
      if (!is_error(opened))
        kernel.code_files.memory_is_open((raw_syscall(SYS_fcntl, opened, F_GETFL) & O_ACCMODE) != O_RDONLY);
      return opened;
    }
    case ProcAnswer::Kind::Content: {
      if (!opens) return std::nullopt;
      auto flags = static_cast<std::uint64_t>(a[path_at + 1]);
      if (number == SYS_openat2) flags = read_guest_value<std::uint64_t>(static_cast<std::uint64_t>(a[2])).value_or(0);
      const bool maps = own_proc_file(path, run.ids.shown(run.thread->process->pid)) == ProcFile::Maps;
      return open_content(answer->text, static_cast<int>(flags), maps ? kMapsContent : kOtherContent);
    }
    case ProcAnswer::Kind::Path: {
      if (links) {
        const auto size = static_cast<std::int64_t>(a[path_at + 2]);
        const auto out = static_cast<std::uint64_t>(a[path_at + 1]);
        if (size <= 0) return -EINVAL;
        const std::size_t length = std::min<std::size_t>(answer->text.size(), static_cast<std::size_t>(size));
        return run.write(out, answer->text.data(), length) == length ? static_cast<long>(length) : -EFAULT;
      }
      if (call.has(kStaysAtLink) || call.stays_at_link.is_set(made)) return std::nullopt;
      long changed[6] = {a[0], a[1], a[2], a[3], a[4], a[5]};
      changed[path_at] = reinterpret_cast<long>(answer->text.c_str());
      return kernel.host.call({number, changed});
    }
  }
  return std::nullopt;
}

// Of all but the tool's descriptors.
Outcome close_range(GuestKernel& kernel, const CallArguments& made) {
  const auto low = static_cast<unsigned>(made.a[0]), high = static_cast<unsigned>(made.a[1]);
  const auto begin = static_cast<unsigned>(kernel.run.config.first_private_fd);
  const unsigned end = begin + kPrivateDescriptors;
  if (low > high || high < begin || low >= end) return {kernel.host.call(made)};
  long result = 0;
  if (low < begin) result = raw_syscall(SYS_close_range, low, begin - 1, made.a[2]);
  if (result == 0 && high >= end) result = raw_syscall(SYS_close_range, end, high, made.a[2]);
  return {result};
}

Outcome getdents64(GuestKernel& kernel, const CallArguments& made) { return {list_folder(kernel, made)}; }

}  // namespace zs::engine::calls
