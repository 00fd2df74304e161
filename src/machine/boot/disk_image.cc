#include "machine/boot/disk_image.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace zs::machine {
namespace {

// What an ISO 9660 image says of how it boots: the boot record at sector 17 and the default entry of the catalog it
// names.
// Sectors here have 2048 bytes.
// source: El Torito, Bootable CD-ROM Format Specification 1.0, "Boot Record Volume Descriptor", "Validation Entry",
// "Initial/Default Entry".

struct ElToritoEntry {
  enum class Media : std::uint8_t { NoEmulation, Floppy1200, Floppy1440, Floppy2880, HardDisk };
  Media media = Media::NoEmulation;
  std::uint16_t segment = 0;       // where the BIOS loads to; 07C0H if the entry has 0
  std::uint16_t load_sectors = 0;  // of 512 bytes
  std::uint32_t first = 0;         // sector of the boot code, or of the emulated medium
};

constexpr std::size_t kSector = 2048, kFirstDescriptor = 16 * kSector, kBootRecord = 17 * kSector;

std::string_view text(std::span<const std::byte> image, std::size_t at, std::size_t count) {
  if (at > image.size() || count > image.size() - at) return {};
  return {reinterpret_cast<const char*>(image.data() + at), count};
}

/// Whether the bytes have the volume descriptors of ISO 9660.
bool is_iso9660(std::span<const std::byte> image) { return text(image, kFirstDescriptor + 1, 5) == "CD001"; }

/// name  of the image, for messages
Result<ElToritoEntry> el_torito_entry(std::span<const std::byte> image, const std::string& name) {
  constexpr std::size_t kEntryBytes = 32;
  constexpr std::uint8_t kValidation = 1, kBootable = 0x88;
  constexpr char kHint[] =
      "mkisofs, xorriso and grub-mkrescue make images that boot; --kernel takes a kernel out of one";
  if (text(image, kBootRecord, kSector).empty() || text(image, kBootRecord + 1, 5) != "CD001" ||
      value_at<std::uint8_t>(image, kBootRecord) != 0 ||
      !text(image, kBootRecord + 7, 23).starts_with("EL TORITO SPECIFICATION")) {
    return Error{name + ": at 0x8800: an ISO 9660 image without a boot record (El Torito): nothing to boot", kHint};
  }
  const std::uint64_t catalog = std::uint64_t{value_at<std::uint32_t>(image, kBootRecord + 0x47)} * kSector;
  if (text(image, catalog, 2 * kEntryBytes).empty()) {
    return Error{fmt::format("{}: the boot catalog at {:#x} lies past the end of the image", name, catalog), kHint};
  }
  const auto entry = static_cast<std::size_t>(catalog) + kEntryBytes;
  if (value_at<std::uint8_t>(image, catalog) != kValidation || value_at<std::uint16_t>(image, catalog + 30) != 0xAA55) {
    return Error{fmt::format("{}: at {:#x}: the boot catalog does not begin with a validation entry", name, catalog),
                 kHint};
  }
  if (value_at<std::uint8_t>(image, entry) != kBootable) {
    return Error{fmt::format("{}: at {:#x}: the default boot entry is marked as not bootable", name, entry), kHint};
  }
  const unsigned media = value_at<std::uint8_t>(image, entry + 1) & 15u;
  if (media > static_cast<unsigned>(ElToritoEntry::Media::HardDisk)) {
    return Error{fmt::format("{}: at {:#x}: boot media type {} is none of El Torito's", name, entry + 1, media), kHint};
  }
  ElToritoEntry found{.media = static_cast<ElToritoEntry::Media>(media),
                      .segment = value_at<std::uint16_t>(image, entry + 2),
                      .load_sectors = value_at<std::uint16_t>(image, entry + 6),
                      .first = value_at<std::uint32_t>(image, entry + 8)};
  if (found.segment == 0) found.segment = 0x7C0;
  if (found.load_sectors == 0) found.load_sectors = 1;
  return found;
}

// What a boot sector tells of the medium that it lies on: its partition table and its BIOS parameter block.

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

/// The parts of a BIOS parameter block that tell the drive.
struct ParameterBlock {
  std::uint8_t media = 0;  // F8H: a hard disk
  unsigned sectors_per_track = 0, heads = 0;
  std::uint32_t sectors = 0;
};

/// Head; sector in bits 5..0 with the cylinder's bits 9..8 above it; the cylinder's bits 7..0.
DiskAddress disk_address(std::span<const std::byte> bytes, std::size_t at) {
  const auto head = value_at<std::uint8_t>(bytes, at), sector = value_at<std::uint8_t>(bytes, at + 1);
  const auto cylinder = value_at<std::uint8_t>(bytes, at + 2);
  return {.cylinder = cylinder | (sector & 0xC0u) << 2, .head = head, .sector = sector & 0x3Fu};
}

/// The table, if these 512 bytes have one: each status is 00H or 80H, what is used has sectors, and one entry is
/// active. Boot code of floppies that reaches into the place (GRUB's, for one) is none.
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

DiskImage DiskImage::data(std::vector<std::byte> bytes) {
  bytes.resize(std::max<std::uint64_t>((bytes.size() + kSectorBytes - 1) / kSectorBytes, 1) * kSectorBytes);
  DiskImage image{std::move(bytes), DriveKind::HardDisk, "data"};
  image.choose_geometry();
  return image;
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
