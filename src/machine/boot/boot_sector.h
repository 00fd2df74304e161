// What a boot sector tells of the medium that it lies on: its partition table and its BIOS parameter block.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace zs::machine {

/// Cylinder, head and sector as partition tables and INT 13H pack them; sectors count from 1.
struct DiskAddress {
  unsigned cylinder = 0, head = 0, sector = 0;
};

struct Partition {
  bool active = false;
  std::uint8_t type = 0;  // 0: unused
  DiskAddress first_chs, last_chs;
  std::uint32_t first = 0, count = 0;  // in sectors
};

using PartitionTable = std::array<Partition, 4>;

/// The table, if these 512 bytes have one: each status is 00H or 80H, what is used has sectors, and one entry is
/// active. Boot code of floppies that reaches into the place (GRUB's, for one) is none.
std::optional<PartitionTable> partition_table(std::span<const std::byte, 512> sector);

/// The parts of a BIOS parameter block that tell the drive.
struct ParameterBlock {
  std::uint8_t media = 0;  // F8H: a hard disk
  unsigned sectors_per_track = 0, heads = 0;
  std::uint32_t sectors = 0;
};

std::optional<ParameterBlock> parameter_block(std::span<const std::byte, 512> sector);

}  // namespace zs::machine
