// Small adapters between the parts of the PC: what the PMU asks of the processor, and interrupt lines on their way
// through the 8259 pair and the I/O APIC to the local APIC.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "machine/clock.h"
#include "machine/devices/io_apic.h"
#include "machine/devices/irq_lines.h"
#include "machine/devices/local_apic.h"
#include "machine/devices/pic.h"
#include "machine/pc_identity.h"
#include "machine/port_map.h"
#include "machine/retirement_feed.h"
#include "machine/vcpu/vcpu.h"
#include "pmu/interfaces.h"

namespace zs::machine {

/// The Debug Store's way to memory: through paging, as the processor itself.
class DsMemory : public pmu::LinearMemory {
 public:
  void set_cpu(Vcpu& cpu) { cpu_ = &cpu; }
  bool read(std::uint64_t address, std::span<std::byte> into) override { return cpu_->read_linear(address, into); }
  bool write(std::uint64_t address, std::span<const std::byte> from) override {
    return cpu_->write_linear(address, from);
  }

 private:
  Vcpu* cpu_ = nullptr;
};

class PmuVectorRegisters : public pmu::VectorRegisters {
 public:
  void set_cpu(Vcpu& cpu) { cpu_ = &cpu; }
  void read_xmm(std::span<std::byte, 256> into) override {
    const CpuState state = cpu_->state();
    const auto bytes = std::as_bytes(std::span(state.xmm));
    std::copy(bytes.begin(), bytes.end(), into.begin());
  }

 private:
  Vcpu* cpu_ = nullptr;
};

class PmuClock : public pmu::Clock {
 public:
  explicit PmuClock(const machine::Clock& clock) : clock_(clock) {}
  void set_sources(const PcMsrs& msrs, const RetirementFeed& feed) { msrs_ = &msrs, feed_ = &feed; }
  std::uint64_t tsc() override { return msrs_->tsc() + feed_->unreported_ticks(); }
  bool has_core_cycles() const override { return true; }
  std::uint64_t core_cycles() override { return clock_.now() + feed_->unreported_ticks(); }

 private:
  const machine::Clock& clock_;
  const PcMsrs* msrs_ = nullptr;
  const RetirementFeed* feed_ = nullptr;
};

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
