// Which device answers at which port. A port that nobody answers reads as ones and swallows what is written.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace zs::machine {

/// A device with ports. All take bytes; wider accesses of byte ports are split, low byte first, as the bus does.
class PortDevice {
 public:
  virtual ~PortDevice() = default;
  virtual std::uint8_t in(std::uint16_t port) = 0;
  virtual void out(std::uint16_t port, std::uint8_t value) = 0;
  /// A 16- or 32-bit access that starts at a port of this device. returns false: split it.
  virtual bool wide_in(std::uint16_t, unsigned, std::uint32_t&) { return false; }
  virtual bool wide_out(std::uint16_t, unsigned, std::uint32_t) { return false; }
};

class PortMap {
 public:
  /// Ports first .. last belong to `device`, which must outlive the map. CHECKs that nobody has them.
  void add(PortDevice& device, std::uint16_t first, std::uint16_t last);
  /// bytes  1, 2 or 4
  std::uint32_t in(std::uint16_t port, unsigned bytes);
  void out(std::uint16_t port, unsigned bytes, std::uint32_t value);

 private:
  struct Range {
    std::uint16_t first, last;
    PortDevice* device;
  };
  PortDevice* at(std::uint16_t port) const;

  std::vector<Range> ranges_;
};

}  // namespace zs::machine
