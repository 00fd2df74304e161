#include "cli/linux/kernel_payload.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "profile/perf_data/file_bytes.h"

namespace zs::cli {
namespace {

using Unpacked = std::vector<std::byte>;

template <typename T>
T value_at(Bytes bytes, std::size_t at) {
  T value{};
  if (at + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// One block of LZ4. returns whether it is whole
/// source: LZ4 Block Format Description.
bool unpack_lz4_block(Bytes packed, Unpacked& to, std::size_t& written) {
  ByteReader in(packed);
  const auto length_of = [&](unsigned nibble) {
    std::size_t length = nibble;
    for (std::uint8_t more = nibble == 15 ? 255 : 0; more == 255 && in.ok(); length += more)
      more = in.read<std::uint8_t>();
    return length;
  };
  while (in.ok() && in.remaining() != 0) {
    const auto token = in.read<std::uint8_t>();
    const std::size_t literals = length_of(token >> 4);
    const Bytes copied = in.take(literals);
    if (!in.ok() || copied.size() > to.size() - written) return false;
    std::ranges::copy(copied, to.begin() + static_cast<std::ptrdiff_t>(written));
    written += copied.size();
    if (in.remaining() == 0) return true;
    const auto distance = in.read<std::uint16_t>();
    const std::size_t length = length_of(token & 15) + 4;
    if (!in.ok() || distance == 0 || distance > written || length > to.size() - written) return false;
    for (std::size_t n = 0; n < length; ++n, ++written) to[written] = to[written - distance];
  }
  return in.ok();
}

/// Blocks of 8 MiB, each behind its length.
bool unpack_lz4(Bytes packed, Unpacked& to) {
  std::size_t written = 0;
  for (std::size_t at = 4; written < to.size();) {
    const std::size_t length = value_at<std::uint32_t>(packed, at);
    at += 4;
    if (length == 0 || at + length > packed.size()) return false;
    if (!unpack_lz4_block(packed.subspan(at, length), to, written)) return false;
    at += length;
  }
  return true;
}

}  // namespace

// source: Linux, Documentation/arch/x86/boot.rst, "payload_offset"; the length that ends a payload is the kernel's own.
std::vector<std::byte> unpacked_kernel(Bytes image) {
  constexpr std::size_t kSetupSectors = 0x1F1, kProtocol = 0x206, kPayload = 0x248, kPayloadBytes = 0x24C,
                        kSector = 512;
  constexpr std::uint16_t kWithPayload = 0x208;
  constexpr std::uint32_t kLargest = 1u << 30, kLz4 = 0x184C2102;
  if (value_at<std::uint16_t>(image, kProtocol) < kWithPayload) return {};
  const auto sectors = value_at<std::uint8_t>(image, kSetupSectors);
  const std::size_t at =
      (std::size_t{sectors == 0 ? std::uint8_t{4} : sectors} + 1) * kSector + value_at<std::uint32_t>(image, kPayload);
  const std::size_t bytes = value_at<std::uint32_t>(image, kPayloadBytes);
  if (bytes < 8 || at > image.size() || bytes > image.size() - at) return {};
  const Bytes packed = image.subspan(at, bytes - 4);
  const auto length = value_at<std::uint32_t>(image, at + bytes - 4);
  if (length > kLargest) return {};
  if (value_at<std::uint32_t>(packed, 0) == kLz4) {
    Unpacked to(length);
    return unpack_lz4(packed, to) ? to : Unpacked{};
  }
  const auto other = profile::unpacked("the kernel", packed);
  if (!other || other->packed_by.empty() || other->damage || other->bytes.size() != length) return {};
  return {other->bytes.begin(), other->bytes.end()};
}

}  // namespace zs::cli
