// A floppy, a hard disk or a CD, in memory: what the guest writes changes this copy and no file. Which of them an image
// is, its bytes tell, in this order, unless the user says:
//   an ISO 9660 file system with a boot record (El Torito)    a CD, or the floppy or hard disk that the CD carries
//   a valid partition table with an active entry              hard disk 80H
//   a BIOS parameter block                                    floppy 0, or hard disk 80H if its media descriptor is F8H
//   the size                                                  floppy 0 up to 1.44 MB and at 2.88 MB, above that hard
//   disk 80H
// A last sector that is cut short ends in zeros; a floppy is whole even if its image is short.
// source: El Torito, Bootable CD-ROM Format Specification 1.0; Microsoft FAT specification, "Boot Sector and BPB".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace zs::machine {

inline constexpr std::uint64_t kSectorBytes = 512;
inline constexpr std::uint64_t kCdSectorBytes = 2048;

enum class DriveKind : std::uint8_t { Floppy, HardDisk, Cd };

class DiskImage {
 public:
  /// name   of the file, for messages
  /// asked  what the user says that it is
  static Result<DiskImage> make(std::vector<std::byte> bytes, const std::string& name,
                                std::optional<DriveKind> asked = std::nullopt);
  /// A hard disk of any bytes, which nothing boots.
  static DiskImage data(std::vector<std::byte> bytes);

  DriveKind kind() const { return kind_; }
  bool floppy() const { return kind_ == DriveKind::Floppy; }
  /// INT 13H's number.
  std::uint8_t drive() const { return kind_ == DriveKind::Floppy ? 0x00 : kind_ == DriveKind::Cd ? 0xE0 : 0x80; }
  /// "hard disk 80h, 16 heads, 63 sectors a track: its partition table has an active entry"
  std::string description() const;
  /// Whether it comes from a CD that emulates it: INT 13H AH=4BH then tells of that.
  bool emulated() const { return emulated_; }

  std::uint64_t sector_bytes() const { return kind_ == DriveKind::Cd ? kCdSectorBytes : kSectorBytes; }
  unsigned sectors_per_track() const { return geometry_.sectors; }
  unsigned heads() const { return geometry_.heads; }
  unsigned cylinders() const;
  std::uint64_t sectors() const;
  /// What INT 13H AH=08H and the CMOS call a floppy drive of this size: 1 360 KB, 2 1.2 MB, 3 720 KB, 4 1.44 MB, 5 2.88
  /// MB.
  std::uint8_t floppy_type() const;

  /// Sectors first .. first + count - 1; empty if the drive has not all of them.
  std::vector<std::byte> read(std::uint64_t first, std::uint64_t count) const;
  /// bytes  whole sectors. returns false, and writes nothing, if the drive has not all of them, or is a CD
  bool write(std::uint64_t first, std::span<const std::byte> bytes);

  /// What a BIOS loads, and where it goes: its first sector at 0000:7C00, or what the CD's boot record says.
  struct BootCode {
    std::uint16_t segment = 0, offset = 0x7C00;
    std::vector<std::byte> bytes;
  };
  const BootCode& boot_code() const { return boot_; }

 private:
  struct Geometry {
    unsigned heads = 0, sectors = 0;  // sectors of a track
  };
  DiskImage(std::vector<std::byte> bytes, DriveKind kind, std::string why)
      : bytes_(std::move(bytes)), kind_(kind), why_(std::move(why)) {}
  static Result<DiskImage> of_cd(std::vector<std::byte> bytes, const std::string& name);
  static Result<DiskImage> of_sectors(std::vector<std::byte> bytes, const std::string& name,
                                      std::optional<DriveKind> asked);
  void choose_geometry();

  std::vector<std::byte> bytes_;
  DriveKind kind_;
  std::string why_;
  bool emulated_ = false;
  Geometry geometry_;
  std::uint64_t floppy_sectors_ = 0;
  BootCode boot_;
};

}  // namespace zs::machine
