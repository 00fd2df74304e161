#include "cli/run/launch.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/descriptor.h"
#include "base/room_for_descriptors.h"
#include "cli/command/words.h"
#include "engine/loader/held_environment.h"
#include "session/wire/wire.h"

namespace zs::cli {
namespace {

constexpr int kSocketBufferBytes = 4 << 20;
constexpr const char* kFolders[] = {"/", "/../libexec/zeroskid/"};  // of our other programs, from this one's

Error system_error(const std::string& what) { return {what + ": " + std::strerror(errno), ""}; }

/// The same open file under a number that programs do not reach by counting up, inherited across execve.
Descriptor inheritable(const Descriptor& fd, int first) { return Descriptor(fcntl(fd.get(), F_DUPFD, first)); }

/// A number that programs hardly choose. Above what the program may have, unless that is so much that the kernel's
/// tables of descriptors, which each fork copies, would become large; and as high as the hard limit allows.
int first_private_fd(int usual) {
  constexpr rlim_t kRoom = 24;  // for the engine's own, above it
  constexpr rlim_t kMost = 65'536;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return usual;
  const rlim_t wanted = std::max<rlim_t>(static_cast<rlim_t>(usual), limit.rlim_cur <= kMost ? limit.rlim_cur : 0);
  if (limit.rlim_max >= wanted + kRoom) return static_cast<int>(wanted);
  return static_cast<int>(limit.rlim_max > 2 * kRoom ? limit.rlim_max - kRoom : limit.rlim_max / 2);
}

Result<Descriptor> sealed_config(const session::RecordingConfig& config) {
  const std::vector<std::byte> bytes = session::encode_config(config);
  Descriptor fd(memfd_create("zeroskid-config", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return system_error("cannot create a memfd for the recording's configuration");
  if (write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    return system_error("cannot write the recording's configuration");
  }
  fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
  return fd;
}

std::string folder_of_this_executable() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  const std::string text(path, length > 0 ? static_cast<std::size_t>(length) : 0);
  return text.substr(0, text.rfind('/'));
}

/// The child runs on our memory until its execve, so that there is no page table to copy, and only calls the kernel.
/// report  gets errno if the execve fails
__attribute__((noinline)) pid_t start(const std::vector<char*>& arguments, const std::vector<char*>& environment,
                                      const OwnSignals& signals, int report) {
  const pid_t pid = vfork();
  if (pid != 0) return pid;
  signals.restore();
  execve(arguments[0], arguments.data(), environment.data());
  const int reason = errno;
  (void)!write(report, &reason, sizeof reason);
  _exit(127);
}

bool executable(const std::string& path) { return access(path.c_str(), X_OK) == 0; }

}  // namespace

std::string find_own_program(const std::string& name) {
  for (const char* folder : kFolders) {
    std::string place = folder_of_this_executable().append(folder).append(name);
    if (executable(place)) return place;
  }
  return "";
}

Result<std::string> find_runner() {
  if (access("/proc/self/exe", F_OK) != 0) {
    return Error{"/proc is not mounted here: it says where programs, and zeroskid itself, are",
                 "mount -t proc proc /proc"};
  }
  if (const char* named = std::getenv("ZEROSKID_RUN"); named != nullptr && *named != '\0') {
    if (executable(named)) return std::string(named);
    return Error{std::string("$ZEROSKID_RUN is ") + named + ": " + std::strerror(errno),
                 "unset it, or name zeroskid-run"};
  }
  const std::string name = "zeroskid-run", here = folder_of_this_executable();
  if (std::string place = find_own_program(name); !place.empty()) return place;
  return Error{
      name + ", which programs run in, is neither " + here + kFolders[0] + name + " nor " + here + kFolders[1] + name,
      "install zeroskid again, or name the file in $ZEROSKID_RUN"};
}

std::vector<std::string> environment(std::string_view kept) {
  std::vector<std::string> variables;
  const std::string names = "," + std::string(kept) + ",";
  const auto name_of = [](std::string_view variable) { return std::string(variable.substr(0, variable.find('='))); };
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (kept == "*" || names.find("," + name_of(*variable) + ",") != std::string::npos)
      variables.emplace_back(*variable);
  }
  if (kept == "*") return variables;
  std::ranges::sort(variables);
  for (const char* const fixed : {"HOME=/", "LC_ALL=C", "PATH=/usr/local/bin:/usr/bin:/bin"}) {
    if (names.find("," + name_of(fixed) + ",") == std::string::npos) variables.emplace_back(fixed);
  }
  return variables;
}

Result<Launched> launch(session::RecordingConfig config, const std::string& runner, const std::string& program,
                        const std::vector<std::string>& argv, const OwnSignals& signals) {
  config.first_private_fd = first_private_fd(config.first_private_fd);
  auto written = sealed_config(config);
  if (!written) return written.error();

  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
    return system_error("cannot create the socket for samples");
  }
  Descriptor ours(pair[0]);
  Descriptor theirs(pair[1]);
  // Best effort: a fuller buffer lets the program run on while the collector writes.
  if (setsockopt(theirs.get(), SOL_SOCKET, SO_SNDBUFFORCE, &kSocketBufferBytes, sizeof kSocketBufferBytes) != 0) {
    setsockopt(theirs.get(), SOL_SOCKET, SO_SNDBUF, &kSocketBufferBytes, sizeof kSocketBufferBytes);
  }
  RoomForDescriptors room;
  const Descriptor socket_fd = inheritable(theirs, config.first_private_fd);
  const Descriptor config_fd = inheritable(*written, config.first_private_fd);
  room.lower();
  int report[2];
  if (!socket_fd || !config_fd || pipe2(report, O_CLOEXEC) != 0) {
    return Error{std::string("cannot keep three more files open: ") + std::strerror(errno),
                 "raise the limit: ulimit -n 1024"};
  }
  Descriptor report_read(report[0]);
  Descriptor report_write(report[1]);

  std::vector<std::string> words = {
      runner, "--session-fd", std::to_string(socket_fd.get()), "--config-fd", std::to_string(config_fd.get()), program};
  words.insert(words.end(), argv.begin(), argv.end());
  std::vector<std::string> variables;
  for (const std::string& variable : environment(config.kept_variables)) variables.push_back(engine::held(variable));
  const pid_t pid = start(pointers_to(words), pointers_to(variables), signals, report_write.get());
  if (pid < 0) return system_error("cannot start a process");
  report_write = Descriptor();
  int reason = 0;
  if (read(report_read.get(), &reason, sizeof reason) == static_cast<ssize_t>(sizeof reason)) {
    waitpid(pid, nullptr, 0);
    return Error{"cannot start " + runner + ": " + std::strerror(reason), ""};
  }
  return Launched{.pid = pid, .socket = ours.release()};
}

}  // namespace zs::cli
