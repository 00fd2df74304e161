#include "machine/boot/disk_image.h"

#include <algorithm>
#include <cstring>

namespace zs::machine {
namespace {

constexpr std::uint64_t kFloppySectors = 2880;
constexpr std::uint64_t kMostSectors = std::uint64_t{1024} * 16 * 63 * 4;  // 2 GiB: images lie in memory

}  // namespace

Result<DiskImage> DiskImage::make(std::vector<std::byte> bytes, const std::string& name) {
  if (bytes.size() < kSectorBytes) {
    return Error{name + ": " + std::to_string(bytes.size()) + " bytes are no disk image: a boot sector has 512",
                 "--image takes a raw floppy or disk image; --kernel takes an ELF or Multiboot file"};
  }
  if (bytes[510] != std::byte{0x55} || bytes[511] != std::byte{0xAA}) {
    return Error{name + ": at 0x1fe: the boot sector does not end in 55 AA: nothing to boot",
                 "a raw image begins with its boot sector, 510 bytes and this mark"};
  }
  const std::uint64_t sectors = (bytes.size() + kSectorBytes - 1) / kSectorBytes;
  if (sectors > kMostSectors) return Error{name + ": images up to 2 GiB are possible", ""};
  bytes.resize(sectors * kSectorBytes);
  return DiskImage{std::move(bytes), sectors <= kFloppySectors};
}

unsigned DiskImage::cylinders() const {
  const std::uint64_t cylinder = sectors_per_track() * heads();
  return static_cast<unsigned>(std::min<std::uint64_t>((sectors() + cylinder - 1) / cylinder, 1024));
}

std::uint64_t DiskImage::sectors() const { return floppy_ ? kFloppySectors : bytes_.size() / kSectorBytes; }

std::vector<std::byte> DiskImage::read(std::uint64_t first, std::uint64_t count) const {
  if (count > sectors() || first > sectors() - count) return {};
  std::vector<std::byte> data(count * kSectorBytes);
  const std::uint64_t at = first * kSectorBytes;
  if (at < bytes_.size()) std::memcpy(data.data(), bytes_.data() + at, std::min(data.size(), bytes_.size() - at));
  return data;
}

}  // namespace zs::machine
