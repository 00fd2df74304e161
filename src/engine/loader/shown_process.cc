#include "engine/loader/shown_process.h"

#include <fcntl.h>
#include <linux/prctl.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "engine/memory/real_maps.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

std::string link_target(const std::string& path) {
  char target[kPageSize];
  const long length = raw_syscall(SYS_readlinkat, AT_FDCWD, path.c_str(), target, sizeof target);
  return is_error(length) ? std::string() : std::string(target, static_cast<std::size_t>(length));
}

/// The file of this process, which stays the same for as long as it lives.
const std::string& own_executable() {
  static const std::string own = link_target("/proc/self/exe");
  return own;
}

AddressRange extent_of(const LoadedProgram& program, const OpenedImage& image, int prot) {
  AddressRange all{};
  for (const ElfSegment& segment : image.elf.segments) {
    if ((segment.prot & prot) == 0) continue;
    const AddressRange range{segment.address + program.program_bias,
                             segment.address + program.program_bias + segment.file_bytes};
    if (range.empty()) continue;
    all = all.empty() ? range : AddressRange{std::min(all.start, range.start), std::max(all.end, range.end)};
  }
  return all;
}

}  // namespace

std::uint64_t stat_field(const std::string& stat, unsigned number) {
  constexpr unsigned kFirstBehindName = 3;
  const char* at = stat.c_str() + stat.rfind(')') + 1;
  for (unsigned field = kFirstBehindName; field < number && at != nullptr; ++field) at = std::strchr(at + 1, ' ');
  return at == nullptr ? 0 : std::strtoull(at, nullptr, 10);
}

void show_process(const LoadedProgram& program, const OpenedImage& image, int executable_fd) {
  raw_syscall(SYS_prctl, PR_SET_NAME, program.comm.c_str());
  const AddressRange heap = own_heap();
  const AddressRange code = extent_of(program, image, PROT_EXEC), data = extent_of(program, image, PROT_WRITE);
  prctl_mm_map shown{};
  shown.start_code = code.start;
  shown.end_code = code.end;
  shown.start_data = data.empty() ? code.start : data.start;
  shown.end_data = data.empty() ? code.start : data.end;
  shown.start_brk = heap.start;  // the tool's own goes on there
  shown.brk = heap.end;
  shown.start_stack = program.stack_pointer;
  shown.arg_start = program.arguments.start;
  shown.arg_end = program.arguments.end;
  shown.env_start = program.environment.start;
  shown.env_end = program.environment.end;
  shown.auxv = reinterpret_cast<__u64*>(const_cast<char*>(program.auxv.data()));
  shown.auxv_size = static_cast<__u32>(program.auxv.size());
  shown.exe_fd = ~0U;
  raw_syscall(SYS_prctl, PR_SET_MM, PR_SET_MM_MAP, &shown, sizeof shown, 0);
  raw_syscall(SYS_dup3, image.fd.get(), executable_fd, O_CLOEXEC);  // the last: wait_until_shown()
}

AddressRange own_heap() {
  constexpr unsigned kStartBrk = 47;
  static const std::uint64_t start = stat_field(read_whole_file("/proc/self/stat"), kStartBrk);
  return {start, static_cast<std::uint64_t>(raw_syscall(SYS_brk, 0))};
}

void wait_until_shown(std::string_view path, int executable_fd) {
  constexpr std::string_view kProc = "/proc/";
  if (!path.starts_with(kProc) || path.size() == kProc.size() || path[kProc.size()] < '1' || path[kProc.size()] > '9')
    return;
  const std::string process(path.substr(0, path.find('/', kProc.size())));
  const std::string& ours = own_executable();
  const auto begins = [&] {
    if (link_target(process + "/exe") != ours) return false;
    if (!link_target(process + "/fd/" + std::to_string(executable_fd)).empty()) return false;
    // One that has its descriptors elsewhere is shown with the words of its program.
    return read_whole_file((process + "/cmdline").c_str()).starts_with(ours + std::string(1, '\0'));
  };
  constexpr timespec kShort{.tv_sec = 0, .tv_nsec = 1'000'000};
  for (int i = 0; i < 1000 && begins(); ++i) raw_syscall(SYS_nanosleep, &kShort, nullptr);
}

void occupy_descriptors(int first, int end, int last) {
  for (long fd = first; fd < end;) {
    fd = raw_syscall(SYS_fcntl, last, F_DUPFD_CLOEXEC, fd);  // the lowest that is free
    if (is_error(fd)) return;
    if (fd >= end) raw_syscall(SYS_close, fd);
    ++fd;
  }
}

std::optional<std::string> shown_executable(std::string_view path, int executable_fd) {
  constexpr std::string_view kFile = "/exe";
  if (!path.ends_with(kFile) || link_target(std::string(path)) != own_executable()) return std::nullopt;
  std::string target =
      link_target(std::string(path.substr(0, path.size() - kFile.size())) + "/fd/" + std::to_string(executable_fd));
  if (target.empty()) return std::nullopt;
  return target;
}

}  // namespace zs::engine
