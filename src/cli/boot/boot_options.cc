#include "cli/boot/boot_options.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include "arch/cpu_model.h"
#include "base/descriptor.h"
#include "base/number.h"
#include "base/units.h"
#include "cli/command/command_line.h"
#include "cli/command/exit_status.h"
#include "cli/command/memory_size.h"
#include "cli/command/say.h"
#include "cli/command/words.h"
#include "cli/events/event_selection.h"
#include "machine/memory.h"
#include "machine/pc.h"
#include "uarch/core_model.h"

namespace zs::cli {
namespace {

constexpr ExitRow kBootStatuses[] = {
    {"0",
     "the guest has nothing more to do (HLT, an endless loop, a wait for a key), or it reset the PC"
     " or turned it off, or --break"},
    {"N", "what the guest wrote to port F4H (debug-exit)"},
    {"1", "a triple fault"},
    {"2", "the guest needs what this PC has not"},
    {"124", "the limit of instructions is reached"},
    {"125", "a file cannot be read, written or booted"},
    {"129", "wrong usage"},
};

std::vector<std::string> quirk_names() {
  std::vector<std::string> names;
  for (const arch::QuirkFact& row : arch::quirks()) names.emplace_back(row.name);
  return names;
}

constexpr std::uint64_t kLargestFile = std::uint64_t{2} << 30;

/// 0x9133 or 9133: an address is hexadecimal, as debuggers print it.
std::optional<std::uint64_t> parse_address(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  return whole_number<std::uint64_t>(text, 16);
}

}  // namespace

void add_detail_option(CommandLine& line, std::string& detail) {
  line.value("--detail", detail, "exact|complete",
             "complete: instructions go through the model of the CPU's core, which costs some 80 times as much\n"
             "(default: exact, each takes a cycle)");
}

std::optional<int> parse_boot(const Arguments& arguments, BootWords& words) {
  CommandLine line("boot", "Runs a bare-metal program in a virtual PC with a complete PMU, and prints its screen.",
                   "(--image FILE | --kernel FILE | --demo) [OPTIONS]");
  line.group("What to boot");
  line.values(
      "--image", words.images, "FILE",
      "A raw floppy or disk image, from its boot sector, or an ISO 9660 image; a second one is the second disk");
  line.value("--drive", words.drive, "floppy|disk|cd", "What the image is (default: what its bytes say)");
  line.value("--kernel", words.kernel, "FILE", "A Multiboot kernel (1 or 2) or a plain ELF, 32 or 64 bits");
  line.value("--append", words.append, "TEXT", "The kernel's command line, after its name");
  line.values("--module", words.modules, "FILE [ARGS]", "A Multiboot module, with its command line; may be repeated");
  line.flag("--demo", words.demo, "Built-in guests, each beside what the manual promises");
  line.group("The PC");
  line.value("--cpu", words.cpu, "MODEL", "Its CPU model (default: westmere for --demo, else skylake-server)");
  line.values("--quirk", words.quirks, "QUIRK", "A quirk or erratum of a processor, on; may be repeated");
  line.value("--mem", words.memory, "SIZE", "Memory, with K, M or G (default: 512M)");
  line.value("--keys", words.keys, "TEXT", "Typed on its keyboard; <Enter>, <Esc>, <Up>, <F1>, <C-c>, <Wait> are keys");
  line.value("--serial-in", words.serial_in, "FILE", "What COM1 receives (default: nothing)");
  add_detail_option(line, words.detail);
  line.number("--max-instructions", words.max_instructions, 1, "N", "Stop after so many instructions, with status 124");
  line.group("What to show");
  line.value("--screen", words.screen, "text|json", "How to print the screen (default: text)");
  line.value("--serial", words.serial, "stdio|FILE", "Where COM1 sends to (default: nowhere)");
  line.value("--screenshot", words.screenshot, "FILE", "The last picture of mode 13h, as PNG");
  line.value("--ds-log", words.ds_log, "FILE", "The Debug Store at each interrupt request and at the end");
  line.value("--trace", words.trace, "FILE", "Every instruction and control transfer");
  line.group("Debugging");
  line.values("--break", words.breakpoints, "ADDR", "Stop before this linear address and print registers");
  line.value("--gdb", words.gdb, "PORT[,ARCH]",
             "Wait for gdb at this port of 127.0.0.1 (0: any free one), with registers of i386 or x86-64");
  line.note(
      "The screen goes to standard output, how the run ended to standard error.\n"
      "FILE may be - for standard output. Addresses are hexadecimal.");
  line.known_words("QUIRK", "", quirk_names());
  line.exit_statuses(kBootStatuses);
  if (const auto done = line.parse(arguments)) return done;
  if (!line.program().empty())
    return refused(
        {"boot: what is '" + line.program().front() + "' for?", "zeroskid boot --image FILE, or --kernel FILE"});
  return std::nullopt;
}

Result<std::vector<std::byte>> read_whole_file(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const auto failed = [&path] {
    return Error{path + ": cannot be read: " + std::strerror(errno), "check the path and its permissions"};
  };
  if (!file) return failed();
  std::vector<std::byte> bytes;
  struct stat facts {};
  if (fstat(file.get(), &facts) == 0 && S_ISREG(facts.st_mode) &&
      static_cast<std::uint64_t>(facts.st_size) <= kLargestFile) {
    bytes.reserve(static_cast<std::size_t>(facts.st_size));
  }
  std::vector<std::byte> piece(1 << 16);
  for (;;) {
    const ssize_t got = read(file.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed();
    if (got == 0) break;
    bytes.insert(bytes.end(), piece.begin(), piece.begin() + got);
    if (bytes.size() > kLargestFile) return Error{path + ": is larger than 2 GiB", ""};
  }
  return bytes;
}

Result<BootPlan> plan_boot(const BootWords& words) {
  const int sources = !words.images.empty() + !words.kernel.empty() + words.demo;
  if (sources != 1) {
    return Error{sources == 0 ? "boot: nothing to boot" : "boot: --image, --kernel and --demo exclude one another",
                 "zeroskid boot --image FILE, or --kernel FILE, or --demo"};
  }
  if (words.kernel.empty() && (!words.append.empty() || !words.modules.empty())) {
    return Error{"boot: --append and --module are for --kernel", "a disk image has no command line"};
  }
  if (words.images.size() > 2) {
    return Error{"boot: --image " + words.images[2] + ": this PC has two disks", "the first is the one that boots"};
  }
  BootPlan plan;
  if (!words.drive.empty()) {
    if (words.images.empty()) return Error{"boot: --drive is for --image", "it says what the image is"};
    using machine::DriveKind;
    constexpr std::pair<std::string_view, DriveKind> kDrives[] = {
        {"floppy", DriveKind::Floppy}, {"disk", DriveKind::HardDisk}, {"cd", DriveKind::Cd}};
    for (const auto& [name, kind] : kDrives) {
      if (words.drive == name) plan.drive = kind;
    }
    if (!plan.drive) return Error{"--drive " + words.drive + ": floppy, disk or cd", ""};
  }
  const std::string model = !words.cpu.empty() ? words.cpu
                            : words.demo       ? "westmere"
                                               : std::string(arch::kDefaultCpuModel);
  const auto cpu = choose_cpu_model({.name = model});
  if (!cpu) return cpu.error();
  plan.cpu = *cpu;
  if (plan.cpu->vendor != arch::Vendor::Intel && (words.demo || !words.ds_log.empty())) {
    return Error{"boot: " + std::string(plan.cpu->name) + " has no Debug Store, which " +
                     (words.demo ? "--demo shows" : "--ds-log prints"),
                 "take a CPU model of Intel's"};
  }
  if (words.detail == "complete") {
    plan.core = uarch::find_core_model(plan.cpu->name);
    if (plan.core == nullptr) {
      return Error{"--detail complete: there is no core of " + std::string(plan.cpu->name),
                   "`zeroskid list models` says which CPU models have one"};
    }
  } else if (words.detail != "exact") {
    return Error{"--detail " + words.detail + ": exact or complete", ""};
  }
  plan.quirks = plan.cpu->quirks;
  for (const std::string& name : words.quirks) {
    const arch::QuirkFact* const quirk = arch::find_quirk(name);
    if (quirk == nullptr) {
      return Error{"--quirk " + name + ": no such quirk", "quirks: " + joined(quirk_names(), ", ")};
    }
    plan.quirks = plan.quirks.with(quirk->quirk);
  }
  const auto memory = parse_memory_size(words.memory);
  if (!memory) return Error{"--mem " + words.memory + ": no size", "a number with K, M or G, for example 512M"};
  if (*memory < machine::kLeastMemory || *memory > machine::kMostMemory || *memory % machine::kPageBytes != 0) {
    return Error{"--mem " + words.memory + ": 2M to 3G are possible, in steps of 4K", ""};
  }
  plan.memory_bytes = *memory;
  plan.limit = words.max_instructions == 0 ? std::numeric_limits<std::uint64_t>::max() : words.max_instructions;
  auto keys = machine::key_strokes(words.keys);
  if (!keys) return Error{"--keys: " + keys.error().message, keys.error().hint};
  plan.keys = std::move(*keys);
  for (const std::string& word : words.breakpoints) {
    const auto address = parse_address(word);
    if (!address) return Error{"--break " + word + ": no address", "hexadecimal digits, with or without 0x"};
    plan.breakpoints.push_back(*address);
  }
  if (words.screen != "text" && words.screen != "json") {
    return Error{"--screen " + words.screen + ": text or json", ""};
  }
  plan.json = words.screen == "json";
  if (!words.gdb.empty()) {
    const std::string_view number = std::string_view(words.gdb).substr(0, words.gdb.find(','));
    const auto port = whole_number<std::uint16_t>(number);
    if (!port) {
      return Error{"--gdb " + words.gdb + ": no port", "a number from 0 to 65535; gdb then says: target remote :PORT"};
    }
    if (number.size() != words.gdb.size()) {
      const std::string registers = words.gdb.substr(number.size() + 1);
      if (registers != "i386" && registers != "x86-64") {
        return Error{"--gdb " + words.gdb + ": no registers of that name", "i386 or x86-64"};
      }
      using machine::gdb::Registers;
      plan.gdb_registers = registers == "i386" ? Registers::I386 : Registers::X8664;
    }
    plan.gdb_port = *port;
  }
  return plan;
}

std::string ending(const machine::PcStop& stop, machine::Pc& pc) {
  const std::string after = " after " + with_thousands(pc.retired()) + " instructions";
  using machine::PcStopKind;
  switch (stop.kind) {
    case PcStopKind::Idle: return "idle: " + stop.detail + after;
    case PcStopKind::DebugExit: return fmt::format("debug-exit with status {}{}", stop.status, after);
    case PcStopKind::Limit:
      return (stop.detail.empty() ? "the limit of instructions is reached" : stop.detail) + std::string(after);
    case PcStopKind::TripleFault: return "triple fault: " + stop.detail + after;
    case PcStopKind::Reset: return "the guest asked for a reset" + after;
    case PcStopKind::PowerOff: return "the guest turned the PC off" + after;
    case PcStopKind::Unsupported: return "not supported: " + stop.detail + after;
    case PcStopKind::Breakpoint: return fmt::format("breakpoint at {:x}{}", stop.address, after);
    case PcStopKind::Watchpoint: return fmt::format("watchpoint at {:x}{}", stop.address, after);
  }
  return "?";
}

}  // namespace zs::cli
