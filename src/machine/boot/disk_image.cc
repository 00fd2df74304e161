#include "machine/boot/disk_image.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "machine/boot/boot_sector.h"
#include "machine/boot/el_torito.h"

namespace zs::machine {
namespace {

constexpr std::uint64_t kMostSectors = std::uint64_t{1024} * 16 * 63 * 4;  // 2 GiB: images lie in memory
constexpr std::uint64_t kMostCylinders = 1024;
constexpr unsigned kMostTrack = 63;

/// The floppies that PCs had. An image without a parameter block is the first that holds it; the usual one before
/// others.
struct FloppyFormat {
  std::uint64_t sectors;
  unsigned heads, track;
  std::uint8_t drive_type;
};
constexpr FloppyFormat kUsual{2880, 2, 18, 4};
constexpr FloppyFormat kFormats[] = {{320, 1, 8, 1}, {360, 1, 9, 1},   {640, 2, 8, 1},
                                     {720, 2, 9, 1}, {1440, 2, 9, 3},  {2400, 2, 15, 2},
                                     kUsual,         {3360, 2, 21, 4}, {5760, 2, 36, 5}};

const FloppyFormat* format_of(std::uint64_t sectors) {
  const auto* const at = std::find_if(std::begin(kFormats), std::end(kFormats),
                                      [=](const FloppyFormat& f) { return f.sectors == sectors; });
  return at == std::end(kFormats) ? nullptr : at;
}

std::span<const std::byte, kSectorBytes> first_sector(const std::vector<std::byte>& bytes) {
  return std::span<const std::byte, kSectorBytes>(bytes.data(), kSectorBytes);
}

}  // namespace

Result<DiskImage> DiskImage::make(std::vector<std::byte> bytes, const std::string& name,
                                  std::optional<DriveKind> asked) {
  if (bytes.size() / kSectorBytes > kMostSectors) return Error{name + ": images up to 2 GiB are possible", ""};
  const bool cd = asked ? *asked == DriveKind::Cd : is_iso9660(bytes);
  return cd ? of_cd(std::move(bytes), name) : of_sectors(std::move(bytes), name, asked);
}

Result<DiskImage> DiskImage::of_sectors(std::vector<std::byte> bytes, const std::string& name,
                                        std::optional<DriveKind> asked) {
  if (bytes.size() < kSectorBytes) {
    return Error{name + ": " + std::to_string(bytes.size()) + " bytes are no disk image: a boot sector has 512",
                 "--image takes a raw floppy or disk image; --kernel takes an ELF or Multiboot file"};
  }
  if (bytes[510] != std::byte{0x55} || bytes[511] != std::byte{0xAA}) {
    return Error{name + ": at 0x1fe: the boot sector does not end in 55 AA: nothing to boot",
                 "a raw image begins with its boot sector, 510 bytes and this mark"};
  }
  const std::uint64_t sectors = (bytes.size() + kSectorBytes - 1) / kSectorBytes;
  bytes.resize(sectors * kSectorBytes);
  const auto block = parameter_block(first_sector(bytes));
  DriveKind kind = DriveKind::Floppy;
  std::string why;
  if (asked) {
    kind = *asked;
    why = "as --drive says";
  } else if (partition_table(first_sector(bytes))) {
    kind = DriveKind::HardDisk;
    why = "its partition table has an active entry";
  } else if (block && (block->media == 0xF8 || sectors <= 2 * kUsual.sectors)) {
    kind = block->media == 0xF8 ? DriveKind::HardDisk : DriveKind::Floppy;
    why = fmt::format("its BIOS parameter block has media descriptor {:X}h", block->media);
  } else {
    const bool small = sectors <= kUsual.sectors || format_of(sectors) != nullptr;
    kind = small ? DriveKind::Floppy : DriveKind::HardDisk;
    why = fmt::format("no partition table, no BIOS parameter block, {} sectors", sectors);
  }
  DiskImage image{std::move(bytes), kind, std::move(why)};
  image.choose_geometry();
  image.boot_.bytes.assign(image.bytes_.begin(), image.bytes_.begin() + kSectorBytes);
  return image;
}

Result<DiskImage> DiskImage::of_cd(std::vector<std::byte> bytes, const std::string& name) {
  if (!is_iso9660(bytes)) {
    return Error{name + ": at 0x8001: no ISO 9660 image: its volume descriptor does not say CD001",
                 "--drive cd is for CD images; --drive floppy and --drive disk take others"};
  }
  const auto entry = el_torito_entry(bytes, name);
  if (!entry) return entry.error();
  using Media = ElToritoEntry::Media;
  const std::uint64_t at = std::uint64_t{entry->first} * kCdSectorBytes;
  const bool emulates = entry->media != Media::NoEmulation;
  const std::uint64_t boot_bytes = emulates ? kSectorBytes : std::uint64_t{entry->load_sectors} * kSectorBytes;
  if (at > bytes.size() || boot_bytes > bytes.size() - at) {
    return Error{fmt::format("{}: its boot record wants {} bytes at {:#x}, and the image has {:#x}", name, boot_bytes,
                             at, bytes.size()),
                 "the image is cut short"};
  }
  if (emulates) {
    const std::uint64_t media_sectors = entry->media == Media::Floppy1200   ? 2400
                                        : entry->media == Media::Floppy1440 ? 2880
                                        : entry->media == Media::Floppy2880 ? 5760
                                                                            : kMostSectors;
    bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
    if (bytes.size() > media_sectors * kSectorBytes) bytes.resize(media_sectors * kSectorBytes);
    const bool disk = entry->media == Media::HardDisk;
    auto image = of_sectors(std::move(bytes), name, disk ? DriveKind::HardDisk : DriveKind::Floppy);
    if (!image) return image.error();
    image->emulated_ = true;
    image->why_ = "a CD that boots it by El Torito";
    if (!disk) {
      const FloppyFormat& format = *format_of(media_sectors);
      image->geometry_ = {format.heads, format.track};
      image->floppy_sectors_ = media_sectors;
    }
    image->boot_.segment = entry->segment == 0x7C0 ? 0 : entry->segment;
    image->boot_.offset = entry->segment == 0x7C0 ? 0x7C00 : 0;
    return image;
  }
  bytes.resize((bytes.size() + kCdSectorBytes - 1) / kCdSectorBytes * kCdSectorBytes);
  DiskImage image{std::move(bytes), DriveKind::Cd, "an ISO 9660 file system that boots by El Torito, no emulation"};
  const auto first = image.bytes_.begin() + static_cast<std::ptrdiff_t>(at);
  image.boot_ = {.segment = 0, .offset = 0x7C00, .bytes = {first, first + static_cast<std::ptrdiff_t>(boot_bytes)}};
  if (entry->segment != 0x7C0) image.boot_.segment = entry->segment, image.boot_.offset = 0;
  return image;
}

/// Of a floppy: its parameter block's, else its size's. Of a hard disk: what its partition table was made with, else
/// its parameter block's, else 63 sectors and as few of 16, 32, 64, 128, 255 heads as reach its end in 1024 cylinders.
void DiskImage::choose_geometry() {
  const auto block = parameter_block(first_sector(bytes_));
  const std::uint64_t sectors = bytes_.size() / kSectorBytes;
  if (kind_ == DriveKind::Floppy) {
    const FloppyFormat* const known = format_of(sectors);
    const FloppyFormat& format = known != nullptr ? *known : kUsual;
    geometry_ = {format.heads, format.track};
    floppy_sectors_ = std::max(format.sectors, sectors);
    if (block && block->media != 0xF8 && block->sectors <= 2 * kUsual.sectors) {
      geometry_ = {block->heads, block->sectors_per_track};
      floppy_sectors_ = std::max<std::uint64_t>(block->sectors, sectors);
    }
    return;
  }
  if (const auto table = partition_table(first_sector(bytes_))) {
    for (const Partition& p : *table) {
      if (p.type == 0 || p.last_chs.sector == 0) continue;
      // A partition ends with a cylinder, so its last head and sector are the last of all, if first and last say the
      // same.
      const Geometry maybe{p.last_chs.head + 1, p.last_chs.sector};
      const auto linear = [&](const DiskAddress& a) {
        return (std::uint64_t{a.cylinder} * maybe.heads + a.head) * maybe.sectors + a.sector - 1;
      };
      const bool first_fits = p.first_chs.sector != 0 && linear(p.first_chs) == p.first;
      const std::uint64_t last = std::uint64_t{p.first} + p.count - 1;
      if (first_fits && maybe.heads > 1 && (linear(p.last_chs) == last || p.last_chs.cylinder == kMostCylinders - 1)) {
        geometry_ = maybe;
        return;
      }
    }
  }
  if (block && block->media == 0xF8) {
    geometry_ = {block->heads, block->sectors_per_track};
    return;
  }
  for (const unsigned heads : {16u, 32u, 64u, 128u, 255u}) {
    geometry_ = {heads, kMostTrack};
    if (sectors <= kMostCylinders * heads * kMostTrack) return;
  }
}

std::string DiskImage::description() const {
  constexpr const char* kNames[] = {"floppy 00h", "hard disk 80h", "CD E0h"};
  std::string text = kNames[static_cast<unsigned>(kind_)];
  if (kind_ != DriveKind::Cd) text += fmt::format(", {} heads, {} sectors a track", geometry_.heads, geometry_.sectors);
  return text + ": " + why_;
}

unsigned DiskImage::cylinders() const {
  const std::uint64_t cylinder = std::uint64_t{geometry_.sectors} * geometry_.heads;
  if (cylinder == 0) return 0;
  return static_cast<unsigned>(std::min((sectors() + cylinder - 1) / cylinder, kMostCylinders));
}

std::uint64_t DiskImage::sectors() const { return floppy() ? floppy_sectors_ : bytes_.size() / sector_bytes(); }

std::uint8_t DiskImage::floppy_type() const {
  if (!floppy()) return 0;
  const FloppyFormat* const format = format_of(floppy_sectors_);
  return format != nullptr ? format->drive_type : kUsual.drive_type;
}

std::vector<std::byte> DiskImage::read(std::uint64_t first, std::uint64_t count) const {
  if (count > sectors() || first > sectors() - count) return {};
  std::vector<std::byte> data(count * sector_bytes());
  const std::uint64_t at = first * sector_bytes();
  if (at < bytes_.size()) std::memcpy(data.data(), bytes_.data() + at, std::min(data.size(), bytes_.size() - at));
  return data;
}

bool DiskImage::write(std::uint64_t first, std::span<const std::byte> bytes) {
  const std::uint64_t count = bytes.size() / kSectorBytes;
  if (kind_ == DriveKind::Cd || count > sectors() || first > sectors() - count) return false;
  const std::uint64_t at = first * kSectorBytes;
  if (bytes_.size() < at + bytes.size()) bytes_.resize(at + bytes.size());
  std::copy(bytes.begin(), bytes.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(at));
  return true;
}

}  // namespace zs::machine
