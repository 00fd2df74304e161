// Places in low memory that the BIOS and its callers share, and the BIOS's own tables.
// source: IBM PS/2 and PC BIOS Interface Technical Reference, "ROM BIOS Data Area".
#pragma once

#include <cstdint>

namespace zs::machine {

inline constexpr std::uint64_t kDataArea = 0x400;

// Segment 40H.
enum DataArea : std::uint16_t {
  kCom1Port = 0x400,
  kExtendedArea = 0x40E,  // segment of the extended BIOS data area
  kEquipment = 0x410,
  kMemoryKiB = 0x413,
  kKeysHeld = 0x417,  // shift, control, alt
  kKeyboardHead = 0x41A,
  kKeyboardTail = 0x41C,
  kKeyboardBuffer = 0x41E,
  kKeyboardBufferEnd = 0x43E,
  kVideoMode = 0x449,
  kVideoColumns = 0x44A,
  kPageBytesField = 0x44C,
  kCursor = 0x450,  // column, row
  kCursorShape = 0x460,
  kCrtPort = 0x463,
  kRestartVector = 0x467,  // offset, segment
  kTicks = 0x46C,
  kMidnight = 0x470,
  kDiskCount = 0x475,
  kKeyboardStart = 0x480,
  kKeyboardEnd = 0x482,
  kLastRow = 0x484,
  kCharacterHeight = 0x485,
  kKeyboardKind = 0x496,
};

inline constexpr std::uint16_t kBiosSegment = 0xF000;
inline constexpr std::uint16_t kExtendedAreaSegment = 0x9FC0;
// Offsets in the BIOS's segment; those of the first three are IBM's.
inline constexpr std::uint16_t kConfigurationTable = 0xE6F5, kDisketteTable = 0xEFC7, kResetVector = 0xFFF0;
inline constexpr std::uint16_t kHardDiskTable = 0xE401;
/// The GDT behind the segments that a Multiboot kernel starts with: null, code, data.
inline constexpr std::uint16_t kFlatGdt = 0xE300, kFlatGdtBytes = 24;

inline std::uint64_t real_address(std::uint16_t segment, std::uint16_t offset) { return segment * 16u + offset; }

}  // namespace zs::machine
