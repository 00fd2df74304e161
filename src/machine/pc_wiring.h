// Small adapters between the parts of the PC: interrupt lines on their way through the 8259 pair and the I/O APIC to
// the local APIC.
#pragma once

#include <cstdint>

#include "machine/devices/io_apic.h"
#include "machine/devices/irq_lines.h"
#include "machine/devices/local_apic.h"
#include "machine/devices/pic.h"
#include "machine/port_map.h"

namespace zs::machine {

/// Each interrupt request leads to the 8259 pair, whose INTR the local APIC looks at, and to a pin of the I/O APIC.
/// source: Intel ICH data sheets, "I/O APIC": IRQ0 is at pin 2, where the cascade is on the 8259 pair.
class BoardIrqs : public IrqLines {
 public:
  BoardIrqs(Pic& pic, IoApic& io_apic, LocalApic& local) : pic_(pic), io_apic_(io_apic), local_(local) {
    local.on_end_of_level([&io_apic](std::uint8_t vector) { io_apic.end_of_interrupt(vector); });
  }
  void set_line(unsigned irq, bool up) override {
    pic_.set_line(irq, up);
    io_apic_.set_line(pin(irq), up);
    local_.update_line();
  }
  bool enabled(unsigned irq) const override { return pic_.enabled(irq) || io_apic_.enabled(pin(irq)); }

 private:
  static unsigned pin(unsigned irq) { return irq == 0 ? 2 : irq; }

  Pic& pic_;
  IoApic& io_apic_;
  LocalApic& local_;
};

/// Writes to the 8259 pair may raise or drop INTR.
class PicPorts : public PortDevice {
 public:
  PicPorts(Pic& pic, LocalApic& apic) : pic_(pic), apic_(apic) {}
  std::uint8_t in(std::uint16_t port) override { return pic_.in(port); }
  void out(std::uint16_t port, std::uint8_t value) override {
    pic_.out(port, value);
    apic_.update_line();
  }

 private:
  Pic& pic_;
  LocalApic& apic_;
};

}  // namespace zs::machine
