// A floppy or hard-disk image, in memory and read-only to the guest. Its size tells the drive: up to 1.44 MB it is floppy 0
// (18 sectors, 2 heads), above that hard disk 80H (63 sectors, 16 heads). A last sector that is cut short ends in zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace zs::machine {

inline constexpr std::uint64_t kSectorBytes = 512;

class DiskImage {
 public:
  /// name  of the file, for messages
  static Result<DiskImage> make(std::vector<std::byte> bytes, const std::string& name);

  std::uint8_t drive() const { return floppy_ ? 0x00 : 0x80; }
  bool floppy() const { return floppy_; }
  unsigned sectors_per_track() const { return floppy_ ? 18 : 63; }
  unsigned heads() const { return floppy_ ? 2 : 16; }
  unsigned cylinders() const;
  /// Those of the drive; a floppy is whole even if its image is short.
  std::uint64_t sectors() const;

  /// Sectors first .. first + count - 1; empty if the drive has not all of them.
  std::vector<std::byte> read(std::uint64_t first, std::uint64_t count) const;

 private:
  DiskImage(std::vector<std::byte> bytes, bool floppy) : bytes_(std::move(bytes)), floppy_(floppy) {}

  std::vector<std::byte> bytes_;
  bool floppy_;
};

}  // namespace zs::machine
