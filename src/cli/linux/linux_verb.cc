// `zeroskid linux`: boots a Linux kernel in the virtual PC, with a file system made for it, to run one command there,
// and hands on what that writes, its exit status and the files that it leaves under /out.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "cli/boot/boot_options.h"
#include "cli/boot/serial_file.h"
#include "cli/command/command_line.h"
#include "cli/command/exit_status.h"
#include "cli/command/program_search.h"
#include "cli/command/say.h"
#include "cli/command/verb.h"
#include "cli/linux/initramfs.h"
#include "cli/linux/kernel_payload.h"
#include "cli/linux/outside_recording.h"
#include "cli/run/progress_line.h"
#include "machine/boot/linux_kernel.h"
#include "machine/boot/pvh.h"
#include "machine/clock.h"
#include "machine/pc.h"

/// guests/linux_init.c
extern "C" const std::byte zs_linux_init[], zs_linux_init_end[];

namespace zs::cli {
namespace {

namespace fs = std::filesystem;
using machine::PcStop;
using machine::PcStopKind;

constexpr int kPanicked = 122, kRebooted = 123;
constexpr ExitRow kLinuxStatuses[] = {
    {"N", "the command's own; 128+N if signal N killed it"},
    {"0", "or the guest turned the PC off"},
    {"122", "the kernel panicked"},
    {"123", "the guest rebooted"},
    {"124", "the limit of instructions is reached"},
    {"125", "zeroskid failed, or the PC can no longer do anything"},
    {"127", "the command is not found"},
    {"129", "wrong usage"},
};
/// What the kernel is told before --append. A panic reboots at once; names of its code lie where System.map says; its
/// cryptography is not tried out, which takes two fifths of a boot.
constexpr char kCommandLine[] = "console=ttyS0 panic=-1 nokaslr mitigations=off cryptomgr.notests=1";

struct LinuxWords {
  std::string kernel, append, cpu, memory = "1G", out = ".", console, detail = "exact";
  std::vector<std::string> files, modules;
  bool shell = false;
  std::uint64_t max_instructions = 0;
  // Of --record:
  bool record = false, branches = false, chains = false;
  std::vector<std::string> events;
  std::string recording = "perf.data";
  std::uint64_t period = 0, frequency = 0;
};

std::optional<int> parse_linux(const Arguments& arguments, LinuxWords& words, std::vector<std::string>& command) {
  CommandLine line(
      "linux", "Boots a Linux kernel in a virtual PC with a complete PMU, and runs one command there, perf for one.",
      "[OPTIONS] -- COMMAND [ARGS]");
  line.value("--kernel", words.kernel, "FILE", "A bzImage or a vmlinux (default: the newest /boot/vmlinuz-*)");
  line.value("--append", words.append, "TEXT", "More of the kernel's command line");
  line.value("--cpu", words.cpu, "MODEL", "The PC's CPU model (default: skylake-server)");
  add_detail_option(line, words.detail);
  line.value("--mem", words.memory, "SIZE", "Its memory, with K, M or G (default: 1G)");
  line.values("--file", words.files, "PATH", "One more file for the guest, with its libraries; may be repeated");
  line.values("--module", words.modules, "FILE.ko",
              "A module that the kernel loads before the command runs; may be repeated");
  line.flag("--shell", words.shell, "The command runs on this terminal, by the guest's ttyS0 (default command: sh)");
  line.value("--out", words.out, "DIR", "Where files that are left under /out come to (default: .)");
  line.value("--console", words.console, "FILE", "The kernel's messages; - is standard output");
  line.number("--max-instructions", words.max_instructions, 1, "N", "Stop after so many instructions, with status 124");
  line.group("Sampling from outside");
  line.flag("--record", words.record,
            "Sample kernel and programs while the command runs, by a PMU that the guest does not see");
  line.values("-e,--event", words.events, "EVENTS", "As `zeroskid record` has it [instructions:ppp]");
  line.number("-c,--count", words.period, 1, "N", "One sample every N events");
  line.number("-F,--freq", words.frequency, 1, "N", "N samples per 1,000,000,000 instructions [4000]");
  line.flag("-b,--branch-any", words.branches, "The last taken branches");
  line.value("-o,--output", words.recording, "FILE", "Where to [perf.data; an old one is kept as perf.data.old]");
  line.group("");
  line.flag("-g", words.chains, "");
  line.note(
      "The guest has the command, the files that its words name, perf, and the libraries of all these, each where it\n"
      "lies here. Its time is that of the PC: two runs are the same to the byte.");
  line.exit_statuses(kLinuxStatuses);
  if (const auto done = line.parse(arguments)) return done;
  command = line.program();
  if (command.empty() && words.shell) command = {"sh"};
  if (command.empty()) return refused({"linux: no command", "zeroskid linux -- perf stat true"});
  return std::nullopt;
}

/// What --record and the options behind it ask for, as `record` reads them.
std::optional<int> parse_recording(const LinuxWords& words, const Arguments& arguments, const BootPlan& plan,
                                   RecordOptions& options) {
  const bool any = !words.events.empty() || words.period != 0 || words.frequency != 0 || words.branches || words.chains;
  if (words.chains || (any && !words.record)) {
    say(words.chains ? Error{"linux -g: chains of a kernel's callers are not read", "-b has the last branches"}
                     : Error{"linux: -e, -c, -F and -b are for --record", "perf in the guest has options of its own"});
    return kUsage;
  }
  if (!words.record) return std::nullopt;
  Arguments as_record{{"record", "--pmu=sw", "--virtual-time", "--model", std::string(plan.cpu->name), "--detail",
                       plan.core != nullptr ? "full" : "exact", "--ds-records", "1", "-o", words.recording}};
  const auto add = [&as_record](const std::string& option, const std::string& value) {
    as_record.words.insert(as_record.words.end(), {option, value});
  };
  for (const std::string& list : words.events) add("-e", list);
  if (words.period != 0) add("-c", std::to_string(words.period));
  if (words.frequency != 0) add("-F", std::to_string(words.frequency));
  if (words.branches) as_record.words.emplace_back("-b");
  add("--", "guest");
  if (const auto done = parse_record_options(as_record, options, RecordKind::Outside)) return done;
  options.description.command_line = arguments.words;
  options.description.command_line.insert(options.description.command_line.begin(), "zeroskid");
  profile::Machine& guest = options.description.machine;
  guest.hostname = "guest";
  guest.os_release.clear();  // it is the kernel's build-id that says which it was
  guest.cpus = 1;
  guest.memory_kb = plan.memory_bytes / 1024;
  return std::nullopt;
}

Result<std::string> choose_kernel(const std::string& named) {
  if (!named.empty()) return named;
  std::string newest;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/boot", error)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("vmlinuz-") && strverscmp(name.c_str(), newest.c_str()) > 0) newest = name;
  }
  if (newest.empty()) {
    return Error{"linux: there is no /boot/vmlinuz-*",
                 "--kernel FILE names one; on Debian, apt-get download linux-image-cloud-amd64's newest package and"
                 " dpkg-deb -x it"};
  }
  return "/boot/" + newest;
}

std::string absolute(const std::string& path) { return fs::current_path() / path; }

/// The files of the guest, and what its first program is to do.
Result<std::vector<std::byte>> make_initramfs(const LinuxWords& words, const std::string& program,
                                              const std::vector<std::string>& command) {
  Initramfs files;
  const char* const search = std::getenv("PATH");
  SearchFailure failure;
  std::string found;
  std::vector<std::string> paths = {program, fs::current_path()};
  paths.insert(paths.end(), words.files.begin(), words.files.end());
  paths.insert(paths.end(), words.modules.begin(), words.modules.end());
  // What the command may want to run or read: the files that its words name, a shell, perf.
  std::vector<std::string> wanted(command.begin() + 1, command.end());
  wanted.insert(wanted.end(), {"sh", "perf"});
  for (const std::string& word : wanted) {
    std::error_code error;
    if (word.empty()) continue;
    if (find_program(word, search, found, failure))
      paths.push_back(found);
    else if (fs::is_regular_file(word, error))
      paths.push_back(word);
  }
  for (const std::string& path : paths) {
    if (auto added = files.add(absolute(path)); !added) return added.error();
  }
  const char* const terminal = words.shell ? std::getenv("TERM") : nullptr;
  std::vector<std::string> strings = {fs::current_path(), words.shell ? "/dev/ttyS0" : "-", words.record ? "1" : "0"};
  for (const std::string& path : words.modules) strings.push_back(absolute(path));
  strings.insert(strings.end(),
                 {"", std::string("PATH=") + (search != nullptr ? search : "/usr/bin:/bin"), "HOME=/root", "LANG=C",
                  std::string("TERM=") + (terminal != nullptr ? terminal : "dumb"), "", program});
  strings.insert(strings.end(), command.begin() + 1, command.end());
  std::string text;
  for (const std::string& string : strings) text += string + '\0';
  files.add_file("/.zeroskid", std::as_bytes(std::span(text)), 0600);
  files.add_file("/init", {zs_linux_init, zs_linux_init_end}, 0755);
  return files.finish();
}

/// What the guest sends: what the command writes, and files, which end with the next thing that comes.
class Arrivals {
 public:
  /// progress      is taken off before the command's output
  /// begun, ended  the command begins, has ended
  Arrivals(std::string folder, ProgressLine& progress, std::function<void()> begun, std::function<void()> ended)
      : folder_(std::move(folder)), progress_(progress), begun_(std::move(begun)), ended_(std::move(ended)) {}

  void take(std::uint64_t kind, Bytes bytes) {
    enum : std::uint8_t {
      Output = 1,
      Errors = 2,
      File = 3,
      Data = 4,
      CacheFile = 5,
      Begin = 6,
      Fact = 7,
      End = 8
    };  // guests/linux_init.c
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    switch (kind) {
      case Output: return show(STDOUT_FILENO, text);
      case Errors: return show(STDERR_FILENO, text);
      case File: return begin(folder_, "/out/", text);
      case Fact:
        file_ = Descriptor();
        fact_ = &facts_[std::string(text)];
        fact_->clear();
        return;
      case CacheFile:
        if (const char* const home = std::getenv("HOME")) begin(home + kNames, "/root" + kNames, text);
        return;
      case Data:
        if (!file_ && fact_ != nullptr) *fact_ += text;
        if (file_ && !write_all(file_.get(), text)) lost(std::strerror(errno));
        return;
      case Begin: return begun_();
      case End: return ended_();
      default: return;
    }
  }
  bool failed() const { return failed_; }
  /// Whether the command's output ends with a whole line.
  bool at_line_start() const { return at_line_start_; }
  const GuestFacts& facts() const { return facts_; }

 private:
  void show(int descriptor, std::string_view text) {
    progress_.clear();
    (void)write_all(descriptor, text);
    at_line_start_ = text.ends_with('\n');
  }
  /// The guest's name of a file is no way out of the folder.
  void begin(const std::string& folder, const std::string& below, std::string_view name) {
    file_ = Descriptor();
    fact_ = nullptr;
    const fs::path inside = fs::path(name.substr(std::min(below.size(), name.size()))).lexically_normal();
    if (!name.starts_with(below) || inside.is_absolute() || inside.empty() || *inside.begin() == "..") return;
    const fs::path path = folder / inside;
    name_ = path;
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    file_ = Descriptor(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (!file_) lost(std::strerror(errno));
  }
  void lost(const std::string& why) {
    file_ = Descriptor();
    failed_ = true;
    say(Error{name_ + ": cannot be written: " + why, "--out chooses another place"});
  }

  /// Where perf keeps the names of kernels' functions: nothing else of a home folder is the guest's to write.
  static inline const std::string kNames = "/.debug/[kernel.kallsyms]/";

  std::string folder_, name_;
  ProgressLine& progress_;
  std::function<void()> begun_, ended_;
  GuestFacts facts_;
  std::string* fact_ = nullptr;  // what comes is of
  Descriptor file_;
  bool failed_ = false, at_line_start_ = true;
};

/// The kernel's messages: whole to a file, the last lines for who asks why it ended.
class Console {
 public:
  explicit Console(Descriptor file) : file_(std::move(file)) {}
  void take(std::uint8_t byte) {
    line_ += static_cast<char>(byte);
    if (shown_) (void)write_all(STDOUT_FILENO, {&line_.back(), 1});
    if (byte != '\n') return;
    if (line_.find("Kernel panic") != std::string::npos) panicked_ = true;
    if (file_) (void)write_all(file_.get(), line_);
    last_.push_back(std::exchange(line_, {}));
    if (last_.size() > kKept) last_.pop_front();
  }
  /// From here on what comes is the terminal's.
  void show() { shown_ = true; }
  bool panicked() const { return panicked_; }
  std::string last_line() const {
    std::string line = last_.empty() ? "" : last_.back();
    std::erase_if(line, [](char byte) { return static_cast<unsigned char>(byte) < ' '; });
    return line;
  }
  std::string last() const {
    std::string text;
    for (const std::string& line : last_) text += line;
    return text + line_;
  }

 private:
  static constexpr std::size_t kKept = 20;
  Descriptor file_;
  std::string line_;
  std::deque<std::string> last_;
  bool panicked_ = false, shown_ = false;
};

/// While it lives, each key that is typed here goes to the guest as it is: the guest's terminal echoes and understands.
class RawTerminal {
 public:
  RawTerminal() : is_one_(tcgetattr(STDIN_FILENO, &before_) == 0) {
    if (!is_one_) return;
    termios raw = before_;
    cfmakeraw(&raw);
    (void)tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  }
  ~RawTerminal() {
    if (is_one_) (void)tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

 private:
  termios before_{};
  bool is_one_;
};

int exit_status(const PcStop& stop, const Console& console) {
  switch (stop.kind) {
    case PcStopKind::DebugExit: return stop.status;
    case PcStopKind::PowerOff: return 0;
    case PcStopKind::Limit: return kLimitReached;
    case PcStopKind::Reset: return console.panicked() ? kPanicked : kRebooted;
    default: return kToolFailed;
  }
}

int run_linux(const Arguments& arguments) {
  LinuxWords words;
  std::vector<std::string> command;
  if (const auto done = parse_linux(arguments, words, command)) return *done;
  const auto kernel = choose_kernel(words.kernel);
  if (!kernel) return failed(kernel.error());
  const auto plan = plan_boot({.kernel = *kernel,
                               .append = {},
                               .modules = {},
                               .breakpoints = {},
                               .quirks = {},
                               .cpu = words.cpu,
                               .memory = words.memory,
                               .detail = words.detail,
                               .max_instructions = words.max_instructions});
  if (!plan) return refused(plan.error());
  RecordOptions record_options;
  if (const auto done = parse_recording(words, arguments, *plan, record_options)) return *done;
  std::string program;
  if (const int missing = find_in_path(command.front(), program); missing != 0) return missing;
  machine::MultibootInput input{.kernel = {}, .kernel_name = *kernel, .command_line = kCommandLine, .modules = {}};
  if (!words.append.empty()) input.command_line += " " + words.append;
  auto image = read_whole_file(*kernel);
  if (!image) return failed(image.error());
  input.kernel = std::move(*image);
  if (auto unpacked = unpacked_kernel(input.kernel); machine::pvh_entry(unpacked)) input.kernel = std::move(unpacked);
  if (!machine::is_linux_kernel(input.kernel) && !machine::pvh_entry(input.kernel)) {
    return failed({*kernel + ": is no Linux kernel that a boot loader takes: neither a bzImage nor a vmlinux with an"
                             " entry for PVH (CONFIG_PVH)",
                   "arch/x86/boot/bzImage is one"});
  }
  auto files = make_initramfs(words, absolute(program), command);
  if (!files) return failed(files.error());
  input.modules.push_back({std::move(*files), "the guest's files"});

  Descriptor console_file;
  if (!words.console.empty()) {
    console_file =
        Descriptor(words.console == "-" ? dup(STDOUT_FILENO)
                                        : open(words.console.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!console_file) {
      return failed({words.console + ": cannot be written: " + std::strerror(errno), "choose another place"});
    }
  }
  Console console(std::move(console_file));
  machine::Pc* running = nullptr;
  std::optional<RawTerminal> terminal;
  std::unique_ptr<SerialFile> typed;
  if (words.shell) {
    auto opened = SerialFile::open("-");
    if (!opened) return failed(opened.error());
    typed = std::move(*opened);
    constexpr std::uint8_t kEndOfFile = 4;  // as a terminal has it
    typed->end_with(kEndOfFile);
    typed->wait();
  }
  // Whoever types, or reads the console, has the terminal.
  ProgressLine progress(progress_style(words.shell || words.console == "-", false, true));
  std::unique_ptr<OutsideRecording> recording;
  Arrivals arrivals(
      words.out, progress,
      [&] {
        if (words.shell) {
          terminal.emplace();
          typed->begin();
          console.show();
        }
        if (plan->core != nullptr) running->attach_core(*plan->core);
        if (recording) recording->begin(arrivals.facts());
      },
      [&] {
        if (recording) recording->end();
      });
  const auto start = std::chrono::steady_clock::now();
  auto said = start;
  const auto breathe = [&] {
    const auto now = std::chrono::steady_clock::now();
    if (now - said < std::chrono::milliseconds(250)) return;
    said = now;
    if (recording) recording->breathe();
    if (!arrivals.at_line_start()) return;
    const double seconds = std::chrono::duration<double>(now - start).count();
    const double guest_seconds = static_cast<double>(running->clock().now()) / machine::kTscHz;
    progress.show(seconds, fmt::format("{:.2f} s of the guest, {:.0f} MIPS: {}", guest_seconds,
                                       static_cast<double>(running->retired()) / 1e6 / seconds, console.last_line()));
  };
  auto made = machine::Pc::make({.cpu = plan->cpu,
                                 .quirks = plan->quirks,
                                 .memory_bytes = plan->memory_bytes,
                                 .serial = [&console](std::uint8_t byte) { console.take(byte); },
                                 .serial_sender = typed.get(),
                                 .parcel = [&arrivals](std::uint64_t kind, Bytes bytes) { arrivals.take(kind, bytes); },
                                 .breathe = breathe});
  if (!made) return failed(made.error());
  machine::Pc& pc = **made;
  running = &pc;
  if (const auto loaded = pc.boot_kernel(input); !loaded) return failed(loaded.error());
  if (words.record) {
    auto created = OutsideRecording::create(record_options, pc);
    if (!created) return failed(created.error());
    recording = *std::move(created);
  }
  const PcStop stop = pc.run(plan->limit);
  progress.clear();
  terminal.reset();
  const int status = exit_status(stop, console);
  if (stop.kind != PcStopKind::DebugExit && stop.kind != PcStopKind::PowerOff) {
    write_all(STDERR_FILENO, console.last());
    say("linux: " + (status == kPanicked ? "the kernel panicked" : ending(stop, pc)));
  }
  const bool recorded = !recording || recording->close(arrivals.facts());
  return status == 0 && (arrivals.failed() || !recorded) ? kToolFailed : status;
}

}  // namespace

const Verb kLinuxVerb{"linux", "Run a command under a Linux kernel in the virtual PC, where perf is precise",
                      run_linux};

}  // namespace zs::cli
