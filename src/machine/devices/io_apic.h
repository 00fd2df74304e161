// The I/O APIC: 24 pins, each with an entry that says which message its interrupt is to the local APIC.
// An edge-triggered pin sends one at each rising edge, unless it is masked then. A level-triggered one sends while its
// line is up, and again after the end of the interrupt it sent before. Polarity is kept and not looked at: the lines
// are those of the board's devices. source: 82093AA data sheet, "I/O APIC Registers".
#pragma once

#include <array>
#include <cstdint>

namespace zs::machine {

class LocalApic;

class IoApic {
 public:
  static constexpr std::uint64_t kBase = 0xFEC00000;
  static constexpr unsigned kPins = 24;
  explicit IoApic(LocalApic& apic) : apic_(apic) { entries_.fill(kMasked); }

  /// `offset` from the base, a multiple of 4.
  std::uint32_t read(std::uint32_t offset) const;
  void write(std::uint32_t offset, std::uint32_t value);
  /// The level of a pin.
  void set_line(unsigned pin, bool up);
  /// The processor has ended a level-triggered interrupt with this vector.
  void end_of_interrupt(std::uint8_t vector);
  bool enabled(unsigned pin) const { return pin < kPins && (entries_[pin] & kMasked) == 0; }

 private:
  static constexpr std::uint64_t kRemoteIrr = 1u << 14, kLevel = 1u << 15, kMasked = 1u << 16;
  /// Sends what a level-triggered pin has to say.
  void offer(unsigned pin);
  bool send(unsigned pin) const;

  LocalApic& apic_;
  std::uint32_t index_ = 0, id_ = 0, lines_ = 0;
  std::array<std::uint64_t, kPins> entries_{};
};

}  // namespace zs::machine
