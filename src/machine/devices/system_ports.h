// The single ports of a PC that are hardly devices: 61H (speaker gate, 8254 output, refresh toggle), 92H (A20 and fast
// reset), B2H/B3H (software SMI), 80H (POST code).
#pragma once

#include <cstdint>

#include "machine/port_map.h"

namespace zs::machine {

class Pit;

/// What single ports and the keyboard controller ask of the PC.
class SystemPins {
 public:
  virtual ~SystemPins() = default;
  virtual bool a20() const = 0;
  virtual void set_a20(bool open) = 0;
  virtual void system_management_interrupt() = 0;
  virtual void pulse_reset() = 0;
  /// An edge at this interrupt request.
  virtual void request_irq(unsigned irq) = 0;
};

class SystemPorts : public PortDevice {
 public:
  SystemPorts(SystemPins& pins, Pit& pit) : pins_(pins), pit_(pit) {}
  /// Every port of this device, for PortMap::add.
  void add_to(PortMap& map);
  std::uint8_t in(std::uint16_t port) override;
  void out(std::uint16_t port, std::uint8_t value) override;

 private:
  SystemPins& pins_;
  Pit& pit_;
  std::uint8_t port61_ = 0, apm_command_ = 0, apm_status_ = 0;
};

}  // namespace zs::machine
