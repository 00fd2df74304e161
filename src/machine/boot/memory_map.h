// What lies where below 4 GiB, as the firmware tells it: INT 15H AX=E820H and the Multiboot information have it from
// here.
#pragma once

#include <array>
#include <cstdint>

#include "machine/memory.h"

namespace zs::machine {

struct MemoryRange {
  std::uint64_t first = 0, end = 0;
  bool available = false;  // else reserved
};

/// Of a PC with so many bytes of memory, in order. The last kilobyte below 640K is the extended BIOS data area.
constexpr std::array<MemoryRange, 7> memory_map(std::uint64_t memory_bytes) {
  return {{{0, kLowMemoryKiB << 10, true},
           {kLowMemoryKiB << 10, 0xA0000, false},
           {kBios, kBios + kBiosBytes, false},
           {0x100000, memory_bytes, true},
           {0xFEC00000, 0xFEC01000, false},     // I/O APIC
           {0xFEE00000, 0xFEE01000, false},     // local APIC
           {0xFFFF0000, 0x100000000, false}}};  // the BIOS again
}

}  // namespace zs::machine
