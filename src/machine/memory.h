// Physical memory of the virtual PC, and what lies in the holes of it:
//   00000H-9FFFFH   RAM                                       B0000H-B7FFFH    nothing: ones
//   A0000H-AFFFFH   VGA graphics memory, RAM here             C0000H-EFFFFH    nothing: ones
//   B8000H-BFFFFH   VGA text memory, RAM here                 100000H-         RAM
//   F0000H-FFFFFH   BIOS, read-only
// Sparse: a page that nobody wrote takes no memory of the host. Nothing outside is ever reached, whatever address is
// asked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"

namespace zs::machine {

inline constexpr std::uint64_t kPageBytes = 4096;
inline constexpr std::uint64_t kVgaGraphics = 0xA0000;
inline constexpr std::uint64_t kVgaGraphicsBytes = 0x10000;
inline constexpr std::uint64_t kVgaText = 0xB8000;
inline constexpr std::uint64_t kVgaTextBytes = 0x8000;
inline constexpr std::uint64_t kBios = 0xF0000;
inline constexpr std::uint64_t kBiosBytes = 0x10000;
inline constexpr std::uint64_t kHighRam = 0x100000;
inline constexpr std::uint64_t kLowMemoryKiB = 639;  // what BIOS data area and INT 12H say
inline constexpr std::uint64_t kLeastMemory = 2 << 20;
inline constexpr std::uint64_t kMostMemory = std::uint64_t{3} << 30;  // below the APICs at FEC00000H

class PhysicalMemory {
 public:
  /// bytes  a multiple of 4096 from kLeastMemory to kMostMemory
  static Result<PhysicalMemory> make(std::uint64_t bytes);
  ~PhysicalMemory();
  PhysicalMemory(PhysicalMemory&& other) noexcept;
  PhysicalMemory& operator=(PhysicalMemory&&) = delete;
  PhysicalMemory(const PhysicalMemory&) = delete;
  PhysicalMemory& operator=(const PhysicalMemory&) = delete;

  std::uint64_t size() const { return size_; }

  enum class Kind : std::uint8_t { Ram, Rom, Nothing };
  Kind kind(std::uint64_t physical) const {
    if (physical >= size_) return Kind::Nothing;
    if (physical >= kHighRam || physical < kVgaGraphics + kVgaGraphicsBytes) return Kind::Ram;
    if (physical >= kVgaText && physical < kVgaText + kVgaTextBytes) return Kind::Ram;
    return physical >= kBios ? Kind::Rom : Kind::Nothing;
  }

  /// The page at `physical`, a multiple of 4096; null where kind() is Nothing.
  std::byte* page(std::uint64_t physical) { return kind(physical) == Kind::Nothing ? nullptr : base_ + physical; }

  /// Copies as a device does (ROM is written too). returns false, and copies nothing, if any byte is Nothing.
  bool read(std::uint64_t physical, std::span<std::byte> into) const;
  bool write(std::uint64_t physical, std::span<const std::byte> from);

  template <typename T>
  T load(std::uint64_t physical) const {
    T value{};
    (void)read(physical, std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  template <typename T>
  void store(std::uint64_t physical, T value) {
    (void)write(physical, std::as_bytes(std::span(&value, 1)));
  }

 private:
  PhysicalMemory(std::byte* base, std::uint64_t size) : base_(base), size_(size) {}
  bool all_there(std::uint64_t physical, std::uint64_t bytes) const;

  std::byte* base_;
  std::uint64_t size_;
};

}  // namespace zs::machine
