// The local APIC: takes interrupts, orders them by priority, and raises its own (timer, PMI, errors, self-IPIs).
// Reached as memory (xAPIC) or as MSRs 800H-83FH (x2APIC); both look at the same registers.
//
// The 8259 pair's INTR reaches the CPU while the APIC is disabled, by hardware or by software ("PIC mode": the board's
// switch has the 8259 bypass the APIC), and through LINT0 when that is unmasked in ExtINT mode ("virtual wire mode").
// source: SDM vol. 3A, chapter "Advanced Programmable Interrupt Controller (APIC)".
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "machine/clock.h"
#include "machine/devices/apic_timer.h"
#include "machine/devices/vector_set.h"

namespace zs::machine {

class Pic;

/// What the APIC does to its CPU.
class CpuPins {
 public:
  virtual ~CpuPins() = default;
  virtual void interrupt_line(bool up) = 0;
  virtual void nmi() = 0;
  virtual void smi() = 0;
  virtual void init() = 0;
};

class LocalApic : public TimedDevice {
 public:
  static constexpr std::uint64_t kBase = 0xFEE00000;
  static constexpr std::uint32_t kBaseMsr = 0x1B;
  static constexpr std::uint32_t kFirstMsr = 0x800, kLastMsr = 0x853;
  static constexpr std::uint32_t kTscDeadlineMsr = 0x6E0;
  static constexpr bool is_msr(std::uint32_t msr) {
    return msr == kBaseMsr || msr == kTscDeadlineMsr || (msr >= kFirstMsr && msr <= kLastMsr);
  }

  /// What CPUID offers of it, and whether a PMI masks its LVT entry: Intel's does, AMD's does not.
  struct Features {
    bool x2apic = true, tsc_deadline = true, pmi_masks = true;
    bool extended = false;  // AMD's registers from 400H on
  };
  LocalApic(CpuPins& pins, const Clock& clock, Pic& pic) : LocalApic(pins, clock, pic, Features{}) {}
  LocalApic(CpuPins& pins, const Clock& clock, Pic& pic, Features features);
  void power_up();
  /// INIT: everything but the base address and the APIC ID.
  void init();
  /// As the firmware leaves it: enabled, with the 8259 pair at LINT0 and NMI at LINT1.
  /// source: MultiProcessor Specification 1.4, "Virtual Wire Mode".
  void enter_virtual_wire();

  /// Memory-mapped registers; `offset` from the base. Only aligned 32-bit accesses mean something.
  std::uint32_t read(std::uint32_t offset);
  void write(std::uint32_t offset, std::uint32_t value);
  /// Where they are; nothing while the APIC is disabled or in x2APIC mode.
  std::optional<std::uint64_t> window() const {
    if (!enabled() || x2apic()) return std::nullopt;
    return base_ & kBaseAddress;
  }

  /// IA32_APIC_BASE, IA32_TSC_DEADLINE and the x2APIC registers. returns false for #GP(0)
  bool rdmsr(std::uint32_t msr, std::uint64_t& value);
  bool wrmsr(std::uint32_t msr, std::uint64_t value);

  /// Software wrote the time-stamp counter: it is now the clock plus `offset`.
  void tsc_written(std::uint64_t offset);

  /// The performance counters' request.
  void request_pmi();
  /// The request of an extended entry, 0 to 3.
  void request_extended(unsigned entry);
  /// An interrupt message of the I/O APIC: vector, delivery mode, destination mode and trigger mode as its entries (and
  /// the interrupt command register) have them. returns whether it was for this processor
  bool take_message(std::uint32_t message, std::uint8_t destination);
  /// Called with the vector of each level-triggered interrupt that software has ended.
  void on_end_of_level(std::function<void(std::uint8_t)> action) { end_of_level_ = std::move(action); }
  /// The INTR of the 8259 pair, or what the APIC thinks of it, changed.
  void update_line();

  std::optional<std::uint8_t> acknowledge();
  std::uint8_t task_priority() const { return static_cast<std::uint8_t>(tpr_ >> 4); }
  void set_task_priority(std::uint8_t priority);

  std::uint64_t deadline() const override;
  void clock_moved() override;

  /// IA32_APIC_BASE.EN.
  bool enabled() const { return (base_ & kBaseEnable) != 0; }

  /// Whether a PMI would reach the CPU; where it is a fixed interrupt, with interrupts on.
  bool pmi_reaches_cpu(bool interrupts_enabled) const;

  enum DeliveryMode : std::uint8_t {
    kFixed = 0,
    kLowest = 1,
    kSmi = 2,
    kNmi = 4,
    kInit = 5,
    kStartUp = 6,
    kExtInt = 7
  };

 private:
  enum Lvt : std::uint8_t { kTimer, kThermal, kPmi, kLint0, kLint1, kError, kLvts };
  static constexpr std::uint32_t kMasked = 1u << 16;

  static constexpr std::uint64_t kBaseEnable = 1u << 11, kBaseX2 = 1u << 10, kBaseBsp = 1u << 8;
  static constexpr std::uint64_t kBaseAddress = 0xF'FFFF'F000;  // 36 bits
  bool x2apic() const { return (base_ & kBaseX2) != 0; }
  bool software_enabled() const { return (svr_ & 1u << 8) != 0; }
  bool pic_reaches_cpu() const;
  unsigned processor_priority() const;
  std::optional<unsigned> deliverable() const;
  bool addressed(bool logical, std::uint32_t destination) const;
  void deliver(std::uint8_t vector, unsigned mode, bool level = false);
  void request(unsigned vector, bool level);
  void raise(Lvt entry);
  void error(std::uint32_t bit);
  bool read_register(std::uint32_t index, std::uint32_t& value);
  bool write_register(std::uint32_t index, std::uint32_t value);
  bool write_lvt(Lvt entry, std::uint32_t value);
  void write_svr(std::uint32_t value);
  void end_of_interrupt();
  void send(std::uint32_t low, std::uint32_t destination);
  void expire_deadline();

  CpuPins& pins_;
  Pic& pic_;
  Features features_;
  bool line_ = false;

  std::uint64_t base_ = 0;
  std::uint32_t id_ = 0, tpr_ = 0, svr_ = 0xFF, ldr_ = 0, dfr_ = ~0u, esr_ = 0, pending_errors_ = 0;
  std::uint32_t icr_low_ = 0, icr_high_ = 0;
  std::array<std::uint32_t, kLvts> lvt_{};
  std::array<std::uint32_t, 4> extended_{};
  VectorSet irr_, isr_, tmr_;
  std::function<void(std::uint8_t)> end_of_level_ = [](std::uint8_t) {};
  ApicTimer timer_;
};

}  // namespace zs::machine
