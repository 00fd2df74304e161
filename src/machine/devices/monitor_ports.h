// Ports between the guest and the monitor that runs it.
//   F4H  debug-exit: a byte ends the run, and is the exit status of `zeroskid boot`
//   F5H  test injection: 1 machine check, 2 SMI, 3 INIT, 4 NMI, before the next instruction. Reads F5H.
//   F6H  32 bits: the linear address of a parcel, three words of 64 bits: a kind, a number of bytes, and where they are
// And of QEMU's pc-testdev, which suites of tests for hypervisors look for (its memory is PcBus's):
//   E0H         up to 32 bits that read as they were written
//   2000H-200FH the interrupt request lines 0 to 15: up, if the byte is not 0
#pragma once

#include <array>
#include <cstdint>

#include "machine/port_map.h"

namespace zs::machine {

/// What the monitor does for the guest.
class MonitorPins {
 public:
  virtual ~MonitorPins() = default;
  virtual void debug_exit(std::uint8_t status) = 0;
  virtual void inject_machine_check() = 0;
  virtual void inject_smi() = 0;
  virtual void inject_init() = 0;
  virtual void inject_nmi() = 0;
  virtual void take_parcel(std::uint64_t linear) = 0;
  virtual void set_irq_line(unsigned irq, bool up) = 0;
};

class MonitorPorts : public PortDevice {
 public:
  static constexpr std::uint16_t kDebugExit = 0xF4, kInject = 0xF5, kParcel = 0xF6, kLast = 0xF9;
  static constexpr std::uint16_t kScratch = 0xE0, kScratchLast = 0xE3, kIrqs = 0x2000, kIrqsLast = 0x200F;
  explicit MonitorPorts(MonitorPins& pins) : pins_(pins) {}
  /// Every port of this device, for PortMap::add.
  void add_to(PortMap& map) {
    map.add(*this, kDebugExit, kLast);
    map.add(*this, kScratch, kScratchLast);
    map.add(*this, kIrqs, kIrqsLast);
  }
  std::uint8_t in(std::uint16_t port) override {
    return port <= kScratchLast ? scratch_[port - kScratch] : static_cast<std::uint8_t>(port);
  }
  void out(std::uint16_t port, std::uint8_t value) override {
    if (port <= kScratchLast) scratch_[port - kScratch] = value;
    if (port >= kIrqs) pins_.set_irq_line(port - kIrqs, value != 0);
    if (port == kDebugExit) {
      pins_.debug_exit(value);
      return;
    }
    if (port != kInject) return;
    switch (value) {
      case 1: pins_.inject_machine_check(); return;
      case 2: pins_.inject_smi(); return;
      case 3: pins_.inject_init(); return;
      case 4: pins_.inject_nmi(); return;
      default: return;  // nothing of that number
    }
  }
  /// Programs write the status with 16 or 32 bits too: the low byte counts.
  bool wide_out(std::uint16_t port, unsigned bytes, std::uint32_t value) override {
    if (port <= kScratchLast) return false;
    if (port == kParcel && bytes == 4) {
      pins_.take_parcel(value);
    } else {
      out(port, static_cast<std::uint8_t>(value));
    }
    return true;
  }

 private:
  MonitorPins& pins_;
  std::array<std::uint8_t, 4> scratch_{};
};

}  // namespace zs::machine
