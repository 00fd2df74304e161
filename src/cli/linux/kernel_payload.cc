#include "cli/linux/kernel_payload.h"

#include <algorithm>
#include <cstdint>

#include "machine/boot/linux_kernel.h"
#include "profile/perf_data/file_bytes.h"

namespace zs::cli {
namespace {

using Unpacked = std::vector<std::byte>;

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
bool unpack_lz4(Bytes blocks, Unpacked& to) {
  ByteReader in(blocks);
  for (std::size_t written = 0; written < to.size();) {
    const Bytes block = in.take(in.read<std::uint32_t>());
    if (!in.ok() || block.empty() || !unpack_lz4_block(block, to, written)) return false;
  }
  return true;
}

}  // namespace

std::vector<std::byte> unpacked_kernel(Bytes image) {
  constexpr std::uint32_t kLargest = 1u << 30, kLz4 = 0x184C2102;
  const Bytes payload = machine::linux_payload(image);
  if (payload.size() < 8) return {};
  const Bytes packed = payload.first(payload.size() - 4);
  const auto length = ByteReader(payload.last(4)).read<std::uint32_t>();
  if (length > kLargest) return {};
  if (ByteReader(packed).read<std::uint32_t>() == kLz4) {
    Unpacked to(length);
    return unpack_lz4(packed.subspan(4), to) ? to : Unpacked{};
  }
  const auto other = profile::unpacked("the kernel", packed);
  if (!other || other->packed_by.empty() || other->damage || other->bytes.size() != length) return {};
  return {other->bytes.begin(), other->bytes.end()};
}

}  // namespace zs::cli
