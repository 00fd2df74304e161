#include "machine/boot/boot_sector.h"

#include <algorithm>
#include <bit>

#include "base/bytes.h"

namespace zs::machine {
namespace {

/// Head; sector in bits 5..0 with the cylinder's bits 9..8 above it; the cylinder's bits 7..0.
DiskAddress disk_address(std::span<const std::byte> bytes, std::size_t at) {
  const auto head = value_at<std::uint8_t>(bytes, at), sector = value_at<std::uint8_t>(bytes, at + 1);
  const auto cylinder = value_at<std::uint8_t>(bytes, at + 2);
  return {.cylinder = cylinder | (sector & 0xC0u) << 2, .head = head, .sector = sector & 0x3Fu};
}

}  // namespace

std::optional<PartitionTable> partition_table(std::span<const std::byte, 512> sector) {
  constexpr std::size_t kTable = 0x1BE, kEntryBytes = 16;
  constexpr std::uint8_t kActive = 0x80;
  PartitionTable table;
  for (std::size_t n = 0; n < table.size(); ++n) {
    const std::size_t at = kTable + n * kEntryBytes;
    const auto status = value_at<std::uint8_t>(sector, at);
    if ((status & ~kActive) != 0) return std::nullopt;
    table[n] = {.active = status == kActive,
                .type = value_at<std::uint8_t>(sector, at + 4),
                .first_chs = disk_address(sector, at + 1),
                .last_chs = disk_address(sector, at + 5),
                .first = value_at<std::uint32_t>(sector, at + 8),
                .count = value_at<std::uint32_t>(sector, at + 12)};
    if (table[n].type == 0 ? table[n].active : table[n].count == 0) return std::nullopt;
  }
  const bool active = std::any_of(table.begin(), table.end(), [](const Partition& p) { return p.active; });
  return active ? std::optional(table) : std::nullopt;
}

std::optional<ParameterBlock> parameter_block(std::span<const std::byte, 512> sector) {
  constexpr std::uint8_t kShortJump = 0xEB, kNearJump = 0xE9;
  const auto byte = [&](std::size_t at) { return value_at<std::uint8_t>(sector, at); };
  const auto word = [&](std::size_t at) { return value_at<std::uint16_t>(sector, at); };
  if (byte(0) != kShortJump && byte(0) != kNearJump) return std::nullopt;
  if (word(0x0B) != 512 || !std::has_single_bit(unsigned{byte(0x0D)}) || word(0x0E) == 0) return std::nullopt;
  if (byte(0x10) == 0 || byte(0x10) > 2 || byte(0x15) < 0xF0) return std::nullopt;  // FATs, media descriptor
  const ParameterBlock block{.media = byte(0x15),
                             .sectors_per_track = word(0x18),
                             .heads = word(0x1A),
                             .sectors = word(0x13) != 0 ? word(0x13) : value_at<std::uint32_t>(sector, 0x20)};
  const bool possible = block.sectors_per_track >= 1 && block.sectors_per_track <= 63 && block.heads >= 1 &&
                        block.heads <= 255 && block.sectors != 0;
  return possible ? std::optional(block) : std::nullopt;
}

}  // namespace zs::machine
