// The interrupt requests of a PC's devices, IRQ 0 to 15, as a device sees them: it raises and drops its line.
#pragma once

namespace zs::machine {

class IrqLines {
 public:
  virtual ~IrqLines() = default;
  /// The level of line irq, 0 .. 15.
  virtual void set_line(unsigned irq, bool up) = 0;
  /// Whether a rising edge on this line would reach a processor at some time: it is not masked.
  virtual bool enabled(unsigned irq) const = 0;
  void pulse(unsigned irq) {
    set_line(irq, true);
    set_line(irq, false);
  }
};

}  // namespace zs::machine
