// The virtual PC's processor: an interpreter of x86 in all its modes (virtual-8086 mode without its extensions),
// exact about what retires, what faults and in which order.
//
// Fast because instructions are decoded once per physical page and mode (vcpu/decoded_page.h), because memory is
// reached through software TLBs (vcpu/memory.cc), and because nothing is checked per instruction but one countdown:
// whatever is armed (an interrupt, a trap, the observer's horizon) ends it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "arch/retired.h"
#include "machine/vcpu/cpu_state.h"
#include "machine/vcpu/interfaces.h"

namespace zs::machine {

namespace vcpu {
struct Core;
}

class Monitor;

class Vcpu {
 public:
  /// What surrounds the CPU. All must outlive it.
  struct Around {
    Bus& bus;
    InterruptSource& interrupts;
    MsrFile& msrs;
    Cpuid& cpuid;
    RetirementObserver& observer;
  };
  explicit Vcpu(const Around& around);
  ~Vcpu();
  Vcpu(const Vcpu&) = delete;
  Vcpu& operator=(const Vcpu&) = delete;

  /// RESET: CpuState::after_reset(), nothing pending.
  void reset();

  /// Runs until something stops it, at the latest after `instructions` retirements. Exceptions without a retirement in
  /// between, and a repetition of some hundred thousand elements, reach the limit too.
  Stop run(std::uint64_t instructions);
  /// One instruction, or the delivery of one pending event.
  Stop step() { return run(1); }
  /// From a hook or device: run() returns Requested after the current instruction.
  void stop();

  // ---- pins
  /// The level of INTR.
  void set_interrupt_line(bool up);
  void request_nmi();
  void request_smi();
  void request_init();
  /// A machine check (#MC) is delivered at the next boundary.
  void request_machine_check();
  /// Whether something is pending that the processor takes as soon as it may: an interrupt, a trap.
  bool event_due() const;
  /// IA32_DEBUGCTL as it now is: the CPU acts on BTF (bit 1).
  void set_debugctl(std::uint64_t value);
  /// The observer's wishes changed: watch() is asked before the next instruction.
  void watch_changed();

  // ---- state
  CpuState state() const;
  void set_state(const CpuState& state);
  /// Cheap views for hooks and observers.
  std::uint64_t gpr(Gpr reg) const;
  void set_gpr(Gpr reg, std::uint64_t value);
  std::uint64_t rflags() const;
  void set_rflags(std::uint64_t value);
  /// As a MOV to it in real mode does.
  void set_real_segment(Seg seg, std::uint16_t selector);
  std::uint64_t rip() const;
  std::uint64_t linear_ip() const;
  unsigned cpl() const;
  const Segment& segment(Seg seg) const;
  std::uint64_t cr(unsigned number) const;
  std::uint64_t efer() const;
  const TableRegister& idtr() const;
  /// General registers, flags and ip as a PEBS record has them.
  arch::RegisterFile register_file() const;
  /// Instructions retired since reset().
  std::uint64_t retired() const;
  /// Of these, what the observer has not been told of by counted() yet.
  std::uint64_t unreported() const;

  // ---- memory
  /// Linear memory with the rights of CPL 0, as the processor itself reaches tables and the Debug Store: walks the page
  /// tables, sets A and D. returns false if any byte is not accessible; then nothing was transferred.
  bool read_linear(std::uint64_t linear, std::span<std::byte> into);
  bool write_linear(std::uint64_t linear, std::span<const std::byte> from);
  /// As read_linear and write_linear, but of no consequence to the guest (no A, D; ROM and read-only pages are
  /// written): for debuggers. returns false if any byte is not mapped to memory.
  bool peek(std::uint64_t linear, std::span<std::byte> into);
  bool poke(std::uint64_t linear, std::span<const std::byte> from);
  /// Likewise: where that address leads now; nothing if it is not mapped.
  std::optional<std::uint64_t> physical(std::uint64_t linear);
  /// A store that the machine itself made for the current instruction (Debug Store) faulted: #PF (or #GP for an address
  /// that is not canonical) is delivered before the next instruction, which therefore does not run yet.
  void raise_linear_fault(std::uint64_t linear, bool write);
  /// Someone other than this CPU wrote memory: decoded instructions there are dropped.
  void memory_written(std::uint64_t physical, std::uint64_t bytes);
  /// What Bus::page answers changed.
  void memory_map_changed();

  // ---- monitor
  Monitor& monitor();
  /// Since the CPU was made.
  const NotOffered& not_offered() const;

  /// For tests of the interpreter (vcpu/core.h).
  vcpu::Core& core() { return *core_; }

 private:
  std::unique_ptr<vcpu::Core> core_;
};

}  // namespace zs::machine
