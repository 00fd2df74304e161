// Loads a kernel as the Multiboot specification, version 1 or 2 (multiboot2.h), says: an ELF32 or ELF64 file, or a flat
// one whose header gives its addresses, with a command line, a memory map and modules. The kernel starts in flat 32-bit
// protected mode with EAX = 2BADB002H (version 2: 36D76289H) and EBX = the address of its information.
// An ELF without a Multiboot header starts by PVH (pvh.h) if it has that entry, else at its own, which must be 32-bit
// code's: EAX and EBX are then 0.
// source: "Multiboot Specification version 0.6.96", sections "OS image format" and "Boot information format".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace zs::machine {

class PhysicalMemory;

struct MultibootModule {
  std::vector<std::byte> bytes;
  std::string command_line;
};

struct MultibootInput {
  std::vector<std::byte> kernel;
  std::string kernel_name;   // for messages
  std::string command_line;  // the kernel's, its name included
  std::vector<MultibootModule> modules;
};

struct LoadedKernel {
  std::uint32_t entry = 0;
  std::uint32_t magic = 0;  // EAX
  std::uint32_t info = 0;   // EBX
  bool elf32 = false;
  std::uint32_t parameters = 0;  // ESI: of a Linux kernel
};

/// Puts everything into `memory`.
/// returns  an error that names the place in the file, if the file is cut short, of another machine, overlaps what the
///          loader needs, or does not fit into memory
Result<LoadedKernel> load_multiboot(const MultibootInput& input, PhysicalMemory& memory);

}  // namespace zs::machine
