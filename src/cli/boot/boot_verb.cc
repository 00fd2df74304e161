// `zeroskid boot`: the virtual PC, headless. Boots, runs to the end, prints the screen and how it ended.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>

#include "arch/cpu_model.h"
#include "base/descriptor.h"
#include "cli/boot/boot_options.h"
#include "cli/boot/serial_file.h"
#include "cli/command/exit_status.h"
#include "cli/command/say.h"
#include "cli/command/verb.h"
#include "machine/boot/screen.h"
#include "machine/boot/screenshot.h"
#include "machine/boot_log.h"
#include "machine/devices/vga.h"
#include "machine/gdb/server.h"
#include "machine/pc.h"
#include "machine/state_text.h"
#include "machine/vcpu/monitor.h"
#include "machine/vcpu/vcpu.h"
#include "report/text/json.h"

namespace zs::cli {
namespace {

using machine::PcStop;
using machine::PcStopKind;

constexpr int kTripleFault = 1, kUnsupported = 2;

struct CloseFile {
  void operator()(std::FILE* file) const { (void)(file == stdout ? std::fflush(file) : std::fclose(file)); }
};
/// A file to write to, buffered; "-" is standard output.
using OutputFile = std::unique_ptr<std::FILE, CloseFile>;

Result<OutputFile> open_to_write(const std::string& path) {
  OutputFile file(path == "-" ? stdout : std::fopen(path.c_str(), "we"));
  if (!file) return Error{path + ": cannot be written: " + std::strerror(errno), "choose another place"};
  return file;
}

void write(const OutputFile& file, std::string_view text) { std::fwrite(text.data(), 1, text.size(), file.get()); }

struct Outputs {
  OutputFile serial, ds_log, trace;
};

std::string name_of_stop(PcStopKind kind) {
  static constexpr const char* kNames[] = {"idle",      "debug-exit",  "limit",      "triple-fault", "reset",
                                           "power-off", "unsupported", "breakpoint", "watchpoint"};
  return kNames[static_cast<std::size_t>(kind)];
}

int exit_status_of_stop(const PcStop& stop) {
  switch (stop.kind) {
    case PcStopKind::DebugExit: return stop.status;
    case PcStopKind::Limit: return kLimitReached;
    case PcStopKind::TripleFault: return kTripleFault;
    case PcStopKind::Unsupported: return kUnsupported;
    default: return 0;
  }
}

void say_what_was_not_offered(const machine::NotOffered& note) {
  if (note.times == 0) return;
  say(Error{fmt::format("boot: at {:x}: the guest used {} ({}), which this PC's processor has not: #UD, {} in all",
                        note.linear, note.name, note.set, note.times),
            "CPUID offers none of it: build the guest for plain x86-64, or have it ask CPUID first"});
}

/// What the image was taken for, and that the screen is more than its text.
void say_what_it_was(const BootWords& words, machine::Pc& pc) {
  if (pc.disk() != nullptr) say("boot: " + words.images[0] + " is " + pc.disk()->description());
  if (pc.vga().shows() != machine::Vga::Shows::Text && words.screenshot.empty()) {
    say("boot: the screen shows graphics, which is not in its text: --screenshot FILE writes the picture of mode 13h");
  }
}

/// returns whether the picture is written, if one was asked for
bool write_screenshot(const BootWords& words, machine::Pc& pc) {
  if (words.screenshot.empty()) return true;
  const auto picture = machine::screenshot(pc.memory(), pc.vga());
  if (!picture) {
    say(picture.error());
    return false;
  }
  auto file = open_to_write(words.screenshot);
  if (!file) {
    say(file.error());
    return false;
  }
  write(*file, {reinterpret_cast<const char*>(picture->data()), picture->size()});
  return true;
}

bool shows_state(PcStopKind kind) {
  return kind == PcStopKind::TripleFault || kind == PcStopKind::Unsupported || kind == PcStopKind::Breakpoint;
}

std::string screen_json(const PcStop& stop, machine::Pc& pc, const arch::CpuModel& cpu) {
  report::Json rows = report::Json::array();
  for (const machine::ScreenRow& row : pc.screen()) {
    std::string attributes;
    for (const std::uint8_t attribute : row.attributes) attributes += fmt::format("{:02x}", attribute);
    rows.push_back({{"text", row.text()}, {"attributes", attributes}});
  }
  report::Json page = {{"cpu", cpu.name},
                       {"stop", name_of_stop(stop.kind)},
                       {"detail", stop.detail},
                       {"exit_status", exit_status_of_stop(stop)},
                       {"instructions", pc.retired()},
                       {"columns", pc.vga().text_columns()},
                       {"screen", rows}};
  if (pc.disk() != nullptr) page["drive"] = pc.disk()->description();
  page["graphics"] = pc.vga().shows() != machine::Vga::Shows::Text;
  if (shows_state(stop.kind)) page["state"] = machine::state_text(pc.cpu().state());
  return page.dump(2) + "\n";
}

Result<void> load(const BootWords& words, const BootPlan& plan, machine::Pc& pc) {
  const std::string& path = words.images.empty() ? words.kernel : words.images[0];
  auto bytes = read_whole_file(path);
  if (!bytes) return bytes.error();
  if (!words.images.empty()) {
    using machine::DiskImage, machine::DriveKind;
    auto disk = DiskImage::make(std::move(*bytes), path, plan.drive);
    if (!disk) return disk.error();
    if (words.images.size() == 1) {
      pc.boot_disk(std::move(*disk));
      return {};
    }
    if (disk->kind() != DriveKind::HardDisk) {
      return Error{"boot: a second disk needs a hard disk as the first: " + path + " is " + disk->description(),
                   "--drive disk, if it is one"};
    }
    auto second = read_whole_file(words.images[1]);
    if (!second) return second.error();
    pc.boot_disk(std::move(*disk), DiskImage::data(std::move(*second)));
    return {};
  }
  machine::MultibootInput input{.kernel = std::move(*bytes), .kernel_name = path, .command_line = path, .modules = {}};
  if (!words.append.empty()) input.command_line += " " + words.append;
  for (const std::string& word : words.modules) {
    auto module = read_whole_file(word.substr(0, word.find(' ')));
    if (!module) return module.error();
    input.modules.push_back({std::move(*module), word});
  }
  return pc.boot_kernel(input);
}

int run_boot(const Arguments& arguments) {
  BootWords words;
  if (const auto done = parse_boot(arguments, words)) return *done;
  const auto plan = plan_boot(words);
  if (!plan) return refused(plan.error());
  if (words.demo) return run_boot_demo(*plan);

  Outputs outputs;
  for (const auto& [path, file] : {std::pair{&words.serial, &outputs.serial}, std::pair{&words.ds_log, &outputs.ds_log},
                                   std::pair{&words.trace, &outputs.trace}}) {
    if (path->empty()) continue;
    auto opened = open_to_write(*path == "stdio" ? "-" : *path);
    if (!opened) return failed(opened.error());
    *file = *std::move(opened);
  }
  machine::BootLog log;
  machine::PcConfig config{.cpu = plan->cpu, .quirks = plan->quirks, .memory_bytes = plan->memory_bytes};
  if (outputs.serial) {
    std::setvbuf(outputs.serial.get(), nullptr, _IOLBF, 0);  // each line is there, whatever ends the run
    config.serial = [&outputs](std::uint8_t byte) {
      const char letter = static_cast<char>(byte);
      write(outputs.serial, {&letter, 1});
    };
  }
  config.keys = plan->keys;
  std::unique_ptr<SerialFile> serial_in;
  if (!words.serial_in.empty()) {
    auto opened = SerialFile::open(words.serial_in);
    if (!opened) return failed(opened.error());
    serial_in = std::move(*opened);
    config.serial_sender = serial_in.get();
  }
  config.note = [](const std::string& text) { say("boot: " + text); };
  if (outputs.ds_log) log.log_debug_store(config, [&outputs](std::string_view text) { write(outputs.ds_log, text); });
  if (outputs.trace) log.log_trace(config, [&outputs](std::string_view text) { write(outputs.trace, text); });
  auto made = machine::Pc::make(std::move(config));
  if (!made) return failed(made.error());
  machine::Pc& pc = **made;
  log.set_pc(pc, *plan->cpu, plan->quirks);
  if (const auto loaded = load(words, *plan, pc); !loaded) return failed(loaded.error());
  if (plan->core != nullptr) pc.attach_core(*plan->core);
  for (const std::uint64_t address : plan->breakpoints) pc.cpu().monitor().add_breakpoint(address);

  PcStop stop;
  if (plan->gdb_port) {
    using machine::gdb::Registers;
    const Registers own = pc.kernel_is_elf32() ? Registers::I386 : Registers::X8664;
    const Registers shown = plan->gdb_registers.value_or(own);
    auto served = machine::gdb::serve(pc, plan->limit, *plan->gdb_port, shown, [](std::uint16_t port) {
      say(fmt::format("boot: waiting for gdb: target remote 127.0.0.1:{}", port));
    });
    if (!served) return failed(served.error());
    stop = *served;
  } else {
    stop = pc.run(plan->limit);
  }
  log.finish();
  std::fflush(stdout);
  write_all(STDOUT_FILENO, plan->json ? screen_json(stop, pc, *plan->cpu) : machine::screen_text(pc.screen()));
  say("boot: " + ending(stop, pc));
  say_what_was_not_offered(pc.cpu().not_offered());
  say_what_it_was(words, pc);
  const bool pictured = write_screenshot(words, pc);
  if (shows_state(stop.kind)) write_all(STDERR_FILENO, machine::state_text(pc.cpu().state()));
  const int status = exit_status_of_stop(stop);
  return status == 0 && !pictured ? kToolFailed : status;
}

}  // namespace

const Verb kBootVerb{"boot", "Run a bare-metal program in a virtual PC with a complete PMU", run_boot};

}  // namespace zs::cli
