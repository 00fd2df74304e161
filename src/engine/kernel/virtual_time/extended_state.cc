#include "engine/kernel/virtual_time/extended_state.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "engine/translate/stubs.h"

namespace zs::engine {
namespace {

using arch::CpuLevel;

// source: SDM vol. 1, "XSAVE Area"
constexpr std::size_t kLastX87At = 6, kMxcsrAt = 24, kHeaderAt = 512, kHeaderEnd = 576;
constexpr std::uint64_t kX87 = 1, kSse = 2, kAvx = 4;
constexpr std::uint32_t kMxcsrBits = 0xFFFF;

struct Piece {
  std::size_t from, to, bytes;
};

std::uint64_t word_at(std::span<const std::byte> area, std::size_t at) {
  std::uint64_t word;
  std::memcpy(&word, &area[at], sizeof word);
  return word;
}

/// Where a component lies in this machine's area and in the level's. x87 and SSE have two and one of the first bytes.
std::array<Piece, 2> pieces_of(unsigned component, CpuLevel level) {
  if (component == 0) return {{{0, 0, kMxcsrAt}, {32, 32, 128}}};
  if (component == 1) return {{{160, 160, 256}, {}}};
  const arch::CpuidLeaf leaf = arch::cpuid_of(level, 1, 0xD, component);
  return {{{xsave_offset(component), leaf.ebx, leaf.eax}, {}}};
}

/// The value at the start, of a byte of the legacy part and beyond: zero, but for the control word of x87.
void fill_initial(std::span<std::byte> area, unsigned component, const Piece& piece, std::size_t at) {
  constexpr std::uint16_t kInitialControl = 0x37F;
  std::ranges::fill(area.subspan(at, piece.bytes), std::byte{0});
  if (component == 0 && at == 0) std::memcpy(area.data(), &kInitialControl, sizeof kInitialControl);
}

}  // namespace

std::uint32_t shown_state_bytes(CpuLevel level) {
  if (level == CpuLevel::Host) return xsave_bytes();
  return std::max<std::uint32_t>(arch::cpuid_of(level, 1, 0xD, 0).ebx, kHeaderEnd);
}

std::uint64_t shown_components(CpuLevel level) {
  return level == CpuLevel::Host ? xsave_mask() : arch::xcr0_of(level) | kX87 | kSse;
}

void store_state(std::span<const std::byte> area, std::uint64_t wanted, CpuLevel level, std::span<std::byte> image) {
  const std::uint64_t in_use = word_at(area, kHeaderAt);
  for (unsigned component = 0; component < 8; ++component) {
    if ((wanted >> component & 1) == 0) continue;
    for (const Piece& piece : pieces_of(component, level)) {
      if ((in_use >> component & 1) != 0)
        std::ranges::copy(area.subspan(piece.from, piece.bytes), image.begin() + static_cast<std::ptrdiff_t>(piece.to));
      else
        fill_initial(image, component, piece, piece.to);
    }
  }
  // Processors differ in the rest: where the last x87 instruction was and its operand, which bits MXCSR has, and which
  // components are known to be in their initial state. A processor may know it of none.
  if ((wanted & kX87) != 0) std::ranges::fill(image.subspan(kLastX87At, kMxcsrAt - kLastX87At), std::byte{0});
  if ((wanted & (kSse | kAvx)) != 0) {
    std::ranges::copy(area.subspan(kMxcsrAt, sizeof kMxcsrBits), image.begin() + kMxcsrAt);
    std::memcpy(&image[kMxcsrAt + sizeof kMxcsrBits], &kMxcsrBits, sizeof kMxcsrBits);
  }
  const std::uint64_t header = word_at(image, kHeaderAt) | wanted;
  std::memcpy(&image[kHeaderAt], &header, sizeof header);
}

bool load_state(std::span<const std::byte> image, std::uint64_t wanted, CpuLevel level, std::span<std::byte> area) {
  const std::uint64_t loads = word_at(image, kHeaderAt);
  std::uint32_t mxcsr;
  std::memcpy(&mxcsr, &image[kMxcsrAt], sizeof mxcsr);
  const auto rest = image.subspan(kHeaderAt + 8, 16);
  if ((loads & ~shown_components(level)) != 0 ||
      std::ranges::any_of(rest, [](std::byte b) { return b != std::byte{}; }))
    return false;
  const bool has_mxcsr = (wanted & (kSse | kAvx)) != 0;
  if (has_mxcsr && (mxcsr & ~kMxcsrBits) != 0) return false;
  const std::uint64_t in_use = (word_at(area, kHeaderAt) & ~wanted) | (loads & wanted);
  for (unsigned component = 0; component < 8; ++component) {
    if ((wanted >> component & 1) == 0) continue;
    for (const Piece& piece : pieces_of(component, level)) {
      if ((loads >> component & 1) != 0)
        std::ranges::copy(image.subspan(piece.to, piece.bytes), area.begin() + static_cast<std::ptrdiff_t>(piece.from));
      else
        fill_initial(area, component, piece, piece.from);
    }
  }
  if (has_mxcsr) std::memcpy(&area[kMxcsrAt], &mxcsr, sizeof mxcsr);
  std::memcpy(&area[kHeaderAt], &in_use, sizeof in_use);
  return true;
}

}  // namespace zs::engine
