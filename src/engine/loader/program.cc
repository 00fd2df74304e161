// plan_program(): everything about a program that can be known, and can go wrong, before anything is mapped.
#include "engine/loader/program.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "base/splitmix.h"
#include "engine/loader/script.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

constexpr int kNotFound = 127, kNotExecutable = 126;
constexpr int kFirstPrivateFd = 1000;

std::string reason(long error) { return std::strerror(static_cast<int>(-error)); }

/// Opens a file that is to be executed, with the checks of the kernel's open_exec().
Result<OwnedFd> open_program(const std::string& path, const std::string& what, int& exit_status) {
  const auto refuse = [&](long error, const std::string& why, std::string hint = "") -> Error {
    exit_status = error == -ENOENT || error == -ENOTDIR ? kNotFound : kNotExecutable;
    return {.message = path + ": " + what + why, .hint = std::move(hint)};
  };
  const long fd = raw_syscall(SYS_openat, AT_FDCWD, path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
  const bool executable = !is_error(raw_syscall(SYS_faccessat2, AT_FDCWD, path.c_str(), X_OK, AT_EACCESS)) ||
                          !is_error(raw_syscall(SYS_faccessat, AT_FDCWD, path.c_str(), X_OK));
  if (is_error(fd)) {
    if (fd == -EACCES && executable) {
      return refuse(fd, "may be executed but not read", "translating a program needs permission to read it");
    }
    return refuse(fd, reason(fd));
  }
  OwnedFd opened(static_cast<int>(fd));
  if (const long high = raw_syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, kFirstPrivateFd); !is_error(high)) {
    opened = OwnedFd(static_cast<int>(high));
  }
  struct stat status;
  if (const long result = raw_syscall(SYS_fstat, opened.get(), &status); is_error(result)) {
    return refuse(result, reason(result));
  }
  if (S_ISDIR(status.st_mode)) return refuse(-EACCES, "is a directory, needed a program");
  if (!S_ISREG(status.st_mode)) return refuse(-EACCES, "is not a regular file, needed a program");
  if (!executable) return refuse(-EACCES, "has no permission to be executed", "chmod +x grants it");
  return opened;
}

std::string read_head(int fd) {
  std::array<char, kScriptHeadBytes> head;
  const long got = raw_syscall(SYS_pread64, fd, head.data(), head.size(), 0L);
  return is_error(got) ? std::string() : std::string(head.data(), static_cast<std::size_t>(got));
}

/// Replaces argv[0] as load_script() does: interpreter, its argument, the script's own name, the rest.
void prepend_interpreter(std::vector<std::string>& argv, const ScriptLine& line, const std::string& script) {
  argv[0] = script;
  if (line.argument) argv.insert(argv.begin(), *line.argument);
  argv.insert(argv.begin(), line.interpreter);
}

/// As on another day, where the kernel would have drawn other addresses: heap and mappings of data by pages, the stack
/// by 16 bytes. Code stays: where it may lie depends on more.
Layout displaced(Layout layout, std::uint64_t placement) {
  constexpr std::uint64_t kPages = 256, kStackStep = 16;
  const auto by_pages = [&] { return splitmix64(placement) % kPages * kPageSize; };
  layout.heap.start += by_pages();
  layout.high.start += by_pages();
  layout.stack_shift = splitmix64(placement) % (kPageSize / kStackStep) * kStackStep;
  return layout;
}

/// The first engine range that no fixed segment reaches into.
Result<Layout> choose_layout(const ProgramPlan& plan, std::uint64_t placement) {
  std::vector<AddressRange> fixed;
  const auto collect = [&](const OpenedImage& image) {
    if (image.elf.position_independent) return;
    for (const ElfSegment& segment : image.elf.segments) fixed.push_back(segment.pages());
  };
  collect(plan.program);
  for (const OpenedImage& image : plan.interpreter) collect(image);
  Layout layout;
  for (const AddressRange range : kEngineRanges) {
    const bool taken = std::any_of(fixed.begin(), fixed.end(), [&](AddressRange each) { return each.overlaps(range); });
    if (taken) continue;
    layout.engine = range;
    return placement == 0 ? layout : displaced(layout, placement);
  }
  return Error{.message = plan.program.path +
                          ": its fixed addresses leave no 351 MiB free below 2 GiB, which the "
                          "translated code needs",
               .hint = "link it position-independent (-pie)"};
}

}  // namespace

OwnedFd& OwnedFd::operator=(OwnedFd&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

OwnedFd::~OwnedFd() {
  if (fd_ >= 0) raw_syscall(SYS_close, fd_);
}

Result<ProgramPlan> plan_program(const ProgramConfig& config, int& exit_status) {
  exit_status = kNotExecutable;
  ProgramPlan plan;
  plan.exec_name = config.exec_name.empty() ? config.path : config.exec_name;
  plan.argv = config.argv;
  plan.envp = config.envp;
  plan.seed = config.seed;
  plan.cpu_level = config.cpu_level;
  plan.vdso = config.vdso;
  if (plan.argv.empty()) plan.argv.emplace_back();  // as Linux 5.18 and later

  std::string path = config.path, what;
  std::string name = plan.exec_name;  // what a script's interpreter is told
  for (int depth = 0;; ++depth) {
    auto opened = open_program(path, what, exit_status);
    if (!opened) return opened.error();
    plan.program.path = path;
    plan.program.fd = std::move(opened.value());
    const std::string head = read_head(plan.program.fd.get());
    if (!is_script(head)) break;
    const auto line = parse_script_line(head);
    if (!line) {
      return Error{.message = path + ": at 0x2: found no interpreter in the first " + std::to_string(kScriptHeadBytes) +
                              " bytes, needed its path after #!"};
    }
    if (depth == kScriptDepth) {
      return Error{.message = path + ": its interpreter is a script, and so on for more than " +
                              std::to_string(kScriptDepth) + " levels, needed a program"};
    }
    prepend_interpreter(plan.argv, *line, name);
    what = "(interpreter of " + path + ") ";
    path = name = line->interpreter;
  }

  auto elf = parse_elf_file(plan.program.fd.get(), path);
  if (!elf) return elf.error();
  plan.program.elf = std::move(elf.value());

  if (const std::string& interpreter = plan.program.elf.interpreter; !interpreter.empty()) {
    auto opened = open_program(interpreter, "(interpreter of " + path + ") ", exit_status);
    if (!opened) return opened.error();
    auto parsed = parse_elf_file(opened->get(), interpreter);
    if (!parsed) return parsed.error();
    plan.interpreter.push_back(
        {.path = interpreter, .fd = std::move(opened.value()), .elf = std::move(parsed.value())});
  }

  auto layout = choose_layout(plan, config.placement);
  if (!layout) return layout.error();
  plan.layout = *layout;
  return plan;
}

}  // namespace zs::engine
