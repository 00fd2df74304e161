// The BIOS that the interrupt vector table points to: for vector nn an IRET at F000:00nn, before which the machine runs
// service nn. So boot code that hooks a vector and chains to the old one works: the INT instruction itself is nobody's.
//
//   08H, 09H-0FH, 70H-77H  interrupts of the 8259 pair: tick counter, end of interrupt
//   10H 00H 02H 03H 06H 07H 0EH 0FH  video: clear, cursor, scroll, teletype      11H equipment      12H 639 KiB
//   13H 00H 02H 08H 15H 41H 42H      disk: reset, read, geometry, type; extensions for hard disks only
//   15H  nothing is supported        16H  no key, ever         1AH 00H  ticks since midnight
//   F000:FFF0 after INIT             goes where the far pointer at 0040:0067 says
// Everything else returns as it came, with carry set where the service is known to report errors so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace zs::machine {

class DiskImage;
class PhysicalMemory;
class PortMap;

/// 16-bit registers of the caller, and the FLAGS that its INT pushed.
struct BiosCall {
  std::uint16_t ax = 0, bx = 0, cx = 0, dx = 0, si = 0, di = 0, bp = 0, ds = 0, es = 0, flags = 0;

  std::uint8_t ah() const { return static_cast<std::uint8_t>(ax >> 8); }
  std::uint8_t al() const { return static_cast<std::uint8_t>(ax); }
  void set_ah(unsigned value) { ax = static_cast<std::uint16_t>((ax & 0xFF) | value << 8); }
  void set_al(unsigned value) { ax = static_cast<std::uint16_t>((ax & 0xFF00) | (value & 0xFF)); }
  void set_carry(bool on) { flags = static_cast<std::uint16_t>(on ? flags | 1 : flags & ~1); }
  void set_zero(bool on) { flags = static_cast<std::uint16_t>(on ? flags | 0x40 : flags & ~0x40); }
};

class Bios {
 public:
  static constexpr unsigned kServices = 256;

  /// disk     what INT 13H reads; may be null
  /// written  called with each range of memory that a service wrote
  Bios(PhysicalMemory& memory, PortMap& ports, const DiskImage* disk,
       std::function<void(std::uint64_t physical, std::uint64_t bytes)> written);

  /// Power-up: vectors, stubs, BIOS data area.
  void install();
  void service(unsigned vector, BiosCall& call);

 private:
  void video(BiosCall& call);
  void disk(BiosCall& call);
  void teletype(std::uint8_t character);
  void scroll(unsigned top, unsigned left, unsigned bottom, unsigned right, unsigned lines, std::uint8_t attribute,
              bool down);
  bool store(std::uint64_t physical, std::span<const std::byte> bytes);
  std::uint8_t read_sectors(std::uint64_t first, std::uint64_t count, std::uint64_t physical);

  PhysicalMemory& memory_;
  PortMap& ports_;
  const DiskImage* disk_;
  std::function<void(std::uint64_t, std::uint64_t)> written_;
  std::uint8_t disk_status_ = 0;
};

}  // namespace zs::machine
