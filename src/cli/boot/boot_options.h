// What `zeroskid boot` was asked for, as words and then checked: files read, sizes and addresses understood.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "arch/quirks.h"
#include "base/result.h"
#include "cli/command/option_table.h"
#include "machine/boot/disk_image.h"
#include "machine/devices/keys.h"
#include "machine/gdb/session.h"

namespace zs::arch {
struct CpuModel;
}

namespace zs::machine {
class Pc;
struct PcStop;
}  // namespace zs::machine

namespace zs::uarch {
struct CoreModel;
}

namespace zs::cli {

class CommandLine;

/// The exit status where the limit of instructions is reached.
inline constexpr int kLimitReached = 124;

/// As typed.
struct BootWords {
  std::string kernel, append;
  std::vector<std::string> images, modules, breakpoints, quirks;
  std::string cpu, memory = "512M", screen = "text", serial, ds_log, trace, gdb, drive, screenshot, keys, serial_in,
                   detail = "exact";
  std::uint64_t max_instructions = 0;  // 0: no limit
  bool demo = false;
};

/// Parses the command line. returns an exit status if there is nothing to run
std::optional<int> parse_boot(const Arguments& arguments, BootWords& words);

struct BootPlan {
  const arch::CpuModel* cpu = nullptr;
  const uarch::CoreModel* core = nullptr;  // what instructions go through; null: they take a cycle each
  arch::QuirkSet quirks;
  std::uint64_t memory_bytes = 0;
  std::uint64_t limit = 0;
  std::vector<machine::KeyStroke> keys;
  std::vector<std::uint64_t> breakpoints;
  bool json = false;
  std::optional<std::uint16_t> gdb_port;
  std::optional<machine::gdb::Registers> gdb_registers;
  std::optional<machine::DriveKind> drive;
};

/// --detail, which `boot` and `linux` have.
void add_detail_option(CommandLine& line, std::string& detail);

/// Everything but the files.
Result<BootPlan> plan_boot(const BootWords& words);

/// --demo: guests that are part of the program, each shown beside what the manual promises.
/// returns the exit status: 0 if every guest did what is promised
int run_boot_demo(const BootPlan& plan);

/// How a run ended: "idle: halted after 1,234 instructions".
std::string ending(const machine::PcStop& stop, machine::Pc& pc);

/// returns  the file's bytes, or an error that names it
Result<std::vector<std::byte>> read_whole_file(const std::string& path);

}  // namespace zs::cli
