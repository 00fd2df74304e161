// What an ISO 9660 image says of how it boots: the boot record at sector 17 and the default entry of the catalog it
// names.
// Sectors here have 2048 bytes.
// source: El Torito, Bootable CD-ROM Format Specification 1.0, "Boot Record Volume Descriptor", "Validation Entry",
// "Initial/Default Entry".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace zs::machine {

/// Whether the bytes have the volume descriptors of ISO 9660.
bool is_iso9660(std::span<const std::byte> image);

struct ElToritoEntry {
  enum class Media : std::uint8_t { NoEmulation, Floppy1200, Floppy1440, Floppy2880, HardDisk };
  Media media = Media::NoEmulation;
  std::uint16_t segment = 0;       // where the BIOS loads to; 07C0H if the entry has 0
  std::uint16_t load_sectors = 0;  // of 512 bytes
  std::uint32_t first = 0;         // sector of the boot code, or of the emulated medium
};

/// name  of the image, for messages
Result<ElToritoEntry> el_torito_entry(std::span<const std::byte> image, const std::string& name);

}  // namespace zs::machine
