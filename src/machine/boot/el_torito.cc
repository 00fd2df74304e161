#include "machine/boot/el_torito.h"

#include <fmt/format.h>

#include <cstring>
#include <string_view>

#include "base/bytes.h"

namespace zs::machine {
namespace {

constexpr std::size_t kSector = 2048, kFirstDescriptor = 16 * kSector, kBootRecord = 17 * kSector;

std::string_view text(std::span<const std::byte> image, std::size_t at, std::size_t count) {
  if (at > image.size() || count > image.size() - at) return {};
  return {reinterpret_cast<const char*>(image.data() + at), count};
}

}  // namespace

bool is_iso9660(std::span<const std::byte> image) { return text(image, kFirstDescriptor + 1, 5) == "CD001"; }

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

}  // namespace zs::machine
