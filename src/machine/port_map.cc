#include "machine/port_map.h"

#include "base/check.h"

namespace zs::machine {

void PortMap::add(PortDevice& device, std::uint16_t first, std::uint16_t last) {
  CHECK(first <= last, first, last);
  for (const Range& range : ranges_) CHECK(last < range.first || first > range.last, first, last, range.first);
  ranges_.push_back({first, last, &device});
}

PortDevice* PortMap::at(std::uint16_t port) const {
  for (const Range& range : ranges_) {
    if (port >= range.first && port <= range.last) return range.device;
  }
  return nullptr;
}

std::uint32_t PortMap::in(std::uint16_t port, unsigned bytes) {
  std::uint32_t value = 0;
  PortDevice* const first = at(port);
  if (bytes > 1 && first != nullptr && first->wide_in(port, bytes, value)) return value;
  for (unsigned i = 0; i < bytes; ++i) {
    const auto here = static_cast<std::uint16_t>(port + i);
    PortDevice* const device = at(here);
    value |= std::uint32_t{device != nullptr ? device->in(here) : std::uint8_t{0xFF}} << 8 * i;
  }
  return value;
}

void PortMap::out(std::uint16_t port, unsigned bytes, std::uint32_t value) {
  PortDevice* const first = at(port);
  if (bytes > 1 && first != nullptr && first->wide_out(port, bytes, value)) return;
  for (unsigned i = 0; i < bytes; ++i) {
    const auto here = static_cast<std::uint16_t>(port + i);
    if (PortDevice* const device = at(here); device != nullptr) {
      device->out(here, static_cast<std::uint8_t>(value >> 8 * i));
    }
  }
}

}  // namespace zs::machine
