// zeroskid-run: the host that a profiled program lives in. `zeroskid` starts it, and every execve of a followed program
// starts it anew, so it must be up in milliseconds: no argument library, no streams, no symbol libraries.
//   zeroskid-run --session-fd N --config-fd M [--exec] PATH ARGV0 [ARGV...]
// By hand, to see what a program does in here without recording it (the ptrace oracle steps a --native-load):
//   zeroskid-run [--native-load] [--virtual-time] [--vdso] [--precise-only] [--seed N] -- PATH [ARGV...]
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/room_for_descriptors.h"
#include "base/start_up.h"
#include "engine/engine.h"
#include "engine/kernel/virtual_time/shared_tables.h"
#include "engine/loader/held_environment.h"
#include "session/driver/core_choice.h"
#include "session/driver/pmu_plan.h"
#include "session/memory/program_memory.h"
#include "session/recording/recorder.h"
#include "session/settings/clock.h"
#include "session/settings/config.h"
#include "session/wire/wire.h"

extern char** environ;

namespace zs::session {
namespace {

struct Arguments {
  int session_fd = -1;  // -1: by hand
  int config_fd = -1;
  bool exec = false;
  std::uint64_t images = 0;  // as Recorder has them
  RecordingConfig by_hand;
  std::string program;
  std::string exec_name;
  std::optional<std::uint64_t> signal_mask, random_seed;
  std::uint64_t mdwe = 0;
  std::vector<std::string> call_filters;
  std::int32_t first_pid = 0;  // of the recording; told with --exec
  int shared_tables = -1;      // likewise
  std::vector<std::string> argv;
};

[[noreturn]] void fail(const Error& error) {
  std::fprintf(stderr, "zeroskid-run: %s\n", error.message.c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "hint: %s\n", error.hint.c_str());
  std::exit(engine::kToolFailed);
}

/// A descriptor's number, or -1.
int descriptor(const char* text) {
  char* end = nullptr;
  const long number = std::strtol(text, &end, 10);
  return *text != '\0' && *end == '\0' && number >= 0 && number <= INT_MAX ? static_cast<int>(number) : -1;
}

Result<Arguments> parse(int argc, char** argv) {
  Arguments out;
  int i = 1;
  const auto is = [&](const char* option) { return std::strcmp(argv[i], option) == 0; };
  for (; i < argc && std::strncmp(argv[i], "--", 2) == 0 && !is("--"); ++i) {
    if (is("--session-fd") && i + 1 < argc) {
      out.session_fd = descriptor(argv[++i]);
    } else if (is("--config-fd") && i + 1 < argc) {
      out.config_fd = descriptor(argv[++i]);
    } else if (is("--seed") && i + 1 < argc) {
      out.by_hand.seed = std::strtoull(argv[++i], nullptr, 0);
    } else if (is("--exec")) {
      out.exec = true;
    } else if (is("--images") && i + 1 < argc) {
      out.images = std::strtoull(argv[++i], nullptr, 10);
    } else if (is("--exec-name") && i + 1 < argc) {
      out.exec_name = argv[++i];
    } else if (is("--first-pid") && i + 1 < argc) {
      out.first_pid = static_cast<std::int32_t>(std::strtol(argv[++i], nullptr, 10));
    } else if (is("--shared-tables") && i + 1 < argc) {
      out.shared_tables = descriptor(argv[++i]);
    } else if (is("--signal-mask") && i + 1 < argc) {
      out.signal_mask = std::strtoull(argv[++i], nullptr, 16);
    } else if (is("--mdwe") && i + 1 < argc) {
      out.mdwe = std::strtoull(argv[++i], nullptr, 10);
    } else if (is("--call-filter") && i + 1 < argc) {
      out.call_filters.emplace_back(argv[++i]);
    } else if (is("--random-seed") && i + 1 < argc) {
      out.random_seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (is("--native-load")) {
      out.by_hand.native_load = true;
    } else if (is("--virtual-time")) {
      out.by_hand.virtual_time = true;
    } else if (is("--vdso")) {
      out.by_hand.vdso = true;
    } else if (is("--precise-only")) {
      out.by_hand.precise_only = true;
    } else {
      return Error{std::string("there is no option ") + argv[i], "zeroskid starts zeroskid-run"};
    }
  }
  const bool by_hand = out.session_fd < 0 && out.config_fd < 0 && i < argc && is("--");
  if (by_hand) ++i;
  if (i >= argc || (!by_hand && (out.session_fd < 0 || out.config_fd < 0))) {
    return Error{"is started by zeroskid, not by hand", "zeroskid stat -- PROGRAM, zeroskid record -- PROGRAM"};
  }
  out.program = argv[i];
  if (!by_hand) ++i;
  out.argv.assign(argv + i, argv + argc);
  return out;
}

Result<RecordingConfig> read_config(int fd) {
  struct stat file {};
  if (fstat(fd, &file) != 0) {
    return Error{std::string("recording configuration: descriptor is gone: ") + std::strerror(errno),
                 "the program closed a descriptor that is not its own"};
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(file.st_size));
  // pread: the processes of a recording share the descriptor's position.
  if (pread(fd, bytes.data(), bytes.size(), 0) != file.st_size)
    return Error{"recording configuration: cannot be read", ""};
  return decode_config(bytes);
}

/// The collector's socket. Once nobody listens any more, the program runs on and nothing is sent.
class SocketChannel final : public Channel {
 public:
  explicit SocketChannel(int fd) : fd_(fd) {}
  void send(std::span<const std::byte> datagram) override {
    while (!deaf_ && fd_ >= 0) {
      if (::send(fd_, datagram.data(), datagram.size(), MSG_NOSIGNAL) >= 0) return;
      if (errno == EINTR) continue;
      deaf_ = true;
    }
  }

 private:
  int fd_;
  bool deaf_ = false;
};

std::string own_path() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : "/proc/self/exe";
}

engine::Config engine_config(const Arguments& arguments, const RecordingConfig& recording) {
  const RoomForDescriptors room;
  engine::Config config{recording};
  config.program = arguments.program;
  config.exec_name = arguments.exec_name;
  config.signal_mask = arguments.signal_mask;
  config.random_seed = arguments.random_seed;
  config.mdwe = arguments.mdwe;
  config.call_filters = arguments.call_filters;
  config.argv = arguments.argv;
  const bool by_hand = arguments.session_fd < 0;
  for (char** variable = environ; *variable != nullptr; ++variable)
    config.envp.emplace_back(by_hand ? *variable : engine::released(*variable));
  config.virtual_ids = recording.virtual_time;
  config.first_pid = arguments.exec ? arguments.first_pid : getpid();
  config.exec_prefix = {own_path(),
                        "--session-fd",
                        std::to_string(arguments.session_fd),
                        "--config-fd",
                        std::to_string(arguments.config_fd),
                        "--exec"};
  if (config.virtual_ids) {
    config.shared_tables = arguments.exec || by_hand
                               ? arguments.shared_tables
                               : static_cast<int>(engine::SharedTables::make(config.first_private_fd));
    for (const auto& [option, value] :
         {std::pair{"--first-pid", config.first_pid}, {"--shared-tables", config.shared_tables}}) {
      config.exec_prefix.emplace_back(option);
      config.exec_prefix.push_back(std::to_string(value));
    }
  }
  return config;
}

[[noreturn]] void run(int argc, char** argv) {
  const Result<Arguments> arguments = parse(argc, argv);
  if (!arguments) fail(arguments.error());
  Result<RecordingConfig> read =
      arguments->session_fd >= 0 ? read_config(arguments->config_fd) : Result<RecordingConfig>(arguments->by_hand);
  if (!read) fail(read.error());
  const RecordingConfig recording = with_progress_event(*std::move(read));
  const arch::CpuModel* const model = arch::find_cpu_model(recording.cpu_model);
  if (model == nullptr) fail({"no CPU model named " + recording.cpu_model, ""});
  Result<std::vector<BankPlan>> banks = plan_banks(recording.events, *model);
  if (!banks) fail(banks.error());

  SocketChannel channel(arguments->session_fd);
  OwnProcessMemory memory(recording.first_private_fd + engine::kSpareDescriptor);
  SteadyClock steady;
  ProgressClock virtual_time;
  RecordingClock& clock = recording.virtual_time ? static_cast<RecordingClock&>(virtual_time) : steady;
  if (recording.detail != Detail::Exact) use_large_heap_pages();
  Result<std::unique_ptr<uarch::ModelledMachine>> machine = make_machine(recording, *model);
  if (!machine) fail(machine.error());
  Recorder recorder(recording, *model, *std::move(banks), machine->get(), channel, clock, memory, arguments->images);
  virtual_time.follow(recorder);
  engine::run(engine_config(*arguments, recording), recorder);
}

}  // namespace
}  // namespace zs::session

int main(int argc, char** argv) {
  zs::populate_heap();
  zs::end_failed_checks_with(zs::engine::kToolFailed);
  zs::session::run(argc, argv);
}
